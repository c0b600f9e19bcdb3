// Data sources: upload (a file or pasted text), what became of it, and a preview of its rows.
import type { Row } from "../../domain/columns.ts";
import type { Page } from "../../domain/lists.ts";
import type { AppRecord, DataSourceRecord } from "../../domain/model.ts";
import { invalidField, Refusal } from "../../domain/refusal.ts";
import { html, type Shown } from "../html.ts";
import { badge, nothingYet, table, time } from "../parts.ts";
import { PATHS } from "./frame.ts";
import type { Resource } from "./resource.ts";
import type { View } from "./view.ts";

const TONES = { processing: "warn", ready: "good", failed: "bad" } as const;

const format = ({ type, columns, row_count }: DataSourceRecord): string =>
  `${type.toUpperCase()}${columns === null ? "" : ` · ${row_count} rows, ${columns.length} columns`}`;

export const dataSources: Resource<DataSourceRecord> = {
  noun: "DataSource",
  one: "data source",
  param: "data_source_id",
  place: "Data sources",
  make: "Upload",
  lost: "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.",
  fields: async (view) => ({
    name: { label: "Name" },
    type: {
      label: "Format",
      options: [
        ["csv", "CSV, with a header line"],
        ["json", "JSON, an array of flat objects"],
      ],
    },
    app_id: { label: "App", hint: "The app that draws it.", options: [["", "none"], ...(await appsOf(view))] },
    data: { label: "File", accept: ".csv,.json,text/csv,application/json", hint: "UTF-8, at most 10 MiB." },
  }),
  draft,
  empty: ["No data yet", "A data source is a table, written in CSV or JSON. An app that it is given to draws it."],
  name: ({ name }) => name,
  below: (source) => html`${format(source)} · ${time(source.created_at)}`,
  right: ({ status }) => badge(status, TONES[status]),
  // The one way in which a page without a script can look again.
  headers: ({ status }) => (status === "processing" ? { refresh: "1" } : {}),
  more: preview,
};

async function appsOf(view: View): Promise<readonly (readonly [string, string])[]> {
  const found = await view.ask<Page<AppRecord>>("listApps", { query: { limit: "100" } });
  return found instanceof Refusal ? [] : found.items.map(({ id, title }) => [id, title]);
}

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

async function preview(view: View, { status, error, columns, app_id }: DataSourceRecord): Promise<Shown> {
  if (status === "processing") return nothingYet("Still being processed", "This page looks again every second.");
  if (status === "failed")
    return nothingYet("It could not be processed", `${error} Correct the data and upload them again.`);
  const found = await view.ask<Page<Row>>("listRows");
  if (found instanceof Refusal || columns === null) return null;
  const { items, total } = found;
  return html`${app_id !== null && html`<p><a href="${PATHS.Apps}/${app_id}">To the app that draws it</a></p>`}
<h2>${total > items.length ? `The first ${items.length} of ${total} rows` : "Rows"}</h2><div class="card">${table(columns, items, true)}</div>`;
}
