// Converts a table to a chart: chooses the columns for x, y and category, the rows that become points, and their
// positions. Nothing is drawn here.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso } from "../../lib/clock.ts";
import { truncate } from "../html.ts";

/** A point of the data, as user.interaction carries it. */
export interface Point {
  /** The index of its row in the data source. */
  readonly row: number;
  /** The position along x: the number, the time, or the index of a name. */
  readonly place: number;
  readonly x: string | number;
  readonly y: number;
  readonly category: string | null;
}

type Labels = readonly (readonly [at: number, text: string])[];

/** Maps a value to its fraction of the axis, and holds the labels. */
export interface Axis {
  at(value: number): number;
  readonly labels: Labels;
}

const axis = (low: number, high: number, labels: Labels): Axis => {
  const at = (value: number): number => (value - low) / (high - low);
  return { at, labels: labels.map(([value, text]) => [at(value), text]) };
};

export type Chart = NonNullable<ReturnType<typeof tryChart>>;

const SERIES_MAX = 8;
/** More names are drawn as points, because bars would be thinner than their gaps. */
const BARS_MAX = 200;

/** Numbers are drawn over times, names or other numbers; data without a number are a table. */
const ACROSS = ["datetime", "string", "number"] as const;

/**
 * Returns the chart of these rows, for the numeric column `wanted` if given; undefined if none fits. Repeated names say
 * little along an axis, so two numbers are drawn against each other instead.
 */
export function createChart(
  columns: readonly Column[],
  rows: readonly Row[],
  wanted?: Column,
): Chart | undefined {
  const charts = ACROSS.flatMap((type) => tryChart(type, columns, rows, wanted) ?? []);
  return (
    charts.find(({ kind }) => kind !== "points") ??
    charts.find(({ x }) => x.type === "number") ??
    charts[0]
  );
}

function tryChart(
  type: Column["type"],
  columns: readonly Column[],
  rows: readonly Row[],
  wanted?: Column,
) {
  const x = columns.find((column) => column.type === type && column !== wanted);
  const ys = columns.filter((column) => column.type === "number" && column !== x);
  const y = wanted ?? ys.find((column) => !isCount(column, rows)) ?? ys[0];
  if (x === undefined || y === undefined) return undefined;
  const category = columns.find((column) => column !== x && fitsCategory(column, rows)) ?? null;
  const names = new Map<string | number, number>();
  const positionOf = (value: string | number): number => {
    if (typeof value === "number") return value;
    if (type === "datetime") return parseIso(value);
    return names.get(value) ?? names.set(value, names.size).size - 1;
  };
  const points = rows.flatMap((cells, route): Point[] => {
    // A row without x or y is not drawn.
    const [at, height] = [shorten(cells[x.name]), cells[y.name]];
    if (typeof height !== "number" || at === null) return [];
    const kind = category && shorten(cells[category.name]);
    return [
      {
        row: route,
        place: positionOf(at),
        x: at,
        y: height,
        category: kind === null ? null : String(kind),
      },
    ];
  });
  // Categories in order of appearance; one null if there are none.
  const series = [...new Set(points.map((point) => point.category))];
  points.sort((a, b) => a.place - b.place);
  const kind = chooseKind(x, points);
  const written = [...names].map(([name, at]) => [at, String(name)] as const);
  const spots = points.map(({ place }) => place);
  const across =
    type === "string"
      ? axis(-0.5, names.size - 0.5, written)
      : scale(spots, ROOM.across, type === "datetime");
  const up = scale([...(kind === "points" ? [] : [0]), ...points.map((point) => point.y)], ROOM.up);
  return points.length > 0 && across && up
    ? { kind, x, y, ys, category, series, points, across, up }
    : undefined;
}

/** Returns true for ids and counters, which identify a row and measure nothing. */
const isCount = ({ name }: Column, rows: readonly Row[]): boolean =>
  /(^|[\s_-])id$/i.test(name) ||
  rows.every((cells, at) => at === 0 || Number(cells[name]) === Number(rows[at - 1]?.[name]) + 1);

/** Returns true if the column has several values, but few enough for one colour each. */
function fitsCategory({ name, type }: Column, rows: readonly Row[]): boolean {
  if (type !== "string" && type !== "boolean") return false;
  const values = new Set(rows.map((cells) => cells[name]));
  return values.size > 1 && values.size <= SERIES_MAX;
}

/** The maximum text length in an event's data point. */
const TEXT_MAX = 1_000;
const shorten = (cell: Cell = null): string | number | null =>
  cell === null || typeof cell === "number" ? cell : String(cell).slice(0, TEXT_MAX).toWellFormed();

