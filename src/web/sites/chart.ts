// Converts a table to a chart: chooses the columns for x, y and category, the rows that become points, and the axes.
// Nothing is drawn here.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
import { truncate } from "../html.ts";

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

interface Label {
  /** From 0 to 1 along the axis. */
  readonly at: number;
  readonly text: string;
}

export interface Axis {
  /** Returns the place of a value as a fraction of the axis. */
  toFraction(value: number): number;
  readonly labels: readonly Label[];
}

export interface Chart {
  /** Bars over names, a line over times. */
  readonly kind: "bars" | "line";
  readonly x: Column;
  readonly y: Column;
  /** The columns that can be y. */
  readonly numbers: readonly Column[];
  readonly category: Column | undefined;
  /** The values of the category in order of appearance, or one null. */
  readonly series: readonly (string | null)[];
  readonly points: readonly Point[];
  readonly across: Axis;
  readonly up: Axis;
}

/** Returns the chart of these rows, or undefined if none fits. The numbers are drawn over times or, else, names. */
export const createChart = (
  columns: readonly Column[],
  rows: readonly Row[],
  selected?: Column,
): Chart | undefined =>
  createChartOver("datetime", columns, rows, selected) ??
  createChartOver("string", columns, rows, selected);

function createChartOver(
  type: "datetime" | "string",
  columns: readonly Column[],
  rows: readonly Row[],
  selected?: Column,
): Chart | undefined {
  const x = columns.find((column) => column.type === type);
  const numbers = columns.filter((column) => column.type === "number");
  const y = selected ?? numbers.find((column) => !isIdentifier(column, rows)) ?? numbers[0];
  if (x === undefined || y === undefined) return undefined;
  const category = columns.find((column) => column !== x && isCategory(column, rows));
  const points: Point[] = [];
  const names = new Map<string, number>();
  for (const [row, cells] of rows.entries()) {
    const name = toText(cells[x.name]);
    const height = cells[y.name];
    if (name === null || typeof height !== "number") continue;
    if (!names.has(name)) names.set(name, names.size);
    const position = type === "datetime" ? parseIso(name) : (names.get(name) ?? 0);
    const group = category === undefined ? null : toText(cells[category.name]);
    points.push({ row, position, x: name, y: height, category: group });
  }
  if (points.length === 0 || (type === "string" && !areBars(points))) return undefined;
  const series = [...new Set(points.map((point) => point.category))];
  points.sort((a, b) => a.position - b.position);
  const positions = points.map(({ position }) => position);
  const up = createScale([0, ...points.map((point) => point.y)], UP_LABELS_MAX);
  const across =
    type === "datetime"
      ? createScale(positions, ACROSS_LABELS_MAX, true)
      : createAxis(
          -0.5,
          names.size - 0.5,
          Array.from(names, ([name, at]) => [at, name]),
        );
  if (across === undefined || up === undefined) return undefined;
  const kind = type === "datetime" ? "line" : "bars";
  return { kind, x, y, numbers, category, series, points, across, up };
}

/** Returns true for ids and counters, which identify a row and measure nothing. */
const isIdentifier = ({ name }: Column, rows: readonly Row[]): boolean =>
  /(^|[\s_-])id$/i.test(name) ||
  rows.every((cells, at) => at === 0 || Number(cells[name]) === Number(rows[at - 1]?.[name]) + 1);

const SERIES_MAX = 8;

/** Returns true if the column has several values, but few enough for one colour each. */
function isCategory({ name, type }: Column, rows: readonly Row[]): boolean {
  if (type !== "string" && type !== "boolean") return false;
  const values = new Set(rows.map((cells) => cells[name]));
  return values.size > 1 && values.size <= SERIES_MAX;
}

/** The maximum text length in an event's data point. */
const TEXT_MAX = 1_000;
const toText = (cell: Cell = null): string | null =>
  cell === null ? null : String(cell).slice(0, TEXT_MAX).toWellFormed();

/** More bars would be thinner than the gaps between them. */
const BARS_MAX = 200;

/** Bars need one value for each name. */
function areBars(points: readonly Point[]): boolean {
  const places = new Set(points.map(({ x, category }) => JSON.stringify([x, category])));
  return places.size === points.length && places.size <= BARS_MAX;
}

