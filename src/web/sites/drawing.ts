// Draws a chart as SVG that is as wide as its place: across in percent, up in pixels, so that text never shrinks and
// nothing needs a script or an inline style. Each point is a real button in the form around the chart, which is why the
// keyboard reaches it and a click works without a script.
import { iso } from "../../kit/clock.ts";
import { type Html, html, type Shown } from "../html.ts";
import { cut } from "../parts.ts";
import { type Chart, horizontal, namesOf, type Point, position, roundBetween, ticksOf } from "./chart.ts";

const TOP = 12;
const BOTTOM = 232;
const HEIGHT = 264;
const AXIS_WIDTH = 56;
/** The least height of a bar's button: a finger must find it. */
const REACH = 16;

const percent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;
const px = (value: number): string => String(Number(value.toFixed(1)));

const full = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

/** A point in words, for whoever hears it or hovers over it. */
export const inWords = ({ x, y, category }: Point): string =>
  [typeof x === "number" ? full.format(x) : x, full.format(y), category].filter((part) => part !== null).join(", ");

export function drawing(chart: Chart, chosen: number | undefined): Html {
  const ticks = ticksOf(chart);
  const [low = 0, high = 1] = [ticks.at(0), ticks.at(-1)];
  const up = (value: number) => BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
  return html`<div class="plot"><svg class="axis" width="${AXIS_WIDTH}" height="${HEIGHT}" aria-hidden="true">${ticks.map(
    (tick) => html`<text x="${AXIS_WIDTH - 8}" y="${px(up(tick) + 4)}" text-anchor="end">${brief.format(tick)}</text>`,
  )}</svg><svg class="canvas ${chart.kind}" width="100%" height="${HEIGHT}" role="group" aria-label="${chart.points.length} points">
${ticks.map((tick) => html`<line class="${tick === 0 ? "zero" : "grid"}" x1="0" x2="100%" y1="${px(up(tick))}" y2="${px(up(tick))}"/>`)}
${labels(chart)}${chart.kind === "line" && lines(chart, up)}${chart.kind === "bars" ? bars(chart, up, chosen) : dots(chart, up, chosen)}</svg></div>`;
}

const button = ({ row, ...point }: Point, chosen: number | undefined): Html =>
  html`<button class="point" name="point" value="${row}" title="${inWords({ row, ...point })}"${row === chosen && html` aria-current="true"`}></button>`;

const colour = ({ series }: Chart, { category }: Point): number => series.indexOf(category);

const dots = (chart: Chart, up: (y: number) => number, chosen: number | undefined): Shown => {
  const across = horizontal(chart);
  return chart.points.map(
    (point) =>
      html`<foreignObject class="dot s${colour(chart, point)}" x="${percent(across(point.x))}" y="${px(up(point.y))}">${button(point, chosen)}</foreignObject>\n`,
  );
};

function bars(chart: Chart, up: (y: number) => number, chosen: number | undefined): Shown {
  const across = horizontal(chart);
  const band = 0.76 / namesOf(chart.points).length;
  const width = band / chart.series.length;
  return chart.points.map((point) => {
    const left = across(point.x) - band / 2 + colour(chart, point) * width;
    const [top, bottom] = [Math.min(up(point.y), up(0)), Math.max(up(point.y), up(0))];
    const reach = Math.max(bottom - top, REACH);
    const drawn = html`<rect class="s${colour(chart, point)}" x="${percent(left)}" y="${px(top)}" width="${percent(width * 0.94)}" height="${px(bottom - top)}"/>`;
    return html`${drawn}<foreignObject x="${percent(left)}" y="${px(point.y < 0 ? top : bottom - reach)}" width="${percent(width * 0.94)}" height="${px(reach)}">${button(point, chosen)}</foreignObject>\n`;
  });
}

/** Stretched to the width; the stroke keeps its own. */
function lines(chart: Chart, up: (y: number) => number): Html {
  const across = horizontal(chart);
  const drawn = chart.series.map((category, at) => {
    const own = chart.points.filter((point) => point.category === category);
    const sorted = own.toSorted((a, b) => position(a.x) - position(b.x));
    const path = sorted.map((point) => `${px(across(point.x) * 1000)},${px(up(point.y))}`).join(" ");
    return html`<polyline class="s${at}" points="${path}" vector-effect="non-scaling-stroke"/>`;
  });
  return html`<svg width="100%" height="${HEIGHT}" viewBox="0 0 1000 ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${drawn}</svg>`;
}

/** As many characters as fit below the narrowest chart. */
const LABELS_CHARACTERS = 40;
const LABEL_MAX = 14;

function labels(chart: Chart): Shown {
  const across = horizontal(chart);
  const texts = chart.x.type === "string" || chart.x.type === "boolean" ? named(chart) : spread(chart);
  return texts.map(
    ([value, text]) => html`<text x="${percent(across(value))}" y="${BOTTOM + 22}" text-anchor="middle">${text}</text>`,
  );
}

type Label = readonly [value: string | number, text: string];

function named({ points }: Chart): readonly Label[] {
  const names = namesOf(points);
  const texts = names.map((name) => cut(name, LABEL_MAX));
  const room = Math.max(Math.floor(LABELS_CHARACTERS / (Math.max(...texts.map((text) => text.length)) + 1)), 1);
  const every = Math.ceil(names.length / room);
  return names.flatMap((name, at): Label[] => (at % every === 0 ? [[name, texts[at] ?? ""]] : []));
}

/** A few values along a scale: round numbers, or times near its start, its middle, its end. */
function spread({ x, points }: Chart): readonly Label[] {
  const values = points.map((point) => position(point.x));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (x.type === "number") return roundBetween(low, high).map((at): Label => [at, brief.format(at)]);
  const days = high - low > 2 * DAY_MS;
  const textOf = (at: number) => (days ? iso(at).slice(0, 10) : iso(at).slice(5, 16).replace("T", " "));
  const parts = high === low ? [0.5] : [0.14, 0.5, 0.86];
  return parts.map((part): Label => {
    const at = low + (high - low) * part;
    return [iso(at), textOf(at)];
  });
}

const DAY_MS = 86_400_000;
