// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; contract, parts 2, 3, 4): flat JSON objects,
// or CSV as text. The data are stored as sent and the request returns at once; the service schedules the processing.
// Processing converts the data to rows and ends as ready or failed, with the event data.processed in the same
// transaction. Faults in the data set the data source's `error`; they are not server errors.
import { decide } from "../former-decisions.ts";
import type { KeepNumbers } from "../lib/numbers.ts";
import {
  addIssue,
  type Issue,
  type ObjectSchema,
  object,
  oneOf,
  pick,
  textProblem,
} from "../lib/schema.ts";
import { COLUMNS_MAX, keepNumbersOfRows, parseCsvTable, parseObjects } from "./columns.ts";
import { createCrudService, paginate } from "./crud.ts";
import { AppError, invalidField } from "./errors.ts";
import { recordEvent } from "./events.ts";
import type {
  AccountRecord,
  Cell,
  Column,
  DataSourceDraft,
  DataSourceRecord,
  Row,
} from "./model.ts";
import {
  accounts,
  apps,
  dataRow,
  dataSource,
  dataSourceContents,
  dataSources,
  unchecked,
} from "./model.ts";
import { ALL_RECORDS, type Range, type Reader } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

/** Adds an issue for data that cannot be returned as sent. Processing reports all other faults later. */
function validateData(
  { type, data }: Partial<DataSourceDraft>,
  path: Issue["path"],
  issues: Issue[],
): void {
  if (type === undefined || data === undefined) return; // missing in an invalid draft
  const addDataIssue = (within: Issue["path"], detail: string) =>
    addIssue<void>(issues, [...path, "data", ...within], detail);
  if (type === "csv") {
    const invalid = typeof data === "string" ? textProblem(data) : "must be a string of CSV";
    if (invalid !== undefined) addDataIssue([], invalid);
    return;
  }
  if (!Array.isArray(data)) {
    addDataIssue([], "must be an array of flat objects");
    return;
  }
  for (const [at, row] of data.entries()) {
    const isObject = typeof row === "object" && row !== null && !Array.isArray(row);
    const names = isObject ? Object.keys(row) : [];
    if (!isObject) addDataIssue([at], "must be a flat object");
    if (names.length > COLUMNS_MAX) addDataIssue([at], `must have ${COLUMNS_MAX} members at most`);
    else
      for (const name of names) {
        const unfitName = textProblem(name);
        if (unfitName !== undefined) addDataIssue([at], `has a member whose name ${unfitName}`);
        const problem = cellProblem(row[name]);
        if (problem !== undefined) addDataIssue([at, name], problem);
      }
  }
}

function cellProblem(value: unknown): string | undefined {
  if (typeof value === "string") return textProblem(value);
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : "must be a finite number";
  return value === null || typeof value === "boolean"
    ? undefined
    : "must be a string, a number, true, false or null";
}

/** JSON Schema of `data`, by type. */
const DATA_JSON = { json: { type: "array", items: dataRow.json }, csv: { type: "string" } };
const TYPES = decide("2.data-source-request");

/** Extends a schema to validate `data` by `type`, unless the type is unknown. */
export const withDataValidation = <D extends DataSourceDraft>({
  members,
  check,
}: ObjectSchema<D>): ObjectSchema<D> => ({
  members,
  json: {
    oneOf: TYPES.map(
      (type) => object({ ...members, type: oneOf([type]), data: unchecked(DATA_JSON[type]) }).json,
    ),
  },
  check(value, path, issues) {
    const given = check(value, path, issues);
    validateData(given ?? {}, path, issues);
    return given;
  },
});

/** Keeps numbers as sent in columns of text. */
export const keepNumbersOfDraft: KeepNumbers = (sent, written) =>
  keepNumbersOfRows(Object(sent).data, Object(written).data);

const schemas = { ...dataSource, createBody: withDataValidation(dataSource.createBody) };
const [WAITING, READY, FAILED] = decide("3.data-processing");
const STATUSES_WITH_EVENT: ReadonlySet<string> = new Set(decide("6.emitted-by"));

