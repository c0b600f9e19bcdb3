// Converts a table to a chart: chooses the columns for x, y and category, the rows that become points, and the axes.
// Nothing is drawn here.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
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
  const x = columns.find(({ type }) => type === "datetime") ?? columns.find(isText);
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
    if (!names.has(name)) names.set(name, names.size);
    const position = isLine ? parseIso(name) : (names.get(name) ?? 0);
    const group = category ? toText(cells[category.name]) : null;
    return [{ row, position, x: name, y: height, category: group }];
  });
  points.sort((a, b) => a.position - b.position);
  const up = createScale([0, ...points.map((point) => point.y)], false);
  const times = points.map(({ position }) => position);
  const across = isLine ? createScale(times, true) : createBarAxis([...names.keys()], points);
  const series = [...new Set(points.map((point) => point.category))];
  return up && across && { isLine, x, y, category, series, points, across, up };
}

const isText = ({ type }: Column): boolean => type === "string";

/** Returns true if the column has several values, but few enough for one colour each. */
function isCategory(column: Column, rows: readonly Row[]): boolean {
  if (!isText(column) && column.type !== "boolean") return false;
  const { size } = new Set(rows.map((cells) => cells[column.name]));
  return size > 1 && size <= SERIES_MAX;
}

const toText = (cell: Cell = null): string | null =>
  cell === null ? null : String(cell).slice(0, TEXT_MAX).toWellFormed();

const createAxis = (low: number, high: number, labels: Axis["labels"]): Axis => ({
  toFraction: (value) => (value - low) / (high - low),
  labels,
});

/** Bars need one value for each name and category. */
function createBarAxis(names: readonly string[], points: readonly Point[]): Axis | undefined {
  const bars = new Set(points.map(({ x, category }) => JSON.stringify([x, category])));
  if (bars.size === 0 || bars.size < points.length || bars.size > BARS_MAX) return undefined;
  const labels = names.map((name, index) => [index, name] as const);
  return createAxis(-0.5, names.length - 0.5, labels);
}

/** Creates the axis from the smallest to the largest value; undefined if their distance is not a number. */
function createScale(values: readonly number[], isTime: boolean): Axis | undefined {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (!Number.isFinite(high - low)) return undefined;
  if (low === high)
    return createAxis(low - 1, low + 1, [[low, isTime ? formatDate(low) : formatNumber(low)]]);
  return createAxis(low, high, roundLabels(low, high, isTime));
}

const DAY_MS = 86_400_000;
/** An average. Two days after such a multiple, the calendar is in the same month and year. */
const YEAR_MS = 365.2425 * DAY_MS;
const MONTH_MS = YEAR_MS / 12;
const STEPS_MS = [
  ...[1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200].map((seconds) => seconds * 1_000),
  ...[1, 2, 7].map((days) => days * DAY_MS),
  ...[1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 6_000].map((months) => months * MONTH_MS),
];

/** Labels the multiples of a round number, or of a round duration, between two values. */
function roundLabels(low: number, high: number, isTime: boolean): Axis["labels"] {
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
    return [value, isTime ? formatTick(value, step) : formatNumber(value, COMPACT)];
  });
}

const createDateFormat = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
const YEAR = createDateFormat({ year: "numeric" });
const MONTH = createDateFormat({ month: "short", year: "numeric" });
const DAY = createDateFormat({ day: "numeric", month: "short" });
const DATE = createDateFormat({ dateStyle: "medium" });
const MINUTE = createDateFormat({ timeStyle: "short" });
const SECOND = createDateFormat({ timeStyle: "medium" });

/** Formats a time as precisely as the step requires. */
function formatTick(time: number, step: number): string {
  if (step >= MONTH_MS) return (step < YEAR_MS ? MONTH : YEAR).format(time + 2 * DAY_MS);
  if (time % DAY_MS === 0) return DAY.format(time);
  return (step < 60_000 ? SECOND : MINUTE).format(time);
}

function formatDate(time: number): string {
  const date = DATE.format(time);
  if (time % DAY_MS === 0) return date;
  return `${date}, ${(time % 60_000 === 0 ? MINUTE : SECOND).format(time)}`;
}

const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 15 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });

const formatNumber = (value: number, numberFormat = FULL): string =>
  value === 0 || (Math.abs(value) >= 1e-6 && Math.abs(value) < 1e15)
    ? numberFormat.format(value)
    : value.toExponential();

/** Formats a value for people. */
export function formatCell(cell: Cell = null): string {
  if (typeof cell === "number") return formatNumber(cell);
  const text = String(cell ?? "–");
  return isDateTime(text) ? formatDate(parseIso(text)) : text;
}

/** Describes a point in words, for screen readers and tooltips. */
export function describePoint({ name }: Column, { x, y, category }: Point): string {
  const height = `${formatCell(y)} ${truncate(name.replaceAll("_", " "))}`;
  return [formatCell(x), height, category ?? []].flat().join(", ");
}

/** Returns a column's name as a title; mixed case may be a unit, so it stays. */
export const toTitle = (name: string): string =>
  truncate(/^[a-z\d_ ]+$/.test(name) ? toLabel(name) : name, TITLE_MAX);
