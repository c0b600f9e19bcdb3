// The panel of one data source on the page of a deployed app: a chart with clickable points and the rows as a table, or
// only the table if no chart fits. A chart is SVG as wide as its container: x in percent, y in pixels, so that text never
// shrinks and no script or inline style is needed. Points are form buttons, so that the keyboard reaches them.
import { listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, DataSourceRecord } from "../../domain/model.ts";
import { type Html, hidden, html, muted, type Renderable, table, tabs, truncate } from "../html.ts";
import type { WebContext } from "../session.ts";
import { type Axis, type Chart, createChart, describePoint, type Point } from "./chart.ts";

/** Drawing more cells would block other requests. */
const CELLS_MAX = 40_000;

/** Loads the rows of a data source, and their chart if one fits. The query selects its numeric column. */
export async function loadChart(
  { store, query }: Pick<WebContext, "store" | "query">,
  account: AccountRecord,
  { id, columns }: DataSourceRecord,
) {
  const all = columns ?? [];
  const selected = all.find(({ name, type }) => type === "number" && name === query.get(id));
  const limit = Math.floor(CELLS_MAX / Math.max(all.length, 1));
  const page = await listRows(store, account, id, { offset: 0, limit });
  const { items, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  return { columns: all, rows: items, total, chart: createChart(all, items, selected) };
}

/** The query also holds the other sources' columns, the start of the page and the point last sent. */
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
  const { chart: lastChart, point: lastPoint, ...otherFields } = Object.fromEntries(query);
  const sent = chart.points.find(({ row }) => lastChart === id && String(row) === lastPoint);
  const result = sent ? `Sent: ${describePoint(chart.y, sent)}` : "Choose a point to send it.";
  const columnTabs = chart.numbers
    .filter(({ name }) => name === truncate(name))
    .map(({ name }) => {
      const fields = new URLSearchParams({ ...otherFields, [id]: name });
      return [name, `?${fields}#${id}`] as const;
    });
  const fields = [
    hidden("chart", id),
    renderCaption(chart, total),
    renderChart(chart),
    html`<output class="soft">${result}</output>`,
  ];
  const action = `interactions?${new URLSearchParams(otherFields)}`;
  return html`${columnTabs.length > 1 && tabs("Column", columnTabs, chart.y.name)}${form(action, fields, "chart")}`;
}

/** Describes the axes, the number of drawn rows, and the colours. */
function renderCaption({ x, y, category, series, points }: Chart, total: number): Html {
  const legend = series.map((name, index) => html`<li class="s${index}">${name ?? "none"}</li>`);
  return html`${muted([
    `${truncate(y.name)} by ${truncate(x.name)}`,
    category && `, by ${truncate(category.name)}`,
    points.length < total && `. Drawn: ${points.length} of ${total} rows`,
  ])}${category && html`<ul class="legend">${legend}</ul>`}`;
}

const HEIGHT = 220;
/** The width of a path in pixels before it is stretched. */
const PATH_WIDTH = 1_000;
const BUTTONS_MAX = 200;

/** Returns a whole pixel. */
const toPixel = (fraction: number): number => Math.round(HEIGHT - fraction * HEIGHT);
const toPercent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;

function renderChart(chart: Chart): Html {
  const { kind, points, up, across, series } = chart;
  const levels = up.labels.map(({ at, text }) => {
    const y = toPixel(at);
    return html`<line x2="100%" y1="${y}" y2="${y}"/><text x="-8" y="${y + 4}" text-anchor="end">${text}</text>`;
  });
  const paths = kind === "line" && series.map((_, index) => renderPath(chart, index));
  // An even sample of the points.
  const share = Math.min(BUTTONS_MAX / points.length, 1);
  const buttons = points
    .filter((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share))
    .map((point) => renderButton(chart, point));
  return html`<div class="plot"><svg class="canvas" width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
${levels}${renderLabels(across)}
<svg class="${kind}" width="100%" height="${HEIGHT}" viewBox="0 0 ${PATH_WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${paths}</svg>
<g class="${kind}">${buttons}</g></svg></div>`;
}

/** One path for each series, so that thousands of rows can be drawn. Neighbours that share a pixel are merged. */
function renderPath({ points, series, across, up }: Chart, index: number): Html {
  const pixels = points
    .filter(({ category }) => category === series[index])
    .map(({ position, y }) => {
      const x = Math.round(across.toFraction(position) * PATH_WIDTH);
      return `${x},${toPixel(up.toFraction(y))}`;
    });
  const path = pixels.filter((pixel, at) => pixel !== pixels[at - 1]).join("L");
  return html`<path class="s${index}" d="M${path}" vector-effect="non-scaling-stroke"/>`;
}

/** The share of a chart's width that bars fill, and the maximum width of one. */
const BARS_SHARE = 0.76;
const BAR_MAX = 0.12;

/** A bar is its own button; a point of a line has a button without a size. */
function renderButton({ kind, series, across, up, y }: Chart, point: Point): Html {
  const colour = series.indexOf(point.category);
  const place = across.toFraction(point.position);
  const top = toPixel(up.toFraction(point.y));
  const button = html`<button class="point" name="point" value="${point.row}" aria-label="${describePoint(y, point)}"></button>`;
  if (kind === "line")
    return html`<foreignObject class="s${colour}" x="${toPercent(place)}" y="${top}">${button}</foreignObject>\n`;
  const width = Math.min(BARS_SHARE / across.labels.length / series.length, BAR_MAX);
  const left = place + (colour - series.length / 2) * width;
  const base = toPixel(up.toFraction(0));
  const height = Math.max(Math.abs(base - top), 1);
  return html`<foreignObject class="s${colour}" x="${toPercent(left)}" y="${Math.min(top, base)}" width="${toPercent(width * 0.94)}" height="${height}">${button}</foreignObject>\n`;
}

const LABEL_MAX = 14;
/** Characters that fit below a narrow, wider and wide chart; the stylesheet shows the labels that fit. */
const LABEL_ROOM = Object.entries({ narrow: 32, wider: 80, wide: 120 });
/** East Asian characters and pictures are twice as wide. */
const WIDE = /[\u2e80-\u{fffff}]/gu;

/** Shows every label, or every second, fourth or eighth: a narrow chart's labels are a subset of a wide one's. */
function renderLabels({ labels }: Axis): Renderable {
  const texts = labels.map(({ text }) => truncate(text, LABEL_MAX));
  const longest = Math.max(...texts.map((text) => text.replace(WIDE, "  ").length));
  const needed = labels.length * (longest + 2);
  return labels.map(({ at }, index) => {
    const [width] =
      LABEL_ROOM.find(([, room]) => index % 2 ** Math.ceil(Math.log2(needed / room)) === 0) ?? [];
    if (width === undefined) return null;
    // A long label at the right end is aligned to the end, clear of the one before.
    const isLast = at > 0.94 && longest > 9;
    const position = isLast
      ? html`x="100%" dx="28" text-anchor="end"`
      : html`x="${toPercent(at)}" text-anchor="middle"`;
    return html`<text class="${width}" y="${HEIGHT + 22}" ${position}>${texts[index]}</text>`;
  });
}
