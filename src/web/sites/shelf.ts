// What the page of a deployed app shows of one data source: a chart whose points can be clicked with the rows as a table
// below, or the table alone where no chart fits. Made once for each state of the data (contract, part 8); only the visitor's
// own form and the point that was just sent are put in afterwards.
import type { Caller } from "../../domain/access.ts";
import { rowsPage } from "../../domain/data-sources.ts";
import type { DataSourceRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reader } from "../../domain/store.ts";
import { type Html, html } from "../html.ts";
import { ROWS_MAX, table } from "../parts.ts";
import { type Chart, chartOf } from "./chart.ts";
import { drawing, inWords } from "./drawing.ts";

export interface Shelf {
  readonly chart: Chart | undefined;
  readonly above: Html;
  readonly drawn: Html;
  readonly table: Html;
}

/** A record is replaced, never changed: what was made of it holds as long as it lives. */
const made = new WeakMap<DataSourceRecord, Shelf>();

export async function shelfOf(reader: Reader, caller: Caller, source: DataSourceRecord): Promise<Shelf> {
  const before = made.get(source);
  if (before) return before;
  const page = await rowsPage(reader, caller, source.id, { offset: 0, limit: ROWS_MAX });
  const { items, total } = page instanceof Refusal ? { items: [], total: 0 } : page;
  const columns = source.columns ?? [];
  const chart = chartOf(columns, items);
  const missing = items.length - (chart?.points.length ?? 0);
  const cut = total > items.length && html`<p class="soft">The first ${items.length} of ${total} rows.</p>`;
  const shelf = {
    chart,
    above: html`${chart && html`<p class="soft">${chart.y.name} by ${chart.x.name}${chart.category && html`, by ${chart.category.name}`}${missing > 0 && html`. ${missing} without a value ${missing === 1 ? "is" : "are"} not drawn`}</p>${legend(chart)}`}`,
    drawn: html`${chart && drawing(chart, undefined)}`,
    table: html`${items.length === 0 ? html`<p class="soft">It has no rows.</p>` : table(columns, items)}${cut}`,
  };
  made.set(source, shelf);
  return shelf;
}

const legend = ({ category, series }: Chart): Html =>
  html`${category && html`<ul class="legend">${series.map((name, at) => html`<li class="s${at}">${name ?? "none"}</li>`)}</ul>`}`;

const TABLE = "The same as a table";

/** `row` is that of the point that was just sent. */
export function figure(
  source: DataSourceRecord,
  { chart, above, drawn, table: rows }: Shelf,
  csrf: Html,
  row: number,
): Html {
  const sent = chart?.points.find((point) => point.row === row);
  return html`<section class="card chart" id="${source.id}" aria-label="${source.name}"><h2>${source.name}</h2>
${
  chart
    ? html`${above}<form method="post" action="interactions" data-chart>${csrf}<input type="hidden" name="chart" value="${source.id}">
${sent ? drawing(chart, row) : drawn}<p class="said"><output class="soft">${sent ? `Sent: ${inWords(sent)}` : "Choose a point to see it here."}</output></p></form>
<details><summary>${TABLE}</summary>${rows}</details>`
    : rows
}</section>`;
}
