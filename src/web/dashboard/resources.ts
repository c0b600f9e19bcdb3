// The dashboard's resources: their pages and the operations that these call. Fields of forms and details come from the
// operations.
import { keepNumbersOfRows } from "../../domain/columns.ts";
import { LIMIT_MAX, type Page } from "../../domain/crud.ts";
import { listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError, invalidField } from "../../domain/errors.ts";
import { listDeliveriesOfEvent } from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import { deliveryHeaders } from "../../domain/webhooks.ts";
import { parseIso } from "../../lib/clock.ts";
import { parseJsonKeeping } from "../../lib/numbers.ts";
import type { FormValues } from "../form.ts";
import * as ui from "../html.ts";
import { html, type Renderable } from "../html.ts";
import type { PageContext } from "./context.ts";
import { type Resource, renderList, renderRecords } from "./crud-pages.ts";

/** The number of related records that a page shows. */
const SHOWN = { offset: 0, limit: LIMIT_MAX };

const apps: Resource<model.AppRecord> = {
  title: "Apps",
  intro: "An app shows your data at its own address.",
  list: "listApps",
  get: "getApp",
  path: "/dashboard/apps/{app_id}",
  listPath: "/dashboard/apps",
  create: {
    operation: "createApp",
    label: "Create app",
    path: "/dashboard/apps/new",
    nextPath: "/dashboard/apps/{id}",
  },
  actions: [
    {
      operation: "deployApp",
      label: "Deploy",
      path: "/dashboard/apps/{app_id}/deploy",
      nextPath: "/dashboard/apps/{app_id}/deployments/{id}",
    },
    {
      operation: "updateApp",
      label: "Edit",
      fields: "createApp",
      path: "/dashboard/apps/{app_id}/edit",
      nextPath: "/dashboard/apps/{app_id}",
    },
    {
      operation: "deleteApp",
      label: "Delete",
      warning: "This deletes its deployments too, but not its data sources. It cannot be undone.",
      path: "/dashboard/apps/{app_id}/delete",
      nextPath: "/dashboard/apps",
    },
  ],
  hints: {
    theme: "light or dark. With any other name the page follows the reader’s system.",
    public: "Anyone with the address can see it. Otherwise only users of this account can.",
    environment: "A new deployment replaces the live one of the same environment.",
    custom_domain: "A host name that points to this server.",
  },
  summary: ["public", "updated_at"],
  content: async (app, page) => [
    html`<h2>Deployments</h2>`,
    await renderList(deployments, page),
    html`<h2>Data sources</h2>`,
    await renderDataSources(app, page),
  ],
};

async function renderDataSources({ id }: model.AppRecord, page: PageContext) {
  if (!page.can("listDataSources")) return "This takes the permission read:data.";
  const { items, total } = await listDataSourcesOfApp(page.store, id, SHOWN);
  const addUrl = `/dashboard/data-sources/new?app_id=${id}`;
  return [
    renderRecords(dataSources, items),
    ui.firstOfMany(items.length, total, "data sources"),
    page.can("createDataSource") && ui.link(addUrl, "Add data", "button"),
  ];
}

const deployments: Resource<model.DeploymentRecord> = {
  title: "Deployments",
  intro: "A deployment has its own address.",
  list: "listDeployments",
  get: "getDeployment",
  path: "/dashboard/apps/{app_id}/deployments/{deployment_id}",
  listPath: "/dashboard/apps/{app_id}",
  summary: ["environment", "status", "deployed_at"],
  content: async ({ id, status }, { urls }) =>
    status === "live" && ui.link(urls.site(id), "Open", "button"),
};

const dataSources: Resource<model.DataSourceRecord> = {
  title: "Data sources",
  intro:
    "A data source is a table uploaded as CSV or JSON. Assign it to an app to show it as a chart.",
  list: "listDataSources",
  get: "getDataSource",
  path: "/dashboard/data-sources/{data_source_id}",
  listPath: "/dashboard/data-sources",
  create: {
    operation: "createDataSource",
    label: "Upload",
    path: "/dashboard/data-sources/new",
    nextPath: "/dashboard/data-sources/{id}",
  },
  actions: [
    {
      operation: "deleteDataSource",
      label: "Delete",
      warning: "This deletes the rows, and the app no longer shows them. It cannot be undone.",
      path: "/dashboard/data-sources/{data_source_id}/delete",
      nextPath: "/dashboard/data-sources",
    },
  ],
  hints: {
    app_id: "The app that shows the data. “Add data” on the page of an app fills this in.",
    data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB.",
  },
  choices: { type: ["csv", "json"] },
  toBody: toDataSourceBody,
  summary: ["type", "row_count", "status", "created_at"],
  content: renderRows,
};

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