/** Bars and lines need one value per position; otherwise points are drawn. */
function chooseKind(x: Column, points: readonly Point[]): "bars" | "line" | "points" {
  const places = new Set(points.map((point) => JSON.stringify([point.x, point.category])));
  if (x.type === "number" || places.size < points.length) return "points";
  if (x.type === "datetime") return "line";
  return places.size > BARS_MAX ? "points" : "bars";
}

/** The limits of a drawing; numbers closer together or further apart are only shown in the table. */
const SPREAD = { digits: 305, ofSize: 1e-12 };

/** Creates the axis from the smallest to the largest value, with round labels. */
function scale(values: readonly number[], room: number, isTime = false): Axis | undefined {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const size = Math.max(Math.abs(least), Math.abs(most));
  const spread = most - least || size || 1;
  if (!(Math.abs(Math.log10(spread)) < SPREAD.digits && spread > size * SPREAD.ofSize))
    return undefined;
  const [low, high] =
    most > least ? [least, most] : [least && least - spread / 2, most + spread / 2];
  return axis(low, high, round(least, most, room, isTime));
}

/** The maximum number of labels per axis. */
const ROOM = { across: 12, up: 6 };

const DAY_MS = 86_400_000;
/** Months and years are averages; two days after their start the calendar is in the same month and year. */
const YEAR_MS = 365.2425 * DAY_MS;
const SURELY_MS = 2 * DAY_MS;
const STEPS_MS = [
  ...[0.001, 0.01, 0.1, 1, 5, 15].map((seconds) => seconds * 1_000),
  ...[1, 5, 15, 60, 180, 360, 720, 1_440, 2_880, 10_080].map((minutes) => minutes * 60_000),
  ...[1 / 12, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 500, 2_000].map((years) => years * YEAR_MS),
];
const FACTORS = [1, 2, 2.5, 5, 10];

/** Returns the multiples of a round number, or of a round duration, between two values. */
function round(low: number, high: number, room: number, isTime: boolean): Labels {
  if (low === high) return [[low, isTime ? dayOf(low) : formatCompact(low)]];
  const power = 10 ** Math.floor(Math.log10((high - low) / room));
  const steps = isTime ? STEPS_MS : FACTORS.map((factor) => factor * power);
  const step = steps.find((each) => (high - low) / each <= room) ?? high - low;
  const start = isTime && step > 7 * DAY_MS ? -1970 * YEAR_MS : 0;
  const from = Math.ceil((low - start) / step);
  return Array.from({ length: Math.floor((high - start) / step) - from + 1 }, (_, at) => {
    const value = start + Number(((from + at) * step).toPrecision(15));
    return [value, isTime ? timeOf(value, step) : formatCompact(value)];
  });
}

/** Formats a time as precisely as the step requires. */
function timeOf(at: number, step: number): string {
  if (step >= YEAR_MS) return date(at + SURELY_MS, { year: "numeric" });
  if (step > 7 * DAY_MS) return date(at + SURELY_MS, { month: "short", year: "numeric" });
  return date(at, at % DAY_MS === 0 ? { day: "numeric", month: "short" } : clockParts(step));
}

/** Includes seconds and fractions only if the step has them. */
const clockParts = (length: number): Intl.DateTimeFormatOptions => ({
  hour: "2-digit",
  minute: "2-digit",
  ...(length % 60_000 !== 0 && { second: "2-digit" }),
  ...(length % 1_000 !== 0 && { fractionalSecondDigits: 3 }),
});

const date = (at: number, deps: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat("en-GB", { ...deps, timeZone: "UTC" }).format(at);

const dayOf = (at: number): string =>
  date(at, {
    day: "numeric",
    month: "short",
    year: "numeric",
    ...(at % DAY_MS !== 0 && clockParts(at)),
  });

/** Created once, because that takes longer than formatting all numbers of a chart. */
const FULL = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const PLAIN = new Intl.NumberFormat("en", { useGrouping: false, maximumSignificantDigits: 6 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });
/** Formats a number along an axis; only numbers from 10,000 are shortened, so years stay whole. */
const formatCompact = (value: number): string =>
  formatNumber(value, Math.abs(value) < 10_000 ? PLAIN : COMPACT);
const formatNumber = (value: number, format = FULL): string =>
  value === 0 || (Math.abs(value) >= 1e-6 && Math.abs(value) < 1e15)
    ? format.format(value)
    : value.toExponential();

function value(x: string | number): string {
  if (typeof x === "number") return formatNumber(x);
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(x))
    return date(parseIso(x), { month: "long", year: "numeric" });
  return isDateTime(x) ? dayOf(parseIso(x)) : x;
}

/** Describes a point in words, for screen readers and tooltips. */
export const describePoint = ({ name }: Column, { x, y, category }: Point): string =>
  [value(x), `${formatNumber(y)} ${truncate(name)}`, category]
    .filter((part) => part !== null)
    .join(", ");
