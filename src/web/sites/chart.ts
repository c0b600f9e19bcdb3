// The chart of a table: its columns, points and scales, and its SVG. The SVG is as wide as its container: x in percent,
// y in pixels, so that text never shrinks and no script or inline style is needed. Points are form buttons, so that the
// keyboard reaches them.
import type { Cell, Column, Row } from "../../domain/model.ts";
import { isDateTime, parseIso, toIso } from "../../lib/clock.ts";
import { type Html, html, type Renderable, toLabel, truncate } from "../html.ts";

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

export type Chart = NonNullable<ReturnType<typeof createChart>>;

const SERIES_MAX = 8;
/** More bars would be thinner than the gaps between them. */
const BARS_MAX = 200;
/** The maximum text length in an event's data point. */
const TEXT_MAX = 1_000;
const TITLE_MAX = 40;
const DAY_MS = 86_400_000;

/** Returns a line of the first numeric column over times, or else bars over names; undefined if neither fits. */
export function createChart(columns: readonly Column[], rows: readonly Row[]) {
  const findColumn = (kind: Column["type"]) => columns.find(({ type }) => type === kind);
  const x = findColumn("datetime") ?? findColumn("string");
  const y =
    columns.find(({ name, type }) => type === "number" && !/(^|[\s_-])id$/i.test(name)) ??
    findColumn("number");
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
  const up = createScale([0, ...points.map((point) => point.y)]);
  const across = createScale(
    isLine ? points.map(({ position }) => position) : [-0.5, names.size - 0.5],
  );
  if (points.length === 0 || !Number.isFinite(up.high - up.low)) return undefined;
  return { isLine, x, y, category, series, points, across, up };
}

/** Returns true if the column has several values, but few enough for one color each. */
function isCategory(column: Column, rows: readonly Row[]): boolean {
  if (!/string|boolean/.test(column.type)) return false;
  const { size } = new Set(rows.map((cells) => cells[column.name]));
  return size > 1 && size <= SERIES_MAX;
}

const toText = (cell: Cell = null): string | null =>
  cell === null ? null : String(cell).slice(0, TEXT_MAX).toWellFormed();

type Scale = ReturnType<typeof createScale>;

/** Maps values to fractions of an axis; a single value is in the middle. */
function createScale(values: readonly number[]) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const toFraction = (value: number) => (low < high ? (value - low) / (high - low) : 0.5);
  return { low, high, toFraction };
}

const HEIGHT = 240;
/** The width of a line in pixels before it is stretched. */
const LINE_WIDTH = 1_000;
/** A line of more points has buttons for some of them. */
const BUTTONS_MAX = 80;
/** The share of a chart's width that bars fill, and the maximum width of one. */
const BARS_SHARE = 0.76;
const BAR_MAX = 0.08;

const toPercent = (fraction: number): string => `${(fraction * 100).toFixed(2)}%`;

/** Marks the point that was just sent. */
export function renderChart(chart: Chart, sent?: Point): Html {
  const { isLine, x, y, category, points, series, up, across } = chart;
  const labels = getLabels(chart);
  const toTop = (value: number) => Math.round(HEIGHT - up.toFraction(value) * HEIGHT);
  const levels = getLevels(up).map((value) => {
    const top = toTop(value);
    return html`<line class="${value === 0 && "base"}" x2="100%" y1="${top}" y2="${top}"/><text x="-8" y="${top + 4}" text-anchor="end">${formatNumber(value, COMPACT)}</text>`;
  });
  const step = isLine ? Math.ceil(points.length / BUTTONS_MAX) : 1;
  const marks = series.map((name, index) => {
    const own = points.filter((point) => point.category === name);
    const drawn = own.filter((point, order) => order % step === 0 || point === sent);
    const places = own.map(
      ({ position, y }) => `${Math.round(across.toFraction(position) * LINE_WIDTH)},${toTop(y)}`,
    );
    // A bar is its own button. The button of a point on a line has a fixed size, but takes clicks only as far as half way
    // to the nearest point.
    const buttons = drawn.map((point) => {
      const place = across.toFraction(point.position);
      const top = toTop(point.y);
      const gaps = drawn.map(({ position }) => Math.abs(across.toFraction(position) - place));
      const rooms = isLine ? gaps.filter(Boolean) : [BARS_SHARE / labels.length / series.length];
      const width = Math.min(BAR_MAX, ...rooms);
      const [offset, base] = isLine ? [-0.5, top] : [index - series.length / 2, toTop(0)];
      return html`<foreignObject x="${toPercent(place + offset * width)}" y="${Math.min(top, base)}" width="${toPercent(width)}" height="${Math.max(Math.abs(base - top), 1)}"><button name="point" value="${point.row}" title="${describePoint(y, point)}"${point === sent && html` aria-current="true" autofocus`}></button></foreignObject>`;
    });
    return html`<g class="s${index} ${isLine && "line"} ${step > 1 && "dense"}">${isLine && html`<svg viewBox="0 0 ${LINE_WIDTH} ${HEIGHT}" preserveAspectRatio="none"><path d="M${places.join(" ")}"/></svg>`}${buttons}</g>`;
  });
  const legend = series.map(
    (name, index) => html`<li><b class="s${index}">■</b> ${name ?? "None"}</li>`,
  );
  return html`${category && html`<ul class="legend">${legend}</ul>`}
<div class="plot"><svg width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
<text x="-56" y="-16">${toTitle(y.name)}</text><text x="50%" y="${HEIGHT + 46}" text-anchor="middle">${toTitle(x.name)}</text>
${levels}${renderLabels(labels, across)}${marks}</svg></div>`;
}

