// The panel of one data source on the page of a deployed app: its chart, if one fits, and its rows as people read them,
// sorted by links. The page's query holds the sort of one table and the point that was just sent.
import { listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, Cell, Column, DataSourceRecord, Row } from "../../domain/model.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
import * as ui from "../html.ts";
import { type Html, html } from "../html.ts";
import type { WebContext } from "../session.ts";
import { createChart, describePoint, formatCell, renderChart, toTitle } from "./chart.ts";

/** A page draws and sorts no more rows of a data source. */
const ROWS_MAX = 2_000;

/** Loads the first rows of a data source, and their chart if one fits. */
export async function loadChart(
  { store }: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
) {
  const page = await listRows(store, account, source.id, { offset: 0, limit: ROWS_MAX });
  const { items: rows, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  const columns = source.columns ?? [];
  return { columns, rows, total, chart: createChart(columns, rows) };
}

/** `eventLink` leads to the event of the point that was just sent. */
export async function renderPanel(
  web: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
  eventLink: ui.Renderable,
): Promise<Html> {
  const { id, name } = source;
  const { query, request } = web;
  const { columns, rows, total, chart } = await loadChart(web, account, source);
  const isSorted = query.get("table") === id;
  const sent = chart?.points.find(
    ({ row }) => query.get("chart") === id && query.get("point") === String(row),
  );
  const rowsWithPoints = new Set(chart?.points.map(({ row }) => row));
  const table = renderRows(id, columns, rows, rowsWithPoints, isSorted ? query : new Map());
  const content = chart && [
    ui.hidden("chart", id),
    renderChart(chart, sent),
    html`<output class="${!sent && "soft"}">${sent ? ["Sent: ", describePoint(chart.y, sent), ". ", eventLink] : "Select a point or a row of the table to send it to the owner of this app. The table has all columns."}</output>
<details${isSorted && html` open`}><summary>Show as table</summary>${table}</details>`,
  ];
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>
${content ? web.form(`interactions?${request.query}`, content) : table}
${ui.firstOfMany(rows.length, total, "rows")}</section>`;
}

/** The first cell of a row with a point is a button that sends it, as in the chart. */
function renderRows(
  table: string,
  columns: readonly Column[],
  rows: readonly Row[],
  rowsWithPoints: ReadonlySet<number>,
  query: ReadonlyMap<string, string>,
): Html {
  const sort = query.get("sort");
  const order = query.get("order") ?? "ascending";
  const direction = order === "ascending" ? 1 : -1;
  const entries = [...rows.entries()];
  if (sort) entries.sort(([, a], [, b]) => compareCells(a[sort], b[sort], direction));
  const body = entries.slice(0, ui.ROWS_MAX).map(([row, values]) => {
    const cells = columns.map(({ name }, index) => {
      const text = ui.truncate(formatCell(values[name]));
      const isButton = index === 0 && rowsWithPoints.has(row);
      return [name, isButton ? html`<button name="point" value="${row}">${text}</button>` : text];
    });
    return Object.fromEntries(cells);
  });
  return ui.table("Rows", columns, body, rows.length, ({ name, type }) => {
    const isSorted = name === sort;
    const next = isSorted && direction === 1 ? "descending" : "ascending";
    const url = `?${new URLSearchParams({ table, sort: name, order: next })}#${table}`;
    return html`<th class="${type}"${isSorted && html` aria-sort="${order}"`}>${ui.link(url, toTitle(name))}</th>`;
  });
}

const COLLATOR = new Intl.Collator("en", { numeric: true });
const toKey = (cell: Cell) =>
  typeof cell === "string" && isDateTime(cell) ? parseIso(cell) : cell;

/** Empty cells are last in both orders. */
function compareCells(a: Cell = null, b: Cell = null, direction: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const difference = Number(toKey(a)) - Number(toKey(b));
  return direction * (difference || COLLATOR.compare(String(a), String(b)));
}
