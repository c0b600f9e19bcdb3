// /docs: reference pages for authors of clients, generated from the server's own tables. The tour explains the
// specification in nine pages, one per part: a request to paste, its response, diagrams, the tests that check it, and
// from the decision register its open points and their readings.

import { exampleApp } from "../../domain/apps.ts";
import { type ErrorCode, invalidField } from "../../domain/errors.ts";
import { SCOPE_LABELS } from "../../domain/model.ts";
import { type Decide, DEFAULT_DECIDE as decide, type Switched } from "../../domain/variants.ts";
import { ADDED, DECISIONS, type Decision, GAPS, SUMMED_UP } from "../../former-decisions.ts";
import { CODES, getStatus, PROBLEMS, problemResponse } from "../../http/problem.ts";
import { PATHS } from "../../http/urls.ts";
import { unsafeCast } from "../../lib/schema.ts";
import {
  code,
  definitionList,
  html,
  inlineCode,
  inlineMarkdown,
  json,
  link,
  list,
  muted,
  paragraph,
  type Renderable,
  tabs,
} from "../html.ts";
import { page } from "../layout.ts";
import { renderSequence } from "../sequence-diagram.ts";
import type { PageRoute, WebDeps } from "../session.ts";
import { curl, endpoints, events } from "./reference.ts";
import { PARTS, type Part } from "./tour-content.ts";

/** An entry that the side navigation links to; the term defaults to its name in code. */
type Entry = readonly [id: string, meaning: Renderable, name?: string, term?: Renderable];

/** A section of a page: its text, then its entries. */
type Section = readonly [id: string, title: string, body: Renderable, entries?: readonly Entry[]];

interface DocsPage {
  readonly lead: string;
  readonly sections: readonly Section[];
}

const PAGE_BUILDERS = {
  Start: gettingStarted,
  Tour: tour,
  Endpoints: endpoints,
  Events: events,
  Errors: errors,
  Register: decisionsPage,
};
const PAGES = Object.entries<(deps: WebDeps) => DocsPage>(PAGE_BUILDERS).map(([name, make]) => {
  return [
    name,
    PATHS.docs + (make === gettingStarted ? "" : `/${name.toLowerCase()}`),
    make,
  ] as const;
});
const TOUR_PAGES = Object.entries(PARTS).map(([name, part], at) => {
  return [`${at + 1} ${name}`, `${PATHS.docs}/tour/${at + 1}`, part] as const;
});

/** These pages need no sign-in; without the script only the copy buttons are missing. */
export const docsRoutes = (deps: WebDeps): readonly PageRoute[] => [
  ...PAGES.map(([name, path, make]) => rowOf(name, path, make(deps))),
  ...TOUR_PAGES.map(([title, path, part]) =>
    rowOf("Tour", path, tourPage(title, part, deps), title),
  ),
];

function rowOf(name: string, path: string, { lead, sections }: DocsPage, title = name): PageRoute {
  const header = [tabs("Docs", PAGES, name), name === "Tour" && tabs("Tour", TOUR_PAGES, title)];
  const body = html`<div class="docs"><nav class="side" aria-label="On this page">${list(sections.map(listed))}</nav>
<div><h1>${title}</h1><p class="lead">${inlineMarkdown(lead)}</p>${sections.map(section)}</div></div>`;
  return { method: "GET", path, handler: async () => page({ title, header, body }) };
}

const listed = ([id, title, , entries]: Section): Renderable => [
  link(`#${id}`, title),
  entries && list(entries.map(([at, , name = at]) => link(`#${at}`, name))),
];

const section = ([id, title, body, entries]: Section): Renderable =>
  html`<h2 id="${id}">${title}</h2>${body}
${entries && definitionList(entries.map(([at, meaning, name = at, term = inlineCode(name)]) => [term, meaning, at]))}`;

const CREDENTIALS =
  "Every request carries `Authorization: Bearer` and an API key, which opens the whole account, or an OAuth 2.0 access token, which opens what its user allowed. Settings, API Keys in the dashboard generates a key.";
