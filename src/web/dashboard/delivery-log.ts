// The delivery log of a webhook, where the specification puts it (part 6, delivery log: Settings, Webhooks), and one
// delivery: every attempt, request and response side by side, what comes next, and the button that sends it again. Where
// the script runs, the log follows by itself.
import { deliveryHeaders, USER_AGENT } from "../../domain/delivery-request.ts";
import { type Attempt, type DeliveryRecord, type EventRecord, events, type WebhookRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { instant } from "../../kit/clock.ts";
import { blankForm, controls } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD } from "../page.ts";
import { facts, head, nothingYet, pager, time } from "../parts.ts";
import { doneTo, framed, refusedPage } from "./frame.ts";
import { countOf, nameOf, statusBadge } from "./naming.ts";
import { type Action, filterOf } from "./resource.ts";
import { type DashboardRow, newest, type View } from "./view.ts";

export const WEBHOOKS = `${DASHBOARD}/settings/webhooks`;

export const TEST: Action = {
  path: "/test",
  operation: "testWebhook",
  fields: { type: { label: "Send a sample event", hint: "Sent once, also while the webhook is off." } },
  done: "queued",
};
export const REDELIVER: Action = {
  path: "/deliveries/{delivery_id}/redeliver",
  operation: "redeliver",
  done: "queued",
};

/** `path` is the webhook's. */
export async function deliveryLog(view: View, path: string): Promise<Html> {
  const { tabs, chosen, query, address } = filterOf(view, "status", "listDeliveries", path);
  const log = await newest<DeliveryRecord>(view, "listDeliveries", query);
  if (log instanceof Refusal) return html`<p>${view.explain(log).detail}</p>`;
  const schema = view.operations.body(TEST.operation);
  return html`<form class="card inline" method="post" action="${path}${TEST.path}">${view.visit.csrfField}${controls(blankForm(schema), schema, TEST.fields ?? {})}<button class="quiet">Send test</button></form>
<div class="head"><h2 id="log">Delivery log</h2><span class="soft" data-live></span></div>${tabs}
<div data-follow="log">${
    log.total === 0
      ? nothingYet(
          `No ${chosen ?? ""} deliveries${chosen ? "" : " yet"}`,
          "They appear here when one of its events happens. Send a test above to see one now.",
        )
      : html`<ul class="log card">${await Promise.all(log.items.map((each) => logRow(view, path, each)))}</ul>${pager(log, address)}`
  }</div>`;
}

async function logRow(view: View, path: string, delivery: DeliveryRecord): Promise<Html> {
  const { id, attempts, status, created_at } = delivery;
  const last = attempts.at(-1);
  return html`<li id="${id}"><details><summary id="log-${id}"><span class="title">${await titleOf(view, delivery)}</span>
<span class="soft">${time(created_at)} · ${countOf(attempts)}</span><span class="right">${last && html`<code>${last.response_status ?? last.error}</code>`} ${statusBadge(status)}</span></summary>
${comesNext(delivery)}
${attempts.length > 0 && html`<div class="scroll"><table><thead><tr><th>Attempt</th><th>At</th><th>Took</th><th>Response</th></tr></thead><tbody>${attempts.map(attemptRow)}</tbody></table></div>`}
<p><a href="${path}/deliveries/${id}">What was sent and answered</a></p></details>${sendAgain(view, path, id)}${doneTo(view, id)}</li>`;
}
const sendAgain = ({ visit }: View, path: string, id: string): Html =>
  html`<form method="post" action="${path}/deliveries/${id}/redeliver">${visit.csrfField}<button class="quiet small" id="again-${id}">Send again</button></form>`;

/** The event and what it is about. */
async function titleOf(view: View, { event_id, event_type, test }: DeliveryRecord): Promise<Shown> {
  const event = await view.unit.store.get(events, event_id);
  return html`${event ? await nameOf(view, event) : event_type}${test && html` <span class="soft">test</span>`}`;
}

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

const attemptRow = (attempt: Attempt): Html =>
  html`<tr><td>${attempt.number}${byHand(attempt)}</td><td>${time(attempt.at)}</td><td>${attempt.duration_ms} ms</td><td>${answerOf(attempt)}</td></tr>`;

const byHand = ({ trigger }: Attempt): Shown => trigger === "manual" && html` <span class="soft">by hand</span>`;

const answerOf = ({ response_status, response_body, error }: Attempt): Html =>
  html`${response_status !== null && html`<code>${response_status}</code> `}${error !== null && IN_WORDS[error]}${response_body && html`<pre class="response">${response_body}</pre>`}`;

async function deliveryPage(view: View): Promise<Reply> {
  const hook = await view.ask<WebhookRecord>("getWebhook");
  const delivery = await view.ask<DeliveryRecord>("getDelivery");
  if (hook instanceof Refusal) return refusedPage(view, hook, "Webhooks");
  if (delivery instanceof Refusal) return refusedPage(view, delivery, "Webhooks");
  const event = await view.unit.store.get(events, delivery.event_id);
  const path = `${WEBHOOKS}/${hook.id}`;
  const title = await titleOf(view, delivery);
  const changed = delivery.attempts.some(({ at }) => at < hook.updated_at);
  return framed(view, {
    title: `Delivery of ${delivery.event_type}`,
    place: "Webhooks",
    body: html`<p class="crumb"><a href="${path}">${hook.url}</a></p>
${head(title, html`${statusBadge(delivery.status)}${sendAgain(view, path, delivery.id)}`)}
${facts([
  [
    "Event",
    delivery.test
      ? "a sample"
      : html`<a href="${DASHBOARD}/events/${delivery.event_id}"><code>${delivery.event_id}</code></a>`,
  ],
  ["Delivery", html`<code>${delivery.id}</code>`],
  ["Queued", time(delivery.created_at)],
])}
${comesNext(delivery)}${changed && html`<p class="soft">The webhook was changed since: the requests are shown as it would make them now.</p>`}
${event && delivery.attempts.toReversed().map((attempt) => exchange(hook, event, delivery.id, attempt))}`,
  });
}

/** What was sent, and beside it what was answered. */
function exchange(webhook: WebhookRecord, event: EventRecord, deliveryId: string, attempt: Attempt): Html {
  const { number, at, duration_ms } = attempt;
  const headers = deliveryHeaders({ webhook, event, deliveryId, number, at: instant(at) }, USER_AGENT);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return html`<h2>Attempt ${number}${byHand(attempt)}</h2><p class="soft">${time(at)} · ${duration_ms} ms</p>
<div class="pair"><div><h3>Request</h3><pre>${[`POST ${webhook.url}`, ...lines, "", event.body].join("\n")}</pre></div>
<div><h3>Response</h3>${answerOf(attempt)}</div></div>`;
}

export const deliveryRows: readonly DashboardRow[] = [
  {
    method: "GET",
    path: `${WEBHOOKS}/{webhook_id}/deliveries/{delivery_id}`,
    operation: "getDelivery",
    run: deliveryPage,
  },
];
