// Data sources: upload (a file or pasted text), what became of it, and a preview of its rows.
import { listApps } from "../../domain/apps.ts";
import type { Row } from "../../domain/columns.ts";
import {
  createDataSource,
  dataSourceDraft,
  getDataSource,
  listDataSources,
  removeDataSource,
  rowsPage,
} from "../../domain/data-sources.ts";
import { LIMIT_MAX } from "../../domain/lists.ts";
import type { AppRecord, DataSourceRecord } from "../../domain/model.ts";
import { invalidField, Refusal } from "../../domain/refusal.ts";
import type { Reply } from "../../http/call.ts";
import { DASHBOARD } from "../addresses.ts";
import { checked, type Form, file, formFault, formOf, input, refusedForm, select, textarea } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { redirect } from "../page.ts";
import { badge, danger, facts, head, list, nothingYet, pager, row, type Tone, time } from "../parts.ts";
import { framed, refusedPage } from "./frame.ts";
import { type DashboardRow, newest, type View, whatever } from "./view.ts";

const PATH = `${DASHBOARD}/data-sources`;
const SECTION = { section: "Data sources" } as const;

async function sourcesPage(view: View): Promise<Reply> {
  const sources = await newest(view, (span) => listDataSources(view.unit.store, view.caller, span));
  if (sources instanceof Refusal) return refusedPage(view, sources, "Data sources");
  const add = view.may("createDataSource") && html`<a class="button" href="${PATH}/new">Upload data</a>`;
  return framed(view, {
    title: "Data sources",
    ...SECTION,
    body: html`${head("Data sources", sources.total > 0 && add)}
${sources.total === 0 ? nothingYet("No data yet", html`A data source is a table, written in CSV or JSON. An app that it is given to draws it. ${!add && "Uploading takes the permission admin."}`, add) : list(sources.items.map((source) => sourceRow(source)))}
${pager(sources, PATH)}`,
  });
}

const TONES: { readonly [S in DataSourceRecord["status"]]: Tone } = {
  processing: "warn",
  ready: "good",
  failed: "bad",
};

const size = ({ columns, row_count }: DataSourceRecord): string =>
  columns === null ? "" : ` · ${row_count} rows, ${columns.length} columns`;

export const sourceRow = (source: DataSourceRecord): Html =>
  row(
    html`<a href="${PATH}/${source.id}">${source.name}</a>`,
    html`${source.type === "csv" ? "CSV" : "JSON"}${size(source)} · ${time(source.created_at)}`,
    badge(source.status, TONES[source.status]),
  );

async function uploadPage(view: View, form: Form, status = 200): Promise<Reply> {
  const apps = view.may("listApps")
    ? await listApps(view.unit.store, view.caller, undefined, { offset: 0, limit: LIMIT_MAX })
    : { items: [] };
  const choices = apps.items.map((app: AppRecord) => [app.id, app.title] as const);
  return framed(view, {
    title: "Upload data",
    ...SECTION,
    status,
    body: html`${head("Upload data")}
<form class="card form" method="post" action="${PATH}" enctype="multipart/form-data">${view.csrf}${formFault(form)}
${input(form, { name: "name", label: "Name", required: true })}
${select(form, {
  name: "type",
  label: "Format",
  required: true,
  options: [
    ["csv", "CSV, with a header line"],
    ["json", "JSON, an array of flat objects"],
  ],
})}
${select(form, { name: "app_id", label: "App", hint: "The app that draws it.", options: [["", "none"], ...choices] })}
${file(form, { name: "data", label: "File", accept: ".csv,.json,text/csv,application/json", hint: "UTF-8, at most 10 MiB." })}
${textarea(form, { name: "text", label: "Or paste it here", rows: 6 })}
<div class="row"><button>Upload</button><a class="button quiet" href="${PATH}">Cancel</a></div></form>`,
  });
}

