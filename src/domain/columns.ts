// The columns of a data source and what is in them (spec part 2: data source; contract, parts 2 and 8): a table of cells
// in, the same table with a type for each column and its cells in that type out. It refuses what is too wide or too
// large; it never rounds a whole number and never drops a leading zero.
import { decide } from "../decisions.ts";
import { isDateTime } from "../kit/clock.ts";
import type { CsvTable } from "../kit/csv.ts";
import type { Cell, Column } from "./model.ts";

export type Row = { readonly [column: string]: Cell };

/** Wider tables are nearly always a list whose rows and columns were confused. */
export const COLUMNS_MAX = decide("8.bounds").columns;

/** More than anybody looks at, and still read in a moment; rows of JSON that leave members out count whole. */
export const CELLS_MAX = 1_000_000;

type Type = Column["type"];
type Fits = { readonly [T in Type]: (cell: Cell) => boolean };

const datetime = (cell: Cell): boolean => typeof cell === "string" && isDateTime(cell);
const string = () => true;

const JSON_FITS: Fits = {
  number: (cell) => typeof cell === "number",
  boolean: (cell) => typeof cell === "boolean",
  datetime,
  string,
};
const CSV_FITS: Fits = {
  number: isPlainNumber,
  boolean: (cell) => cell === "true" || cell === "false",
  datetime,
  string,
};

const READ: { readonly [T in Type]: (cell: Cell) => Cell } = {
  number: Number,
  boolean: (cell) => cell === true || cell === "true",
  datetime: String,
  string: String,
};

/**
 * A column has the first type that all its values have: of JSON, datetime is text that is ISO 8601 throughout, and where
 * values differ they are given as text; of CSV, 007, +1, 1e5 and whole numbers beyond 2^53 - 1 stay text, because they may
 * as well be codes, which a number would spoil.
 */
const ORDER = decide("2.data-reading");

/** Of a column without values: text is the one type that any later value fits. */
const EMPTY_COLUMN = "string";

/** Rows of JSON as a table, the columns in the order in which they first occur; a text says why not. */
export function tableOfObjects(objects: readonly Row[]): Table | string {
  const places = new Map<string, number>();
  for (const [at, object] of objects.entries())
    for (const name of Object.keys(object)) {
      if (!places.has(name)) places.set(name, places.size);
      if (places.size > COLUMNS_MAX)
        return `Row ${at + 1} brings the column ${places.size}; ${COLUMNS_MAX} are allowed.`;
    }
  const width = places.size;
  const tooLarge = unfitSize(width, objects.length * width);
  if (tooLarge !== undefined) return tooLarge;
  const cells = new Array<Cell>(objects.length * width).fill(null);
  for (const [at, object] of objects.entries())
    for (const [name, cell] of Object.entries(object)) cells[at * width + (places.get(name) ?? 0)] = cell;
  return typed([...places.keys()], objects.length, cells, JSON_FITS);
}

/** Parsed CSV as a table; a text says why not. */
export function tableOfCsv({ header, fields }: CsvTable): Table | string {
  const tooLarge = unfitSize(header.length, fields.length);
  if (tooLarge !== undefined) return tooLarge;
  const cells = fields.map((field) => (field === "" ? null : field));
  return typed(header, fields.length / header.length, cells, CSV_FITS);
}

function unfitSize(columns: number, cells: number): string | undefined {
  if (columns > COLUMNS_MAX) return `There are ${columns} columns; ${COLUMNS_MAX} are allowed.`;
  if (cells > CELLS_MAX) return `There are ${cells} cells (rows times columns); ${CELLS_MAX} are allowed.`;
  return undefined;
}

/** `cells` are those of all rows one behind the other. */
function typed(names: readonly string[], count: number, cells: readonly Cell[], fits: Fits) {
  const width = names.length;
  const columns = names.map((name, at) => ({ name, type: typeOf(cells, at, width, fits) }));
  const rows = Array.from({ length: count }, (_, row) =>
    columns.map(({ type }, at) => {
      const cell = cells[row * width + at] ?? null;
      return cell === null ? null : READ[type](cell);
    }),
  );
  return { columns, rows };
}
export type Table = ReturnType<typeof typed>;

function typeOf(cells: readonly Cell[], column: number, width: number, fits: Fits): Type {
  const held: Cell[] = [];
  for (let at = column; at < cells.length; at += width) held.push(cells[at] ?? null);
  const values = held.filter((cell) => cell !== null);
  return (values.length > 0 && ORDER.find((type) => values.every(fits[type]))) || EMPTY_COLUMN;
}

/** Decimal digits as JSON writes them, without exponent; a whole number only as far as it is exact. */
function isPlainNumber(cell: Cell): boolean {
  if (typeof cell !== "string" || !/^-?(0|[1-9]\d*)(\.\d+)?$/.test(cell)) return false;
  const value = Number(cell);
  return cell.includes(".") ? Number.isFinite(value) : Number.isSafeInteger(value);
}
