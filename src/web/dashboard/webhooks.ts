// Settings, Webhooks (spec part 6 names the place): the list, and making, changing and removing one. What became of its
// deliveries is shown by delivery-log.ts.
import { EVENT_TYPES, type WebhookRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { changeWebhook, createWebhook, getWebhook, listWebhooks, removeWebhook } from "../../domain/webhooks.ts";
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
  refusedForm,
  ticked,
  ticks,
} from "../form.ts";
import { type Html, html } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, head, list, nothingYet, pager, row, shownOnce, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

export const WEBHOOKS_PATH = `${DASHBOARD}/settings/webhooks`;
export const webhookPath = (id: string): string => `${WEBHOOKS_PATH}/${id}`;
const PLACE = { section: "Settings", setting: "Webhooks" } as const;

async function webhooksPage(view: View): Promise<Reply> {
  const hooks = await newest(view, (span) => listWebhooks(view.unit.store, view.caller, span));
  if (hooks instanceof Refusal) return refusedPage(view, hooks, "Settings");
  const add = html`<a class="button" href="${WEBHOOKS_PATH}/new">New webhook</a>`;
  return framed(view, {
    title: "Webhooks",
    ...PLACE,
    body: html`${head("Webhooks", hooks.total > 0 && add)}
<p class="lead">This server sends a signed POST to each active webhook when something happens. <a href="/docs#receiver">How to receive it</a>.</p>
${hooks.total === 0 ? nothingYet("No webhooks yet", "Register the address that is to be told of events, instead of asking for them again and again.", add) : list(hooks.items.map(webhookRow))}
${pager(hooks, WEBHOOKS_PATH)}`,
  });
}

const webhookRow = (hook: WebhookRecord): Html =>
  row(
    html`<a class="mono" href="${webhookPath(hook.id)}">${hook.url}</a>`,
    html`${hook.events.join(", ")} · since ${time(hook.created_at)}`,
    webhookState(hook),
  );

export function webhookState({ active, disabled_reason, failing_since }: WebhookRecord): Html {
  if (disabled_reason === "gone") return badge("off: the endpoint said it is gone", "bad");
  if (disabled_reason === "failing") return badge("off: it kept failing", "bad");
  if (!active) return badge("off");
  return failing_since === null ? badge("active", "good") : badge("active, failing", "warn");
}

const hookFields = (form: Form, isNew: boolean): Html => html`${formFault(form)}
${input(form, { name: "url", label: "URL", hint: "Where the events are sent, such as: https://hooks.example.com/apps", required: true })}
${checkboxes(
  form,
  "events",
  "Events",
  EVENT_TYPES.map((type) => [type, type]),
)}
${input(form, { name: "secret", label: "Secret", hint: isNew ? "Signs each delivery. Leave it empty to have one made." : "Leave it empty to keep the present one." })}
${checkbox(form, "active", "Active: deliveries are sent")}`;

const formPage = (view: View, title: string, action: string, back: string, form: Form, isNew: boolean, status = 200) =>
  framed(view, {
    title,
    ...PLACE,
    status,
    body: html`${head(title)}<form class="card form" method="post" action="${action}">${view.csrf}${hookFields(form, isNew)}
<div class="row"><button>${isNew ? "Register" : "Save"}</button><a class="button quiet" href="${back}">Cancel</a></div></form>`,
  });

const newPage = (view: View, form: Form, status?: number): Reply =>
  formPage(view, "New webhook", WEBHOOKS_PATH, WEBHOOKS_PATH, form, true, status);

/** A secret that was left empty is not sent at all. */
function values({ fields }: View): object {
  const secret = fields.get("secret");
  return {
    url: fields.get("url") ?? "",
    events: ticked(fields, "events", EVENT_TYPES),
    active: fields.has("active"),
    ...(secret !== undefined && { secret }),
  };
}

async function create(view: View): Promise<Reply> {
  const draft = checked(view.services.webhookDraft, values(view));
  const hook = draft instanceof Refusal ? draft : await createWebhook(view.unit, view.caller, draft);
  if (hook instanceof Refusal)
    return newPage(view, refusedForm(view.fields, hook, view.explain), view.explain(hook).status);
  const advice = "The receiver checks each delivery with it. Copy it now: it is never shown again.";
  return framed(view, {
    title: "The webhook is registered",
    ...PLACE,
    status: 201,
    body: html`${head("The webhook is registered")}<p class="mono">${hook.url}</p>
${shownOnce("Its secret", hook.secret, advice)}
<p><a class="button" href="${webhookPath(hook.id)}">To the webhook and its deliveries</a></p>`,
  });
}

/** The webhook of the path, handed to `show`; or why there is none. */
export async function withWebhook(view: View, show: (hook: WebhookRecord) => Reply | Promise<Reply>): Promise<Reply> {
  const hook = await getWebhook(view.unit.store, view.caller, view.param("webhook_id"));
  return hook instanceof Refusal ? refusedPage(view, hook, "Settings") : show(hook);
}

const editPage = (view: View, { id }: WebhookRecord, form: Form, status?: number): Reply =>
  formPage(view, "Edit webhook", `${webhookPath(id)}/edit`, webhookPath(id), form, false, status);

const edit = (view: View): Promise<Reply> =>
  withWebhook(view, (hook) =>
    editPage(
      view,
      hook,
      formOf({ url: hook.url, ...ticks("events", hook.events), ...(hook.active && { active: "on" }) }),
    ),
  );

const save = (view: View): Promise<Reply> =>
  withWebhook(view, async (hook) => {
    const changes = checked(view.services.webhookChanges, values(view));
    const saved =
      changes instanceof Refusal ? changes : await changeWebhook(view.unit, view.caller, hook.id, changes, whatever);
    if (saved instanceof Refusal)
      return editPage(view, hook, refusedForm(view.fields, saved, view.explain), view.explain(saved).status);
    return redirect(`${webhookPath(hook.id)}?done=saved`);
  });

async function remove(view: View): Promise<Reply> {
  const gone = await removeWebhook(view.unit, view.caller, view.param("webhook_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Settings") : redirect(`${WEBHOOKS_PATH}?done=deleted`);
}

const FIRST: Form = formOf({ active: "on" });

export const webhookRows: readonly DashboardRow[] = [
  { method: "GET", path: WEBHOOKS_PATH, operation: "listWebhooks", run: webhooksPage },
  {
    method: "GET",
    path: `${WEBHOOKS_PATH}/new`,
    operation: "createWebhook",
    run: async (view) => newPage(view, FIRST),
  },
  { method: "POST", path: WEBHOOKS_PATH, operation: "createWebhook", run: create },
  { method: "GET", path: `${WEBHOOKS_PATH}/{webhook_id}/edit`, operation: "updateWebhook", run: edit },
  { method: "POST", path: `${WEBHOOKS_PATH}/{webhook_id}/edit`, operation: "updateWebhook", run: save },
  { method: "POST", path: `${WEBHOOKS_PATH}/{webhook_id}/delete`, operation: "deleteWebhook", run: remove },
];
