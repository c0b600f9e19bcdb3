// From a table to a chart: which columns become x, y and category, and which rows become points. Nothing is drawn here.
import type { Row } from "../../domain/columns.ts";
import type { Cell, Column } from "../../domain/model.ts";
import { instant } from "../../kit/clock.ts";

/** A point as it stands in the data, and as user.interaction carries it. */
export interface Point {
  /** Its row in the data source. */
  readonly row: number;
  readonly x: string | number;
  readonly y: number;
  readonly category: string | null;
}

export interface Chart {
  readonly kind: "bars" | "line" | "points";
  readonly x: Column;
  readonly y: Column;
  readonly category: Column | null;
  /** The categories in the order in which they appear; one that is null where there are none. */
  readonly series: readonly (string | null)[];
  readonly points: readonly Point[];
}

const SERIES_MAX = 8;

/** The first number is drawn over time, over names or over another number; data without a number are a table. */
const ACROSS = ["datetime", "string", "number"] as const;

/**
 * The chart of these rows; undefined where none fits, so that they are shown as a table. Names that repeat say little
 * along an axis, so two numbers are drawn against each other instead where there are two.
 */
export function chartOf(columns: readonly Column[], rows: readonly Row[]): Chart | undefined {
  const y = columns.find(({ type }) => type === "number");
  if (y === undefined) return undefined;
  const charts = ACROSS.flatMap((type) => {
    const x = columns.find((column) => column.type === type && column !== y);
    const drawn = x && (type === "number" ? chartWith(columns, rows, y, x) : chartWith(columns, rows, x, y));
    return drawn && drawn.points.length > 0 && isDrawable(drawn) ? [drawn] : [];
  });
  return charts.find(({ kind }) => kind !== "points") ?? charts.find(({ x }) => x.type === "number") ?? charts[0];
}

function chartWith(columns: readonly Column[], rows: readonly Row[], x: Column, y: Column): Chart {
  const category = columns.find((column) => column !== x && fitsCategory(column, rows)) ?? null;
  const points = rows.flatMap((cells, row) => pointOf(cells, row, x, y, category));
  const series = [...new Set(points.map((point) => point.category))];
  return { kind: kindOf(x, points), x, y, category, series, points };
}

/** Few enough values that each has a colour of its own, and more than one. */
function fitsCategory({ name, type }: Column, rows: readonly Row[]): boolean {
  if (type !== "string" && type !== "boolean") return false;
  const values = new Set(rows.map((cells) => cells[name]));
  return values.size > 1 && values.size <= SERIES_MAX;
}

/** A row without x or y is no point. */
function pointOf(cells: Row, row: number, x: Column, y: Column, category: Column | null): Point[] {
  const [at, height] = [cells[x.name], cells[y.name]];
  if (typeof height !== "number" || at === null || at === undefined) return [];
  const kind = category === null ? null : cells[category.name];
  return [{ row, x: typeof at === "number" ? at : short(at), y: height, category: kind == null ? null : short(kind) }];
}

/** An event's data point carries text of this length at most. */
const TEXT_MAX = 1_000;
const short = (cell: NonNullable<Cell>): string => String(cell).slice(0, TEXT_MAX).toWellFormed();

/** Bars and lines need one value a place; several are a cloud of points. */
function kindOf(x: Column, points: readonly Point[]): Chart["kind"] {
  const places = new Set(points.map((point) => JSON.stringify([point.x, point.category])));
  if (x.type === "number" || places.size < points.length) return "points";
  return x.type === "datetime" ? "line" : "bars";
}

/** Where a point stands from left to right, as a fraction of the width. */
export function horizontal({ x, points }: Chart): (value: string | number) => number {
  if (x.type === "string" || x.type === "boolean") {
    const names = namesOf(points);
    return (value) => (names.indexOf(value) + 0.5) / names.length;
  }
  const values = points.map((point) => position(point.x));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => (high === low ? 0.5 : EDGE + ((position(value) - low) / (high - low)) * (1 - 2 * EDGE));
}

const EDGE = 0.03;

/** The places along x where x is names. */
export const namesOf = (points: readonly Point[]): readonly (string | number)[] => [
  ...new Set(points.map(({ x }) => x)),
];

export const position = (value: string | number): number => (typeof value === "number" ? value : instant(value));

/** Numbers so near each other or so far apart that no scale holds them are read in the table. */
function isDrawable(chart: Chart): boolean {
  const ticks = ticksOf(chart);
  const across = chart.points.map(({ x }) => horizontal(chart)(x));
  const rises = ticks.length > 1 && ticks.every((tick, at) => at === 0 || tick > (ticks[at - 1] ?? tick));
  return rises && [...ticks, ...across].every(Number.isFinite);
}

const TICKS = 4;

/** Round values from below the lowest to above the highest, zero among them where bars stand on it. */
export function ticksOf({ kind, points }: Chart): readonly number[] {
  const values = points.map(({ y }) => y);
  const low = kind === "points" ? Math.min(...values) : Math.min(0, ...values);
  const high = kind === "points" ? Math.max(...values) : Math.max(0, ...values);
  const step = roundStep(high - low || Math.abs(high) || 1);
  const from = Math.floor(low / step);
  return multiples(step, from, Math.max(Math.ceil(high / step), from + 1));
}

/** Round values that lie between the two. */
export function roundBetween(low: number, high: number): readonly number[] {
  const step = roundStep(high - low || 1);
  return high === low ? [low] : multiples(step, Math.ceil(low / step), Math.floor(high / step));
}

const multiples = (step: number, from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => Number(((from + at) * step).toPrecision(12)));

/** 1, 2, 2.5 or 5 times a power of ten, so that about as many as wanted fit into the range. */
function roundStep(range: number): number {
  const rough = range / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return (([1, 2, 2.5, 5] as const).find((factor) => factor * power >= rough) ?? 10) * power;
}
