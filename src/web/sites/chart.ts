// Converts a table to a chart: chooses the columns for x, y and category, the rows that become points, and the axes.
// Nothing is drawn here.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso, toIso } from "../../lib/clock.ts";
import { toLabel, truncate } from "../html.ts";

/** A point of the data; user.interaction contains its x, y and category. */
export interface Point {
  /** The index of its row in the data source. */
  readonly row: number;
  /** The position along x: the time, or the index of the name. */
  readonly position: number;
  readonly x: string;
  readonly y: number;
  readonly category: string | null;
}

export interface Axis {
  /** Returns the place of a value as a fraction of the axis. */
  toFraction(value: number): number;
  /** The value and the text of each label. */
  readonly labels: readonly (readonly [value: number, text: string])[];
}

export type Chart = NonNullable<ReturnType<typeof createChart>>;

const SERIES_MAX = 8;
/** More bars would be thinner than the gaps between them. */
const BARS_MAX = 200;
/** The maximum text length in an event's data point. */
const TEXT_MAX = 1_000;
const TITLE_MAX = 40;
const TIME_LABELS_MAX = 12;
const NUMBER_LABELS_MAX = 6;

/** Returns a line of the first numeric column over times, or else bars over names; undefined if neither fits. */
export function createChart(columns: readonly Column[], rows: readonly Row[]) {
  const findColumn = (kind: Column["type"]) => columns.find(({ type }) => type === kind);
  const x = findColumn("datetime") ?? findColumn("string");
  const numbers = columns.filter(({ type }) => type === "number");
  const y = numbers.find(({ name }) => !/(^|[\s_-])id$/i.test(name)) ?? numbers[0];
  if (x === undefined || y === undefined) return undefined;
  const isLine = x.type === "datetime";
  const category = columns.find((column) => column !== x && isCategory(column, rows));
  const names = new Map<string, number>();
  const points = rows.flatMap((cells, row): readonly Point[] => {
    const name = toText(cells[x.name]);
    const height = cells[y.name];
    if (name === null || typeof height !== "number") return [];
    const index = names.get(name) ?? names.size;
    names.set(name, index);
    const group = category ? toText(cells[category.name]) : null;
    const position = isLine ? parseIso(name) : index;
    return [{ row, position, x: name, y: height, category: group }];
  });
  points.sort((a, b) => a.position - b.position);
  const series = [...new Set(points.map((point) => point.category))];
  const bars = new Set(points.map((point) => JSON.stringify([point.x, point.category])));
  // Bars need one value for each name and category.
  if (!isLine && (bars.size < points.length || bars.size > BARS_MAX)) return undefined;
  const up = createAxis([0, ...points.map((point) => point.y)], formatNumber);
  const across = createAxis(
    points.map(({ position }) => position),
    isLine ? formatTime : names,
  );
  return up && across && { isLine, x, y, category, series, points, across, up };
}

/** Returns true if the column has several values, but few enough for one color each. */
function isCategory(column: Column, rows: readonly Row[]): boolean {
  if (!/string|boolean/.test(column.type)) return false;
  const { size } = new Set(rows.map((cells) => cells[column.name]));
  return size > 1 && size <= SERIES_MAX;
}

const toText = (cell: Cell = null): string | null =>
  cell === null ? null : String(cell).slice(0, TEXT_MAX).toWellFormed();

/** Creates the axis of these values with names or round labels; undefined if their distance is not a number. */
function createAxis(
  values: readonly number[],
  texts: ReadonlyMap<string, number> | typeof formatTime,
): Axis | undefined {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const hasNames = typeof texts === "object";
  const margin = hasNames || low === high ? 0.5 : 0;
  const length = high - low + 2 * margin;
  if (!Number.isFinite(length)) return undefined;
  return {
    toFraction: (value) => (value - low + margin) / length,
    labels: hasNames
      ? Array.from(texts, ([name, index]) => [index, name])
      : createLabels(low, high, texts),
  };
}

const DAY_MS = 86_400_000;
/** An average. Two days after such a multiple, the calendar is in the same month and year. */
const YEAR_MS = 365.2425 * DAY_MS;
const MONTH_MS = YEAR_MS / 12;
const STEPS_S = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];
const STEPS_MONTHS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 6_000];
const STEPS_MS = [
  ...STEPS_S.map((seconds) => seconds * 1_000),
  ...STEPS_MONTHS.map((months) => months * MONTH_MS),
];

/** Labels the multiples of a round number, or of a round duration, between two values. */
function createLabels(low: number, high: number, format: typeof formatTime): Axis["labels"] {
  if (low === high) return [[low, format(low)]];
  const isTime = format === formatTime;
  const least = (high - low) / (isTime ? TIME_LABELS_MAX : NUMBER_LABELS_MAX);
  const power = 10 ** Math.floor(Math.log10(least));
  const steps = isTime ? STEPS_MS : [1, 2, 5, 10].map((factor) => factor * power);
  const step = steps.find((size) => size >= least) ?? high - low;
  // Months and years are counted from the year 0.
  const origin = isTime && step >= MONTH_MS ? -1970 * YEAR_MS : 0;
  const first = Math.ceil((low - origin) / step);
  const last = Math.floor((high - origin) / step);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const value = origin + Number(((first + index) * step).toPrecision(15));
    return [value, format(value, step)];
  });
}

const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

/** Formats a time as precisely as the step between labels requires, or else in full. */
function formatTime(time: number, step = 0): string {
  const date = DATE.format(step < MONTH_MS ? time : time + 2 * DAY_MS);
  const [day, month, year = ""] = date.split(" ");
  if (step >= YEAR_MS) return year;
  if (step >= MONTH_MS) return `${month} ${year}`;
  const clock = time % DAY_MS !== 0 && toIso(time).slice(11, (step || time) % 60_000 ? 19 : 16);
  if (step > 0) return clock || `${day} ${month}`;
  return clock ? `${date}, ${clock}` : date;
}

const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 15 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });

/** Formats a number, in short form for a label of an axis. */
function formatNumber(value: number, step = 0): string {
  const text = String(value);
  return text.includes("e") ? text : (step > 0 ? COMPACT : FULL).format(value);
}

/** Formats a value for people. */
export function formatCell(cell: Cell = null): string {
  if (typeof cell === "number") return formatNumber(cell);
  const text = String(cell ?? "–");
  return isDateTime(text) ? formatTime(parseIso(text)) : text;
}

/** Describes a point in words, for screen readers and tooltips. */
export function describePoint({ name }: Column, { x, y, category }: Point): string {
  const height = `${formatCell(y)} ${truncate(name.replaceAll("_", " "))}`;
  return [formatCell(x), height, category ?? []].flat().join(", ");
}

/** Returns a column's name as a title; mixed case may be a unit, so it stays. */
export const toTitle = (name: string): string =>
  truncate(/^[a-z\d_ ]+$/.test(name) ? toLabel(name) : name, TITLE_MAX);
