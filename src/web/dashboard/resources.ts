// The dashboard's resources. Their actions, forms and details come from the REST API's operations.
import { keepNumbersOfRows, parseExactJson } from "../../domain/columns.ts";
import { LIMIT_MAX, type ListPage } from "../../domain/crud.ts";
import { listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError, invalidField } from "../../domain/errors.ts";
import {
  deliveryHeaders,
  isDeliverable,
  isSuccess,
  listDeliveriesOfEvent,
} from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import type { Collection, Entity } from "../../domain/store.ts";
import { STATUS_CODES } from "../../http/server.ts";
import type { FormValues } from "../form.ts";
import * as ui from "../html.ts";
import { type Html, html, type Renderable } from "../html.ts";
import { getOperation, type PageContext } from "./context.ts";
import { getActions, type Resource, renderList, renderRecords } from "./crud-pages.ts";

/** The related records that a page shows. */
const FIRST_RELATED = { offset: 0, limit: LIMIT_MAX };

/** Returns the newest record with this value in the index. */
async function findNewest<R extends Entity, I extends string>(
  { store }: PageContext,
  collection: Collection<R, I>,
  index: I,
  id: string,
): Promise<R | undefined> {
  const total = await store.count(collection, index, [id]);
  const offset = Math.max(total - 1, 0);
  return (await store.page(collection, index, [id], { offset, limit: 1 }))[0];
}

export const apps: Resource<model.AppRecord> = {
  title: "Apps",
  empty: "No apps yet. Create one, add data to it and deploy it to its own address.",
  path: "/dashboard/apps/{app_id}",
  apiPath: "/apps/{app_id}",
  actions: { new: "Create app", deploy: "Deploy", edit: "Edit", delete: "Delete" },
  deleteWarning: "This deletes its deployments too, but not its data sources. It cannot be undone.",
  nextPaths: { deploy: "/dashboard/apps/{app_id}/deployments/{id}" },
  hints: {
    theme: "light or dark. With any other name the page follows the reader’s system.",
    public: "Anyone with the address can see it. Otherwise only users of this account can.",
    environment: "A new deployment replaces the live one of the same environment.",
    custom_domain: "A host name that points to this server.",
  },
  columns: ["visibility", "live_deployment", "updated_at"],
  async getCells({ id, public: isPublic }, page) {
    // Each deployment replaces the live one of its environment, so the newest is live.
    const live = await findNewest(page, model.deployments, "app", id);
    return {
      visibility: isPublic ? "Public" : "Private",
      live_deployment: live ? ui.link(page.urls.site(live.id), live.name) : "",
    };
  },
  renderContent: async ({ id }, page) => [
    html`<h2>Deployments</h2>`,
    await renderList(deployments, page),
    page.can(getOperation("GET /data-sources"))
      ? await renderRelated(
          dataSources,
          await listDataSourcesOfApp(page.store, id, FIRST_RELATED),
          page,
          "No data yet. Add a CSV or JSON file to show it as a chart.",
        )
      : "This requires the permission read:data.",
    page.can(getOperation("POST /data-sources")) &&
      ui.link(`/dashboard/data-sources/new?app_id=${id}`, "Add data", "button"),
  ],
};

/** Renders the first records that belong to the record of the page. */
const renderRelated = async (
  resource: Resource,
  { items, total }: Omit<ListPage<Entity>, "range">,
  page: PageContext,
  empty: string,
): Promise<Renderable> => [
  html`<h2>${resource.title}</h2>`,
  total === 0 ? ui.muted(empty) : await renderRecords(resource, items, page),
  ui.firstOfMany(items.length, total, "records"),
];

const deployments: Resource<model.DeploymentRecord> = {
  title: "Deployments",
  empty: "Not deployed yet. Deploy the app to give it an address.",
  next: getActions(apps)[1],
  path: "/dashboard/apps/{app_id}/deployments/{deployment_id}",
  apiPath: "/apps/{app_id}/deployments/{deployment_id}",
  columns: ["environment", "custom_domain", "status", "deployed_at"],
  renderContent: async ({ id, status }, { urls }) =>
    status === "live" && ui.link(urls.site(id), "Open", "button primary"),
};

