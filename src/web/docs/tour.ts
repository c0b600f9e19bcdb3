// The tour: the specification in nine pages, one a part, each with a request to paste and what it answers, pictures of its
// flows, the tests that hold it, and from the register what it leaves open and who reads it how.
import { DECISIONS, type Decision } from "../../decisions.ts";
import { ADDRESSES } from "../../http/links.ts";
import { html } from "../html.ts";
import { code, json, prose, tabs, terms } from "../parts.ts";
import { drawn, type Sequence } from "../sequence.ts";
import type { WebParts } from "../visit.ts";
import { curl } from "./endpoints.ts";
import { sampleEvent } from "./events.ts";
import { PARTS, type Part } from "./specification.ts";

export const TOUR = `${ADDRESSES.docs}/tour`;
const linkTo = (at: number) => [`${at + 1} ${PARTS[at]?.title}`, `${TOUR}/${at + 1}`] as const;
const LINKS = PARTS.map((_, at) => linkTo(at));

export const tour = () => ({
  lead: "The specification in nine pages, one a part: what it says, a request to try it with, what it leaves open and who reads it how, and the tests that hold it.",
  sections: PARTS.map(({ says }, at) => {
    const [title, path] = linkTo(at);
    return { id: `part-${at + 1}`, title, body: html`<p>${says[0]?.[1]} <a href="${path}">Go on to ${title}</a></p>` };
  }),
});

/** The address of each page, and what makes it. */
export const tourPages = PARTS.map((part, at) => [linkTo(at)[1], (own: WebParts) => partPage(part, at, own)] as const);

function partPage({ says, request, answer, tryThis }: Part, part: number, { services: { links } }: WebParts) {
  const [name] = linkTo(part);
  const { at, ...more } = request;
  const [method = "", path = ""] = at.split(" ");
  const asked = curl(method, links.authUrl + path, more).replace("curl", "curl -i");
  const sentences = says.map(([ids, said]) => [ids.split(" ").map((id) => html`<code>${id}</code>`), said] as const);
  const open = Object.entries<Decision>(DECISIONS).filter(([id]) => id.startsWith(`${part + 1}.`));
  return {
    title: `Part ${name.replace(" ", ": ")}`,
    above: tabs("Tour", LINKS, name),
    lead: "What the specification says in this part stands first, with the tests that hold it; what this server chose stands below.",
    sections: [
      {
        id: "says",
        title: "What it says",
        body: html`${terms(sentences)}<p>Each id is that of a test:</p>${code(`npm run clause ${says[0]?.[0].split(" ")[0]}`)}`,
      },
      ...(PICTURES[part + 1] ?? []).map((each) => ({ id: "picture", title: each.title, body: drawn(each) })),
      { id: "request", title: "A request", body: code(asked) },
      { id: "answer", title: "The answer", body: html`${SHORTENED}${code(answer.replaceAll("$URL", links.authUrl))}` },
      ...(part === 5 ? [{ id: "arrives", title: "What arrives", body: json(sampleEvent("app.deployed")) }] : []),
      { id: "open", title: "What it leaves open", body: terms(open.map(openPoint)) },
      { id: "try", title: "Try this", body: html`<p>${prose(tryThis)}</p>` },
    ],
  };
}

const SHORTENED = html`<p>Of what this server answers, the lines that matter; … differs from run to run.</p>`;

const openPoint = ([id, { open, choice, field, why }]: [string, Decision]) =>
  [
    html`<a href="${ADDRESSES.docs}/register#decision-${id}"><code>${id}</code></a>${open}`,
    html`<p>Here: ${why}.</p><p class="soft">The other reading: ${choice.other}. Elsewhere: ${field}.</p>`,
  ] as const;

/** By the number of the part. */
const PICTURES: { readonly [part: number]: readonly Sequence[] } = {
  5: [
    {
      title: "The authorization code flow",
      actors: ["User", "Client", "Authorization server", "API"],
      messages: [
        [0, 1, "wants to use the client"],
        [1, 0, "302 to /oauth/authorize", "with client_id, redirect_uri, response_type, scope and a fresh state"],
        [0, 2, "GET /oauth/authorize", "who is signed in is asked whether the client may"],
        [0, 2, "allows"],
        [2, 0, "303 to redirect_uri?code=…&state=…"],
        [0, 1, "brings code and state", "the client compares the state first"],
        [1, 2, "POST /oauth/token", "code, redirect_uri, client_secret; a code lasts a minute, once (our choice)"],
        [2, 1, "200 and the tokens", "in the form of RFC 6749 (our choice)"],
        [1, 3, "GET /v1/apps", "Authorization: Bearer and the access token"],
        [3, 1, "200", "or 401 once it has run out: the refresh token fetches another"],
      ],
    },
  ],
  6: [
    {
      title: "From an event to its delivery, and again",
      actors: ["Client", "Service", "Receiver"],
      messages: [
        [0, 1, "POST /v1/apps"],
        [1, 1, "app.created is recorded", "together with the app, so that neither is there alone"],
        [1, 0, "201", "nothing waits for a receiver"],
        [1, 2, "POST, signed: attempt 1", "X-Service-Signature is of the body’s bytes"],
        [2, 1, "500", "or a redirect, or nothing for 30 seconds: all but 2xx has failed"],
        [1, 1, "waits about 5 s", "that a delivery can be repeated is said; when and how often is our choice"],
        [1, 2, "the same bytes: attempt 2", "the receiver knows the event by its id"],
        [2, 1, "204", "checked and put aside, answered, and only then worked on"],
      ],
    },
  ],
};
