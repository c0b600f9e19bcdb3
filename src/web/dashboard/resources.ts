// The dashboard's resources: where their pages are, which operations these call, and how a record is shown. Fields of
// forms and details come from the operations.
import { appService } from "../../domain/apps.ts";
import { keepNumbersOfRows } from "../../domain/columns.ts";
import { LIMIT_MAX, type Page, paginate } from "../../domain/crud.ts";
import { listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError, invalidField } from "../../domain/errors.ts";
import { listDeliveriesOfEvent } from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import { deliveryHeaders } from "../../domain/webhooks.ts";
import { parseIso } from "../../lib/clock.ts";
import { parseJsonKeeping } from "../../lib/numbers.ts";
import type { Choices, FormValues } from "../form.ts";
import {
  alertBox,
  badge,
  firstOfMany,
  html,
  inlineCode,
  json,
  link,
  muted,
  type Renderable,
  table,
  time,
} from "../html.ts";
import { renderSequence, traceDiagram } from "../sequence-diagram.ts";
import type { PageContext } from "./context.ts";
import { type Resource, renderList, renderRecords } from "./crud-pages.ts";

/** The number of related records that a page shows. */
const SHOWN = { offset: 0, limit: LIMIT_MAX };

const apps: Resource<model.AppRecord> = {
  path: "/dashboard/apps",
  id: "app_id",
  plural: "apps",
  intro: "An app shows your data at its own address.",
  list: "listApps",
  get: "getApp",
  create: { operation: "createApp", label: "Create app" },
  update: { operation: "updateApp" },
  delete: {
    operation: "deleteApp",
    warning:
      "This deletes the app and its deployments, but not its data sources. It cannot be undone.",
  },
  actions: [
    {
      operation: "deployApp",
      label: "Deploy",
      path: "/dashboard/apps/{app_id}/deploy",
      nextPath: "/dashboard/apps/{app_id}/deployments/{id}",
      notice: "deployed",
    },
  ],
  hints: {
    theme: "light or dark. With any other name the page follows the reader’s system.",
    public: "Anyone with the address can see it. Otherwise only users of this account can.",
    environment: "A new deployment replaces the live one of the same environment.",
    custom_domain: "A host name that points to this server.",
  },
  title: ({ title }) => title,
  summary: ({ public: isPublic, updated_at }) =>
    html`${isPublic ? "Public" : "Private"} · Updated ${time(updated_at)}`,
  content: async (app, page) => html`<h2>Deployments</h2>${await renderList(deployments, page)}
<h2>Data sources</h2>${await renderDataSourcesOf(app, page)}`,
};

async function renderDataSourcesOf({ id }: model.AppRecord, page: PageContext) {
  if (!page.can("listDataSources")) return muted("This takes the permission read:data.");
  const { items, total } = await listDataSourcesOfApp(page.store, id, SHOWN);
  return html`${await renderRecords(dataSources, page, items)}${firstOfMany(items.length, total, "data sources")}
${page.can("createDataSource") && html`<p>${link(`/dashboard/data-sources/new?app_id=${id}`, "Add data", "button")}</p>`}`;
}

const deployments: Resource<model.DeploymentRecord> = {
  path: "/dashboard/apps/{app_id}/deployments",
  id: "deployment_id",
  plural: "deployments",
  parent: { path: "/dashboard/apps/{app_id}", label: "App" },
  intro: "A deployment has its own address.",
  list: "listDeployments",
  get: "getDeployment",
  references: { app_id: renderAppLink },
  title: ({ name }) => name,
  summary: ({ environment, custom_domain, deployed_at, ...deployment }, page) =>
    html`${badge(deployment.status)} ${environment} · Custom domain: ${custom_domain ?? "none"} · Deployed ${time(deployed_at)} ${renderOpenLink(deployment, page)}`,
  content: renderOpenLink,
};

function renderOpenLink(
  { id, status }: Pick<model.DeploymentRecord, "id" | "status">,
  { urls }: PageContext,
): Renderable {
  return status === "live" && link(urls.site(id), "Open");
}

