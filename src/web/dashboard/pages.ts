// The pages of the dashboard: its resources, whose actions, forms and details come from the REST API's operations, and
// its first page.
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
import {
  type AppRecord,
  type Attempt,
  apps,
  type DataSourceRecord,
  type DeliveryRecord,
  type DeploymentRecord,
  type EventRecord,
  events,
  type Row,
  type WebhookRecord,
  webhooks,
} from "../../domain/model.ts";
import { STATUS_CODES } from "../../http/server.ts";
import {
  alertBox,
  badge,
  code,
  details,
  type Html,
  heading,
  html,
  inlineCode,
  inlineMarkdown,
  link,
  muted,
  paragraph,
  type Renderable,
  table,
  time,
} from "../html.ts";
import { redirect } from "../layout.ts";
import { createPages, type ResourcePages } from "./crud-pages.ts";
import {
  ASK_ADMIN,
  type DashboardRoute,
  dashboardPage,
  getOperation,
  type PageContext,
  pageRoute,
} from "./dashboard.ts";

/** The related records that a page shows. */
const FIRST_RELATED = { offset: 0, limit: LIMIT_MAX };

const appPages: ResourcePages<AppRecord> = createPages({
  title: "Apps",
  empty: "No apps yet. Create one, add data to it and deploy it to its own address.",
  path: "/dashboard/apps/{app_id}",
  labels: { new: "Create app", deploy: "Deploy", edit: "Edit", delete: "Delete" },
  nextPaths: { deploy: "/dashboard/apps/{app_id}/deployments/{id}" },
  hints: {
    delete: "This deletes its deployments too, but not its data sources. It cannot be undone.",
    theme:
      "light (also if it is empty) or dark. With any other name, such as auto, the page follows the reader’s system.",
    public: "Anyone with the address can see it. Otherwise only users of this account can.",
    environment: "A new deployment replaces the live one of the same environment.",
    custom_domain: "A host name that points to this server.",
  },
  columns: ["title", "visibility", "live_deployment", "updated_at"],
  async getCells({ id, public: isPublic }, page) {
    // Each deployment replaces the live one of its environment, so the newest is live.
    const newest = await deploymentPages.readNewest({ ...page, params: { app_id: id } }, 1);
    const [live] = newest.items;
    return {
      visibility: isPublic ? "Public" : "Private",
      live_deployment: live ? link(page.urls.site(live.id), live.name) : "",
    };
  },
  renderContent: async ({ id }, page) => [
    heading("Deployments"),
    await deploymentPages.renderList(page),
    page.can(dataSourcePages.list)
      ? await dataSourcePages.renderRelated(
          await listDataSourcesOfApp(page.store, id, FIRST_RELATED),
          page,
          "No data yet. Add a CSV or JSON file to show it as a chart.",
        )
      : "This requires the permission read:data.",
    page.can(getOperation("POST /data-sources")) &&
      link(`/dashboard/data-sources/new?app_id=${id}`, "Add data", "button"),
  ],
});

const deploymentPages: ResourcePages<DeploymentRecord> = createPages({
  title: "Deployments",
  empty: "Not deployed yet. Deploy the app to give it an address.",
  next: appPages.actions[1],
  path: "/dashboard/apps/{app_id}/deployments/{deployment_id}",
  columns: ["name", "environment", "custom_domain", "status", "deployed_at"],
  renderContent: async ({ id, status }, { urls }) =>
    status === "live" && link(urls.site(id), "Open", "button primary"),
});