export const dataSources: Resource<model.DataSourceRecord> = {
  title: "Data sources",
  empty: "No data yet. Upload a table as CSV or JSON for an app, which shows it as a chart.",
  path: "/dashboard/data-sources/{data_source_id}",
  apiPath: "/data-sources/{data_source_id}",
  actions: { new: "Upload data", delete: "Delete" },
  deleteWarning: "This deletes the rows, and the app no longer shows them. It cannot be undone.",
  hints: {
    app_id:
      "The app that shows the data; it cannot be changed later. “Add data” on the page of an app fills this in.",
    data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB.",
  },
  toBody: toDataSourceBody,
  columns: ["app", "row_count", "status", "created_at"],
  async getCells({ app_id }, { store }) {
    const app = app_id && (await store.get(model.apps, app_id));
    return { app: app ? ui.link(`/dashboard/apps/${app.id}`, app.title) : "" };
  },
  async renderContent({ columns, status, error }, page) {
    if (status === "failed") return ui.alertBox("status", ["The data could not be read: ", error]);
    const operation = getOperation("GET /data-sources/{data_source_id}/rows");
    const rows = await page.callApi<ListPage<model.Row>>(operation);
    if (rows instanceof AppError || columns === null) return null;
    return ui.table("Rows", columns, rows.items, rows.total);
  },
};

/** Builds the body of POST /data-sources, which takes JSON as a value and CSV as text. */
function toDataSourceBody(values: FormValues): FormValues | AppError {
  const { type, data } = values;
  if (type !== "json" || typeof data !== "string") return values;
  try {
    return { ...values, data: parseExactJson(data, keepNumbersOfRows) };
  } catch (error) {
    return invalidField("#/data", `is not JSON (${error})`);
  }
}

const users: Resource<model.UserRecord> = {
  title: "Users",
  empty: "No users yet.",
  intro: "Users sign in to this dashboard and allow applications to act for them.",
  path: "/dashboard/users/{user_id}",
  apiPath: "/users/{user_id}",
  actions: { new: "Add user", edit: "Edit", delete: "Delete" },
  deleteWarning: "This also ends the user’s sessions and the tokens of their applications.",
  columns: ["email", "permissions", "created_at"],
};

const apiKeys: Resource<model.ApiKeyRecord> = {
  title: "API keys",
  empty: "No API keys yet. Generate one to call the API.",
  intro: "A key opens the whole account. Keep it out of code that others can read.",
  path: "/dashboard/settings/api-keys/{key_id}",
  apiPath: "/api-keys/{key_id}",
  actions: { new: "Generate new key", delete: "Delete" },
  deleteWarning: "Requests with this key fail at once, and sessions that it opened end.",
  columns: ["last_four", "created_at", "last_used_at"],
};

const oauthApps: Resource<model.OAuthClientRecord> = {
  title: "OAuth apps",
  empty: "No OAuth apps yet. Register one to let it act for users of this account.",
  intro:
    "OAuth apps act for users of this account, [as far as each user allows](/docs#oauth). To revoke what users allowed, delete the app.",
  path: "/dashboard/settings/oauth-apps/{client_id}",
  apiPath: "/oauth-clients/{client_id}",
  actions: { new: "Register OAuth app", delete: "Delete" },
  deleteWarning: "All its tokens stop working at once. It cannot be undone.",
  hints: {
    redirect_uris:
      "One per line: https, or http to this machine. A public app may use com.example.app:/callback.",
    public:
      "For apps that cannot keep a secret, such as in a browser or on a phone. They use PKCE.",
  },
  columns: ["public", "scopes", "created_at"],
};

