// Reads what was sent to a data source (contract, part 3): processing -> ready or failed, with the event data.processed in
// the same commit (spec part 6: data processing completed). Faults of the data are an outcome that the data source tells,
// not an error of the server. Who calls this, and when, is the service's business.
import { CsvFault, parseCsv } from "../kit/csv.ts";
import { decide } from "../kit/decisions.ts";
import { type Table, tableOfCsv, tableOfObjects } from "./columns.ts";
import { dataSourceFields, FIRST_STATUS } from "./data-sources.ts";
import { EMITS, recordEvent } from "./events.ts";
import { accounts, type DataRecord, type DataSourceRecord, dataContents, dataSources } from "./model.ts";
import type { Unit, Work } from "./work.ts";

const ANNOUNCED: ReadonlySet<DataSourceRecord["status"]> = new Set(
  decide("3.data-processed-outcomes", ["ready", "failed"], {
    open: "whether data.processed is emitted when the data could not be read",
    why: "whoever waits for the event would otherwise wait for ever; `status` and `error` in it tell the outcome",
  }),
);

const DROPPED = decide("2.csv-byte-order-mark", "^\\uFEFF", {
  open: "what a byte order mark at the start of the CSV text means",
  why: "spreadsheets put it there; kept, it would become part of the first column's name, where nobody sees it",
});

/** Processes the data source, once: where it is gone or no longer waiting, nothing happens. */
export const processDataSource = (unit: Unit, id: string) =>
  unit.transact<null>(async (w) => {
    const source = await w.tx.get(dataSources, id);
    const content = await w.tx.get(dataContents, id);
    if (source?.status !== FIRST_STATUS || content === undefined) return null;
    await settle(w, source, content, tableOf(content.raw));
    return null;
  });

/** The table, or in plain words why there is none. */
function tableOf(raw: DataRecord["raw"]): Table | string {
  if (typeof raw !== "string") return tableOfObjects(raw ?? []);
  const read = parseCsv(raw.replace(new RegExp(DROPPED), ""));
  return read instanceof CsvFault ? `Line ${read.line}: ${read.detail}.` : tableOfCsv(read);
}

async function settle(w: Work, source: DataSourceRecord, content: DataRecord, table: Table | string): Promise<void> {
  const outcome =
    typeof table === "string"
      ? ({ status: "failed", error: table } as const)
      : ({ status: "ready", columns: table.columns, row_count: table.rows.length } as const);
  const settled: DataSourceRecord = { ...source, ...outcome, updated_at: w.at };
  await w.tx.put(dataSources, settled);
  await w.tx.put(dataContents, { ...content, raw: null, rows: typeof table === "string" ? [] : table.rows });
  const account = await w.tx.get(accounts, source.account_id);
  if (account === undefined) throw new Error(`The data source ${source.id} belongs to no account`);
  // The trace of the request that sent the data leads to this event, although the request was answered before.
  const caused: Work = { ...w, cause: content.request_id };
  if (ANNOUNCED.has(settled.status)) await recordEvent(caused, account, EMITS.process, dataSourceFields(settled));
}
