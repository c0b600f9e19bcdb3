// The dashboard's resources. Their actions, forms and details come from the REST API's operations.
import { keepNumbersOfRows, parseExactJson } from "../../domain/columns.ts";
import { LIMIT_MAX, type Page } from "../../domain/crud.ts";
import { listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError, invalidField } from "../../domain/errors.ts";
import { deliveryHeaders, listDeliveriesOfEvent } from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import { parseIso } from "../../lib/clock.ts";
import type { FormValues } from "../form.ts";
import * as ui from "../html.ts";
import { html, type Renderable } from "../html.ts";
import { getOperation, type PageContext } from "./context.ts";
import { type Resource, renderList, renderRecords } from "./crud-pages.ts";

/** The related records that a page shows. */
const FIRST_RELATED = { offset: 0, limit: LIMIT_MAX };

const apps: Resource<model.AppRecord> = {
  title: "Apps",
  intro: "An app shows your data at its own address.",
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
  summary: ["public", "updated_at"],
  renderContent: async (app, page) => [
    html`<h2>Deployments</h2>`,
    await renderList(deployments, page),
    html`<h2>Data sources</h2>`,
    await renderDataSources(app, page),
  ],
};

async function renderDataSources({ id }: model.AppRecord, page: PageContext) {
  if (!page.can(getOperation("GET /data-sources"))) return "This takes the permission read:data.";
  const { items, total } = await listDataSourcesOfApp(page.store, id, FIRST_RELATED);
  const addUrl = `/dashboard/data-sources/new?app_id=${id}`;
  return [
    renderRecords(dataSources, items),
    ui.firstOfMany(items.length, total, "data sources"),
    page.can(getOperation("POST /data-sources")) && ui.link(addUrl, "Add data", "button"),
  ];
}

const deployments: Resource<model.DeploymentRecord> = {
  title: "Deployments",
  intro: "A deployment has its own address.",
  path: "/dashboard/apps/{app_id}/deployments/{deployment_id}",
  apiPath: "/apps/{app_id}/deployments/{deployment_id}",
  summary: ["environment", "status", "deployed_at"],
  renderContent: async ({ id, status }, { urls }) =>
    status === "live" && ui.link(urls.site(id), "Open", "button"),
};

const dataSources: Resource<model.DataSourceRecord> = {
  title: "Data sources",
  intro:
    "A data source is a table uploaded as CSV or JSON. Assign it to an app to show it as a chart.",
  path: "/dashboard/data-sources/{data_source_id}",
  apiPath: "/data-sources/{data_source_id}",
  actions: { new: "Upload", delete: "Delete" },
  deleteWarning: "This deletes the rows, and the app no longer shows them. It cannot be undone.",
  hints: {
    app_id: "The app that shows the data. “Add data” on the page of an app fills this in.",
    data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB.",
  },
  toBody: toDataSourceBody,
  summary: ["type", "row_count", "status", "created_at"],
  renderContent: renderRows,
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

async function renderRows(
  { columns }: model.DataSourceRecord,
  page: PageContext,
): Promise<Renderable> {
  const operation = getOperation("GET /data-sources/{data_source_id}/rows");
  const rows = await page.callApi<Page<model.Row>>(operation);
  if (rows instanceof AppError || columns === null) return null;
  return ui.table("Rows", columns, rows.items, rows.total);
}

const users: Resource<model.UserRecord> = {
  title: "Users",
  intro: "Users sign in to this dashboard and allow applications to act for them.",
  path: "/dashboard/users/{user_id}",
  apiPath: "/users/{user_id}",
  actions: { new: "Add user", edit: "Edit", delete: "Delete" },
  deleteWarning: "This also ends the user’s sessions and the tokens of their applications.",
  summary: ["email", "permissions", "created_at"],
};

const apiKeys: Resource<model.ApiKeyRecord> = {
  title: "API keys",
  intro: "A key opens the whole account. Keep it out of code that others can read.",
  path: "/dashboard/settings/api-keys/{key_id}",
  apiPath: "/api-keys/{key_id}",
  actions: { new: "Generate new key", delete: "Delete" },
  deleteWarning: "Requests with this key fail at once, and sessions that it opened end.",
  summary: ["last_four", "created_at", "last_used_at"],
};

const oauthApps: Resource<model.OAuthClientRecord> = {
  title: "OAuth apps",
  intro: "OAuth apps act for users of this account, as far as each user allows.",
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
  summary: ["public", "scopes", "created_at"],
};

export const events: Resource<model.EventRecord> = {
  title: "Events",
  intro: "Changes to apps, deployments and data, and clicks on charts, are recorded as events.",
  path: "/dashboard/events/{event_id}",
  apiPath: "/events/{event_id}",
  getName: getEventName,
  summary: ["created"],
  renderContent: renderEvent,
};

/** Returns the event's type and the title or name of its object. */
function getEventName({ type, body }: model.EventRecord): string {
  const { title, name, app_id } = JSON.parse(body).data.object;
  return `${type} · ${title ?? name ?? app_id}`;
}

async function renderEvent(event: model.EventRecord, { store }: PageContext): Promise<Renderable> {
  const { items, total } = await listDeliveriesOfEvent(store, event, FIRST_RELATED);
  return [
    html`<p>Request: ${ui.inlineCode(event.request_id ?? "none")}</p>`,
    ui.json(JSON.parse(event.body)),
    html`<h2>Deliveries</h2>`,
    renderRecords({ ...deliveries, summary: ["webhook_id", ...deliveries.summary] }, items),
    ui.firstOfMany(items.length, total, "deliveries"),
  ];
}

const webhooks: Resource<model.WebhookRecord> = {
  title: "Webhooks",
  intro:
    "Each active webhook receives a signed POST when an event happens. [How to receive it](/docs/events#receiving-deliveries).",
  path: "/dashboard/settings/webhooks/{webhook_id}",
  apiPath: "/webhooks/{webhook_id}",
  actions: { new: "Register webhook", test: "Send test", edit: "Edit", delete: "Delete" },
  deleteWarning:
    "This cancels pending deliveries and deletes the delivery log. It cannot be undone.",
  nextPaths: { test: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{id}" },
  hints: {
    secret: "Used to sign deliveries. Leave it empty to generate one, or to keep the current one.",
    type: "A sample event is sent once, even if the webhook is disabled.",
  },
  summary: ["active", "disabled_reason", "events"],
  renderContent: async (_, page) => [
    html`<h2>Delivery log</h2>`,
    await renderList(deliveries, page),
  ],
};

/** The delivery log (spec part 6): status, response codes and attempts. */
const deliveries: Resource<model.DeliveryRecord> = {
  title: "Deliveries",
  intro: "Send a test to see a delivery now.",
  path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
  apiPath: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
  actions: { redeliver: "Send again" },
  summary: ["status", "response", "attempts", "next_attempt_at", "created_at"],
  getExtraMembers: ({ attempts }) => ({
    attempts: attempts.length,
    response: attempts.at(-1)?.response_status ?? attempts.at(-1)?.error,
  }),
  renderContent: renderAttempts,
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