export const events: Resource<model.EventRecord> = {
  title: "Events",
  empty: "No events yet. Create an app to see one.",
  next: getActions(apps)[0],
  path: "/dashboard/events/{event_id}",
  apiPath: "/events/{event_id}",
  filter: "type",
  columns: ["object", "deliveries", "created"],
  async getCells(event, { store }) {
    const { items, total } = await listDeliveriesOfEvent(store, event, FIRST_RELATED);
    const states = new Set(items.map(toState));
    return {
      object: getObjectName(event),
      deliveries: html`${total || "None"} ${[...states].map((state) => [ui.badge(state), " "])}`,
    };
  },
  renderContent: async (event, page) => [
    await renderRelated(
      deliveries,
      await listDeliveriesOfEvent(page.store, event, FIRST_RELATED),
      page,
      "None. No active webhook subscribed to this type when it happened.",
    ),
    html`<h2>What webhooks receive</h2>`,
    ui.code(indentJson(event.body)),
    html`<p>Request: ${ui.inlineCode(event.request_id ?? "None")}</p>`,
  ],
};

/** Returns the title, the name or else the app of the event's object. */
function getObjectName({ body }: model.EventRecord): string {
  const { title, name, app_id } = JSON.parse(body).data.object;
  return title ?? name ?? app_id;
}

