// Tables of a data source (spec part 2: data source; 2.data-reading, 8.bounds): converts cells to typed columns. Never
// rounds a number or drops a leading zero. JSON.parse returns the nearest double and drops the original spelling. JSON
// with such numbers is therefore parsed a second time with them quoted.
import { isDateTime } from "../lib/clock.ts";
import { parseCsv } from "../lib/csv.ts";
import { CELLS_MAX, type Cell, COLUMNS_MAX, type Column, type Row } from "./model.ts";

/** Missing members count, and a row has at least one cell. */
const TOO_LARGE = `There are more than ${CELLS_MAX} cells (rows times columns).`;

/** A page of rows repeats each column name up to 100 times; longer names would exceed the maximum response size. */
const COLUMN_NAME_MAX = 1_000;

/** The cells of each row are in the order of the columns. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

function findType(cell: Cell): Column["type"] {
  if (typeof cell === "number") return isWithinRange(cell) ? "number" : "string";
  if (typeof cell === "boolean") return "boolean";
  return isDateTime(String(cell)) ? "datetime" : "string";
}

/** In CSV, 007, +1 and 1e5 stay text, because they may be codes. */
const PLAIN_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;

function findCsvType(cell: Cell): Column["type"] {
  const text = String(cell);
  if (text === "true" || text === "false") return "boolean";
  return PLAIN_NUMBER.test(text) && isExactNumber(text) ? "number" : findType(text);
}

/** Converts JSON rows to a table, with columns in order of first occurrence; returns a string on error. */
export function parseObjects(objects: readonly Row[]): Table | string {
  const names = [...new Set(objects.flatMap(Object.keys))];
  if (names.length > COLUMNS_MAX)
    return `There are ${names.length} columns; at most ${COLUMNS_MAX} are allowed.`;
  if (objects.length * Math.max(names.length, 1) > CELLS_MAX) return TOO_LARGE;
  const toRow = (object: Row) =>
    names.map((name) => (Object.hasOwn(object, name) ? (object[name] ?? null) : null));
  return toTable(names, objects.map(toRow), findType);
}

/** Converts CSV to a table; returns a string on error. */
export function parseCsvTable(text: string): Table | string {
  const records = parseCsv(text, COLUMNS_MAX);
  if (typeof records === "string") return records;
  const [names = [], ...lines] = records;
  if (lines.length * names.length > CELLS_MAX) return TOO_LARGE;
  const rows = lines.map((fields) => fields.map((field) => (field === "" ? null : field)));
  return toTable(names, rows, findCsvType);
}

/** Types the columns and converts the cells. A missing cell is null; mixed types become text. */
function toTable(
  names: readonly string[],
  rows: readonly Cell[][],
  findCellType: typeof findType,
): Table | string {
  if (names.some((name) => name.length > COLUMN_NAME_MAX))
    return `A column name has more than ${COLUMN_NAME_MAX} characters.`;
  const columns = names.map((name, position): Column => {
    const cells = rows.flatMap((row) => row[position] ?? []);
    const types = new Set(cells.map(findCellType));
    const [type = "string"] = types;
    return { name, type: types.size > 1 ? "string" : type };
  });
  return {
    columns,
    rows: rows.map((row) =>
      columns.map(({ type }, position) => convertCell(row[position] ?? null, type)),
    ),
  };
}

function convertCell(cell: Cell, type: Column["type"]): Cell {
  if (cell === null) return null;
  if (type === "number") return Number(cell);
  return type === "boolean" ? String(cell) === "true" : String(cell);
}

/** Whether the number is finite and, where it is an integer, between -(2^53 - 1) and 2^53 - 1. */
export const isWithinRange = (value: number): boolean =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);

/** Whether a double has exactly the value of the decimal number, and the number is within range. */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  const shortest = String(value);
  return isWithinRange(value) && (shortest === text || toCanonical(shortest) === toCanonical(text));
}

/** Returns one text for each absolute value: its digits without outer zeros, and the power of ten that multiplies them. */
function toCanonical(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end).replace(/^0+/, "");
  return significant && `${significant}e${Number(exponent) + whole.length - end}`;
}

/**
 * Parses JSON without rounding the numbers that `keep` replaces. It is called only if a number is out of range or not
 * written as JavaScript writes it, with the value and the same value in which such numbers are text.
 */
export function parseExactJson(
  json: string,
  keep: (parsed: unknown, written: unknown) => void = keepNumbers,
): unknown {
  const parsed: unknown = JSON.parse(json);
  const quoted = quoteNumbers(json);
  if (quoted !== json) keep(parsed, JSON.parse(quoted));
  return parsed;
}

/** Quotes numbers that are out of range or unusually written; `json` must be valid. */
function quoteNumbers(json: string): string {
  const quoteOrNumber = /"|-?\d[\d.eE+-]*/g;
  let quoted = "";
  let copiedUntil = 0;
  for (let match = quoteOrNumber.exec(json); match; match = quoteOrNumber.exec(json)) {
    const [text] = match;
    const value = Number(text);
    if (text === '"') quoteOrNumber.lastIndex = findStringEnd(json, match.index);
    else if (String(value) !== text || !isWithinRange(value)) {
      quoted += `${json.slice(copiedUntil, match.index)}"${text}"`;
      copiedUntil = quoteOrNumber.lastIndex;
    }
  }
  return quoted + json.slice(copiedUntil);
}

/** A loop, because a regular expression overflows its stack on a string of some MiB. */
function findStringEnd(json: string, start: number): number {
  let end = start + 1;
  while (json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
  return end + 1;
}

/**
 * Replaces the numbers in each column of text with their original text. `written` has the same rows, with numbers as
 * text if JavaScript would write them differently. Values that are not rows fail validation later.
 */
export function keepNumbersOfRows(rows: unknown, written: unknown): void {
  if (!Array.isArray(rows) || !Array.isArray(written)) return;
  const isInexact = (text: unknown) => typeof text === "string" && !isExactNumber(text);
  const textColumns = new Set<string>();
  for (const [index, row] of rows.entries())
    for (const [name, cell] of Object.entries(row ?? {}))
      if (typeof cell === "number" ? isInexact(written[index][name]) : cell !== null)
        textColumns.add(name);
  for (const [index, row] of rows.entries())
    for (const name of textColumns)
      if (row instanceof Object && typeof row[name] === "number") row[name] = written[index][name];
}

/** Levels down to the data of a data source in a seed. A body may be nested too deeply for a full walk. */
const LEVELS_MAX = 5;

/** Keeps the numbers of `data` and `data_point`, in a body or in a seed. */
function keepNumbers(sent: unknown, written: unknown, levels = LEVELS_MAX): void {
  if (typeof sent !== "object" || sent === null || levels === 0) return;
  const texts = written as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(sent))
    if (name === "data") keepNumbersOfRows(value, texts.data);
    else if (name === "data_point") keepNumbersOfRows([value], [texts.data_point]);
    else keepNumbers(value, texts[name], levels - 1);
}