/** The body of POST /data-sources, or what of the form keeps it from being one. */
function draftOf({ fields }: View): object | Refusal {
  const sent = fields.get("data") ?? fields.get("text");
  if (sent === undefined) return invalidField("#/data", "must be a file, or be pasted below");
  const type = fields.get("type") ?? "";
  const common = { name: fields.get("name") ?? "", type, app_id: fields.get("app_id") ?? null };
  if (type !== "json") return { ...common, data: sent };
  try {
    return { ...common, data: JSON.parse(sent.replace(/^\uFEFF/, "")) };
  } catch (error) {
    return invalidField("#/data", `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function upload(view: View): Promise<Reply> {
  const sent = draftOf(view);
  const draft = sent instanceof Refusal ? sent : checked(dataSourceDraft, sent);
  const made = draft instanceof Refusal ? draft : await createDataSource(view.unit, view.caller, draft);
  if (made instanceof Refusal)
    return uploadPage(view, refusedForm(view.fields, made, view.explain), view.explain(made).status);
  return redirect(`${PATH}/${made.id}?done=uploaded`);
}

async function sourcePage(view: View): Promise<Reply> {
  const { store } = view.unit;
  const source = await getDataSource(store, view.caller, view.param("data_source_id"));
  const preview =
    source instanceof Refusal
      ? source
      : await rowsPage(store, view.caller, source.id, { offset: 0, limit: PREVIEW_ROWS });
  if (source instanceof Refusal) return refusedPage(view, source, "Data sources");
  if (preview instanceof Refusal) return refusedPage(view, preview, "Data sources");
  return framed(view, {
    title: source.name,
    ...SECTION,
    // The one way in which a page without a script can look again.
    ...(source.status === "processing" && { headers: { refresh: "1" } }),
    body: html`<p class="crumb"><a href="${PATH}">Data sources</a></p>
${head(source.name, badge(source.status, TONES[source.status]))}
${facts([
  ["Format", source.type === "csv" ? "CSV" : "JSON"],
  ["Rows", source.row_count ?? "not known yet"],
  [
    "App",
    source.app_id === null
      ? "none"
      : html`<a href="${DASHBOARD}/apps/${source.app_id}"><code>${source.app_id}</code></a>`,
  ],
  ["Id", html`<code>${source.id}</code>`],
  ["Created", time(source.created_at)],
])}
<h2>Preview</h2>
${previewOf(source, preview.items)}
${view.may("deleteDataSource") && html`<h2>Delete</h2>${danger("Delete this data source", `${PATH}/${source.id}/delete`, view.csrf, "Its rows are gone, and the app that draws them draws them no more. This cannot be undone.", "Delete for good")}`}`,
  });
}

const PREVIEW_ROWS = 20;

function previewOf(source: DataSourceRecord, rows: readonly Row[]): Shown {
  if (source.status === "processing")
    return nothingYet("Still being processed", "This page looks again every second until it is done.");
  if (source.status === "failed")
    return nothingYet(
      "It could not be processed",
      html`<strong>${source.error}</strong> Correct the data and upload them again; this one can be deleted.`,
    );
  if (rows.length === 0) return nothingYet("No rows", "The columns are known, but there is nothing in them.");
  return html`${table(
    (source.columns ?? []).map(({ name, type }) => [name, type] as const),
    rows,
  )}${(source.row_count ?? 0) > rows.length && html`<p class="soft">The first ${rows.length} of ${source.row_count} rows.</p>`}`;
}

const table = (columns: readonly (readonly [name: string, type: string])[], rows: readonly Row[]): Html =>
  html`<div class="scroll card"><table><thead><tr>${columns.map(([name, type]) => html`<th${type === "number" && html` class="number"`}>${name} <span class="soft">${type}</span></th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${columns.map(([name, type]) => html`<td${type === "number" && html` class="number"`}>${shownCell(cells[name])}</td>`)}</tr>`)}</tbody></table></div>`;

const shownCell = (cell: Row[string] | undefined): Shown =>
  cell === null || cell === undefined ? html`<span class="soft">–</span>` : String(cell);

async function remove(view: View): Promise<Reply> {
  const gone = await removeDataSource(view.unit, view.caller, view.param("data_source_id"), whatever);
  return gone instanceof Refusal ? refusedPage(view, gone, "Data sources") : redirect(`${PATH}?done=deleted`);
}

const first = (view: View): Form => formOf({ type: "csv", app_id: view.query("app") ?? "" });

export const dataSourceRows: readonly DashboardRow[] = [
  { method: "GET", path: PATH, operation: "listDataSources", run: sourcesPage },
  { method: "GET", path: `${PATH}/new`, operation: "createDataSource", run: (view) => uploadPage(view, first(view)) },
  { method: "POST", path: PATH, operation: "createDataSource", run: upload },
  { method: "GET", path: `${PATH}/{data_source_id}`, operation: "getDataSource", run: sourcePage },
  { method: "POST", path: `${PATH}/{data_source_id}/delete`, operation: "deleteDataSource", run: remove },
];