async function renderRows(
  { columns }: model.DataSourceRecord,
  page: PageContext,
): Promise<Renderable> {
  const rows = await page.callApi<Page<model.Row>>("listDataSourceRows");
  if (rows instanceof AppError || columns === null) return null;
  return ui.table("Rows", columns, rows.items, rows.total, true);
}

const users: Resource<model.UserRecord> = {
  title: "Users",
  intro: "Users sign in to this dashboard and allow applications to act for them.",
  list: "listUsers",
  get: "getUser",
  path: "/dashboard/users/{user_id}",
  listPath: "/dashboard/users",
  create: {
    operation: "createUser",
    label: "Add user",
    path: "/dashboard/users/new",
    nextPath: "/dashboard/users/{id}",
  },
  actions: [
    {
      operation: "updateUser",
      label: "Edit",
      fields: "createUser",
      path: "/dashboard/users/{user_id}/edit",
      nextPath: "/dashboard/users/{user_id}",
    },
    {
      operation: "deleteUser",
      label: "Delete",
      warning: "This also ends the user’s sessions and the tokens of their applications.",
      path: "/dashboard/users/{user_id}/delete",
      nextPath: "/dashboard/users",
    },
  ],
  summary: ["email", "permissions", "created_at"],
};

const apiKeys: Resource<model.ApiKeyRecord> = {
  title: "API keys",
  intro: "A key opens the whole account. Keep it out of code that others can read.",
  list: "listApiKeys",
  get: "getApiKey",
  path: "/dashboard/settings/api-keys/{key_id}",
  listPath: "/dashboard/settings/api-keys",
  create: {
    operation: "createApiKey",
    label: "Generate new key",
    path: "/dashboard/settings/api-keys/new",
    nextPath: "/dashboard/settings/api-keys/{id}",
  },
  actions: [
    {
      operation: "deleteApiKey",
      label: "Delete",
      warning: "Requests with this key fail at once, and sessions that it opened end.",
      path: "/dashboard/settings/api-keys/{key_id}/delete",
      nextPath: "/dashboard/settings/api-keys",
    },
  ],
  summary: ["last_four", "created_at", "last_used_at"],
};

const oauthApps: Resource<model.OAuthClientRecord> = {
  title: "OAuth apps",
  intro: "OAuth apps act for users of this account, as far as each user allows.",
  list: "listOAuthClients",
  get: "getOAuthClient",
  path: "/dashboard/settings/oauth-apps/{client_id}",
  listPath: "/dashboard/settings/oauth-apps",
  create: {
    operation: "createOAuthClient",
    label: "Register OAuth app",
    path: "/dashboard/settings/oauth-apps/new",
    nextPath: "/dashboard/settings/oauth-apps/{id}",
  },
  actions: [
    {
      operation: "deleteOAuthClient",
      label: "Delete",
      warning: "All its tokens stop working at once. It cannot be undone.",
      path: "/dashboard/settings/oauth-apps/{client_id}/delete",
      nextPath: "/dashboard/settings/oauth-apps",
    },
  ],
  hints: {
    redirect_uris:
      "One per line: https, or http to this machine. A public app may use com.example.app:/callback.",
    public:
      "For apps that cannot keep a secret, such as in a browser or on a phone. They use PKCE.",
  },
  summary: ["public", "scopes", "created_at"],
};

export const events: Resource<model.EventRecord> = {
  title: "Events",
  intro: "Changes to apps, deployments and data, and clicks on charts, are recorded as events.",
  list: "listEvents",
  get: "getEvent",
  path: "/dashboard/events/{event_id}",
  listPath: "/dashboard/events",
  filter: ["type", model.EVENT_TYPES],
  name: eventName,
  summary: ["created"],
  content: renderEvent,
};

/** Returns the event's type and the title or name of its object. */
function eventName({ type, body }: model.EventRecord): string {
  const { title, name, app_id, id = app_id } = JSON.parse(body).data.object;
  return `${type} · ${title ?? name ?? id}`;
}

