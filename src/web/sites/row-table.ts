// The rows of a data source as people read them, in pages, sorted by links. The page's query holds the state of one
// table. The first cell of a row with a point is a button that sends it, as in the chart.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { parseIso } from "../../lib/clock.ts";
import { type Html, html, link, ROWS_MAX, table, truncate } from "../html.ts";
import { countField, type SubmittedFields } from "../session.ts";
import { formatCell, type Point, toTitle } from "./chart.ts";

export function renderRows(
  query: SubmittedFields,
  id: string,
  columns: readonly Column[],
  rows: readonly Row[],
  points: readonly Point[],
): Html {
  const state: SubmittedFields = query.get("table") === id ? query : new Map();
  const sorted = columns.find(({ name }) => name === state.get("sort"));
  const order = state.get("order") === "descending" ? "descending" : "ascending";
  const offset = countField(state, "offset") ?? 0;
  const entries = [...rows.entries()];
  if (sorted) entries.sort(([, a], [, b]) => compareRows(sorted, order, a, b));

  const pressable = new Set(points.map(({ row }) => row));
  const pageOfRows = entries.slice(offset, offset + ROWS_MAX).map(([row, values]) => {
    const cells = columns.map(({ name }, index): [string, string | Html] => {
      const text = truncate(formatCell(values[name]));
      const isButton = index === 0 && pressable.has(row);
      return [name, isButton ? html`<button name="point" value="${row}">${text}</button>` : text];
    });
    return Object.fromEntries(cells);
  });

  const toUrl = (sort: string, order: string, offset: number) =>
    `?${new URLSearchParams({ table: id, sort, order, offset: String(offset) })}#${id}`;
  const head = (column: Column) => {
    const next = column === sorted && order === "ascending" ? "descending" : "ascending";
    return html`<th class="${column.type}"${column === sorted && html` aria-sort="${order}"`}>${link(toUrl(column.name, next, 0), toTitle(column.name))}</th>`;
  };
  const pages = [
    ["Previous rows", offset - ROWS_MAX],
    ["Next rows", offset + ROWS_MAX],
  ] as const;
  const pager = pages
    .filter(([, start]) => start >= 0 && start < rows.length)
    .map(([text, start]) => [link(toUrl(sorted?.name ?? "", order, start), text), " "]);
  return html`${table("Rows", columns, pageOfRows, pageOfRows.length, head)}
${pager.length > 0 && html`<p>Rows ${offset + 1} to ${offset + pageOfRows.length} of ${rows.length}. ${pager}</p>`}`;
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Empty cells are last in both orders. */
function compareRows({ name, type }: Column, order: string, a: Row, b: Row): number {
  const [first = null, second = null] = [a[name], b[name]];
  if (first === null || second === null) return Number(first === null) - Number(second === null);
  const toNumber = type === "datetime" ? (cell: Cell) => parseIso(String(cell)) : Number;
  const difference =
    type === "string"
      ? COLLATOR.compare(String(first), String(second))
      : toNumber(first) - toNumber(second);
  return order === "ascending" ? difference : -difference;
}