const dataSourcePages = createPages<DataSourceRecord>({
  title: "Data sources",
  empty: "No data yet. Upload a table as CSV or JSON for an app, which shows it as a chart.",
  path: "/dashboard/data-sources/{data_source_id}",
  labels: { new: "Upload data", delete: "Delete" },
  hints: {
    delete: "This deletes the rows, and the app no longer shows them. It cannot be undone.",
    app_id:
      "The app that shows the data; it cannot be changed later. “Add data” on the page of an app fills this in. Without an app only the API can read the data.",
    data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB.",
  },
  /** POST /data-sources takes JSON as a value and CSV as text. */
  toBody(values) {
    const { type, data } = values;
    if (type !== "json" || typeof data !== "string") return values;
    try {
      return { ...values, data: parseExactJson(data, keepNumbersOfRows) };
    } catch (error) {
      return invalidField("#/data", `is not JSON (${error})`);
    }
  },
  columns: ["name", "app", "row_count", "status", "created_at"],
  async getCells({ app_id }, { store }) {
    const app = app_id && (await store.get(apps, app_id));
    return { app: app ? link(`/dashboard/apps/${app.id}`, app.title) : "" };
  },
  async renderContent({ columns, status, error }, page) {
    if (status === "failed") return alertBox("alert", ["The data could not be read: ", error]);
    const operation = getOperation("GET /data-sources/{data_source_id}/rows");
    const rows = await page.callApi<ListPage<Row>>(operation, { query: { offset: 0, limit: 20 } });
    if (rows instanceof AppError || columns === null) return null;
    return table("Rows", columns, rows.items, rows.total);
  },
});

const userPages = createPages({
  title: "Users",
  empty: "No users yet.",
  intro: "Users sign in to this dashboard and allow applications to act for them.",
  path: "/dashboard/users/{user_id}",
  labels: { new: "Add user", edit: "Edit", delete: "Delete" },
  hints: { delete: "This also ends the user’s sessions and the tokens of their applications." },
  columns: ["name", "email", "permissions", "created_at"],
});

const apiKeyPages = createPages({
  title: "API keys",
  empty: "No API keys yet. Generate one to call the API.",
  intro: "A key opens the whole account. Keep it out of code that others can read.",
  path: "/dashboard/settings/api-keys/{key_id}",
  labels: { new: "Generate new key", delete: "Delete" },
  hints: { delete: "Requests with this key fail at once, and sessions that it opened end." },
  columns: ["name", "last_four", "created_at", "last_used_at"],
});

const oauthAppPages = createPages({
  title: "OAuth apps",
  empty: "No OAuth apps yet. Register one to let it act for users of this account.",
  intro:
    "OAuth apps act for users of this account, [as far as each user allows](/docs#oauth). An app can revoke the access of one user by `POST /oauth/revoke`. Deleting the app here revokes that of all users.",
  path: "/dashboard/settings/oauth-apps/{client_id}",
  apiPath: "/oauth-clients/{client_id}",
  labels: { new: "Register OAuth app", delete: "Delete" },
  hints: {
    delete: "All its tokens stop working at once. It cannot be undone.",
    redirect_uris:
      "One per line: https, or http to this machine. A public app may use com.example.app:/callback.",
    public:
      "For apps that cannot keep a secret, such as in a browser or on a phone. They use PKCE.",
  },
  columns: ["name", "public", "scopes", "created_at"],
});

const eventPages = createPages<EventRecord>({
  title: "Events",
  empty: "No events yet. Create an app to see one.",
  next: appPages.actions[0],
  path: "/dashboard/events/{event_id}",
  filter: "type",
  columns: ["type", "object", "deliveries", "created"],
  async getCells(event, { store }) {
    const { items, total } = await listDeliveriesOfEvent(store, event, FIRST_RELATED);
    const states = new Set(items.map(toState));
    return {
      object: getObjectName(event),
      deliveries: html`${total || "None"} ${[...states].map((state) => [badge(state), " "])}`,
    };
  },
  renderContent: async (event, page) => [
    await deliveryPages.renderRelated(
      await listDeliveriesOfEvent(page.store, event, FIRST_RELATED),
      page,
      "None. No active webhook subscribed to this type when it happened.",
    ),
    heading("What webhooks receive"),
    code(indentJson(event.body)),
    html`<p>Request: ${inlineCode(event.request_id ?? "None")}</p>`,
  ],
});

/** Returns the title, the name, the point or else the app of the event's object. */
function getObjectName({ body }: EventRecord): string {
  const { title, name, data_point, app_id } = JSON.parse(body).data.object;
  return title ?? name ?? (Object.values(data_point ?? {}).join(", ") || app_id);
}

