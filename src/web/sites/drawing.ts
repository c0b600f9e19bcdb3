// Draws a chart as SVG that is as wide as its place: across in percent, up in pixels, so that text never shrinks and
// nothing needs a script or an inline style. A series is one path, so that thousands of rows are drawn whole; above it
// stand the points that can be pressed, real buttons of the form around the chart, so that the keyboard reaches them.
import { type Html, html, type Shown } from "../html.ts";
import { cut } from "../parts.ts";
import { type Axis, type Chart, inWords, type Point } from "./chart.ts";

const TOP = 12;
const BOTTOM = 232;
const HEIGHT = 264;
const AXIS_WIDTH = 56;
/** What is left free at both sides. */
const EDGE = 0.03;
/** A path is drawn on so many pixels across, and then stretched. */
const PIXELS = 1_000;

const along = (fraction: number): number => EDGE + fraction * (1 - 2 * EDGE);
const upTo = (fraction: number): number => BOTTOM - fraction * (BOTTOM - TOP);
const percent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;
const px = (value: number): string => String(Number(value.toFixed(1)));

export function drawing(chart: Chart): Html {
  const { kind, points, up, across } = chart;
  const few = points.length <= FEW && " few";
  return html`<div class="plot"><svg class="axis" width="${AXIS_WIDTH}" height="${HEIGHT}" aria-hidden="true">${up.labels.map(
    ([at, text]) => html`<text x="${AXIS_WIDTH - 8}" y="${px(upTo(at) + 4)}" text-anchor="end">${text}</text>`,
  )}</svg><svg class="canvas" width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
${up.labels.map(([at]) => html`<line x1="0" x2="100%" y1="${px(upTo(at))}" y2="${px(upTo(at))}"/>`)}${labels(across)}
<svg class="${kind}${few}" width="100%" height="${HEIGHT}" viewBox="0 0 ${PIXELS} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${chart.series.map((category, at) => path(chart, category, at))}</svg>
<g class="${kind}${few}">${pressable(points).map((point) => button(chart, point))}</g></svg></div>`;
}

/** So few that a line shows where each point is. */
const FEW = 60;
const PRESSABLE_MAX = 200;

/** As many as can be pressed, spread over all. */
const pressable = (points: readonly Point[]): readonly Point[] => {
  const share = Math.min(PRESSABLE_MAX / points.length, 1);
  return points.filter((_, at) => Math.floor((at + 1) * share) > Math.floor(at * share));
};

const colour = ({ series }: Chart, { category }: Point): number => series.indexOf(category);

/** One bar alone is no wall. */
const BAND = { most: 0.12, filled: 0.76 };

/** Where its bar, or the point itself, begins and how wide that is; how high it is and where it stands. */
function place(chart: Chart, point: Point) {
  const { kind, series, across, up } = chart;
  const [centre, top] = [along(across.at(point.x)), upTo(up.at(point.y))];
  if (kind !== "bars") return { left: centre, width: 0, top, base: top };
  const width = Math.min(BAND.filled / across.labels.length / series.length, BAND.most);
  const left = centre + (colour(chart, point) - series.length / 2) * width;
  return { left, width: width * 0.94, top, base: upTo(up.at(0)) };
}

/** Two points on one pixel are one. */
function path(chart: Chart, category: string | null, at: number): Html {
  const own = chart.points.filter((point) => point.category === category);
  const drawn = own.map((point, first) => {
    const { left, width, top, base } = place(chart, point);
    const [from, to] = [left, left + width].map((fraction) => px(fraction * PIXELS));
    if (chart.kind === "bars") return `M${from},${px(base)}V${px(top)}H${to}V${px(base)}`;
    const pixel = `${Math.round(left * PIXELS)},${Math.round(top)}`;
    return chart.kind === "points" ? `M${pixel}h0` : `${first === 0 ? "M" : "L"}${pixel}`;
  });
  return html`<path class="s${at}" d="${[...new Set(drawn)].join("")}" vector-effect="non-scaling-stroke"/>`;
}

/** The least height of a bar's button: a finger must find it. */
const REACH = 16;

function button(chart: Chart, point: Point): Html {
  const { left, width, top, base } = place(chart, point);
  const reach = Math.max(Math.abs(base - top), REACH);
  const size = width > 0 && html` width="${percent(width)}" height="${px(reach)}"`;
  const from = width === 0 || top > base ? Math.min(top, base) : base - reach;
  return html`<foreignObject class="s${colour(chart, point)}${left > 0.5 && " end"}" x="${percent(left)}" y="${px(from)}"${size}><button class="point" name="point" value="${point.row}" aria-label="${inWords(chart, point)}"></button></foreignObject>\n`;
}

const LABEL_MAX = 14;
/** As many characters as fit below a chart that is narrow, wider and wide; the stylesheet shows each where there is room. */
const ROOMS = [
  ["narrow", 40],
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