export const webhooks: Resource<model.WebhookRecord> = {
  title: "Webhooks",
  empty: "No webhooks yet. Register one to receive events as they happen.",
  intro:
    "Each active webhook receives a signed POST when an event happens. [How to receive it](/docs/events#receiving-deliveries).",
  path: "/dashboard/settings/webhooks/{webhook_id}",
  apiPath: "/webhooks/{webhook_id}",
  actions: { new: "Register webhook", test: "Send test event", edit: "Edit", delete: "Delete" },
  deleteWarning: "This cancels pending deliveries and ends the delivery log. It cannot be undone.",
  nextPaths: { test: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{id}" },
  hints: {
    secret: "Used to sign deliveries. Leave it empty to generate one, or to keep the current one.",
    type: "A sample event is sent once, even if the webhook is disabled.",
  },
  columns: ["events", "status", "last_delivery"],
  async getCells({ id, active, disabled_reason }, page) {
    const last = await findNewest(page, model.deliveries, "webhook", id);
    return {
      status: active ? "active" : (disabled_reason ?? "disabled"),
      last_delivery: last ? html`${ui.badge(toState(last))} ${ui.time(last.created_at)}` : "",
    };
  },
  renderContent: async (_, page) => [
    html`<h2>Delivery log</h2>`,
    await renderList(deliveries, page),
  ],
};

/** The delivery log (spec part 6): status, response codes and attempts. */
const deliveries: Resource<model.DeliveryRecord> = {
  title: "Deliveries",
  empty: "No deliveries yet. Send a test event to see one.",
  next: getActions(webhooks)[1],
  path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
  apiPath: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
  actions: { redeliver: "Redeliver" },
  filter: "status",
  columns: ["status", "attempts", "next_attempt_at", "created_at"],
  async getCells(delivery, { store, params }) {
    const { event_id, event_type, webhook_id, attempts } = delivery;
    const last = attempts.at(-1);
    const cells = {
      status: html`${ui.badge(toState(delivery))} ${last?.response_status ?? last?.error}`,
      attempts: attempts.length,
    };
    // The page of an event names its webhooks, and that of a webhook its events.
    if (params.event_id) {
      const webhook = await store.get(model.webhooks, webhook_id);
      return { ...cells, name: webhook?.url ?? "Deleted webhook" };
    }
    const event = await store.get(model.events, event_id);
    const name = html`${event_type} <small>${event && getObjectName(event)}</small>`;
    return { ...cells, name };
  },
  renderContent: renderDelivery,
};

/** A delivery whose first attempt failed is retried, which people must not take for waiting. */
const toState = ({ status, attempts }: model.DeliveryRecord): string =>
  status === "pending" && attempts.length > 0 ? "retrying" : status;

/** Says whether it arrived, what was sent, what came back and what happens next; earlier attempts are collapsed. */
async function renderDelivery(
  delivery: model.DeliveryRecord,
  { store }: PageContext,
): Promise<Renderable> {
  const { attempts } = delivery;
  const webhook = await store.get(model.webhooks, delivery.webhook_id);
  const event = await store.get(model.events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  // The event of a test has no page.
  const eventLink = !event.is_sample && ui.link(`/dashboard/events/${event.id}`, "Open the event");
  const [last, ...earlier] = attempts
    .map((attempt, index) => {
      const timestamp_s = delivery.timestamps_s[index] ?? 0;
      const headers = deliveryHeaders(webhook, event, delivery.id, { ...attempt, timestamp_s });
      return renderAttempt(attempt, webhook.url, headers, event.body);
    })
    .reverse();
  return [
    html`<div class="card">${ui.badge(toState(delivery))} <strong>${describeOutcome(delivery)}</strong> ${attempts.at(-1)?.error_detail} ${eventLink}</div>`,
    last,
    attempts.some(({ at }) => at < webhook.updated_at) &&
      ui.muted("The webhook has changed since; its current URL and secret are shown."),
    html`<h2>What happens next</h2><p>${describeNext(delivery, webhook)}</p>`,
    earlier.length > 0 && ui.details("Earlier attempts", earlier),
  ];
}

const describeResponse = ({ response_status: status, error }: model.Attempt): string =>
  status === null ? `No response (${error})` : `${status} ${STATUS_CODES[status] ?? ""}`.trim();

function describeOutcome({ status, attempts }: model.DeliveryRecord): string {
  const attempt = attempts.find(isSuccess) ?? attempts.at(-1);
  if (attempt === undefined) return "Not sent yet.";
  const outcome = status === "pending" ? "Not delivered yet" : "Not delivered";
  return `${isSuccess(attempt) ? `Delivered on attempt ${attempt.number}` : outcome}: ${describeResponse(attempt)}.`;
}

function describeNext(delivery: model.DeliveryRecord, webhook: model.WebhookRecord): Renderable {
  if (delivery.status === "succeeded") return "Nothing, because it has arrived.";
  if (!isDeliverable(delivery, webhook))
    return "Nothing, because the webhook is disabled. Edit the webhook to enable it, then redeliver.";
  if (delivery.due_at !== null) return ["The next attempt is due ", ui.time(delivery.due_at), "."];
  if (delivery.status === "cancelled")
    return "Nothing, because it was cancelled when the webhook was disabled. Redeliver to send it now.";
  return `Nothing: ${delivery.test ? "a test is sent once" : "there are no attempts left"}. Correct the receiver, then redeliver.`;
}

/** Shows request and response side by side. */
function renderAttempt(
  attempt: model.Attempt,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Html {
  const { number, trigger, at, response_body, duration_ms } = attempt;
  const id = `curl-${number}`;
  const lines = Object.entries(headers).map((header) => header.join(": "));
  return html`<h2>Attempt ${number}${trigger === "manual" && " (manual)"}: ${describeResponse(attempt)}, ${ui.time(at)}</h2>
<div class="grid"><section class="card"><header><h3>Request</h3><button type="button" data-copy="${id}" hidden>Copy as curl</button></header>
<p>POST ${url}</p>
${ui.details("Headers", [html`<pre>${lines.join("\n")}</pre>`, ui.muted(ui.inlineMarkdown(SIGNATURE))])}
${ui.details("curl", html`<pre id="${id}">${ui.toCurl(url, lines, body)}</pre>`)}
<pre>${indentJson(body)}</pre>${ui.muted("Formatted for reading; the curl command has the exact body.")}</section>
<section class="card"><h3>Response</h3><p>${describeResponse(attempt)} in ${duration_ms} ms</p>
${response_body && html`<pre>${indentJson(response_body)}</pre>`}</section></div>`;
}

const SIGNATURE =
  "`X-Service-Signature` is `sha256=` and the HMAC-SHA256 of the exact body, in hexadecimal; the key is the secret of the webhook. [How to check it](/docs/events#receiving-deliveries).";

function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // not JSON: shown as it is
  }
}

export const resources: readonly Resource[] = [
  apps,
  deployments,
  dataSources,
  users,
  events,
  apiKeys,
  webhooks,
  deliveries,
  oauthApps,
];
