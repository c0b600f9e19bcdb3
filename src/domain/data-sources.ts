// Data sources (spec parts 2 and 4, their fields and bodies "not shown"; 2.data-source-request, 3.data-processing):
// flat JSON objects, or CSV as text. The data are stored as sent and the request returns at once; the service schedules
// the processing. Processing converts the data to rows and ends as ready or failed, with the event data.processed in
// the same transaction. Faults in the data set the data source's `error`; they are not server errors.
import { type Infer, pickMembers } from "../lib/schema.ts";
import { parseCsvTable, parseObjects } from "./columns.ts";
import { createCrudService, paginate, toNewRecord } from "./crud.ts";
import { AppError, appError, type FieldError } from "./errors.ts";
import { recordEvent } from "./events.ts";
import {
  type AccountRecord,
  accounts,
  apps,
  type DataSourceRecord,
  dataSource,
  dataSourceContents,
  dataSources,
  type Row,
} from "./model.ts";
import { ALL_RECORDS, type Range, type Reader } from "./store.ts";
import type { AccountContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";

export const dataSourceService = createCrudService(dataSources, "data source", dataSource, {
  onCreate: createDataSource,
  /** Deletes the rows or the unprocessed data. */
  async onDelete({ tx }, { id }) {
    await tx.remove(dataSourceContents, id);
  },
});

export const listDataSourcesOfApp = (reader: Reader, appId: string, range: Range) =>
  paginate(reader, dataSources, "app", [appId], range);

/** Returns the error if the app of a data source is no app of the account. */
export async function findAppError(
  reader: Reader,
  account: AccountRecord,
  { app_id }: Partial<Infer<typeof dataSource.createBody>>,
): Promise<readonly FieldError[]> {
  if (!app_id) return [];
  const app = await reader.get(apps, app_id);
  return app?.account_id === account.id
    ? []
    : [{ pointer: "#/app_id", detail: "must be the id of one of your apps, or null" }];
}

export async function createDataSource(
  ctx: AccountContext,
  { data, ...draft }: WithOptionalId<Infer<typeof dataSource.createBody>>,
) {
  const { tx } = ctx;
  const errors = await findAppError(tx, ctx.account, draft);
  if (errors.length > 0) return appError({ code: "validation_failed", errors });
  const source: DataSourceRecord = {
    ...toNewRecord(ctx, "ds_", draft),
    status: "processing",
    columns: null,
    row_count: null,
    error: null,
  };
  const { id } = source;
  await tx.put(dataSources, source);
  await tx.put(dataSourceContents, { id, raw: data, rows: [], request_id: ctx.requestId });
  ctx.publish("dataSourceCreated", id);
  return source;
}

/** Returns the ids of unprocessed data sources, oldest first, for a server to resume at startup. */
export async function listUnprocessed(reader: Reader) {
  const unprocessed = await reader.page(dataSources, "status", ["processing"], ALL_RECORDS);
  return unprocessed.map(({ id }) => id);
}

/** Processes a data source once; does nothing if it was deleted or is already processed. */
export const processDataSource = (unitOfWork: UnitOfWork, id: string): Promise<void> =>
  unitOfWork.run(async (ctx) => {
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
    const ctxOfRequest = { ...ctx, account, requestId: content.request_id };
    await recordEvent(ctxOfRequest, "data.processed", pickMembers(dataSource.response, processed));
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
