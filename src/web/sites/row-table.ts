// The rows of a data source as people read them, in pages, sorted by links. The page's query holds the state of one
// table. The first cell of a row with a point is a button that sends it, as in the chart.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
import { type Html, html, link, ROWS_MAX, table, tabs, truncate } from "../html.ts";
import type { SubmittedFields } from "../session.ts";
import { formatCell, type Point, toTitle } from "./chart.ts";

export function renderRows(
  query: SubmittedFields,
  id: string,
  columns: readonly Column[],
  rows: readonly Row[],
  points: readonly Point[],
): Html {
  const state = query.get("table") === id ? Object.fromEntries(query) : {};
  const { sort = "", order = "ascending", page = "1" } = state;
  const direction = order === "ascending" ? 1 : -1;
  const entries = [...rows.entries()];
  if (sort) entries.sort(([, a], [, b]) => compareCells(a[sort], b[sort], direction));
  const end = Number(page) * ROWS_MAX;
  const pageRows = entries.slice(end - ROWS_MAX, end).map(([row, values]) => {
    const cells = columns.map(({ name }, index) => {
      const text = truncate(formatCell(values[name]));
      const isButton = index === 0 && points.some((point) => point.row === row);
      return [name, isButton ? html`<button name="point" value="${row}">${text}</button>` : text];
    });
    return Object.fromEntries(cells);
  });
  const toUrl = (state: Record<string, string>) =>
    `?${new URLSearchParams({ table: id, ...state })}#${id}`;
  const renderHead = ({ name, type }: Column) => {
    const isSorted = name === sort;
    const next = isSorted && direction === 1 ? "descending" : "ascending";
    return html`<th class="${type}"${isSorted && html` aria-sort="${order}"`}>${link(toUrl({ sort: name, order: next }), toTitle(name))}</th>`;
  };
  const pages = Math.ceil(rows.length / ROWS_MAX);
  const links = Array.from({ length: pages }, (_, index) => {
    const page = String(index + 1);
    return [page, toUrl({ sort, order, page })] as const;
  });
  return html`${table("Rows", columns, pageRows, pageRows.length, renderHead)}${pages > 1 && tabs("Pages", links, page)}`;
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