const webhookPages: ResourcePages<WebhookRecord> = createPages({
  title: "Webhooks",
  empty: "No webhooks yet. Register one to receive events as they happen.",
  intro:
    "Each active webhook receives a signed POST when an event happens. [How to receive it](/docs/events#receiving-deliveries).",
  path: "/dashboard/settings/webhooks/{webhook_id}",
  labels: { new: "Register webhook", test: "Send test event", edit: "Edit", delete: "Delete" },
  nextPaths: { test: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{id}" },
  hints: {
    delete: "This cancels pending deliveries and ends the delivery log. It cannot be undone.",
    secret:
      "Used to sign deliveries. Leave it empty to generate one, or when editing, to keep the current one.",
    type: "A sample event is sent once, even if the webhook is disabled.",
  },
  columns: ["url", "events", "status", "last_delivery"],
  async getCells({ id, active, disabled_reason }, page) {
    const newest = await deliveryPages.readNewest({ ...page, params: { webhook_id: id } }, 1);
    const [last] = newest.items;
    return {
      status: active ? "active" : (disabled_reason ?? "disabled"),
      last_delivery: last ? html`${badge(toState(last))} ${time(last.created_at)}` : "",
    };
  },
  renderContent: async (_, page) => [heading("Delivery log"), await deliveryPages.renderList(page)],
});

/** The delivery log (spec part 6): status, response codes and attempts. */
const deliveryPages: ResourcePages<DeliveryRecord> = createPages({
  title: "Deliveries",
  empty: "No deliveries yet. Send a test event to see one.",
  next: webhookPages.actions[1],
  path: "/dashboard/settings/webhooks/{webhook_id}/deliveries/{delivery_id}",
  labels: { redeliver: "Redeliver" },
  filter: "status",
  columns: ["delivery", "status", "attempts", "next_attempt_at", "created_at"],
  async getCells(delivery, { store, params }) {
    const { event_id, event_type, webhook_id, attempts } = delivery;
    const last = attempts.at(-1);
    const cells = {
      status: html`${badge(toState(delivery))} ${last?.response_status ?? last?.error}`,
      attempts: attempts.length,
    };
    // The page of an event names its webhooks, and that of a webhook its events.
    if (params.event_id) {
      const webhook = await store.get(webhooks, webhook_id);
      return webhook ? { ...cells, name: webhook.url } : { ...cells, missing: "Deleted webhook" };
    }
    const event = await store.get(events, event_id);
    const name = html`${event_type} <small>${event && getObjectName(event)}</small>`;
    return { ...cells, name };
  },
  renderContent: renderDelivery,
});

/** A delivery whose first attempt failed is retried, which people must not take for waiting. */
const toState = ({ status, attempts }: DeliveryRecord): string =>
  status === "pending" && attempts.length > 0 ? "retrying" : status;

/** Says whether it arrived, what was sent, what came back and what happens next; earlier attempts are collapsed. */
async function renderDelivery(
  delivery: DeliveryRecord,
  { store }: PageContext,
): Promise<Renderable> {
  const { id, attempts, timestamps_s } = delivery;
  const webhook = await store.get(webhooks, delivery.webhook_id);
  const event = await store.get(events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  const { url, updated_at } = webhook;
  const { body, is_sample } = event;
  // The event of a test has no page.
  const eventLink = !is_sample && link(`/dashboard/events/${event.id}`, "Open the event");

  /** Shows request and response side by side. */
  const renderAttempt = (attempt: Attempt, index: number): Html => {
    const { number, trigger, at, response_body, duration_ms } = attempt;
    const timestamp_s = timestamps_s[index] ?? 0;
    const headers = deliveryHeaders(webhook, event, id, { ...attempt, timestamp_s });
    const lines = Object.entries(headers).map((header) => header.join(": "));
    const curl = [
      `curl ${quote(url)}`,
      ...lines.map((line) => `-H ${quote(line)}`),
      `--data-binary ${quote(body)}`,
    ].join(" \\\n  ");
    const curlId = `curl-${number}`;
    return html`<h2>Attempt ${number}${trigger === "manual" && " (manual)"}: ${describeResponse(attempt)}, ${time(at)}</h2>
<div class="grid"><section class="card"><header><h3>Request</h3><button type="button" data-copy="${curlId}" hidden>Copy as curl</button></header>
<p>POST ${url}</p>
${details("Headers", [html`<pre>${lines.join("\n")}</pre>`, muted(inlineMarkdown(SIGNATURE))])}
${details("curl", html`<pre id="${curlId}">${curl}</pre>`)}
<pre>${indentJson(body)}</pre></section>
<section class="card"><h3>Response</h3><p>${describeResponse(attempt)} in ${duration_ms} ms</p>
<pre>${indentJson(response_body || "(empty body)")}</pre></section></div>`;
  };

  const [last, ...earlier] = attempts.map(renderAttempt).reverse();
  return [
    html`<div class="card">${badge(toState(delivery))} <strong>${describeOutcome(delivery)}</strong> ${attempts.at(-1)?.error_detail} ${eventLink}</div>`,
    last,
    attempts.some(({ at }) => at < updated_at) &&
      muted("The webhook has changed since; its current URL and secret are shown."),
    heading("What happens next"),
    html`<p>${describeNext(delivery, webhook)}</p>`,
    earlier.length > 0 && details("Earlier attempts", earlier),
  ];
}

const SIGNATURE =
  "`X-Service-Signature` is `sha256=` and the HMAC-SHA256 of the exact body, in hexadecimal; the key is the secret of the webhook. The body below is formatted for reading; the curl command has the exact one. [How to check it](/docs/events#headers-of-a-delivery).";

/** Quotes a word for a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const describeResponse = ({ response_status: status, error }: Attempt): string =>
  status === null ? `No response (${error})` : `${status} ${STATUS_CODES[status] ?? ""}`.trim();

function describeOutcome({ status, attempts }: DeliveryRecord): string {
  const attempt = attempts.find(isSuccess) ?? attempts.at(-1);
  if (attempt === undefined) return "Not sent yet.";
  const outcome = status === "pending" ? "Not delivered yet" : "Not delivered";
  return `${isSuccess(attempt) ? `Delivered on attempt ${attempt.number}` : outcome}: ${describeResponse(attempt)}.`;
}

function describeNext(delivery: DeliveryRecord, webhook: WebhookRecord): Renderable {
  if (delivery.status === "succeeded") return "Nothing, because it has arrived.";
  if (!isDeliverable(delivery, webhook))
    return "Nothing, because the webhook is disabled. Edit the webhook to enable it, then redeliver.";
  if (delivery.due_at !== null) return ["The next attempt is due ", time(delivery.due_at), "."];
  if (delivery.status === "cancelled")
    return "Nothing, because it was cancelled when the webhook was disabled. Redeliver to send it now.";
  return `Nothing: ${delivery.test ? "a test is sent once" : "there are no attempts left"}. Correct the receiver, then redeliver.`;
}

function indentJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text; // not JSON: shown as it is
  }
}

/** Records of each list on the first page. */
const NEWEST = 3;
/** The first page after signing in. */
async function homePage(page: PageContext) {
  const { user, account, urls } = page;
  const lists: Renderable[] = [];
  for (const { title, list, listPath, renderList } of [
    appPages,
    dataSourcePages,
    webhookPages,
    eventPages,
  ])
    if (page.can(list)) lists.push(heading(link(listPath, title)), await renderList(page, NEWEST));
  return dashboardPage(page, {
    title: account.name,
    actions: badge(account.state),
    body: [
      user.permissions.length === 0 && `${user.email} has no permissions. ${ASK_ADMIN}`,
      lists,
      heading("Call the API"),
      paragraph(
        "Put an [API key](/dashboard/settings/api-keys) into `API_KEY`. The [docs](/docs/endpoints) show every request.",
      ),
      code(`curl "${urls.baseUrl}/apps" -H "Authorization: Bearer $API_KEY"`),
    ],
  });
}

/** Every user of the account may open the pages of this operation. */
const anyUser = getOperation("GET /account");

export const dashboardRoutes: readonly DashboardRoute[] = [
  pageRoute("/dashboard", anyUser, homePage),
  pageRoute("/dashboard/", anyUser, async () => redirect("/dashboard")),
  pageRoute("/dashboard/settings", anyUser, async () => redirect("/dashboard/settings/api-keys")),
  ...[
    appPages,
    deploymentPages,
    dataSourcePages,
    userPages,
    eventPages,
    apiKeyPages,
    webhookPages,
    deliveryPages,
    oauthAppPages,
  ].flatMap(({ routes }) => routes),
];