type Labels = readonly (readonly [value: number, text: string])[];

function createAxis(low: number, high: number, labels: Labels): Axis {
  const toFraction = (value: number): number => (value - low) / (high - low);
  return { toFraction, labels: labels.map(([value, text]) => ({ at: toFraction(value), text })) };
}

const ACROSS_LABELS_MAX = 12;
const UP_LABELS_MAX = 6;
/** Greater and smaller numbers have no scale; they are only shown in the table. */
const DIGITS_MAX = 305;

/** Creates the axis from the smallest to the largest value, with round labels. */
function createScale(
  values: readonly number[],
  labelsMax: number,
  isTime = false,
): Axis | undefined {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const margin = most > least ? 0 : 1;
  const digits = Math.abs(Math.log10(most - least + 2 * margin));
  if (!(digits < DIGITS_MAX)) return undefined;
  const labels = roundLabels(least, most, labelsMax, isTime);
  return createAxis(least - margin, most + margin, labels);
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** An average. Two days after such a multiple, the calendar is in the same month and year. */
const YEAR_MS = 365.2425 * DAY_MS;
const STEPS_MS = [
  ...[0.001, 0.01, 0.1, 1, 5, 15].map((seconds) => seconds * 1_000),
  ...[1, 5, 15, 60, 180, 360, 720, 1_440, 2_880, 10_080].map((minutes) => minutes * 60_000),
  ...[1 / 12, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 500, 2_000].map((years) => years * YEAR_MS),
];

/** Returns the multiples of a round number, or of a round duration, between two values. */
function roundLabels(low: number, high: number, labelsMax: number, isTime: boolean): Labels {
  if (low === high) return [[low, isTime ? formatDate(low) : formatNumber(low)]];
  const power = 10 ** Math.floor(Math.log10((high - low) / labelsMax));
  const steps = isTime ? STEPS_MS : [1, 2, 2.5, 5, 10].map((factor) => factor * power);
  const step = steps.find((size) => (high - low) / size <= labelsMax) ?? high - low;
  // Months and years are counted from the year 0.
  const origin = isTime && step > WEEK_MS ? -1970 * YEAR_MS : 0;
  const first = Math.ceil((low - origin) / step);
  const last = Math.floor((high - origin) / step);
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const value = origin + Number(((first + index) * step).toPrecision(15));
    return [value, isTime ? formatTick(value, step) : formatNumber(value, COMPACT)];
  });
}

/** Formats a time as precisely as the step requires. */
function formatTick(time: number, step: number): string {
  if (step >= YEAR_MS) return format(time + 2 * DAY_MS, { year: "numeric" });
  if (step > WEEK_MS) return format(time + 2 * DAY_MS, { month: "short", year: "numeric" });
  return format(
    time,
    time % DAY_MS === 0 ? { day: "numeric", month: "short" } : clockOptions(step),
  );
}

/** Includes seconds and milliseconds only if the duration has them. */
const clockOptions = (duration_ms: number): Intl.DateTimeFormatOptions => ({
  hour: "2-digit",
  minute: "2-digit",
  ...(duration_ms % 60_000 !== 0 && { second: "2-digit" }),
  ...(duration_ms % 1_000 !== 0 && { fractionalSecondDigits: 3 }),
});

const format = (time: number, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }).format(time);

const formatDate = (time: number): string =>
  format(time, {
    day: "numeric",
    month: "short",
    year: "numeric",
    ...(time % DAY_MS !== 0 && clockOptions(time)),
  });

const FULL = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });

const formatNumber = (value: number, numberFormat = FULL): string =>
  value === 0 || (Math.abs(value) >= 1e-6 && Math.abs(value) < 1e15)
    ? numberFormat.format(value)
    : value.toExponential();

function formatX(x: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(x))
    return format(parseIso(x), { month: "long", year: "numeric" });
  return isDateTime(x) ? formatDate(parseIso(x)) : x;
}

/** Describes a point in words, for screen readers and tooltips. */
export function describePoint({ name }: Column, { x, y, category }: Point): string {
  const parts = [formatX(x), `${formatNumber(y)} ${truncate(name)}`];
  return (category === null ? parts : [...parts, category]).join(", ");
}
