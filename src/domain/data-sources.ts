// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; contract, parts 2, 3, 4). What is sent is kept as
// it came and answered at once; processing makes rows of it afterwards: ready or failed, with the event data.processed in
// the same commit. Faults of the data are an outcome that the data source tells, not an error of the server. Who has them
// processed, and when, is the service's business.
import { decide } from "../decisions.ts";
import { CsvFault, parseCsv } from "../kit/csv.ts";
import type { Caller } from "./access.ts";
import { type Row, type Table, tableOfCsv, tableOfObjects } from "./columns.ts";
import type { DataSourceDraft } from "./data-input.ts";
import { recordEvent } from "./events.ts";
import { everyPage, type Page, pageOf } from "./lists.ts";
import {
  accounts,
  apps,
  type Cell,
  type Column,
  type DataRecord,
  type DataSourceRecord,
  dataContents,
  dataSources,
  TOPIC,
} from "./model.ts";
import { owned, shownFields } from "./owned.ts";
import { invalidField, Refusal } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

export { type DataSourceDraft, dataSourceDraft } from "./data-input.ts";

const [WAITING, READY, FAILED] = decide("3.data-processing");
/** The outcomes that are told of. */
const ANNOUNCED: ReadonlySet<string> = new Set(decide("6.emitted-by"));

/** With it go its rows, or what is still to be processed. */
const own = owned(dataSources, "data source", { removing: ({ tx }, { id }) => tx.remove(dataContents, id) });
export const { get: getDataSource, list: listDataSources, remove: removeDataSource } = own;

/** Those that an app shows. */
export const listDataSourcesOf = (reader: Reader, appId: string, span: Span): Promise<Page<DataSourceRecord>> =>
  pageOf(reader, dataSources, "app", [appId], span);

export const createDataSource = (unit: Unit, caller: Caller, draft: DataSourceDraft) =>
  unit.transact<DataSourceRecord>((w) => addDataSource(w, caller.account.id, draft));

export async function addDataSource(
  w: Work,
  account_id: string,
  { data, ...draft }: DataSourceDraft,
  id = w.ids.next("ds_"),
): Promise<DataSourceRecord | Refusal> {
  if (draft.app_id !== null && (await w.tx.get(apps, draft.app_id))?.account_id !== account_id)
    return invalidField("#/app_id", "must be the id of one of your apps, or null");
  const unread = { status: WAITING, columns: null, row_count: null, error: null };
  const source = { id, ...draft, ...unread, created_at: w.at, updated_at: w.at, account_id };
  await w.tx.put(dataSources, source);
  await w.tx.put(dataContents, { id, raw: data, rows: [], request_id: w.cause });
  w.tx.tell(TOPIC.data, id);
  return source;
}

/** The data sources that wait, the oldest first: what a server takes up again when it starts. */
export async function unprocessed(reader: Reader): Promise<readonly string[]> {
  const waiting = await everyPage((span) => reader.page(dataSources, "status", [WAITING], span));
  return waiting.map(({ id }) => id);
}

/** Processes the data source, once: where it is gone or no longer waiting, nothing happens. */
export const processDataSource = (unit: Unit, id: string) =>
  unit.transact<null>(async (w) => {
    const source = await w.tx.get(dataSources, id);
    const content = await w.tx.get(dataContents, id);
    if (source?.status !== WAITING || content === undefined) return null;
    const account = await w.tx.get(accounts, source.account_id);
    if (account === undefined) throw new Error(`The data source ${id} belongs to no account`);
    const table = tableOf(content.raw);
    const outcome =
      typeof table === "string"
        ? { status: FAILED, error: table }
        : { status: READY, columns: table.columns, row_count: table.rows.length };
    const settled: DataSourceRecord = { ...source, ...outcome, updated_at: w.at };
    await w.tx.put(dataSources, settled);
    await w.tx.put(dataContents, { ...content, raw: null, rows: typeof table === "string" ? [] : table.rows });
    // The trace of the request that sent the data leads to this event, although the request was answered before.
    const caused = { ...w, cause: content.request_id };
    if (ANNOUNCED.has(settled.status)) await recordEvent(caused, account, "data.processed", shownFields(settled));
    return null;
  });

/** The table, or in plain words why there is none. Spreadsheets put a byte order mark before the first column's name. */
function tableOf(raw: DataRecord["raw"]): Table | string {
  if (typeof raw !== "string") return tableOfObjects(raw ?? []);
  const read = parseCsv(raw.replace(/^\uFEFF/, ""));
  return read instanceof CsvFault ? `Line ${read.line}: ${read.detail}.` : tableOfCsv(read);
}

/** The rows as objects, in the order in which they were sent. */
export async function rowsPage(reader: Reader, caller: Caller, id: string, span: Span): Promise<Page<Row> | Refusal> {
  const source = await own.get(reader, caller, id);
  if (source instanceof Refusal) return source;
  const columns = source.columns ?? [];
  const content = source.columns === null ? undefined : await reader.get(dataContents, id);
  const rows = content?.rows ?? [];
  const shown = rows.slice(span.offset, span.offset + span.limit);
  return { items: shown.map((cells) => rowObject(columns, cells)), total: rows.length, span };
}

/** The cells of a row under their column names; __proto__ too is a name like any other here. */
export function rowObject(columns: readonly Column[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = Object.create(null);
  for (const [at, { name }] of columns.entries()) row[name] = cells[at] ?? null;
  return row;
}