const LEVELS_MAX = 6;

/** Returns the multiples of a round number between the ends of a scale. */
function getLevels({ low, high }: Scale): readonly number[] {
  if (low === high) return [low];
  const least = (high - low) / LEVELS_MAX;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least) ?? high;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(15)),
  );
}

type Label = readonly [text: string, position: number];

/** Labels each name, or the first point of each day; within one day, each time. */
function getLabels({ isLine, points, across: { low, high } }: Chart): readonly Label[] {
  const format = low < high && high - low < DAY_MS ? formatClock : DATE.format;
  const labels = new Map<string, number>();
  for (const { x, position } of points) {
    const text = isLine ? format(position) : x;
    labels.set(text, labels.get(text) ?? position);
  }
  return [...labels];
}

const LABEL_MAX = 14;
/** Characters that fit below a wide and a narrow chart; the stylesheet hides the labels that only fit a wide one. */
const WIDE_ROOM = 120;
const NARROW_ROOM = 32;

/** Leaves out labels without room. */
function renderLabels(labels: readonly Label[], { toFraction }: Scale): readonly Renderable[] {
  const length = Math.min(Math.max(...labels.map(([text]) => text.length)), LABEL_MAX) + 2;
  let [wideEnd, narrowEnd] = [0, 0];
  return labels.map(([text, position]) => {
    const place = toFraction(position);
    if (place < wideEnd) return false;
    wideEnd = place + length / WIDE_ROOM;
    const isNarrow = place >= narrowEnd;
    if (isNarrow) narrowEnd = place + length / NARROW_ROOM;
    return html`<text class="${!isNarrow && "wide"}" x="${toPercent(place)}" y="${HEIGHT + 22}" text-anchor="middle">${truncate(text, LABEL_MAX)}</text>`;
  });
}

const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

const formatClock = (time: number): string => toIso(time).slice(11, time % 60_000 ? 19 : 16);

const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 15 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });

/** Numbers that JavaScript writes with an exponent stay so. */
const formatNumber = (value: number, format = FULL): string =>
  String(value).includes("e") ? String(value) : format.format(value);

/** Formats a value for people. */
export function formatCell(cell: Cell = null): string {
  if (typeof cell === "number") return formatNumber(cell);
  const text = String(cell ?? "–");
  if (!isDateTime(text)) return text;
  const time = parseIso(text);
  const date = DATE.format(time);
  return time % DAY_MS ? `${date}, ${formatClock(time)}` : date;
}

/** Describes a point in words, for screen readers and tooltips. */
export function describePoint({ name }: Column, { x, y, category }: Point): string {
  const height = `${formatCell(y)} ${truncate(name.replaceAll("_", " "))}`;
  return [formatCell(x), height, category ?? []].flat().join(", ");
}

/** Returns a column's name as a title; mixed case may be a unit, so it stays. */
export const toTitle = (name: string): string =>
  truncate(/^[a-z\d_ ]+$/.test(name) ? toLabel(name) : name, TITLE_MAX);
