// /docs: everything that the author of a client asks, from the tables that the server runs on. It needs neither a sign-in nor
// a script. Made once: nothing in it changes while the server runs.
import type { Code } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import type { Operation } from "../../http/route.ts";
import { type Html, html } from "../html.ts";
import { DASHBOARD, page } from "../page.ts";
import { SCOPES_IN_WORDS, tabs } from "../parts.ts";
import type { PageRow } from "../routes.ts";
import { endpointsSection } from "./endpoints.ts";
import { type Advice, errorsSection, type Problems } from "./errors.ts";
import { eventsSection, receiverSection } from "./events.ts";
import { registerSection } from "./register.ts";

export interface DocsParts {
  readonly rows: readonly Operation[];
  readonly problems: Problems;
  readonly advice: Advice;
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  readonly links: {
    readonly baseUrl: string;
    readonly authUrl: string;
    problemType(code: Code): string;
  };
}

export function docsRows(parts: DocsParts): readonly PageRow[] {
  let made: Reply | undefined;
  return [
    {
      method: "GET",
      path: "/docs",
      async answer() {
        made ??= docsPage(parts);
        return made;
      },
    },
  ];
}

const SECTIONS = {
  Start: "#start",
  Authentication: "#authentication",
  Endpoints: "#endpoints",
  Errors: "#errors",
  Events: "#events-and-webhooks",
  Receiving: "#receiver",
  Decisions: "#decisions",
};

const docsPage = ({ rows, problems, advice, retryWaits_ms, links }: DocsParts): Reply =>
  page({
    title: "Docs",
    header: html`<a class="soft" href="${DASHBOARD}">Dashboard</a><nav class="sections" aria-label="Docs">${tabs(Object.entries(SECTIONS))}</nav>`,
    body: html`<h1 id="start">The Application Hosting Service</h1>
<p class="lead">Hosts data apps and tells you what happens to them. Make an app, give it data, deploy it, and be told of events by webhook.</p>
${startSection(links.baseUrl)}
${authenticationSection(links)}
${endpointsSection(rows, links.baseUrl)}
${errorsSection(problems, advice, links)}
${eventsSection()}
${receiverSection(retryWaits_ms)}
${registerSection()}`,
  });

const startSection = (baseUrl: string): Html => html`<pre>${`# Settings, API Keys in the dashboard generates a key
export API_KEY=…

curl "${baseUrl}/apps" \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"title":"My first app"}'`}</pre>
<p>Lists take <code>limit</code> and <code>offset</code> and answer <code>{"data", "total", "limit", "offset"}</code>, with <code>Link</code> to the next and the previous page. A single resource carries an <code>ETag</code> for <code>If-Match</code> and <code>If-None-Match</code>. Any POST may carry an <code>Idempotency-Key</code>: repeated within a day, it is answered as the first time.</p>`;

const authenticationSection = ({
  authUrl,
}: DocsParts["links"]): Html => html`<h2 id="authentication">Authentication</h2>
<p class="lead">Every request carries <code>Authorization: Bearer</code> and an API key, which opens the whole account, or an OAuth 2.0 access token, which opens what its user allowed.</p>
<ol>
<li>Register the application in the dashboard, under Settings, OAuth apps.</li>
<li>Send the user to <code>${authUrl}/oauth/authorize</code> with <code>response_type=code</code>, <code>client_id</code>, <code>redirect_uri</code>, <code>scope</code> and <code>state</code>; PKCE with S256 is supported, and required of public clients.</li>
<li>Exchange the code within a minute: POST <code>${authUrl}/oauth/token</code> with <code>grant_type=authorization_code</code>, <code>code</code>, <code>redirect_uri</code> and the client’s credentials.</li>
<li>Refresh with <code>grant_type=refresh_token</code>. The refresh token changes at each use; the old one must not be used again.</li>
</ol>
<dl class="card entries">${Object.entries(SCOPES_IN_WORDS).map(([scope, words]) => html`<div><dt><code>${scope}</code></dt><dd>${words}</dd></div>`)}</dl>
<p class="soft">Metadata for libraries: <a href="/.well-known/oauth-authorization-server">authorization server</a>, <a href="/.well-known/oauth-protected-resource/v1">protected resource</a>.</p>`;
