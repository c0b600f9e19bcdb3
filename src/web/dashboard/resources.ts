// The dashboard's table of resources, each declared once. Apps: their deployments and data sources. Data sources:
// upload (a file or pasted text), processing result, and a preview of rows. Access: users with permissions (the scopes
// of specification part 5), API keys and OAuth clients. Events (spec part 6): the request that caused each, and its
// deliveries. Webhooks: subscriptions and deliveries with status and response codes, and for each delivery every
// attempt with request, response and the next retry.
import { appService as ownApps } from "../../domain/apps.ts";
import { keepNumbersOfRows } from "../../domain/columns.ts";
import { LIMIT_MAX, type Page, paginate } from "../../domain/crud.ts";
import { listDataSourcesOfApp } from "../../domain/data-sources.ts";
import { AppError, invalidField } from "../../domain/errors.ts";
import { listDeliveriesOfEvent } from "../../domain/events.ts";
import * as model from "../../domain/model.ts";
import { deliveryHeaders } from "../../domain/webhooks.ts";
import { parseJsonKeeping } from "../../lib/numbers.ts";
import {
  alertBox,
  badge,
  firstOfMany,
  type Html,
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
import { dashboardUrl, findOperation, type PageContext } from "./context.ts";
import { type CrudPageOptions, listView, rowsOf, summaryFields } from "./crud-pages.ts";

/** The number of related records that a detail page shows. */
const SHOWN = { offset: 0, limit: LIMIT_MAX };

const apps: CrudPageOptions<model.AppRecord> = {
  path: "/apps/{app_id}",
  deleteWarning:
    "Its deployments go with it, and their addresses say so. Its data sources stay. This cannot be undone.",
  hints: {
    theme: "light, dark, or any other name: then its pages follow the reader’s system.",
    public: "Anybody with the address sees it. Otherwise only users of this account do.",
    environment: "Deploying again to the same one replaces what is live there.",
    custom_domain: "A host name that you point at this server.",
  },
  intro:
    "An app shows the data that you give it, at an address of its own. Making one takes write:apps.",
  name: ({ title }) => title,
  below: summaryFields("public", "updated_at"),
  more: async (app, page) => html`<h2>Deployments</h2>${await listView(deployments, page)}
<h2>Data</h2>${await dataOf(app, page)}`,
};

const deployments: CrudPageOptions<model.DeploymentRecord> = {
  path: "/apps/{app_id}/deployments/{deployment_id}",
  intro: "Deployed, it has an address of its own.",
  references: { app_id: appLink },
  name: ({ name }) => name,
  below: (one, page) => [
    summaryFields("status", "environment", "custom_domain", "deployed_at")(one),
    " ",
    opens(one, page),
  ],
  more: opens,
};

/** Links an app by its title if the user may see it. */
async function appLink(id: string, page: PageContext): Promise<Renderable> {
  const app = page.permissionError(findOperation("GET /apps/{app_id}"))
    ? undefined
    : await page.store.get(model.apps, id);
  return app && link(dashboardUrl(`/apps/${id}`), app.title);
}

function opens({ id, status }: model.DeploymentRecord, { urls }: PageContext): Renderable {
  return status === "live" && link(urls.site(id), "Open");
}

async function dataOf({ id }: model.AppRecord, page: PageContext): Promise<Renderable> {
  if (page.permissionError(findOperation("GET /data-sources")))
    return muted("Seeing its data takes the permission read:data.");
  const { items, total } = await listDataSourcesOfApp(page.store, id, SHOWN);
  const add = link(dashboardUrl(`/data-sources/new?app_id=${id}`), "Add data", "button");
  return [
    await rowsOf(dataSources, page, items),
    firstOfMany(items.length, total, "data sources"),
    !page.permissionError(findOperation("POST /data-sources")) && html`<p>${add}</p>`,
  ];
}

const dataSources: CrudPageOptions<model.DataSourceRecord> = {
  path: "/data-sources/{data_source_id}",
  deleteWarning:
    "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.",
  hints: { data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB." },
  async choices({ store, account }, { app_id }) {
    const { items } = await paginate(store, model.apps, "account", [account.id], SHOWN);
    // The selected app stays an option even if it is not among the first ones listed.
    const named = await ownApps.get(store, account, String(app_id));
    const all =
      named instanceof AppError || items.some(({ id }) => id === app_id)
        ? items
        : [named, ...items];
    const apps = all.map(({ id, title }) => [id, title] as const);
    return {
      app_id: [["", "none"], ...apps],
      type: ["csv", "json"].map((type) => [type, type.toUpperCase()]),
    };
  },
  draft,
  intro: "A data source is a table, written in CSV or JSON. An app that it is given to draws it.",
  references: { app_id: appLink },
  name: ({ name }) => name,
  below: summaryFields("status", "type", "row_count", "created_at"),
  more: preview,
};

/** Builds the body of POST /data-sources, which takes JSON as a value and CSV as text. */
function draft(sent: Record<string, unknown>): Record<string, unknown> | AppError {
  const { type, data } = sent;
  if (type !== "json" || typeof data !== "string") return sent;
  try {
    return { ...sent, data: parseJsonKeeping(data, keepNumbersOfRows) };
  } catch (error) {
    return invalidField("#/data", `is not JSON (${error})`);
  }
}

async function preview(
  { status, error, columns }: model.DataSourceRecord,
  page: PageContext,
): Promise<Renderable> {
  if (status === "processing")
    return alertBox("status", "Still being processed. Without the script, load the page again.");
  if (error !== null)
    return alertBox(
      "status",
      `The data could not be processed. ${error} Correct them and upload them again.`,
    );
  const found = await page.callApi<Page<model.Row>>(
    findOperation("GET /data-sources/{data_source_id}/rows"),
  );
  if (found instanceof AppError || columns === null) return null;
  return html`<h2>Rows</h2><div class="card">${table("Rows", columns, found.items, found.total, true)}</div>`;
}

const users: CrudPageOptions<model.UserRecord> = {
  path: "/users/{user_id}",
  deleteWarning:
    "They are signed out, and every application that acts for them is refused. This cannot be undone.",
  intro:
    "Whoever is added can sign in, with a link that works once; later they ask for one at the sign-in page.",
  name: ({ name, email }) => name || email,
  below: summaryFields("email", "permissions", "created_at"),
};

const apiKeys: CrudPageOptions<model.ApiKeyRecord> = {
  path: "/api-keys/{key_id}",
  deleteWarning: "Whatever uses this key is refused at once. This cannot be undone.",
  intro:
    "A key opens the whole account. Keep it out of code that others can read, in an environment variable, and replace it now and then.",
  name: ({ name }) => name,
  below: summaryFields("last_four", "created_at", "last_used_at"),
};

const oauthApps: CrudPageOptions<model.OAuthClientRecord> = {
  path: "/oauth-clients/{client_id}",
  deleteWarning: "It can ask nobody any more, and every token that it holds stops working at once.",
  hints: {
    redirect_uris:
      "One a line: where users come back to. https, or http to this machine; for a public one also com.example.app:/callback.",
    public:
      "It runs where a secret cannot be kept (a browser, a phone) and has PKCE instead of one.",
  },
  intro: "Applications that act for users of this account, as far as each user allows it.",
  name: ({ name }) => name,
  below: summaryFields("public", "scopes", "created_at"),
};

export const events: CrudPageOptions<model.EventRecord> = {
  path: "/events/{event_id}",
  intro: "Events appear when apps are made, changed, deployed or used, and data processed.",
  name: nameOf,
  below: async (event, page) => {
    const { items } = await listDeliveriesOfEvent(page.store, event, SHOWN);
    const states = items.length > 0 ? items.map(({ status }) => status) : ["sent to nobody"];
    return [
      [...new Set(states)].map((each) => [badge(each), " "]),
      summaryFields("created")(event),
    ];
  },
  more: ofOne,
};

/** Returns the event type and the name of its object, if it has one. */
async function nameOf({ type, body }: model.EventRecord, page: PageContext): Promise<string> {
  const { object }: { readonly object: Readonly<Record<string, string>> } = JSON.parse(body).data;
  const { title, name, app_id = "", id } = object;
  return `${type} · ${title ?? name ?? (await page.store.get(model.apps, app_id))?.title ?? id ?? app_id}`;
}

/** The diagram shows this many deliveries; the rest are only listed. */
const DRAWN = 5;

async function ofOne(event: model.EventRecord, page: PageContext): Promise<Html> {
  const { items, total } = await listDeliveriesOfEvent(page.store, event, SHOWN);
  // The deliveries of one event differ in their URL.
  const urls = new Map<string, string>();
  for (const { webhook_id: id } of items)
    urls.set(id, (await page.store.get(model.webhooks, id))?.url ?? id);
  const name = ({ webhook_id }: model.DeliveryRecord) => urls.get(webhook_id) ?? webhook_id;
  const picture = traceDiagram(
    event.request_id ?? "the seed",
    [{ event, deliveries: items.slice(0, DRAWN) }],
    urls,
  );
  return html`${json(JSON.parse(event.body))}
<h2>From its request on</h2>${renderSequence(picture)}<h2>Deliveries</h2>${await rowsOf({ ...deliveries, name }, page, items)}
${firstOfMany(items.length, total, "deliveries")}`;
}

/** Shows the responses so far and the time of the next attempt. */
function progress({ attempts, status, next_attempt_at }: model.DeliveryRecord): Renderable {
  const answers = attempts.map(({ response_status, error }) => response_status ?? error).join(", ");
  const next = status === "pending" &&
    next_attempt_at !== null && [" · Next attempt: ", time(next_attempt_at)];
  return [
    `${attempts.length} ${attempts.length === 1 ? "attempt" : "attempts"} ${answers}`,
    next,
    " ",
    badge(status),
  ];
}

const webhooks: CrudPageOptions<model.WebhookRecord> = {
  path: "/webhooks/{webhook_id}",
  deleteWarning:
    "Nothing is sent to it any more; what waits is cancelled, and its delivery log is gone. This cannot be undone.",
  hints: {
    secret: "Signs each delivery. Empty, a new webhook gets one made, and another keeps its own.",
    type: "A sample of it is sent once, also while the webhook is off.",
  },
  intro:
    "This server sends a signed POST to each active webhook when something happens. [How to receive it](/docs/events#receiver).",
  name: ({ url }) => url,
  below: ({ active, disabled_reason: why, events }) =>
    html`${badge([active ? "active" : "off", why ?? []].flat().join(", "))} events ${events.join(", ")}`,
  more: async (webhook, page) =>
    html`<p>${await webhooks.below(webhook, page)}</p><h2>Delivery log</h2>${await listView(deliveries, page)}`,
};

const deliveries: CrudPageOptions<model.DeliveryRecord> = {
  path: "/webhooks/{webhook_id}/deliveries/{delivery_id}",
  intro: "They appear here when one of its events happens. Send a test to see one now.",
  references: {
    webhook_id: async (id, { store }) => {
      const webhook = await store.get(model.webhooks, id);
      return webhook && link(dashboardUrl(`/webhooks/${id}`), webhook.url);
    },
  },
  name: async ({ event_id, event_type, test }, page) => {
    const event = await page.store.get(model.events, event_id);
    return `${event ? await nameOf(event, page) : event_type}${test ? " · test" : ""}`;
  },
  below: (delivery) => html`${time(delivery.created_at)} · ${progress(delivery)}`,
  more: exchanges,
};

/** Shows each attempt's request and response side by side, newest first. */
async function exchanges(delivery: model.DeliveryRecord, page: PageContext): Promise<Renderable> {
  const webhook = await page.store.get(model.webhooks, delivery.webhook_id);
  const event = await page.store.get(model.events, delivery.event_id);
  if (webhook === undefined || event === undefined) return null;
  const changed = delivery.attempts.some(({ at }) => at < webhook.updated_at);
  const each = (attempt: model.Attempt) => {
    const {
      number,
      at,
      trigger,
      duration_ms,
      response_status,
      response_body,
      error,
      error_detail,
    } = attempt;
    const timestamp_s = delivery.timestamps_s[number - 1] ?? 0;
    const headers = deliveryHeaders(webhook, event, delivery.id, {
      number,
      timestamp_s,
    });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    return html`<h2>Attempt ${number}${trigger === "manual" && " by hand"}</h2>${muted([time(at), ` · ${duration_ms} ms`])}
<div class="pair"><div><h3>Request</h3><pre>${[`POST ${webhook.url}`, ...lines, "", event.body].join("\n")}</pre></div>
<div><h3>Response</h3><pre>${[response_status ?? error, response_body].filter(Boolean).join("\n\n")}</pre>
${error_detail && html`<p>${error_detail}</p>`}</div></div>`;
  };
  const of = delivery.test ? "a sample" : link(dashboardUrl(`/events/${event.id}`), "an event");
  return html`<p>${progress(delivery)}</p><p>Of ${of}, to ${inlineCode(webhook.url)}</p>
${changed && muted("The webhook was changed since: shown is what it would send now.")}
${delivery.attempts.toReversed().map(each)}`;
}

export const resources: readonly CrudPageOptions[] = [
  ...[apps, deployments, dataSources, users, events],
  ...[apiKeys, webhooks, deliveries, oauthApps],
];