/** Links an app by its title if the user may see it. */
async function renderAppLink(id: string, page: PageContext): Promise<Renderable> {
  const app = page.can("getApp") ? await page.store.get(model.apps, id) : undefined;
  return app && link(`/dashboard/apps/${id}`, app.title);
}

const dataSources: Resource<model.DataSourceRecord> = {
  path: "/dashboard/data-sources",
  id: "data_source_id",
  plural: "data sources",
  intro:
    "A data source is a table uploaded as CSV or JSON. Assign it to an app to show it as a chart.",
  list: "listDataSources",
  get: "getDataSource",
  create: { operation: "createDataSource", label: "Upload" },
  delete: {
    operation: "deleteDataSource",
    warning: "This deletes the rows, and its app no longer shows them. It cannot be undone.",
  },
  hints: { data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB." },
  choices: dataSourceChoices,
  toBody: toDataSourceBody,
  references: { app_id: renderAppLink },
  title: ({ name }) => name,
  summary: ({ status, type, row_count, created_at }) =>
    html`${badge(status)} ${type.toUpperCase()} · Rows: ${row_count ?? "none"} · Created ${time(created_at)}`,
  content: renderPreview,
};

async function dataSourceChoices(
  { store, account }: PageContext,
  { app_id }: FormValues,
): Promise<Choices> {
  const { items } = await paginate(store, model.apps, "account", [account.id], SHOWN);
  // The selected app stays an option even if it is not among the first ones listed.
  const selected = await appService.get(store, account, String(app_id));
  const isListed = selected instanceof AppError || items.some(({ id }) => id === app_id);
  const listed = isListed ? items : [selected, ...items];
  return {
    app_id: [["", "none"], ...listed.map(({ id, title }) => [id, title] as const)],
    type: [
      ["csv", "CSV"],
      ["json", "JSON"],
    ],
  };
}

/** Builds the body of POST /data-sources, which takes JSON as a value and CSV as text. */
function toDataSourceBody(values: FormValues): FormValues | AppError {
  const { type, data } = values;
  if (type !== "json" || typeof data !== "string") return values;
  try {
    return { ...values, data: parseJsonKeeping(data, keepNumbersOfRows) };
  } catch (error) {
    return invalidField("#/data", `is not JSON (${error})`);
  }
}

async function renderPreview(
  { status, error, columns }: model.DataSourceRecord,
  page: PageContext,
): Promise<Renderable> {
  if (status === "processing")
    return alertBox("status", "Processing. Reload this page for the result.");
  if (error !== null)
    return alertBox(
      "status",
      `The data could not be processed. ${error} Correct it and upload it again.`,
    );
  const rows = await page.callApi<Page<model.Row>>("listDataSourceRows");
  if (rows instanceof AppError || columns === null) return null;
  return html`<h2>Rows</h2><div class="card">${table("Rows", columns, rows.items, rows.total, true)}</div>`;
}

const users: Resource<model.UserRecord> = {
  path: "/dashboard/users",
  id: "user_id",
  plural: "users",
  intro: "Users sign in to this dashboard and allow applications to act for them.",
  list: "listUsers",
  get: "getUser",
  create: { operation: "createUser", label: "Add user" },
  update: { operation: "updateUser" },
  delete: {
    operation: "deleteUser",
    warning: "This signs the user out and revokes every application’s access. It cannot be undone.",
  },
  title: ({ name, email }) => name || email,
  summary: ({ email, permissions, created_at }) =>
    html`${email} · Permissions: ${permissions.join(", ") || "none"} · Created ${time(created_at)}`,
};

const apiKeys: Resource<model.ApiKeyRecord> = {
  path: "/dashboard/settings/api-keys",
  id: "key_id",
  plural: "API keys",
  intro: "A key opens the whole account. Keep it out of code that others can read.",
  list: "listApiKeys",
  get: "getApiKey",
  create: { operation: "createApiKey", label: "Generate new key" },
  delete: {
    operation: "deleteApiKey",
    warning:
      "Requests with this key fail at once, and sessions that it opened end. It cannot be undone.",
  },
  title: ({ name }) => name,
  summary: ({ last_four, created_at, last_used_at }) =>
    html`…${last_four} · Created ${time(created_at)} · Last used: ${last_used_at ? time(last_used_at) : "never"}`,
};

const oauthApps: Resource<model.OAuthClientRecord> = {
  path: "/dashboard/settings/oauth-apps",
  id: "client_id",
  plural: "OAuth apps",
  intro: "OAuth apps act for users of this account, as far as each user allows.",
  list: "listOAuthClients",
  get: "getOAuthClient",
  create: { operation: "createOAuthClient", label: "Register OAuth app" },
  delete: {
    operation: "deleteOAuthClient",
    warning: "Its tokens stop working at once. It cannot be undone.",
  },
  hints: {
    redirect_uris:
      "One per line: https, or http to this machine. A public app may use com.example.app:/callback.",
    public:
      "For apps that cannot keep a secret, such as in a browser or on a phone. They use PKCE.",
  },
  title: ({ name }) => name,
  summary: ({ public: isPublic, scopes, created_at }) =>
    html`${isPublic ? "Public" : "Confidential"} · Scopes: ${scopes.join(", ")} · Created ${time(created_at)}`,
};

export const events: Resource<model.EventRecord> = {
  path: "/dashboard/events",
  id: "event_id",
  plural: "events",
  intro: "Changes to apps, deployments and data, and clicks on charts, are recorded as events.",
  list: "listEvents",
  get: "getEvent",
  filter: { name: "type", values: model.EVENT_TYPES },
  title: eventTitle,
  async summary(event, page) {
    const { items } = await listDeliveriesOfEvent(page.store, event, SHOWN);
    const statuses = new Set(items.map(({ status }) => status));
    return [[...statuses].map((status) => [badge(status), " "]), time(event.created)];
  },
  content: renderEvent,
};

/** Returns the event's type and the title or name of its object. */
async function eventTitle({ type, body }: model.EventRecord, page: PageContext): Promise<string> {
  const { title, name, app_id = "", id } = JSON.parse(body).data.object;
  const app = await page.store.get(model.apps, app_id);
  return `${type} · ${title ?? name ?? app?.title ?? id ?? app_id}`;
}

/** The diagram shows this many deliveries; the rest are only listed. */
const DRAWN = 5;

async function renderEvent(event: model.EventRecord, page: PageContext): Promise<Renderable> {
  const { items, total } = await listDeliveriesOfEvent(page.store, event, SHOWN);
  // The deliveries of one event differ in their URL.
  const urls = new Map<string, string>();
  for (const { webhook_id: id } of items)
    urls.set(id, (await page.store.get(model.webhooks, id))?.url ?? id);
  const trace = [{ event, deliveries: items.slice(0, DRAWN) }];
  const diagram = traceDiagram(event.request_id ?? "the seed", trace, urls);
  const title = ({ webhook_id }: model.DeliveryRecord) => urls.get(webhook_id) ?? webhook_id;
  return html`${json(JSON.parse(event.body))}
<h2>Trace</h2>${renderSequence(diagram)}
<h2>Deliveries</h2>${await renderRecords({ ...deliveries, title }, page, items)}
${firstOfMany(items.length, total, "deliveries")}`;
}

const webhooks: Resource<model.WebhookRecord> = {
  path: "/dashboard/settings/webhooks",
  id: "webhook_id",
  plural: "webhooks",
  intro:
    "Each active webhook receives a signed POST when an event happens. [How to receive it](/docs/events#receiver).",
  list: "listWebhooks",
  get: "getWebhook",
  create: { operation: "createWebhook", label: "Register webhook" },
  update: { operation: "updateWebhook" },
  delete: {
    operation: "deleteWebhook",
    warning: "This cancels pending deliveries and deletes the delivery log. It cannot be undone.",
  },
  actions: [
    {
      operation: "testWebhook",
      label: "Send test",
      path: "/dashboard/settings/webhooks/{webhook_id}/test",
      nextPath: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{id}",
      notice: "queued",
    },
  ],
  hints: {
    secret: "Used to sign deliveries. Leave it empty to generate one, or to keep the current one.",
    type: "A sample event is sent once, even if the webhook is disabled.",
  },
  title: ({ url }) => url,
  summary: renderWebhookState,
  content: async (webhook, page) =>
    html`<p>${renderWebhookState(webhook)}</p><h2>Delivery log</h2>${await renderList(deliveries, page)}`,
};

function renderWebhookState({ active, disabled_reason, events }: model.WebhookRecord): Renderable {
  const state = disabled_reason ? `disabled, ${disabled_reason}` : "disabled";
  return html`${badge(active ? "active" : state)} Events: ${events.join(", ")}`;
}

const deliveries: Resource<model.DeliveryRecord> = {
  path: "/dashboard/settings/webhooks/{webhook_id}/deliveries",
  id: "delivery_id",
  plural: "deliveries",
  parent: { path: "/dashboard/settings/webhooks/{webhook_id}", label: "Webhook" },
  intro: "Send a test event to see a delivery now.",
  list: "listDeliveries",
  get: "getDelivery",
  filter: { name: "status", values: ["pending", "succeeded", "failed", "cancelled"] },
  actions: [
    {
      operation: "redeliverDelivery",
      label: "Send again",
      path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
      nextPath: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
      notice: "queued",
      isImmediate: true,
    },
  ],
  references: {
    async webhook_id(id, { store }) {
      const webhook = await store.get(model.webhooks, id);
      return webhook && link(`/dashboard/settings/webhooks/${id}`, webhook.url);
    },
  },
  async title({ event_id, event_type, test }, page) {
    const event = await page.store.get(model.events, event_id);
    return `${event ? await eventTitle(event, page) : event_type}${test ? " · test" : ""}`;
  },
  summary: (delivery) => html`${time(delivery.created_at)} · ${renderProgress(delivery)}`,
  content: renderAttempts,
};

/** Shows the responses so far and the time of the next attempt. */
function renderProgress({ attempts, status, next_attempt_at }: model.DeliveryRecord): Renderable {
  const results = attempts.map(({ response_status, error }) => response_status ?? error).join(", ");
  const count = `${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"}`;
  const next = status === "pending" && next_attempt_at;
  return html`${count} ${results}${next && html` · Next attempt: ${time(next)}`} ${badge(status)}`;
}

/** Shows each attempt's request and response side by side, newest first. */
async function renderAttempts(
  delivery: model.DeliveryRecord,
  { store }: PageContext,
): Promise<Renderable> {
  const webhook = await store.get(model.webhooks, delivery.webhook_id);
  const event = await store.get(model.events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  const source = delivery.test
    ? "a sample event"
    : link(`/dashboard/events/${event.id}`, "this event");
  const hasChanged = delivery.attempts.some(({ at }) => at < webhook.updated_at);
  return html`<p>${renderProgress(delivery)}</p><p>For ${source}, to ${inlineCode(webhook.url)}</p>
${hasChanged && muted("The webhook was changed after an attempt. The requests show its current URL and secret.")}
${delivery.attempts.toReversed().map((attempt) => renderAttempt(attempt, delivery, webhook, event))}`;
}

function renderAttempt(
  {
    number,
    at,
    trigger,
    duration_ms,
    response_status,
    response_body,
    error,
    error_detail,
  }: model.Attempt,
  delivery: model.DeliveryRecord,
  webhook: model.WebhookRecord,
  event: model.EventRecord,
): Renderable {
  const timestamp_s = delivery.timestamps_s[number - 1] ?? 0;
  const sent = { number, at: parseIso(at), timestamp_s };
  const headers = Object.entries(deliveryHeaders(webhook, event, delivery.id, sent)).map(
    ([name, value]) => `${name}: ${value}\n`,
  );
  return html`<h2>Attempt ${number}${trigger === "manual" && ", manual"}</h2>${muted([time(at), ` · ${duration_ms} ms`])}
<div class="pair"><div><h3>Request</h3><pre>POST ${webhook.url}
${headers}
${event.body}</pre></div>
<div><h3>Response</h3><pre>${[response_status ?? error, response_body].filter(Boolean).join("\n\n")}</pre>
${error_detail && html`<p>${error_detail}</p>`}</div></div>`;
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