export const dataSourceService = createCrudService(dataSources, "data source", schemas, {
  onCreate: createDataSource,
  /** Deletes the rows or the unprocessed data. */
  onDelete: ({ tx }, { id }) => tx.remove(dataSourceContents, id),
});

export const listDataSourcesOfApp = (reader: Reader, appId: string, range: Range) =>
  paginate(reader, dataSources, "app", [appId], range);

export async function createDataSource(
  ctx: TxContext,
  account_id: string,
  { data, ...given }: WithOptionalId<DataSourceDraft>,
) {
  const { id = ctx.ids.next("ds_"), ...draft } = given;
  if (draft.app_id !== null && (await ctx.tx.get(apps, draft.app_id))?.account_id !== account_id)
    return invalidField("#/app_id", "must be the id of one of your apps, or null");
  const initialState = { status: WAITING, columns: null, row_count: null, error: null };
  const source: DataSourceRecord = {
    id,
    ...draft,
    ...initialState,
    created_at: ctx.timestamp,
    updated_at: ctx.timestamp,
    account_id,
  };
  await ctx.tx.put(dataSources, source);
  await ctx.tx.put(dataSourceContents, { id, raw: data, rows: [], request_id: ctx.requestId });
  ctx.publish("data", id);
  return source;
}

/** Returns the ids of unprocessed data sources, oldest first, for a server to resume at startup. */
export async function listUnprocessed(reader: Reader) {
  const waiting = await reader.page(dataSources, "status", [WAITING], ALL_RECORDS);
  return waiting.map(({ id }) => id);
}

/** Processes a data source once; does nothing if it was deleted or is already processed. */
export async function processDataSource(unit: UnitOfWork, id: string) {
  const raw = (await unit.store.get(dataSourceContents, id))?.raw ?? null;
  if (raw === null) return null;
  // Spreadsheets write a byte order mark before the first column's name.
  const table =
    typeof raw === "string" ? parseCsvTable(raw.replace(/^\uFEFF/, "")) : parseObjects(raw);
  return unit.run(async (ctx) => {
    const source = await ctx.tx.get(dataSources, id);
    const content = await ctx.tx.get(dataSourceContents, id);
    const account = source && (await ctx.tx.get(accounts, source.account_id));
    if (source?.status !== WAITING || !content || !account) return null;
    const outcome =
      typeof table === "string"
        ? { status: FAILED, error: table }
        : { status: READY, columns: table.columns, row_count: table.rows.length };
    const processed: DataSourceRecord = { ...source, ...outcome, updated_at: ctx.timestamp };
    await ctx.tx.put(dataSources, processed);
    await ctx.tx.put(dataSourceContents, {
      ...content,
      raw: null,
      rows: typeof table === "string" ? [] : table.rows,
    });
    // Links the event to the trace of the request that sent the data, although its response was sent earlier.
    const ctxOfRequest = { ...ctx, requestId: content.request_id };
    if (STATUSES_WITH_EVENT.has(processed.status))
      await recordEvent(
        ctxOfRequest,
        account,
        "data.processed",
        pick(dataSource.response, processed),
      );
    return null;
  });
}

export async function listRows(reader: Reader, account: AccountRecord, id: string, range: Range) {
  const source = await dataSourceService.get(reader, account, id);
  if (source instanceof AppError) return source;
  const columns = source.columns ?? [];
  const rows = (source.columns && (await reader.get(dataSourceContents, id))?.rows) ?? [];
  const pageRows = rows.slice(range.offset, range.offset + range.limit);
  return { items: pageRows.map((cells) => toRowObject(columns, cells)), total: rows.length, range };
}

/** Returns the cells by column name; without a prototype, __proto__ is a name like any other. */
function toRowObject(columns: readonly Column[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = Object.create(null);
  for (const [at, { name }] of columns.entries()) row[name] = cells[at] ?? null;
  return row;
}
