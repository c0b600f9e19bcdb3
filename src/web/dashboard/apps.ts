// Apps: what they are, where they are deployed, and the data that they show: upload (a file or pasted text), what became of
// it, and a preview of its rows.
import type { Row } from "../../domain/columns.ts";
import { listDataSourcesOf } from "../../domain/data-sources.ts";
import { LIMIT_MAX, type Page } from "../../domain/lists.ts";
import type { AppRecord, DataSourceRecord, DeploymentRecord } from "../../domain/model.ts";
import { invalidField, Refusal } from "../../domain/refusal.ts";
import { html, type Shown } from "../html.ts";
import { badge, link, nothingYet, soft, table, time } from "../parts.ts";
import { PATHS } from "./frame.ts";
import { listing, type Resource, rowsOf } from "./resource.ts";
import { operationAt, type View } from "./view.ts";

export const apps: Resource<AppRecord> = {
  path: "/apps/{app_id}",
  place: "Apps",
  lost: "Its deployments go with it, and their addresses say so. Its data sources stay. This cannot be undone.",
  hints: {
    description: "Shown above the charts.",
    theme: "light, dark, or any other name: then its pages follow the reader’s system.",
    public: "Anybody with the address sees it. Otherwise only users of this account do.",
    name: "What this deployment is, such as: Release 1",
    environment: "Deploying again to the same one replaces what is live there.",
    custom_domain: "A host name that you point at this server.",
  },
  empty: "An app shows the data that you give it, at an address of its own. Making one takes write:apps.",
  name: ({ title }) => title,
  below: (app) => html`${app.public ? "public" : "private"} · changed ${time(app.updated_at)}`,
  more: async (view, app) => html`<h2>Deployments</h2>${await listing(deployments, view, { app_id: app.id })}
<h2>Data</h2>${await dataOf(view, app)}`,
};

export const deployments: Resource<DeploymentRecord> = {
  path: "/apps/{app_id}/deployments/{deployment_id}",
  place: "Apps",
  empty: "Deployed, it has an address. Deploying takes write:apps.",
  name: ({ name }) => name,
  below: ({ environment, custom_domain, deployed_at }) =>
    html`${environment}${custom_domain && ` · ${custom_domain}`} · ${time(deployed_at)}`,
  right: ({ id, status }, { links }) => [status === "live" && link(links.site(id), "Open"), badge(status)],
};

async function dataOf(view: View, { id }: AppRecord): Promise<Shown> {
  if (!view.may(operationAt("GET /data-sources"))) return soft("Seeing its data takes the permission read:data.");
  const { items } = await listDataSourcesOf(view.store, id, { offset: 0, limit: LIMIT_MAX });
  const add = link(`${PATHS["Data sources"]}/new?app_id=${id}`, "Add data", "button quiet");
  return [await rowsOf(dataSources, view, items), view.may(operationAt("POST /data-sources")) && add];
}

export const dataSources: Resource<DataSourceRecord> = {
  path: "/data-sources/{data_source_id}",
  place: "Data sources",
  lost: "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.",
  hints: {
    app_id: "The app that draws it.",
    data: "CSV with a header line, or a JSON array of flat objects; at most 10 MiB.",
  },
  choices: async (view) => ({
    app_id: [["", "none"], ...(await appsOf(view))],
    type: ["csv", "json"].map((type) => [type, type.toUpperCase()]),
  }),
  draft,
  empty: "A data source is a table, written in CSV or JSON. An app that it is given to draws it.",
  name: ({ name }) => name,
  below: ({ type, columns, row_count, created_at }) =>
    html`${type.toUpperCase()}${columns && ` · ${row_count} rows, ${columns.length} columns`} · ${time(created_at)}`,
  more: preview,
};

async function appsOf(view: View): Promise<readonly (readonly [string, string])[]> {
  const found = await view.ask<Page<AppRecord>>(operationAt("GET /apps"), { query: { limit: LIMIT_MAX } });
  return found instanceof Refusal ? [] : found.items.map(({ id, title }) => [id, title]);
}

/** The body of POST /data-sources holds JSON as it is, or CSV as text. */
function draft(sent: Record<string, unknown>): Record<string, unknown> | Refusal {
  const { type, data } = sent;
  if (type !== "json" || typeof data !== "string") return sent;
  try {
    return { ...sent, data: JSON.parse(data) };
  } catch (error) {
    return invalidField("#/data", `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function preview(view: View, { status, error, columns, app_id }: DataSourceRecord): Promise<Shown> {
  if (status === "processing") return nothingYet("Still being processed", "Without the script, load the page again.");
  if (error !== null)
    return nothingYet("It could not be processed", `${error} Correct the data and upload them again.`);
  const found = await view.ask<Page<Row>>(operationAt("GET /data-sources/{data_source_id}/rows"));
  if (found instanceof Refusal || columns === null) return null;
  return html`${app_id !== null && link(`${PATHS.Apps}/${app_id}`, "To the app that draws it")}
<h2>Rows</h2><div class="card">${table(columns, found.items, found.total, true)}</div>`;
}