async function renderEvent(event: model.EventRecord, { store }: PageContext): Promise<Renderable> {
  const { items, total } = await listDeliveriesOfEvent(store, event, SHOWN);
  return [
    html`<p>Request: ${ui.inlineCode(event.request_id ?? "none")}</p>`,
    ui.json(JSON.parse(event.body)),
    html`<h2>Deliveries</h2>`,
    renderRecords({ ...deliveries, summary: ["webhook_id", ...DELIVERY_SUMMARY] }, items),
    ui.firstOfMany(items.length, total, "deliveries"),
  ];
}

const webhooks: Resource<model.WebhookRecord> = {
  title: "Webhooks",
  intro:
    "Each active webhook receives a signed POST when an event happens. [How to receive it](/docs/events#receiver).",
  list: "listWebhooks",
  get: "getWebhook",
  path: "/dashboard/settings/webhooks/{webhook_id}",
  listPath: "/dashboard/settings/webhooks",
  create: {
    operation: "createWebhook",
    label: "Register webhook",
    path: "/dashboard/settings/webhooks/new",
    nextPath: "/dashboard/settings/webhooks/{id}",
  },
  actions: [
    {
      operation: "testWebhook",
      label: "Send test",
      path: "/dashboard/settings/webhooks/{webhook_id}/test",
      nextPath: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{id}",
    },
    {
      operation: "updateWebhook",
      label: "Edit",
      fields: "createWebhook",
      path: "/dashboard/settings/webhooks/{webhook_id}/edit",
      nextPath: "/dashboard/settings/webhooks/{webhook_id}",
    },
    {
      operation: "deleteWebhook",
      label: "Delete",
      warning: "This cancels pending deliveries and deletes the delivery log. It cannot be undone.",
      path: "/dashboard/settings/webhooks/{webhook_id}/delete",
      nextPath: "/dashboard/settings/webhooks",
    },
  ],
  hints: {
    secret: "Used to sign deliveries. Leave it empty to generate one, or to keep the current one.",
    type: "A sample event is sent once, even if the webhook is disabled.",
  },
  summary: ["active", "disabled_reason", "events"],
  content: async (_, page) => [html`<h2>Delivery log</h2>`, await renderList(deliveries, page)],
};

const DELIVERY_SUMMARY = ["status", "next_attempt_at", "created_at"];

const deliveries: Resource<model.DeliveryRecord> = {
  title: "Deliveries",
  intro: "Send a test to see a delivery now.",
  list: "listDeliveries",
  get: "getDelivery",
  path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
  listPath: "/dashboard/settings/webhooks/{webhook_id}",
  filter: ["status", ["pending", "succeeded", "failed", "cancelled"]],
  actions: [
    {
      operation: "redeliverDelivery",
      label: "Send again",
      path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
      nextPath: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
    },
  ],
  name: ({ event_type, test }) => (test ? `${event_type} · test` : event_type),
  summary: DELIVERY_SUMMARY,
  content: renderAttempts,
};

/** Shows each attempt's request and response, newest first. */
async function renderAttempts(
  delivery: model.DeliveryRecord,
  { store }: PageContext,
): Promise<Renderable> {
  const webhook = await store.get(model.webhooks, delivery.webhook_id);
  const event = await store.get(model.events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  const attempts = delivery.attempts.map((attempt, index) => {
    const { number, at, trigger, response_status, response_body, error, error_detail } = attempt;
    const timestamp_s = delivery.timestamps_s[index] ?? 0;
    const sent = { number, at: parseIso(at), timestamp_s };
    const headers = Object.entries(deliveryHeaders(webhook, event, delivery.id, sent));
    const request = [...headers.map((header) => header.join(": ")), "", event.body];
    const response = [response_status ?? error, error_detail, response_body].filter(Boolean);
    return html`<h2>Attempt ${number} (${trigger})</h2>${ui.time(at)} · ${attempt.duration_ms} ms
<h3>Response</h3><pre>${response.join("\n\n")}</pre>
<h3>Request</h3><pre>${request.join("\n")}</pre>`;
  });
  const hasChanged = delivery.attempts.some(({ at }) => at < webhook.updated_at);
  return [hasChanged && "Requests are signed here with the current secret.", attempts.toReversed()];
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
