// The columns of a data source and what is in them (spec part 2: data source; contract, parts 2 and 8): a table of cells
// in, the same table with a type for each column and its cells in that type out, in steps. It refuses what is too wide or
// too large at the first row that shows it; it never rounds a number and never drops a leading zero.
import { decide } from "../decisions.ts";
import { isDateTime } from "../lib/clock.ts";
import { parseCsv } from "../lib/csv.ts";
import { isExactNumber, isWithinRange } from "../lib/numbers.ts";
import type { Chunked } from "../lib/tasks.ts";
import type { Cell, Column, Row } from "./model.ts";

/** Wider tables are nearly always a list whose rows and columns were confused. */
export const COLUMNS_MAX = decide("8.bounds").columns;

/** More than anybody looks at, and still read in a moment; rows that leave members out count whole, and one has a cell. */
export const CELLS_MAX = 1_000_000;
const TOO_LARGE = `There are more than ${CELLS_MAX} cells (rows times columns).`;

/** A page of rows has each name a hundred times: names as long as the text would make it larger than any answer may be. */
const NAME_MAX = 1_000;
const NAME = new RegExp(`^.{0,${NAME_MAX}}$`, "su");

/** Rows that are looked at in one step: some ten milliseconds, where they are wide. */
const ROWS_PER_STEP = 500;

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
 * A column has the first type that all its values have: of JSON, datetime is text that is ISO 8601 throughout, and where
 * values differ they are given as text; so are numbers that a double would round, and whole numbers beyond 2^53 - 1. Of
 * CSV, 007, +1 and 1e5 stay text, because they may as well be codes, which a number would spoil.
 */
const TYPE_ORDER = decide("2.data-reading");

/** Of a column without values: text is the one type that any later value fits. */
const EMPTY_COLUMN = "string";

/** Rows of JSON as a table, the columns in the order in which they first occur; a text says why not. */
export function* parseObjects(objects: readonly Row[]): Chunked<Table | string> {
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
    if (rows.push(row) % ROWS_PER_STEP === 0) yield;
  }
  return yield* toTable([...places.keys()], rows, JSON_MATCHERS);
}

/** CSV as a table; a text says why not. */
export function* parseCsvTable(text: string): Chunked<Table | string> {
  let names: readonly string[] | undefined;
  const rows: Cell[][] = [];
  for (const record of parseCsv(text, COLUMNS_MAX)) {
    if (typeof record === "string") return record;
    if (names !== undefined) rows.push(record.map((field) => (field === "" ? null : field)));
    names ??= record;
    if (rows.length * names.length > CELLS_MAX) return TOO_LARGE;
    if (rows.length % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
  }
  return yield* toTable(names ?? [], rows, CSV_MATCHERS);
}

/** The rows are the table's from here on: of one length, and filled with what their cells are read as. */
function* toTable(
  names: readonly string[],
  rows: Cell[][],
  fits: CellMatchers,
): Chunked<Table | string> {
  const long = names.findIndex((name) => !NAME.test(name));
  if (long >= 0) return `The name of column ${long + 1} has more than ${NAME_MAX} characters.`;
  const left: (readonly Type[] | undefined)[] = names.map(() => undefined);
  for (const [n, row] of rows.entries()) {
    for (const [at, cell] of row.entries())
      if (cell !== null) left[at] = (left[at] ?? TYPE_ORDER).filter((type) => fits[type](cell));
    if (n % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
  }
  const columns = names.map((name, at) => ({ name, type: left[at]?.[0] ?? EMPTY_COLUMN }));
  for (const [n, row] of rows.entries()) {
    for (const [at, { type }] of columns.entries()) {
      const cell = row[at] ?? null;
      row[at] = cell === null ? null : PARSERS[type](cell);
    }
    if (n % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield;
  }
  return { columns, rows };
}

/** The cells of each row stand in the order of the columns. */
export type Table = {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
};

/** Decimal digits as JSON writes them, without exponent, whose value a double has. */
function isPlainNumber(cell: Cell): boolean {
  return typeof cell === "string" && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(cell) && isExactNumber(cell);
}

/**
 * Replaces the numbers of each column of text by what was sent for them. `written` has the same rows, with numbers as text
 * where they are not written as JavaScript writes them. What are no rows is left to be refused.
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
