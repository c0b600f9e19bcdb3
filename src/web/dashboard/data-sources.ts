// Data sources: upload (a file or pasted text), what became of it, and a preview of its rows.
import type { Row } from "../../domain/columns.ts";
import type { Page } from "../../domain/lists.ts";
import type { AppRecord, DataSourceRecord } from "../../domain/model.ts";
import { invalidField, Refusal } from "../../domain/refusal.ts";
import { html, type Shown } from "../html.ts";
import { DASHBOARD } from "../page.ts";
import { badge, nothingYet, type Tone, table, time } from "../parts.ts";
import type { Resource } from "./resource.ts";
import { firstOf, type View } from "./view.ts";

const TONES: { readonly [S in DataSourceRecord["status"]]: Tone } = {
  processing: "warn",
  ready: "good",
  failed: "bad",
};

const format = ({ type, columns, row_count }: DataSourceRecord): string =>
  `${type.toUpperCase()}${columns === null ? "" : ` · ${row_count} rows, ${columns.length} columns`}`;

export const dataSources: Resource<DataSourceRecord> = {
  path: `${DASHBOARD}/data-sources`,
  param: "data_source_id",
  place: "Data sources",
  title: "Data sources",
  list: "listDataSources",
  get: "getDataSource",
  create: { operation: "createDataSource", link: "Upload data", button: "Upload", done: "uploaded", draft },
  remove: {
    operation: "deleteDataSource",
    title: "Delete this data source",
    button: "Delete for good",
    follows: () => "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.",
  },
  fields: async (view) => ({
    name: { label: "Name" },
    type: {
      label: "Format",
      options: [
        ["csv", "CSV, with a header line"],
        ["json", "JSON, an array of flat objects"],
      ],
    },
    app_id: {
      label: "App",
      hint: "The app that draws it.",
      options: [
        ["", "none"],
        ...(await firstOf<AppRecord>(view, "listApps")).map(({ id, title }) => [id, title] as const),
      ],
    },
    data: { label: "File", accept: ".csv,.json,text/csv,application/json", hint: "UTF-8, at most 10 MiB." },
  }),
  empty: ["No data yet", "A data source is a table, written in CSV or JSON. An app that it is given to draws it."],
  name: ({ name }) => name,
  below: (source) => html`${format(source)} · ${time(source.created_at)}`,
  right: ({ status }) => badge(status, TONES[status]),
  facts: (source) => [
    ["Format", format(source)],
    [
      "App",
      source.app_id === null
        ? "none"
        : html`<a href="${DASHBOARD}/apps/${source.app_id}"><code>${source.app_id}</code></a>`,
    ],
    ["Id", html`<code>${source.id}</code>`],
    ["Created", time(source.created_at)],
  ],
  // The one way in which a page without a script can look again.
  headers: ({ status }) => (status === "processing" ? { refresh: "1" } : {}),
  more: async (view, source) => html`<h2>Preview</h2>${await preview(view, source)}`,
};

/** The body of POST /data-sources holds JSON as it is, or CSV as text. */
function draft(sent: Record<string, unknown>): Record<string, unknown> | Refusal {
  const { type, data } = sent;
  if (type !== "json" || typeof data !== "string") return sent;
  try {
    return { ...sent, data: JSON.parse(data.replace(/^\uFEFF/, "")) };
  } catch (error) {
    return invalidField("#/data", `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function preview(view: View, { status, error, columns }: DataSourceRecord): Promise<Shown> {
  if (status === "processing")
    return nothingYet("Still being processed", "This page looks again every second until it is done.");
  if (status === "failed")
    return nothingYet(
      "It could not be processed",
      html`<strong>${error}</strong> Correct the data and upload them again; this one can be deleted.`,
    );
  const found = await view.ask<Page<Row>>("listRows");
  if (found instanceof Refusal || columns === null) return null;
  const { items, total } = found;
  if (total === 0) return nothingYet("No rows", "The columns are known, but there is nothing in them.");
  return html`<div class="card">${table({ columns, rows: items, typed: true })}</div>
${total > items.length && html`<p class="soft">The first ${items.length} of ${total} rows.</p>`}`;
}
