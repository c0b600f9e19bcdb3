// Settings, API Keys (spec part 5 names the place): generate one, shown this once, and revoke one.
import { apiKeyDraft, createApiKey, listApiKeys, removeApiKey } from "../../domain/credentials.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import type { ApiKeyRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checked, type Form, formFault, formOf, input, refusedForm } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, head, list, nothingYet, pager, row, shownOnce, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

const PATH = `${DASHBOARD}/settings/api-keys`;

async function keysPage(view: View, form: Form, made: Shown, status = 200): Promise<Reply> {
  const keys = await newest(view, (span) => listApiKeys(view.unit.store, view.caller, span), LIMIT_MAX);
  if (keys instanceof Refusal) return refusedPage(view, keys, "Settings");
  return framed(view, {
    title: "API Keys",
    section: "Settings",
    setting: "API Keys",
    status,
    body: html`${head("API Keys")}
<p class="lead">A key opens the whole account. Keep it out of code that others can read, in an environment variable, and replace it now and then.</p>
${made}
<form class="card inline" method="post" action="${PATH}">${view.csrf}${formFault(form)}
${input(form, { name: "name", label: "Name of the new key", hint: "Where it will be used, such as: Build server", required: true })}
<button>Generate new key</button></form>
${keys.total === 0 ? nothingYet("No keys", "Without one, only OAuth access tokens open the API. Generate a key above.") : list(keys.items.map((key) => keyRow(view, key)))}
${pager(keys, PATH)}`,
  });
}

const keyRow = (view: View, key: ApiKeyRecord): Html =>
  row(
    html`${key.name} <code class="soft">…${key.last_four}</code>`,
    html`Generated ${time(key.created_at)} · ${key.last_used_at === null ? "never used" : html`last used ${time(key.last_used_at)}`}`,
    html`${key.last_used_at === null && badge("unused")}${danger(
      "Revoke",
      `${PATH}/${key.id}/revoke`,
      view.csrf,
      html`Whatever uses the key <strong>${key.name}</strong> is refused at once. This cannot be undone.`,
      "Revoke for good",
    )}`,
  );

async function generate(view: View): Promise<Reply> {
  const draft = checked(apiKeyDraft, { name: view.fields.get("name") ?? "" });
  const made = draft instanceof Refusal ? draft : await createApiKey(view.unit, view.caller, draft);
  if (made instanceof Refusal) {
    const { status } = view.explain(made);
    return keysPage(view, refusedForm(view.fields, made, view.explain), null, status);
  }
  const shown = shownOnce(
    `The key ${made.record.name} is ready.`,
    made.key,
    "Copy it now: only its hash is kept, so it is never shown again.",
  );
  return keysPage(view, formOf(), shown, 201);
}

async function revoke(view: View): Promise<Reply> {
  const gone = await removeApiKey(view.unit, view.caller, view.param("key_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Settings") : redirect(`${PATH}?done=revoked`);
}

export const apiKeyRows: readonly DashboardRow[] = [
  { method: "GET", path: PATH, operation: "listApiKeys", run: (view) => keysPage(view, formOf(), null) },
  { method: "POST", path: PATH, operation: "createApiKey", run: generate },
  { method: "POST", path: `${PATH}/{key_id}/revoke`, operation: "deleteApiKey", run: revoke },
];
