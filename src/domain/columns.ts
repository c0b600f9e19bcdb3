// Column types of a data source (spec part 2: data source; contract, parts 2 and 8). Converts a table of cells to typed
// columns. Rejects a table at the first row that makes it too wide or too large. Never rounds a number or
// drops a leading zero.
import { decide } from "../former-decisions.ts";
import { isDateTime } from "../lib/clock.ts";
import { parseCsv } from "../lib/csv.ts";
import { isExactNumber, isWithinRange } from "../lib/numbers.ts";
import type { Cell, Column, Row } from "./model.ts";

/** Wider tables nearly always have rows and columns swapped. */
export const COLUMNS_MAX = decide("8.bounds").columns;

/** Limit on cells, rows times columns: missing members count, and a row has at least one cell. */
export const CELLS_MAX = 1_000_000;
const TOO_LARGE = `There are more than ${CELLS_MAX} cells (rows times columns).`;

/** A page of rows repeats each column name up to 100 times; longer names would exceed the maximum response size. */
const NAME_MAX = 1_000;
const NAME = new RegExp(`^.{0,${NAME_MAX}}$`, "su");

type Type = Column["type"];
type CellMatcher = (cell: Cell) => boolean;
type CellMatchers = { readonly [T in Type]: CellMatcher };

const datetime: CellMatcher = (cell) => typeof cell === "string" && isDateTime(cell);
const createMatchers = (number: CellMatcher, boolean: CellMatcher): CellMatchers => ({
  number,
  boolean,
  datetime,
  string: () => true,
});
const JSON_MATCHERS = createMatchers(
  (cell) => typeof cell === "number" && isWithinRange(cell),
  (cell) => typeof cell === "boolean",
);
const CSV_MATCHERS = createMatchers(isPlainNumber, (cell) => cell === "true" || cell === "false");

const PARSERS: { readonly [T in Type]: (cell: Cell) => Cell } = {
  number: Number,
  boolean: (cell) => cell === true || cell === "true",
  datetime: String,
  string: String,
};

/**
 * A column has the first of these types that all its values have. In JSON, a datetime column has only ISO 8601 text;
 * mixed values become text, and so do numbers that a double would round and integers beyond 2^53 - 1. In CSV, 007, +1
 * and 1e5 stay text, because they may be codes.
 */
const TYPE_ORDER = decide("2.data-reading");

/** Type of a column without values, because any later value fits text. */
const EMPTY_COLUMN = "string";

/** Converts JSON rows to a table, with columns in order of first occurrence; returns a string on error. */
export function parseObjects(objects: readonly Row[]): Table | string {
  const places = new Map<string, number>();
  const rows: Cell[][] = [];
  for (const object of objects) {
    const row = new Array<Cell>(places.size).fill(null);
    for (const [name, cell] of Object.entries(object)) {
      const place = places.get(name) ?? places.size;
      if (place === COLUMNS_MAX)
        return `Row ${rows.length + 1} brings the column ${place + 1}; ${COLUMNS_MAX} are allowed.`;
      places.set(name, place);
      row[place] = cell;
    }
    if (objects.length * Math.max(places.size, 1) > CELLS_MAX) return TOO_LARGE;
    rows.push(row);
  }
  return toTable([...places.keys()], rows, JSON_MATCHERS);
}

/** Converts CSV to a table; returns a string on error. */
export function parseCsvTable(text: string): Table | string {
  const records = parseCsv(text, COLUMNS_MAX);
  if (typeof records === "string") return records;
  const [names = [], ...fields] = records;
  if (fields.length * names.length > CELLS_MAX) return TOO_LARGE;
  const rows = fields.map((row) => row.map((field) => (field === "" ? null : field)));
  return toTable(names, rows, CSV_MATCHERS);
}

/** Converts the rows in place, filling them to equal length and parsing their cells, and returns them as a table. */
function toTable(names: readonly string[], rows: Cell[][], fits: CellMatchers): Table | string {
  const long = names.findIndex((name) => !NAME.test(name));
  if (long >= 0) return `The name of column ${long + 1} has more than ${NAME_MAX} characters.`;
  const left: (readonly Type[] | undefined)[] = names.map(() => undefined);
  for (const row of rows) {
    for (const [at, cell] of row.entries())
      if (cell !== null) left[at] = (left[at] ?? TYPE_ORDER).filter((type) => fits[type](cell));
  }
  const columns = names.map((name, at) => ({ name, type: left[at]?.[0] ?? EMPTY_COLUMN }));
  for (const row of rows) {
    for (const [at, { type }] of columns.entries()) {
      const cell = row[at] ?? null;
      row[at] = cell === null ? null : PARSERS[type](cell);
    }
  }
  return { columns, rows };
}

/** The cells of each row are in the order of the columns. */
export type Table = {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
};

/** Accepts decimal digits in JSON notation without exponent, if a double holds the value exactly. */
function isPlainNumber(cell: Cell): boolean {
  return typeof cell === "string" && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(cell) && isExactNumber(cell);
}

/**
 * Replaces the numbers in each column of text with their original text. `written` has the same rows, with numbers as
 * text if JavaScript would write them differently. Values that are not rows fail validation later.
 */
export function keepNumbersOfRows(rows: unknown, written: unknown): void {
  if (!Array.isArray(rows) || !Array.isArray(written)) return;
  const pairs = rows.map((row, at) => [Object(row), Object(written[at])] as const);
  const texts = new Set<string>();
  for (const [row, as] of pairs)
    for (const name of Object.keys(row))
      if (
        typeof row[name] === "number"
          ? typeof as[name] === "string" && !isExactNumber(as[name])
          : row[name] !== null
      )
        texts.add(name);
  for (const [row, as] of pairs)
    for (const name of texts) if (typeof row[name] === "number") row[name] = as[name];
}
