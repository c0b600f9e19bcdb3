// Draws a chart as SVG that is as wide as its place: across in percent, up in pixels, so that text never shrinks and
// nothing needs a script or an inline style. A series is one path, so that thousands of rows are drawn whole; above it
// stand the points that can be pressed, real buttons of the form around the chart, so that the keyboard reaches them.
import { type Html, html, type Shown } from "../html.ts";
import { cut } from "../parts.ts";
import { type Axis, type Chart, inWords, type Point } from "./chart.ts";

const TOP = 12;
const BOTTOM = 232;
const HEIGHT = 264;
/** What is left free at both sides. */
const EDGE = 0.03;
/** A path is drawn on so many pixels across, and then stretched. */
const PIXELS = 1_000;

const along = (fraction: number): number => EDGE + fraction * (1 - 2 * EDGE);
const upTo = (fraction: number): number => BOTTOM - fraction * (BOTTOM - TOP);
const percent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;
const px = (value: number): string => String(Number(value.toFixed(1)));

export function drawing(chart: Chart): Html {
  const { kind, points, up, across, series } = chart;
  const level = ([at, text]: Axis["labels"][number]) =>
    html`<line x2="100%" y1="${px(upTo(at))}" y2="${px(upTo(at))}"/><text x="-8" y="${px(upTo(at) + 4)}" text-anchor="end">${text}</text>`;
  return html`<div class="plot"><svg class="canvas" width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
${up.labels.map(level)}${labels(across)}
<svg class="${kind}" width="100%" height="${HEIGHT}" viewBox="0 0 ${PIXELS} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${kind !== "bars" && series.map((category, at) => path(chart, category, at))}</svg>
<g class="${kind}">${pressable(points).map((point) => button(chart, point))}</g></svg></div>`;
}

const PRESSABLE_MAX = 200;

/** As many as can be pressed, spread over all. */
const pressable = (points: readonly Point[]): readonly Point[] => {
  const share = Math.min(PRESSABLE_MAX / points.length, 1);
  return points.filter((_, at) => Math.floor((at + 1) * share) > Math.floor(at * share));
};

/** Two points on one pixel are one. */
function path({ kind, points, across, up }: Chart, category: string | null, at: number): Html {
  const own = points.filter((point) => point.category === category);
  const drawn = own.map(({ x, y }, first) => {
    const pixel = `${Math.round(along(across.at(x)) * PIXELS)},${Math.round(upTo(up.at(y)))}`;
    return kind === "points" ? `M${pixel}h0` : `${first === 0 ? "M" : "L"}${pixel}`;
  });
  return html`<path class="s${at}" d="${[...new Set(drawn)].join("")}" vector-effect="non-scaling-stroke"/>`;
}

/** A bar is its own button. */
function button(chart: Chart, point: Point): Html {
  const { kind, series, across, up } = chart;
  const colour = series.indexOf(point.category);
  const [centre, top, base] = [along(across.at(point.x)), upTo(up.at(point.y)), upTo(up.at(0))];
  const width = Math.min(BAND.filled / across.labels.length / series.length, BAND.most);
  const left = kind === "bars" ? centre + (colour - series.length / 2) * width : centre;
  const [from, height] = kind === "bars" ? [Math.min(top, base), Math.max(Math.abs(base - top), 1)] : [top];
  const size = height && html` width="${percent(width * 0.94)}" height="${px(height)}"`;
  return html`<foreignObject class="s${colour}${left > 0.5 && " end"}" x="${percent(left)}" y="${px(from)}"${size}><button class="point" name="point" value="${point.row}" aria-label="${inWords(chart, point)}"></button></foreignObject>\n`;
}

/** One bar alone is no wall. */
const BAND = { most: 0.12, filled: 0.76 };

const LABEL_MAX = 14;
/** As many characters as fit below a chart that is narrow, wider and wide; the stylesheet shows each where there is room. */
const ROOMS = [
  ["narrow", 32],
  ["wider", 80],
  ["wide", 120],
] as const;

/** Every one, or every second, fourth, eighth: so those of a narrow chart are among those of a wide one. */
function labels({ labels: all }: Axis): Shown {
  const texts = all.map(([, text]) => cut(text, LABEL_MAX));
  const needed = all.length * (Math.max(...texts.map(({ length }) => length)) + 2);
  return all.map(([at], number) => {
    const shown = ROOMS.find(([, room]) => number % 2 ** Math.max(Math.ceil(Math.log2(needed / room)), 0) === 0);
    const anchor = at > 0.95 ? "end" : "middle";
    return (
      shown &&
      html`<text class="${shown[0]}" x="${percent(along(at))}" y="${BOTTOM + 22}" text-anchor="${anchor}">${texts[number]}</text>`
    );
  });
}
