// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; contract, parts 2, 3, 4): rows of JSON that are
// flat objects, or CSV as text. What can be kept is kept as it came and answered at once; processing makes rows of it
// afterwards: ready or failed, with the event data.processed in the same commit. Faults of the data are an outcome that
// the data source tells, not an error of the server. Who has them processed, and when, is the service's business.
import { decide } from "../decisions.ts";
import { inSteps, type Steps } from "../kit/background.ts";
import type { KeepNumbers } from "../kit/numbers.ts";
import { type Fault, fail, type ObjectSchema, object, oneOf, pick, unfitText } from "../kit/schema.ts";
import { COLUMNS_MAX, keepNumbersOfRows, tableOfCsv, tableOfObjects } from "./columns.ts";
import { recordEvent } from "./events.ts";
import { owned, pageOf } from "./lists.ts";
import type { AccountRecord, Cell, Column, DataSourceDraft, DataSourceRecord, Row } from "./model.ts";
import { accounts, apps, asItIs, dataContents, dataRow, dataSource, dataSources, TOPIC } from "./model.ts";
import { invalidField, Refusal } from "./refusal.ts";
import { ALL, type Reader, type Span } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

/** Rows that are judged in one step, each of a hundred members at most. */
const STEP = 1_000;

/** Why the data cannot be given back as they came. What they hold beyond that is judged later, by the processing. */
function* judge({ type, data }: Partial<DataSourceDraft>, path: Fault["path"], faults: Fault[]): Steps<void> {
  if (type === undefined || data === undefined) return; // as a draft with faults may be
  const wrong = (within: Fault["path"], detail: string) => fail<void>(faults, [...path, "data", ...within], detail);
  if (type === "csv") {
    const unfit = typeof data === "string" ? unfitText(data) : "must be a string of CSV";
    return unfit === undefined ? undefined : wrong([], unfit);
  }
  if (!Array.isArray(data)) return wrong([], "must be an array of flat objects");
  for (const [at, row] of data.entries()) {
    const isObject = typeof row === "object" && row !== null && !Array.isArray(row);
    const names = isObject ? Object.keys(row) : [];
    if (!isObject) wrong([at], "must be a flat object");
    if (names.length > COLUMNS_MAX) wrong([at], `must have ${COLUMNS_MAX} members at most`);
    else
      for (const name of names) {
        const unfitName = unfitText(name);
        if (unfitName !== undefined) wrong([at], `has a member whose name ${unfitName}`);
        const unfit = unfitCell(row[name]);
        if (unfit !== undefined) wrong([at, name], unfit);
      }
    if (at % STEP === STEP - 1) yield;
  }
}

function unfitCell(value: unknown): string | undefined {
  if (typeof value === "string") return unfitText(value);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "must be a finite number";
  return value === null || typeof value === "boolean" ? undefined : "must be a string, a number, true, false or null";
}

/** How `data` look, by type. */
const DATA_JSON = { json: { type: "array", items: dataRow.json }, csv: { type: "string" } };
const TYPES = decide("2.data-source-request");

/** The schema with `data` judged by `type`; where that is not known, they are not judged. */
export const judged = <D extends DataSourceDraft>({ members, check }: ObjectSchema<D>): ObjectSchema<D> => ({
  members,
  json: { oneOf: TYPES.map((type) => object({ ...members, type: oneOf([type]), data: asItIs(DATA_JSON[type]) }).json) },
  check(value, path, faults) {
    const given = check(value, path, faults);
    Array.from(judge(given ?? {}, path, faults));
    return given;
  },
  *checkInSteps(value, path, faults) {
    const given = check(value, path, faults);
    yield* judge(given ?? {}, path, faults);
    return given;
  },
});

/** Keeps the numbers of the data as they were sent where their column is text. */
export const keepNumbersOfDraft: KeepNumbers = (sent, written) =>
  keepNumbersOfRows(Object(sent).data, Object(written).data);

const bodies = { ...dataSource, draft: judged(dataSource.draft) };
const [WAITING, READY, FAILED] = decide("3.data-processing");
const ANNOUNCED: ReadonlySet<string> = new Set(decide("6.emitted-by"));

export const own = owned(dataSources, "data source", bodies, {
  adding: addDataSource,
  /** With it go its rows, or what is still to be processed. */
  removing: ({ tx }, { id }) => tx.remove(dataContents, id),
});

export const listDataSourcesOf = (reader: Reader, appId: string, span: Span) =>
  pageOf(reader, dataSources, "app", [appId], span);

export async function addDataSource(w: Work, account_id: string, { data, ...given }: Seeded<DataSourceDraft>) {
  const { id = w.ids.next("ds_"), ...draft } = given;
  if (draft.app_id !== null && (await w.tx.get(apps, draft.app_id))?.account_id !== account_id)
    return invalidField("#/app_id", "must be the id of one of your apps, or null");
  const unread = { status: WAITING, columns: null, row_count: null, error: null };
  const source: DataSourceRecord = { id, ...draft, ...unread, created_at: w.at, updated_at: w.at, account_id };
  await w.tx.put(dataSources, source);
  await w.tx.put(dataContents, { id, raw: data, rows: [], request_id: w.cause });
  w.tx.tell(TOPIC.data, id);
  return source;
}

/** The data sources that wait, the oldest first: what a server takes up again when it starts. */
export async function unprocessed(reader: Reader) {
  const waiting = await reader.page(dataSources, "status", [WAITING], ALL);
  return waiting.map(({ id }) => id);
}

/** Processes the data source, once: where it is gone or no longer waiting, nothing happens. */
export async function processDataSource(unit: Unit, id: string) {
  const raw = (await unit.store.get(dataContents, id))?.raw ?? null;
  if (raw === null) return null;
  // Spreadsheets put a byte order mark before the first column's name.
  const read = typeof raw === "string" ? tableOfCsv(raw.replace(/^\uFEFF/, "")) : tableOfObjects(raw);
  const table = await inSteps(read);
  return unit.transact(async (w) => {
    const source = await w.tx.get(dataSources, id);
    const content = await w.tx.get(dataContents, id);
    const account = source && (await w.tx.get(accounts, source.account_id));
    if (source?.status !== WAITING || !content || !account) return null;
    const outcome =
      typeof table === "string"
        ? { status: FAILED, error: table }
        : { status: READY, columns: table.columns, row_count: table.rows.length };
    const settled: DataSourceRecord = { ...source, ...outcome, updated_at: w.at };
    await w.tx.put(dataSources, settled);
    await w.tx.put(dataContents, { ...content, raw: null, rows: typeof table === "string" ? [] : table.rows });
    // The trace of the request that sent the data leads to this event, although the request was answered before.
    const caused = { ...w, cause: content.request_id };
    if (ANNOUNCED.has(settled.status))
      await recordEvent(caused, account, "data.processed", pick(dataSource.shown, settled));
    return null;
  });
}

export async function rowsPage(reader: Reader, account: AccountRecord, id: string, span: Span) {
  const source = await own.get(reader, account, id);
  if (source instanceof Refusal) return source;
  const columns = source.columns ?? [];
  const rows = (source.columns && (await reader.get(dataContents, id))?.rows) ?? [];
  const shown = rows.slice(span.offset, span.offset + span.limit);
  return { items: shown.map((cells) => rowObject(columns, cells)), total: rows.length, span };
}

/** The cells of a row under their column names; __proto__ too is a name like any other here. */
function rowObject(columns: readonly Column[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = Object.create(null);
  for (const [at, { name }] of columns.entries()) row[name] = cells[at] ?? null;
  return row;
}
