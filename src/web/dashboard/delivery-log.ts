// One webhook and its delivery log, where the specification puts it (part 6, delivery log: Settings, Webhooks): every
// attempt with its answer, what comes next, and the button that sends it again. Where the script runs, the log follows by itself; `live` tells it when to look.

import {
  type Attempt,
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeliveryStatus,
  EVENT_TYPES,
  TOPIC,
  type WebhookRecord,
} from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import { listDeliveries, redeliver, sendTest, testRequest } from "../../domain/webhooks.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checked, formOf, select } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, facts, head, nothingYet, pager, type Tone, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, type Newest, newest, type View } from "./view.ts";
import { WEBHOOKS_PATH, webhookPath, webhookState, withWebhook } from "./webhooks.ts";

const PATH = `${WEBHOOKS_PATH}/{webhook_id}`;

async function webhookPage(view: View, hook: WebhookRecord): Promise<Reply> {
  const status = DELIVERY_STATUSES.find((each) => each === view.query("status"));
  const { store } = view.unit;
  const log = await newest(view, (span) => listDeliveries(store, view.caller, hook.id, status, span));
  if (log instanceof Refusal) return refusedPage(view, log, "Settings");
  const path = webhookPath(hook.id);
  return framed(view, {
    title: `Webhook ${hook.url}`,
    section: "Settings",
    setting: "Webhooks",
    body: html`<p class="crumb"><a href="${WEBHOOKS_PATH}">Webhooks</a></p>
${head(html`<span class="mono">${hook.url}</span>`, html`<a class="button quiet" href="${path}/edit">Edit</a>`)}
${facts([
  ["State", webhookState(hook)],
  ["Events", hook.events.join(", ")],
  ["Id", html`<code>${hook.id}</code>`],
  ["Created", time(hook.created_at)],
])}
${testForm(view, path)}
<div class="head"><h2 id="log">Delivery log</h2><span class="soft" data-live="${path}/live"></span></div>
${statusFilter(path, status)}
<div data-follow="log">${logOf(view, path, log, status)}</div>
<h2>Delete</h2>
${danger("Delete this webhook", `${path}/delete`, view.csrf, "Nothing is sent to it any more; what waits is cancelled, and its delivery log is gone. This cannot be undone.", "Delete for good")}`,
  });
}

const testForm = (view: View, path: string): Html =>
  html`<form class="card inline" method="post" action="${path}/test">${view.csrf}
${select(formOf(), { name: "type", label: "Send a sample event", hint: "Sent once, also while the webhook is off.", required: true, options: EVENT_TYPES.map((type) => [type, type]) })}
<button class="quiet">Send test</button></form>`;

const statusFilter = (path: string, chosen: DeliveryStatus | undefined): Html =>
  html`<nav class="tabs small" aria-label="Deliveries by status">${[undefined, ...DELIVERY_STATUSES].map(
    (status) =>
      html`<a href="${path}${status && html`?status=${status}`}#log"${status === chosen && html` aria-current="page"`}>${status ?? "all"}</a>`,
  )}</nav>`;

function logOf(view: View, path: string, log: Newest<DeliveryRecord>, status: DeliveryStatus | undefined): Html {
  if (log.total === 0)
    return nothingYet(
      status === undefined ? "No deliveries yet" : `No ${status} deliveries`,
      status === undefined
        ? "They appear here when one of its events happens. Send a test above to see one now."
        : "Look at all of them with the link above.",
    );
  return html`<ul class="log card">${log.items.map((each) => deliveryRow(view, path, each))}</ul>${pager(log, status === undefined ? path : `${path}?status=${status}`)}`;
}

export const TONES: { readonly [S in DeliveryStatus]: Tone } = {
  pending: "warn",
  succeeded: "good",
  failed: "bad",
  cancelled: "plain",
};

