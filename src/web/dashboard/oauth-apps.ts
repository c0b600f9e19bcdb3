// Settings, OAuth apps: the applications that may ask this account's users for access (spec part 5).

import { createOAuthClient, listOAuthClients, oauthClientDraft, removeOAuthClient } from "../../domain/credentials.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import { type OAuthClientRecord, SCOPES } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import {
  checkbox,
  checkboxes,
  checked,
  type Form,
  formFault,
  formOf,
  input,
  lines,
  refusedForm,
  textarea,
  ticked,
} from "../form.ts";
import { type Html, html } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, facts, head, list, nothingYet, pager, row, shownOnce, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { scopeOptions } from "./users.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

const PATH = `${DASHBOARD}/settings/oauth-apps`;
const PLACE = { section: "Settings", setting: "OAuth apps" } as const;

async function clientsPage(view: View): Promise<Reply> {
  const clients = await newest(view, (span) => listOAuthClients(view.unit.store, view.caller, span), LIMIT_MAX);
  if (clients instanceof Refusal) return refusedPage(view, clients, "Settings");
  const add = html`<a class="button" href="${PATH}/new">New OAuth app</a>`;
  return framed(view, {
    title: "OAuth apps",
    ...PLACE,
    body: html`${head("OAuth apps", clients.total > 0 && add)}
<p class="lead">Applications that act for users of this account, as far as each user allows it.</p>
${clients.total === 0 ? nothingYet("No OAuth apps yet", "Register an application here before it sends users to ask for access.", add) : list(clients.items.map((client) => clientRow(view, client)))}
${pager(clients, PATH)}`,
  });
}

const clientRow = (view: View, client: OAuthClientRecord): Html =>
  row(
    client.name,
    html`<span class="mono">${client.id}</span><br>${client.scopes.join(", ")}<br>back to ${client.redirect_uris.join(", ")}<br>since ${time(client.created_at)}`,
    html`${badge(client.public ? "public client" : "with a secret")}${danger(
      "Remove",
      `${PATH}/${client.id}/delete`,
      view.csrf,
      html`<strong>${client.name}</strong> can ask nobody any more, and every token that it holds stops working at once.`,
      "Remove for good",
    )}`,
  );

const newPage = (view: View, form: Form, status = 200): Reply =>
  framed(view, {
    title: "New OAuth app",
    ...PLACE,
    status,
    body: html`${head("New OAuth app")}<form class="card form" method="post" action="${PATH}">${view.csrf}${formFault(form)}
${input(form, { name: "name", label: "Name", hint: "Users see it when they are asked.", required: true })}
${textarea(form, { name: "redirect_uris", label: "Redirect URIs", rows: 3, hint: "One a line: where users come back to. https, or http to this machine.", required: true })}
${checkboxes(form, "scopes", "What it may ask for", scopeOptions)}
${checkbox(form, "public", "Public: it runs where a secret cannot be kept (a browser, a phone) and proves itself with PKCE instead.")}
<div class="row"><button>Register</button><a class="button quiet" href="${PATH}">Cancel</a></div></form>`,
  });

async function create(view: View): Promise<Reply> {
  const { fields } = view;
  const draft = checked(oauthClientDraft, {
    name: fields.get("name") ?? "",
    redirect_uris: lines(fields.get("redirect_uris"))
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean),
    scopes: ticked(fields, "scopes", SCOPES),
    public: fields.has("public"),
  });
  const made = draft instanceof Refusal ? draft : await createOAuthClient(view.unit, view.caller, draft);
  if (made instanceof Refusal) return newPage(view, refusedForm(fields, made, view.explain), view.explain(made).status);
  const { record, secret } = made;
  return framed(view, {
    title: "The OAuth app is registered",
    ...PLACE,
    status: 201,
    body: html`${head(`${record.name} is registered`)}
${facts([
  ["client_id", html`<code>${record.id}</code>`],
  ["Authorize at", html`<code>${view.services.links.authUrl}/oauth/authorize</code>`],
  ["Token at", html`<code>${view.services.links.authUrl}/oauth/token</code>`],
])}
${secret === null ? html`<p>A public client has no secret: it must send a PKCE challenge.</p>` : shownOnce("Its client_secret", secret, "Copy it now: only its hash is kept, so it is never shown again.")}
<p><a class="button" href="${PATH}">To the OAuth apps</a></p>`,
  });
}

async function remove(view: View): Promise<Reply> {
  const gone = await removeOAuthClient(view.unit, view.caller, view.param("client_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Settings") : redirect(`${PATH}?done=deleted`);
}

export const oauthAppRows: readonly DashboardRow[] = [
  { method: "GET", path: PATH, operation: "listOAuthClients", run: clientsPage },
  { method: "GET", path: `${PATH}/new`, operation: "createOAuthClient", run: async (view) => newPage(view, formOf()) },
  { method: "POST", path: PATH, operation: "createOAuthClient", run: create },
  { method: "POST", path: `${PATH}/{client_id}/delete`, operation: "deleteOAuthClient", run: remove },
];
