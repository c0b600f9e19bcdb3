// The panel of one data source on the page of a deployed app: its chart, if one fits, and its rows. A chart is SVG as
// wide as its container: x in percent, y in pixels, so that text never shrinks and no script or inline style is needed.
// Points are form buttons, so that the keyboard reaches them.
import { listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, DataSourceRecord } from "../../domain/model.ts";
import { firstOfMany, type Html, hidden, html, type Renderable, truncate } from "../html.ts";
import type { WebContext } from "../session.ts";
import { type Axis, type Chart, createChart, describePoint, type Point, toTitle } from "./chart.ts";
import { renderRows } from "./row-table.ts";

/** A page draws and sorts no more rows of a data source. */
const ROWS_MAX = 2_000;

/** Loads the first rows of a data source, and their chart if one fits. */
export async function loadChart(
  { store }: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
) {
  const page = await listRows(store, account, source.id, { offset: 0, limit: ROWS_MAX });
  const { items: rows, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  const columns = source.columns ?? [];
  return { columns, rows, total, chart: createChart(columns, rows) };
}

/** Renders a data source. The query names the point that was just sent; `eventLink` leads to its event. */
export async function renderPanel(
  web: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
  eventLink: Renderable,
): Promise<Html> {
  const { id, name } = source;
  const { query, request } = web;
  const { columns, rows, total, chart } = await loadChart(web, account, source);
  const points = chart?.points ?? [];
  const sent = points.find(
    ({ row }) => query.get("chart") === id && query.get("point") === String(row),
  );
  const table = renderRows(query, id, columns, rows, points);
  const content = chart && [
    hidden("chart", id),
    renderChart(chart, sent),
    html`<output class="${!sent && "soft"}">${sent ? ["Sent: ", describePoint(chart.y, sent), ". ", eventLink] : "Select a point or a row of the table to send it to the owner of this app."}</output>
<details${query.get("table") === id && html` open`}><summary>Show as table</summary>${table}</details>`,
  ];
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>
${content ? web.form(`interactions?${request.query}`, content) : table}
${firstOfMany(rows.length, total, "rows")}</section>`;
}

const HEIGHT = 240;
/** The width of a path in pixels before it is stretched. */
const PATH_WIDTH = 1_000;
/** A line of more points has buttons for some of them; its table has one for each. */
const BUTTONS_MAX = 100;

/** Returns the distance of a value from the top in whole pixels. */
const toPixel = ({ toFraction }: Axis, value: number): number =>
  Math.round(HEIGHT - toFraction(value) * HEIGHT);
const toPercent = (fraction: number): string => `${(fraction * 100).toFixed(2)}%`;

function renderChart(chart: Chart, sent?: Point): Html {
  const { isLine, x, y, category, points, series, up, across } = chart;
  const step = isLine ? Math.ceil(points.length / BUTTONS_MAX) : 1;
  const levels = up.labels.map(([value, text]) => {
    const top = toPixel(up, value);
    return html`<line class="${value === 0 && "base"}" x2="100%" y1="${top}" y2="${top}"/><text x="-8" y="${top + 4}" text-anchor="end">${text}</text>`;
  });
  const marks = series.map((name, index) => {
    const own = points.filter((point) => point.category === name);
    const buttons = own
      .filter((point, position) => position % step === 0 || point === sent)
      .map((point) => renderButton(chart, point, index, point === sent));
    return html`<g class="s${index} ${isLine && "line"} ${step > 1 && "dense"}">${isLine && renderPath(chart, own)}${buttons}</g>`;
  });
  const legend = series.map((name, index) => html`<li class="s${index}">${name ?? "None"}</li>`);
  return html`${category && html`<ul class="legend">${legend}</ul>`}
<div class="plot"><svg width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
<text x="-56" y="-16">${toTitle(y.name)}</text><text x="50%" y="${HEIGHT + 46}" text-anchor="middle">${toTitle(x.name)}</text>
${levels}${renderLabels(across)}${marks}</svg></div>`;
}

/** Each point is written relative to the one before it, which takes fewer characters. */
function renderPath({ across, up }: Chart, points: readonly Point[]): Html {
  let [left, top] = [0, 0];
  const steps = points.map(({ position, y }) => {
    const [fromLeft, fromTop] = [left, top];
    left = Math.round(across.toFraction(position) * PATH_WIDTH);
    top = toPixel(up, y);
    return `${left - fromLeft},${top - fromTop}`;
  });
  return html`<svg viewBox="0 0 ${PATH_WIDTH} ${HEIGHT}" preserveAspectRatio="none"><path d="m${steps.join(" ")}" vector-effect="non-scaling-stroke"/></svg>`;
}

/** The share of a chart's width that bars fill, and the maximum width of one. */
const BARS_SHARE = 0.76;
const BAR_MAX = 0.08;

/** A bar is its own button; a point of a line has a button of a fixed size. */
function renderButton(
  { isLine, series, across, up, y }: Chart,
  point: Point,
  index: number,
  isSent: boolean,
): Html {
  const place = across.toFraction(point.position);
  const top = toPixel(up, point.y);
  const base = toPixel(up, 0);
  const width = Math.min(BARS_SHARE / across.labels.length / series.length, BAR_MAX);
  const left = place + (index - series.length / 2) * width;
  const height = Math.max(Math.abs(base - top), 1);
  const box = isLine
    ? html`x="${toPercent(place)}" y="${top}"`
    : html`x="${toPercent(left)}" y="${Math.min(top, base)}" width="${toPercent(width * 0.94)}" height="${height}"`;
  return html`<foreignObject ${box}><button name="point" value="${point.row}" title="${describePoint(y, point)}"${isSent && html` aria-current="true" autofocus`}></button></foreignObject>\n`;
}

const LABEL_MAX = 14;
/** Characters that fit below a wide and a narrow chart; the stylesheet hides the labels that only fit a wide one. */
const WIDE_ROOM = 120;
const NARROW_ROOM = 32;

/** Shows every label, or every second, fourth or eighth: a narrow chart's labels are a subset of a wide one's. */
function renderLabels({ labels, toFraction }: Axis): Renderable {
  const texts = labels.map(([, text]) => truncate(text, LABEL_MAX));
  const needed = labels.length * (Math.max(...texts.map((text) => text.length)) + 2);
  const isShown = (index: number, room: number) =>
    index % 2 ** Math.ceil(Math.log2(needed / room)) === 0;
  return labels.map(
    ([value], index) =>
      isShown(index, WIDE_ROOM) &&
      html`<text class="${!isShown(index, NARROW_ROOM) && "wide"}" x="${toPercent(toFraction(value))}" y="${HEIGHT + 22}" text-anchor="middle">${texts[index]}</text>`,
  );
}