function deliveryRow(view: View, path: string, delivery: DeliveryRecord): Html {
  const { id, event_id, event_type, attempts, status, test, created_at } = delivery;
  const again = html`<form method="post" action="${path}/deliveries/${id}/redeliver">${view.csrf}<button class="quiet small" id="again-${id}">Send again</button></form>`;
  return html`<li id="${id}"><details><summary id="log-${id}"><span class="title">${event_type}${test && html` <span class="soft">test</span>`}</span>
<span class="soft">${time(created_at)} · ${countOf(attempts)}</span><span class="right">${attempts.length > 0 && lastAnswer(attempts)} ${badge(status, TONES[status])}</span></summary>
${comesNext(delivery)}
${attempts.length > 0 && html`<div class="scroll"><table><thead><tr><th>Attempt</th><th>At</th><th>Took</th><th>Response</th></tr></thead><tbody>${attempts.map(attemptRow)}</tbody></table></div>`}
<div class="row"><span class="soft">${test ? html`Sample event <code>${event_id}</code>` : html`Event <a href="${DASHBOARD}/events/${event_id}"><code>${event_id}</code></a>`} · Delivery <code>${id}</code></span></div></details>${again}</li>`;
}

const countOf = (attempts: readonly Attempt[]): string =>
  attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;

const lastAnswer = (attempts: readonly Attempt[]): Shown => {
  const last = attempts.at(-1);
  return last && html`<code>${last.response_status ?? last.error}</code>`;
};

function comesNext({ manual, next_attempt_at, status }: DeliveryRecord): Shown {
  if (manual) return html`<p>It is about to be sent.</p>`;
  return status === "pending" && next_attempt_at !== null && html`<p>Next attempt: ${time(next_attempt_at)}</p>`;
}

/** What kept an attempt from an answer, in words. */
const IN_WORDS: { readonly [E in NonNullable<Attempt["error"]>]: string } = {
  dns: "The host name could not be resolved.",
  refused: "The connection was refused.",
  reset: "The connection was closed without an answer.",
  tls: "The TLS handshake failed; is the certificate right?",
  timeout: "No answer came in time.",
  blocked_address: "The address is one that this server does not send to.",
  aborted: "The attempt was broken off.",
  dropped: "It was dropped on purpose, by a test.",
  status: "",
};

const attemptRow = ({ number, trigger, at, duration_ms, response_status, response_body, error }: Attempt): Html =>
  html`<tr><td>${number}${trigger === "manual" && html` <span class="soft">by hand</span>`}</td><td>${time(at)}</td><td>${duration_ms} ms</td>
<td>${response_status !== null && html`<code>${response_status}</code> `}${error !== null && IN_WORDS[error]}${response_body && html`<pre class="response">${response_body}</pre>`}</td></tr>`;

async function test(view: View): Promise<Reply> {
  const request = checked(testRequest, { type: view.fields.get("type") ?? "" });
  const id = view.param("webhook_id");
  const queued = request instanceof Refusal ? request : await sendTest(view.unit, view.caller, id, request.type);
  return queued instanceof Refusal
    ? refusedPage(view, queued, "Settings")
    : redirect(`${webhookPath(id)}?done=queued#log`);
}

async function again(view: View): Promise<Reply> {
  const id = view.param("webhook_id");
  const queued = await redeliver(view.unit, view.caller, id, view.param("delivery_id"));
  return queued instanceof Refusal
    ? refusedPage(view, queued, "Settings")
    : redirect(`${webhookPath(id)}?done=queued#log`);
}

/** Server-sent events without content: each only says that the log has changed, and the page is read again. */
const live = (view: View): Promise<Reply> =>
  withWebhook(view, ({ id }) => ({
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-store", "x-content-type-options": "nosniff" },
    body: "",
    live: (send) => {
      send(": here\n\n");
      return view.unit.store.hear(TOPIC.queue, (changed) => {
        if (changed.split(".")[0] === id) send("event: changed\ndata:\n\n");
      });
    },
  }));

export const deliveryLogRows: readonly DashboardRow[] = [
  {
    method: "GET",
    path: PATH,
    operation: "listDeliveries",
    run: (view) => withWebhook(view, (hook) => webhookPage(view, hook)),
  },
  { method: "GET", path: `${PATH}/live`, operation: "listDeliveries", run: live },
  { method: "POST", path: `${PATH}/test`, operation: "testWebhook", run: test },
  { method: "POST", path: `${PATH}/deliveries/{delivery_id}/redeliver`, operation: "redeliver", run: again },
];
