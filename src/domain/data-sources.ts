// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; contract, parts 2, 3, 4): flat JSON objects,
// or CSV as text. The data are stored as sent and the request returns at once; the service schedules the processing.
// Processing converts the data to rows and ends as ready or failed, with the event data.processed in the same
// transaction. Faults in the data set the data source's `error`; they are not server errors.
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
import { keepNumbersOfRows, parseCsvTable, parseObjects, readMember } from "./columns.ts";
import { createCrudService, paginate } from "./crud.ts";
import { AppError, invalidField } from "./errors.ts";
import { recordEvent } from "./events.ts";
import type { AccountRecord, DataSourceDraft, DataSourceRecord, Row } from "./model.ts";
import {
  accounts,
  apps,
  COLUMNS_MAX,
  dataRow,
  dataSource,
  dataSourceContents,
  dataSources,
  unchecked,
} from "./model.ts";
import { ALL_RECORDS, type Range, type Reader } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

const DATA_JSON = { json: { type: "array", items: dataRow.json }, csv: { type: "string" } };

/** Extends a schema to validate `data` by `type`. */
export function withDataValidation<D extends DataSourceDraft>(
  schema: ObjectSchema<D>,
): ObjectSchema<D> {
  const { members } = schema;
  return {
    members,
    json: {
      oneOf: (["json", "csv"] as const).map(
        (type) =>
          object({ ...members, type: oneOf([type]), data: unchecked(DATA_JSON[type]) }).json,
      ),
    },
    check(value, path, issues) {
      const draft = schema.check(value, path, issues);
      for (const issue of findDataIssues(draft ?? {}))
        addIssue(issues, [...path, "data", ...issue.path], issue.detail);
      return draft;
    },
  };
}

/** Yields issues of data that cannot be returned as sent. Processing reports all other faults later. */
function* findDataIssues({ type, data }: Partial<DataSourceDraft>): Generator<Issue> {
  if (type === undefined || data === undefined) return; // has another issue already
  if (type === "csv") {
    const detail = typeof data === "string" ? textProblem(data) : "must be a string of CSV";
    if (detail) yield { path: [], detail };
  } else if (Array.isArray(data))
    for (const [at, row] of data.entries()) yield* findRowIssues(row, at);
  else yield { path: [], detail: "must be an array of flat objects" };
}

function* findRowIssues(row: unknown, at: number): Generator<Issue> {
  const isFlatObject = typeof row === "object" && row !== null && !Array.isArray(row);
  const cells = Object.entries(isFlatObject ? row : {});
  if (!isFlatObject) yield { path: [at], detail: "must be a flat object" };
  else if (cells.length > COLUMNS_MAX)
    yield { path: [at], detail: `must have ${COLUMNS_MAX} members at most` };
  else
    for (const [name, cell] of cells) {
      const nameProblem = textProblem(name);
      if (nameProblem) yield { path: [at], detail: `has a member whose name ${nameProblem}` };
      const detail = cellProblem(cell);
      if (detail) yield { path: [at, name], detail };
    }
}

function cellProblem(cell: unknown): string | undefined {
  if (typeof cell === "string") return textProblem(cell);
  const isCell = cell === null || typeof cell === "boolean" || Number.isFinite(cell);
  return isCell ? undefined : "must be a string, a number, true, false or null";
}

/** Keeps numbers as sent in columns of text. */
export const keepNumbersOfDraft: KeepNumbers = (sent, written) =>
  keepNumbersOfRows(readMember(sent, "data"), readMember(written, "data"));

const schemas = { ...dataSource, createBody: withDataValidation(dataSource.createBody) };

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
  { id = ctx.ids.next("ds_"), data, ...fields }: WithOptionalId<DataSourceDraft>,
) {
  const { tx, timestamp } = ctx;
  if (fields.app_id !== null && (await tx.get(apps, fields.app_id))?.account_id !== account_id)
    return invalidField("#/app_id", "must be the id of one of your apps, or null");
  const source: DataSourceRecord = {
    id,
    ...fields,
    status: "processing",
    columns: null,
    row_count: null,
    error: null,
    created_at: timestamp,
    updated_at: timestamp,
    account_id,
  };
  await tx.put(dataSources, source);
  await tx.put(dataSourceContents, { id, raw: data, rows: [], request_id: ctx.requestId });
  ctx.publish("data", id);
  return source;
}

/** Returns the ids of unprocessed data sources, oldest first, for a server to resume at startup. */
export async function listUnprocessed(reader: Reader) {
  const unprocessed = await reader.page(dataSources, "status", ["processing"], ALL_RECORDS);
  return unprocessed.map(({ id }) => id);
}

/** Processes a data source once; does nothing if it was deleted or is already processed. */
export const processDataSource = (unit: UnitOfWork, id: string): Promise<void> =>
  unit.run(async (ctx) => {
    const { tx, timestamp } = ctx;
    const source = await tx.get(dataSources, id);
    const content = await tx.get(dataSourceContents, id);
    const account = source && (await tx.get(accounts, source.account_id));
    if (source?.status !== "processing" || !content || content.raw === null || !account) return;
    const { raw } = content;
    // Spreadsheets write a byte order mark before the first column's name.
    const table =
      typeof raw === "string" ? parseCsvTable(raw.replace(/^\uFEFF/, "")) : parseObjects(raw);
    const rows = typeof table === "string" ? [] : table.rows;
    const processed: DataSourceRecord = {
      ...source,
      ...(typeof table === "string"
        ? { status: "failed", error: table }
        : { status: "ready", columns: table.columns, row_count: rows.length }),
      updated_at: timestamp,
    };
    await tx.put(dataSources, processed);
    await tx.put(dataSourceContents, { ...content, raw: null, rows });
    // Links the event to the trace of the request that sent the data, although its response was sent earlier.
    const ctxOfRequest = { ...ctx, requestId: content.request_id };
    const payload = pick(dataSource.response, processed);
    await recordEvent(ctxOfRequest, account, "data.processed", payload);
  });

export async function listRows(reader: Reader, account: AccountRecord, id: string, range: Range) {
  const source = await dataSourceService.get(reader, account, id);
  if (source instanceof AppError) return source;
  const columns = source.columns ?? [];
  const rows = (await reader.get(dataSourceContents, id))?.rows ?? [];
  const items = rows
    .slice(range.offset, range.offset + range.limit)
    .map(
      (cells): Row => Object.fromEntries(columns.map(({ name }, at) => [name, cells[at] ?? null])),
    );
  return { items, total: rows.length, range };
}
