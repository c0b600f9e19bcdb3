// /docs: everything that the author of a client asks, on a few pages made from the tables that the server runs on. Each is
// made once: nothing in them changes while the server runs.
import { ADDED, DECISIONS, type Decision, GAPS, SUMMED_UP } from "../../decisions.ts";
import type { Code } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { trusted } from "../../kit/schema.ts";
import { html, type Shown } from "../html.ts";
import { SCOPES_IN_WORDS } from "../parts.ts";
import type { PageRow, WebParts } from "../way.ts";
import { curl, endpoints } from "./endpoints.ts";
import { events } from "./events.ts";
import { code, DOCS, type DocsPage, docsPage, glossary, type Section } from "./frame.ts";

export function docsRows(parts: WebParts): readonly PageRow[] {
  const row = (path: string, make: (parts: WebParts) => DocsPage): PageRow => {
    let made: Reply | undefined;
    const answer = async () => {
      made ??= docsPage(make(parts));
      return made;
    };
    return { method: "GET", path, answer };
  };
  return [
    row(DOCS.Start, start),
    row(DOCS.Endpoints, endpoints),
    row(DOCS.Events, events),
    row(DOCS.Errors, errors),
    row(DOCS.Register, register),
  ];
}

const start = ({ services: { links } }: WebParts): DocsPage => ({
  name: "Start",
  title: "The Application Hosting Service",
  lead: "Hosts data apps and tells you what happens to them. Make an app, give it data, deploy it, and be told of events by webhook.",
  sections: [
    {
      id: "authentication",
      title: "Authentication",
      body: html`<p>Every request carries <code>Authorization: Bearer</code> and an API key, which opens the whole account, or an OAuth 2.0 access token, which opens what its user allowed. Settings, API Keys in the dashboard generates a key.</p>
${code(`export API_KEY=…\n${curl("POST", `${links.baseUrl}/apps`, { body: { title: "My first app" } })}`)}`,
    },
    {
      id: "oauth",
      title: "OAuth 2.0, step by step",
      body: html`<ol>${oauthSteps(links).map(([what, request]) => html`<li><p>${what}</p>${code(request)}</li>`)}</ol>
<p class="soft">Metadata for libraries: <a href="/.well-known/oauth-authorization-server">authorization server</a>, <a href="/.well-known/oauth-protected-resource/v1">protected resource</a>.</p>`,
    },
    {
      id: "scopes",
      title: "Scopes",
      body: glossary(Object.entries(SCOPES_IN_WORDS).map(([scope, words]) => [html`<code>${scope}</code>`, words])),
    },
    {
      id: "everywhere",
      title: "The same everywhere",
      body: html`<p>Lists take <code>limit</code> and <code>offset</code> and answer <code>{"data", "total", "limit", "offset"}</code>, with <code>Link</code> to the next and the previous page. A single resource carries an <code>ETag</code> for <code>If-Match</code> and <code>If-None-Match</code>. Any POST may carry an <code>Idempotency-Key</code>: repeated within a day, it is answered as the first time.</p>`,
    },
  ],
});

/** What to do, and a request that does it in a shell. */
function oauthSteps({ baseUrl, authUrl }: WebParts["services"]["links"]): readonly (readonly [Shown, string])[] {
  const redirect_uri = "http://localhost:4700/callback";
  const client = { name: "My client", redirect_uris: [redirect_uri], scopes: ["read:apps"] };
  const asked = new URLSearchParams({ response_type: "code", redirect_uri, scope: "read:apps", state: "xyz" });
  const token = (grant_type: string, body: object) =>
    curl("POST", `${authUrl}/oauth/token`, { body: { grant_type, ...body }, token: null });
  const own = { client_id: "$CLIENT_ID", client_secret: "$CLIENT_SECRET" };
  return [
    [
      html`Register the client, here or in the dashboard under Settings, OAuth apps. Keep its <code>id</code> and <code>client_secret</code>.`,
      `${curl("POST", `${baseUrl}/oauth-clients`, { body: client })}\nexport CLIENT_ID=… CLIENT_SECRET=…`,
    ],
    [
      html`Send the user there. Signed in and asked, they come back to the <code>redirect_uri</code> with <code>code</code> and <code>state</code>. PKCE with S256 is supported, and required of public clients.`,
      `echo "${authUrl}/oauth/authorize?client_id=$CLIENT_ID&${asked}"\nexport CODE=…`,
    ],
    [
      "Exchange the code within a minute; it works once.",
      `${token("authorization_code", { ...own, code: "$CODE", redirect_uri })}\nexport ACCESS_TOKEN=… REFRESH_TOKEN=…`,
    ],
    [
      "The access token opens for an hour what its user allowed.",
      curl("GET", `${baseUrl}/apps`, { token: "ACCESS_TOKEN" }),
    ],
    [
      "Refresh. The refresh token changes at each use; the old one must not be used again.",
      token("refresh_token", { refresh_token: "$REFRESH_TOKEN" }),
    ],
  ];
}

/** The `type` of a problem leads to its entry here, so each code is an anchor. */
function errors({ problems, services: { links } }: WebParts): DocsPage {
  const [status, title] = problems.validation_failed;
  const example = {
    type: links.problemType("validation_failed"),
    ...{ title, status, detail: "#/title is required.", instance: "req_0Ub4aF…", code: "validation_failed" },
    errors: [{ pointer: "#/title", detail: "is required" }],
  };
  // The keys of a table that has every code and nothing else.
  const codes = trusted<readonly Code[]>(Object.keys(problems));
  const entry = (each: Code) => [html`<code>${each}</code>`, problems[each].slice(1).join(". "), each] as const;
  const sections = [...new Set(codes.map((each) => problems[each][0]))].map((each): Section => {
    const own = codes.filter((one) => problems[one][0] === each);
    const entries = own.map((one) => [one, one] as const);
    return { id: `status-${each}`, title: String(each), body: glossary(own.map(entry)), entries };
  });
  return {
    name: "Errors",
    title: "Errors",
    lead: html`Every error is RFC 9457 problem details, <code>application/problem+json</code>. Programs look at <code>code</code>, people at <code>detail</code>; <code>instance</code> is the request id, which every answer carries in <code>X-Request-Id</code>.`,
    sections: [{ id: "example", title: "An example", body: code(JSON.stringify(example, null, 2)) }, ...sections],
  };
}

/** What the specification leaves open, what this server does, and what others do. */
function register(): DocsPage {
  const groups: readonly (readonly [id: string, title: string, rows: { readonly [id: string]: Decision }])[] = [
    ["gaps", "What the specification does not show", GAPS],
    ["added", "What users expect beyond it", ADDED],
    ["summed-up", "The rest, summed up", SUMMED_UP],
  ];
  const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  const entry = ([id, { open, choice, field, why }]: [string, Decision]) => {
    const elsewhere = html`Elsewhere: ${field}. The other reading, ${choice.other}: <code>${shown(choice.or)}</code>`;
    const says = html`<p><code>${shown(choice.is)}</code></p><p>${why}</p><p class="soft">${elsewhere}</p>`;
    return [html`<code>${id}</code>${open}`, says, `decision-${id}`] as const;
  };
  return {
    name: "Register",
    title: "Decisions",
    lead: `${Object.keys(DECISIONS).length} points that this server had to decide. Each choice is the very value that it runs on, and the tests that bear the id hold it; the first digit is the part of the specification.`,
    sections: groups.map(([id, title, rows]) => ({
      ...{ id, title, body: glossary(Object.entries(rows).map(entry)) },
      entries: Object.keys(rows).map((each) => [`decision-${each}`, each] as const),
    })),
  };
}
