// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; contract, parts 2, 3, 4). What is sent is kept as
// it came and answered at once; domain/data-processing makes rows of it afterwards. Nothing is parsed here.
import { decide } from "../kit/decisions.ts";
import type { Caller } from "./access.ts";
import type { Row } from "./columns.ts";
import type { DataSourceDraft } from "./data-input.ts";
import { everyPage, type Page, pageOf } from "./lists.ts";
import {
  apps,
  type Cell,
  type Column,
  type DataSourceRecord,
  dataContents,
  dataSources,
  PREFIX,
  TOPIC,
} from "./model.ts";
import { owned } from "./owned.ts";
import { invalidField, Refusal } from "./refusal.ts";
import type { Reader, Span } from "./store.ts";
import type { Unit, Work } from "./work.ts";

export { type DataSourceDraft, dataSourceDraft } from "./data-input.ts";

export const FIRST_STATUS = decide("3.data-source-first-status", "processing", {
  open: "whether the answer to POST /data-sources waits for the data to be read",
  why: "ten MiB take a moment; the client is told at once that they are kept, and by data.processed when they are read",
});

const ROWS_BEFORE_READY: readonly [] = decide("3.rows-before-ready", [], {
  open: "what the rows of a data source are that is still processed, or whose processing failed",
  why: "an empty list is true and needs no further error; `status` says why it is empty",
});

export const createDataSource = (unit: Unit, caller: Caller, draft: DataSourceDraft) =>
  unit.transact<DataSourceRecord>((w) => addDataSource(w, caller.account.id, draft));

export async function addDataSource(
  w: Work,
  accountId: string,
  { name, type, app_id, data }: DataSourceDraft,
  id?: string,
): Promise<DataSourceRecord | Refusal> {
  if (app_id !== null && (await w.tx.get(apps, app_id))?.account_id !== accountId)
    return invalidField("#/app_id", NOT_YOUR_APP);
  const source: DataSourceRecord = {
    id: id ?? w.ids.next(PREFIX.dataSource),
    name,
    type,
    app_id,
    status: FIRST_STATUS,
    columns: null,
    row_count: null,
    error: null,
    created_at: w.at,
    updated_at: w.at,
    account_id: accountId,
  };
  await w.tx.put(dataSources, source);
  await w.tx.put(dataContents, { id: source.id, raw: data, rows: ROWS_BEFORE_READY, request_id: w.cause });
  w.tx.tell(TOPIC.data, source.id);
  return source;
}

const NOT_YOUR_APP = decide("4.foreign-app-id", "must be the id of one of your apps, or null", {
  open: "what an app_id in a body means that is another account's or nobody's",
  why: "a field of the body is wrong, which is a 422; the words are the same for both, so that nothing is told of others",
});

/** With it go its rows, or what is still to be processed. */
const own = owned(dataSources, "data source", { removing: ({ tx }, { id }) => tx.remove(dataContents, id) });
export const { get: getDataSource, list: listDataSources, remove: removeDataSource } = own;

/** Those that an app shows. */
export const listDataSourcesOf = (reader: Reader, appId: string, span: Span): Promise<Page<DataSourceRecord>> =>
  pageOf(reader, dataSources, "app", [appId], span);

/** The rows as objects, in the order in which they were sent. */
export async function rowsPage(reader: Reader, caller: Caller, id: string, span: Span): Promise<Page<Row> | Refusal> {
  const source = await getDataSource(reader, caller, id);
  if (source instanceof Refusal) return source;
  const columns = source.columns;
  const content = columns === null ? undefined : await reader.get(dataContents, id);
  const rows = content?.rows ?? ROWS_BEFORE_READY;
  const shown = rows.slice(span.offset, span.offset + span.limit);
  return { items: shown.map((cells) => rowObject(columns ?? [], cells)), total: rows.length, span };
}

/** The data source as it stands in an answer and in an event. */
export function dataSourceFields(source: DataSourceRecord) {
  const { account_id: _, ...fields } = source;
  return fields;
}

/** The data sources that wait, the oldest first: what a server takes up again when it starts. */
export async function unprocessed(reader: Reader): Promise<readonly string[]> {
  const waiting = await everyPage((span) => reader.page(dataSources, "status", [FIRST_STATUS], span));
  return waiting.map(({ id }) => id);
}

/** The cells of a row under their column names; __proto__ too is a name like any other here. */
export function rowObject(columns: readonly Column[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = Object.create(null);
  for (const [at, { name }] of columns.entries()) row[name] = cells[at] ?? null;
  return row;
}