const METADATA = `Metadata for libraries: [authorization server](/.well-known/oauth-authorization-server), [the same at the address of OpenID Connect](/.well-known/openid-configuration), [protected resource](${PATHS.resource_metadata}). There are no ID tokens: to learn who signed in, read \`GET /account\` with the access token.`;

function gettingStarted({ services: { urls: links } }: WebDeps): DocsPage {
  const first = curl(`POST ${links.baseUrl}/apps`, { body: exampleApp(decide) });
  return {
    lead: "Hosts data apps and tells you what happens to them. Make an app, give it data, deploy it, and be told of events by webhook.",
    sections: [
      [
        "authentication",
        "Authentication",
        [paragraph(CREDENTIALS), code(`export API_KEY=…\n${first}`)],
      ],
      [
        "oauth",
        "OAuth 2.0, step by step",
        [list(oauthSteps(links), "ol"), muted(inlineMarkdown(METADATA))],
      ],
      ["scopes", "Scopes", null, Object.entries(SCOPE_LABELS)],
      [
        "everywhere",
        "The same everywhere",
        paragraph(EVERYWHERE.replace("<list>", decide("4.list-shape"))),
      ],
    ],
  };
}

const EVERYWHERE =
  "Lists take `limit` and `offset` and answer `<list>`, with `Link` to the next and the previous page. A single resource carries an `ETag` for `If-Match` and `If-None-Match`. Any POST may carry an `Idempotency-Key`: repeated within a day, it is answered as the first time.";

/** The steps of the flow: an instruction, a shell command, and the values to keep from its response. */
function oauthSteps({ baseUrl, authUrl }: WebDeps["services"]["urls"]): readonly Renderable[] {
  const redirect_uri = "http://localhost:4700/callback";
  const client = { name: "My client", redirect_uris: [redirect_uri], scopes: ["read:apps"] };
  const asked = new URLSearchParams({
    response_type: "code",
    redirect_uri,
    scope: "read:apps",
    state: "xyz",
  });
  const own = { client_id: "$CLIENT_ID", client_secret: "$CLIENT_SECRET" };
  const sent = (to: string, body: object) =>
    curl(`POST ${authUrl}/oauth/${to}`, { body, token: null });
  const token = (grant_type: string, body: object) => sent("token", { grant_type, ...body });
  const steps = {
    "Register the client, here or in the dashboard under Settings, OAuth apps. Keep its `id` and `client_secret`.":
      [
        curl(`POST ${baseUrl}/oauth-clients`, { body: client }),
        "export CLIENT_ID=… CLIENT_SECRET=…",
      ],
    "Send the user there. Signed in and asked, they come back to the `redirect_uri` with `code` and `state`. PKCE with S256 is supported, and required of public clients.":
      [`echo "${authUrl}/oauth/authorize?client_id=$CLIENT_ID&${asked}"`, "export CODE=…"],
    "Exchange the code within a minute; it works once.": [
      token("authorization_code", { ...own, code: "$CODE", redirect_uri }),
      "export ACCESS_TOKEN=… REFRESH_TOKEN=…",
    ],
    "The access token opens for an hour what its user allowed.": [
      curl(`GET ${baseUrl}/apps`, { token: "ACCESS_TOKEN" }),
    ],
    "Refresh. The refresh token changes at each use; the old one must not be used again.": [
      token("refresh_token", { refresh_token: "$REFRESH_TOKEN" }),
    ],
    "Ask what a token is still good for.": [sent("introspect", { ...own, token: "$ACCESS_TOKEN" })],
    "Take it back: with a refresh token goes every token of its grant.": [
      sent("revoke", { ...own, token: "$REFRESH_TOKEN" }),
    ],
  };
  return Object.entries(steps).map(([what, lines]) => [paragraph(what), code(lines.join("\n"))]);
}

