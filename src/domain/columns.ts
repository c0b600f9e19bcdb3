// Column types of a data source (spec part 2: data source; contract, parts 2 and 8). Converts a table of cells to typed
// columns. Never rounds a number or drops a leading zero.
import { isDateTime } from "../lib/clock.ts";
import { parseCsv } from "../lib/csv.ts";
import { isExactNumber, isWithinRange } from "../lib/numbers.ts";
import { type Cell, COLUMNS_MAX, type Column, type Row } from "./model.ts";

/** Limit on cells, rows times columns: missing members count, and a row has at least one cell. */
export const CELLS_MAX = 1_000_000;
const TOO_LARGE = `There are more than ${CELLS_MAX} cells (rows times columns).`;

/** A page of rows repeats each column name up to 100 times; longer names would exceed the maximum response size. */
const NAME_MAX = 1_000;

/** The cells of each row are in the order of the columns. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

type CellType = Column["type"];
type CellMatchers = { readonly [type in CellType]: (cell: Cell) => boolean };

const JSON_MATCHERS: CellMatchers = {
  number: (cell) => typeof cell === "number" && isWithinRange(cell),
  boolean: (cell) => typeof cell === "boolean",
  datetime: (cell) => typeof cell === "string" && isDateTime(cell),
  string: () => true,
};
/** In CSV, 007, +1 and 1e5 stay text, because they may be codes. */
const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;
const CSV_MATCHERS: CellMatchers = {
  ...JSON_MATCHERS,
  number: (cell) => PLAIN_NUMBER.test(String(cell)) && isExactNumber(String(cell)),
  boolean: (cell) => cell === "true" || cell === "false",
};

/** A column has the first of these types that all its values have; mixed values become text. */
const TYPES = ["number", "boolean", "datetime", "string"] as const;

/** Converts JSON rows to a table, with columns in order of first occurrence; returns a string on error. */
export function parseObjects(objects: readonly Row[]): Table | string {
  const positions = new Map<string, number>();
  const rows: Cell[][] = [];
  for (const object of objects) {
    const row: Cell[] = [];
    for (const [name, cell] of Object.entries(object)) {
      const position = positions.get(name) ?? positions.size;
      if (position === COLUMNS_MAX)
        return `Row ${rows.length + 1} adds column ${position + 1}; at most ${COLUMNS_MAX} are allowed.`;
      positions.set(name, position);
      row[position] = cell;
    }
    if (objects.length * Math.max(positions.size, 1) > CELLS_MAX) return TOO_LARGE;
    rows.push(row);
  }
  return toTable([...positions.keys()], rows, JSON_MATCHERS);
}

/** Converts CSV to a table; returns a string on error. */
export function parseCsvTable(text: string): Table | string {
  const records = parseCsv(text, COLUMNS_MAX);
  if (typeof records === "string") return records;
  const [names = [], ...lines] = records;
  if (lines.length * names.length > CELLS_MAX) return TOO_LARGE;
  const rows = lines.map((fields) => fields.map((field) => (field === "" ? null : field)));
  return toTable(names, rows, CSV_MATCHERS);
}

/** Types the columns and converts the cells; a missing cell is null. */
function toTable(
  names: readonly string[],
  rows: readonly Cell[][],
  matchers: CellMatchers,
): Table | string {
  const longName = names.findIndex((name) => [...name].length > NAME_MAX);
  if (longName >= 0)
    return `The name of column ${longName + 1} has more than ${NAME_MAX} characters.`;
  const columns = names.map((name, position) => {
    const cells = rows.map((row) => row[position] ?? null).filter((cell) => cell !== null);
    // Any later value fits text, so a column without values is text.
    const type = cells.length > 0 && TYPES.find((each) => cells.every(matchers[each]));
    return { name, type: type || "string" };
  });
  return {
    columns,
    rows: rows.map((row) =>
      columns.map(({ type }, position) => convertCell(row[position] ?? null, type)),
    ),
  };
}

function convertCell(cell: Cell, type: CellType): Cell {
  if (cell === null) return null;
  if (type === "number") return Number(cell);
  return type === "boolean" ? String(cell) === "true" : String(cell);
}

const readMember = (value: unknown, name: string | number): unknown =>
  (Object(value) as Readonly<Record<string, unknown>>)[name];

/**
 * Replaces the numbers in each column of text with their original text. `written` has the same rows, with numbers as
 * text if JavaScript would write them differently. Values that are not rows fail validation later.
 */
export function keepNumbersOfRows(rows: unknown, written: unknown): void {
  if (!Array.isArray(rows)) return;
  const isText = (cell: unknown, text: unknown) =>
    typeof cell === "number" ? typeof text === "string" && !isExactNumber(text) : cell !== null;
  const textColumns = new Set<string>();
  for (const [at, row] of rows.entries())
    for (const [name, cell] of Object.entries(Object(row)))
      if (isText(cell, readMember(readMember(written, at), name))) textColumns.add(name);
  for (const [at, row] of rows.entries())
    for (const name of textColumns)
      if (typeof readMember(row, name) === "number")
        row[name] = readMember(readMember(written, at), name);
}

/** Keeps the numbers of `data` and `data_point`, in a body or anywhere in a seed. */
export function keepNumbers(sent: unknown, written: unknown): void {
  if (typeof sent !== "object" || sent === null) return;
  for (const [name, value] of Object.entries(sent)) {
    const text = readMember(written, name);
    if (name === "data") keepNumbersOfRows(value, text);
    else if (name === "data_point") keepNumbersOfRows([value], [text]);
    else keepNumbers(value, text);
  }
}
