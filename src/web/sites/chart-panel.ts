// The panel of one data source on the page of a deployed app: a chart with clickable points and the rows as a table, or
// only the table if no chart fits. A chart is SVG as wide as its container: x in percent, y in pixels, so that text never
// shrinks and no script or inline style is needed. Points are form buttons, so that the keyboard reaches them.
import { listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, DataSourceRecord } from "../../domain/model.ts";
import { type Html, hidden, html, muted, type Renderable, table, truncate } from "../html.ts";
import type { WebContext } from "../session.ts";
import { type Axis, type Chart, createChart, describePoint, type Point } from "./chart.ts";

/** Each drawn row is a button. */
const ROWS_MAX = 1_000;

/** Loads the first rows of a data source, and their chart if one fits. */
export async function loadChart(
  { store }: WebContext,
  account: AccountRecord,
  { id, columns }: DataSourceRecord,
) {
  const page = await listRows(store, account, id, { offset: 0, limit: ROWS_MAX });
  const { items: rows, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  return { columns: columns ?? [], rows, total, chart: createChart(columns ?? [], rows) };
}

/** The query names the point that was just sent. */
export async function renderPanel(
  web: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
): Promise<Html> {
  const { id, name } = source;
  const { columns, rows, total, chart } = await loadChart(web, account, source);
  const rowTable = table(name, columns, rows, total);
  const content =
    chart === undefined
      ? rowTable
      : html`${renderForm(web, id, chart, total)}<details><summary>The same as a table</summary>${rowTable}</details>`;
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>${content}</section>`;
}

function renderForm({ query, form }: WebContext, id: string, chart: Chart, total: number): Html {
  const { x, y, category, series, points } = chart;
  const sent =
    query.get("chart") === id && points.find(({ row }) => String(row) === query.get("point"));
  const legend = series.map((name, index) => html`<li class="s${index}">${name ?? "none"}</li>`);
  return form("interactions", [
    hidden("chart", id),
    muted([
      `${truncate(y.name)} by ${truncate(x.name)}`,
      category && `, by ${truncate(category.name)}`,
      points.length < total && `. Drawn: ${points.length} of ${total} rows`,
    ]),
    category && html`<ul class="legend">${legend}</ul>`,
    renderChart(chart),
    html`<output class="soft">${sent ? `Sent: ${describePoint(y, sent)}` : "Choose a point to send it."}</output>`,
  ]);
}

const HEIGHT = 220;
/** The width of a path in pixels before it is stretched. */
const PATH_WIDTH = 1_000;

/** Returns a whole pixel. */
const toPixel = (fraction: number): number => Math.round(HEIGHT - fraction * HEIGHT);
const toPercent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;

function renderChart(chart: Chart): Html {
  const { kind, points, up, across, series } = chart;
  const levels = up.labels.map(([value, text]) => {
    const y = toPixel(up.toFraction(value));
    return html`<line x2="100%" y1="${y}" y2="${y}"/><text x="-8" y="${y + 4}" text-anchor="end">${text}</text>`;
  });
  const paths = kind === "line" && series.map((_, index) => renderPath(chart, index));
  return html`<div class="plot"><svg width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
${levels}${renderLabels(across)}
<svg class="${kind}" width="100%" height="${HEIGHT}" viewBox="0 0 ${PATH_WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${paths}</svg>
<g class="${kind}">${points.map((point) => renderButton(chart, point))}</g></svg></div>`;
}

/** One path for each series. */
function renderPath({ points, series, across, up }: Chart, index: number): Html {
  const path = points
    .filter(({ category }) => category === series[index])
    .map(({ position, y }) => {
      const x = Math.round(across.toFraction(position) * PATH_WIDTH);
      return `${x},${toPixel(up.toFraction(y))}`;
    });
  return html`<path class="s${index}" d="M${path.join("L")}" vector-effect="non-scaling-stroke"/>`;
}

/** The share of a chart's width that bars fill, and the maximum width of one. */
const BARS_SHARE = 0.76;
const BAR_MAX = 0.12;

/** A bar is its own button; a point of a line has a button of a fixed size. */
function renderButton({ kind, series, across, up, y }: Chart, point: Point): Html {
  const colour = series.indexOf(point.category);
  const place = across.toFraction(point.position);
  const top = toPixel(up.toFraction(point.y));
  const base = toPixel(up.toFraction(0));
  const width = Math.min(BARS_SHARE / across.labels.length / series.length, BAR_MAX);
  const left = place + (colour - series.length / 2) * width;
  const height = Math.max(Math.abs(base - top), 1);
  const box =
    kind === "line"
      ? html`x="${toPercent(place)}" y="${top}"`
      : html`x="${toPercent(left)}" y="${Math.min(top, base)}" width="${toPercent(width * 0.94)}" height="${height}"`;
  return html`<foreignObject class="s${colour}" ${box}><button class="point" name="point" value="${point.row}" title="${describePoint(y, point)}"></button></foreignObject>\n`;
}

const LABEL_MAX = 11;
/** Characters that fit below a narrow and a wide chart; the stylesheet hides the labels that only fit a wide one. */
const LABEL_ROOM = Object.entries({ narrow: 32, wide: 120 });

/** Shows every label, or every second, fourth or eighth: a narrow chart's labels are a subset of a wide one's. */
function renderLabels({ labels, toFraction }: Axis): Renderable {
  const texts = labels.map(([, text]) => truncate(text, LABEL_MAX));
  const needed = labels.length * (Math.max(...texts.map((text) => text.length)) + 2);
  return labels.map(([value], index) => {
    const [width] =
      LABEL_ROOM.find(([, room]) => index % 2 ** Math.ceil(Math.log2(needed / room)) === 0) ?? [];
    return (
      width &&
      html`<text class="${width}" x="${toPercent(toFraction(value))}" y="${HEIGHT + 22}" text-anchor="middle">${texts[index]}</text>`
    );
  });
}