/** The `type` of a problem links to its entry here, so each code is an anchor. */
function errors({ services: { urls: links } }: WebDeps): DocsPage {
  const example = problemResponse(invalidField("#/title", "is required"), "req_0Ub4aF…", links);
  const entry = (each: ErrorCode): Entry => {
    return [each, PROBLEMS[each].slice(1).join(". "), `${getStatus(each)} ${each}`];
  };
  return {
    lead: ERRORS.replace("<type>", decide("7.error-body")),
    sections: [
      ["example", "An example", json(JSON.parse(example.body))],
      ["codes", "All codes", null, CODES.map(entry)],
    ],
  };
}

const ERRORS =
  "Every error reads like this one, `<type>` (problem details are RFC 9457). Programs look at `code`, people at the sentence beside it; every answer carries the request id in `X-Request-Id`.";

/** Open points of the specification, this server's choices, and alternatives. */
function decisionsPage(): DocsPage {
  const entry = decided(decide);
  return {
    lead: `${Object.keys(DECISIONS).length} points that this server had to decide. Each choice is the very value that it runs on, and the tests that bear the id hold it; the first digit is the part of the specification.`,
    sections: [
      ["gaps", "What the specification does not show", null, Object.entries(GAPS).map(entry)],
      ["added", "What users expect beyond it", null, Object.entries(ADDED).map(entry)],
      ["summed-up", "The rest, summed up", null, Object.entries(SUMMED_UP).map(entry)],
    ],
  };
}

function tour(): DocsPage {
  const stops = TOUR_PAGES.map(([title, path, { says }]) => [
    link(path, title),
    ". ",
    Object.values(says)[0],
  ]);
  return {
    lead: "The specification in nine pages, one a part: what it says, a request to try it with, what it leaves open and who reads it how, and the tests that hold it.",
    sections: [["parts", "The parts", list(stops)]],
  };
}

function tourPage(title: string, part: Part, { services: { urls: links } }: WebDeps): DocsPage {
  const { says, picture, answer, tryThis } = part;
  const { at, ...more } = part.request;
  const asked = curl(at.replace(" ", ` ${links.authUrl}`), more).replace("curl", "curl -i");
  const sentences = Object.entries(says).map(
    ([ids, said]) => [ids.split(" ").map(inlineCode), said] as const,
  );
  const open = Object.entries<Decision>(DECISIONS).filter(([id]) => id[0] === title[0]);
  return {
    lead: "What the specification says in this part stands first, with the tests that hold it; what this server chose stands below.",
    sections: [
      ["says", "What it says", [definitionList(sentences), paragraph(TESTS)]],
      ...(picture ? [["picture", picture.title, renderSequence(picture)] as const] : []),
      ["request", "A request", code(asked)],
      ["answer", "The answer", [SHORTENED, code(answer.replaceAll("$URL", links.authUrl))]],
      ["open", "What it leaves open", null, open.map(decided(decide))],
      ["try", "Try this", paragraph(tryThis)],
    ],
  };
}

const TESTS = "Each id is that of a test: `npm run clause ID` runs it.";
const SHORTENED =
  "The lines that matter of what this server answers without --reading; … differs from run to run.";

/** An entry of the register: the current choice, its reason, and the alternative reading. */
const decided =
  (decide: Decide) =>
  ([id, { open, choice, field, why }]: [string, Decision]): Entry => {
    const { named, is, or, other } = choice;
    const shown = (value: unknown) =>
      inlineCode(typeof value === "string" ? value : JSON.stringify(value));
    const inForce = shown(named === undefined ? is : decide(unsafeCast<Switched>(id)));
    const asked = named && [", with ", inlineCode(`--reading ${id}=${named}`)];
    const elsewhere = muted([
      `Elsewhere: ${field}. The other reading, ${other}: `,
      shown(or),
      asked,
    ]);
    return [
      `decision-${id}`,
      html`<p>${inForce}</p><p>${why}</p>${elsewhere}`,
      id,
      [inlineCode(id), open],
    ];
  };
