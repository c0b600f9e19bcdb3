// The panel of one data source on a deployed app's page: a chart with clickable points and the rows as a table, or only
// the table if no chart fits. It is cached for each state of the data (contract, part 8); only the visitor's form and
// last sent point are added later. A chart is SVG as wide as its container: x in percent, y in pixels, so that text
// never shrinks and no script or inline style is needed. A series is one path, so that thousands of rows can be drawn.
// Clickable points are form buttons above it, so that the keyboard reaches them.
import { listRows } from "../../domain/data-sources.ts";
import { AppError } from "../../domain/errors.ts";
import type { AccountRecord, Column, DataSourceRecord } from "../../domain/model.ts";
import type { Reader } from "../../domain/store.ts";
import { nextTurn } from "../../lib/clock.ts";
import { Mutex } from "../../lib/tasks.ts";
import { type Html, hidden, html, muted, type Renderable, table, tabs, truncate } from "../html.ts";
import type { WebContext } from "../session.ts";
import { type Axis, type Chart, createChart, describePoint, type Point } from "./chart.ts";

/** Cached by data source, or by its selected column; new data have new objects. */
const made = new WeakMap<DataSourceRecord | Column, ReturnType<typeof buildChartPanel>>();

/** Builds one panel at a time, yielding to other requests, because a page may show a hundred. */
const making = new Mutex();

type ChartPanel = Pick<WebContext, "store" | "query">;

/** Returns the panel; the query selects its numeric column. */
export function loadChartPanel(
  { store, query }: ChartPanel,
  account: AccountRecord,
  source: DataSourceRecord,
) {
  const chosen = source.columns?.find(
    ({ name, type }) => type === "number" && name === query.get(source.id),
  );
  const key = chosen ?? source;
  const panel = made.get(key) ?? making.run(() => buildChartPanel(store, account, source, chosen));
  made.set(key, panel);
  // Do not cache a failed read.
  panel.catch(() => made.delete(key));
  return panel;
}

/** Drawing more cells would block other requests. */
const CELLS_MAX = 40_000;

async function buildChartPanel(
  reader: Reader,
  account: AccountRecord,
  source: DataSourceRecord,
  chosen?: Column,
) {
  const { id, name, columns } = source;
  const known = columns ?? [];
  const limit = Math.floor(CELLS_MAX / Math.max(known.length, 1));
  const page = await listRows(reader, account, id, { offset: 0, limit });
  await nextTurn();
  const { items, total } = page instanceof AppError ? { items: [], total: 0 } : page;
  const chart = createChart(known, items, chosen);
  return {
    chart,
    drawn: chart && html`${caption(chart, total)}${renderChart(chart)}`,
    table: table(name, known, items, total),
  };
}

/** Describes the axes, the number of drawn rows, and the colours. */
function caption({ x, y, category, series, points }: Chart, total: number): Html {
  const part = points.length < total && `. Drawn: ${points.length} of ${total} rows`;
  return html`${muted([truncate(y.name), ` by ${truncate(x.name)}`, category && `, by ${truncate(category.name)}`, part])}
${category && html`<ul class="legend">${series.map((name, at) => html`<li class="s${at}">${name ?? "none"}</li>`)}</ul>`}`;
}

/** The query also holds the other sources' columns, the page start and the point last sent. */
export async function renderFigure(
  web: WebContext,
  account: AccountRecord,
  source: DataSourceRecord,
): Promise<Html> {
  const { chart, drawn, table: rows } = await loadChartPanel(web, account, source);
  const { chart: last, point, ...kept } = Object.fromEntries(web.query);
  const { id, name } = source;
  const plot = () => {
    if (chart === undefined) return rows;
    const sent = last === id && chart.points.find(({ row: route }) => String(route) === point);
    const said = sent ? `Sent: ${describePoint(chart.y, sent)}` : "Choose a point to send it.";
    const short = chart.ys.filter((y) => y.name === truncate(y.name));
    const urls = short.map(
      (y) => [y.name, `?${new URLSearchParams({ ...kept, [id]: y.name })}#${id}`] as const,
    );
    const pressed = [hidden("chart", id), drawn, html`<output class="soft">${said}</output>`];
    return html`${urls.length > 1 && tabs("What is drawn", urls, chart.y.name)}
${web.form(`interactions?${new URLSearchParams(kept)}`, pressed, "chart")}
<details><summary>The same as a table</summary>${rows}</details>`;
  };
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>${plot()}</section>`;
}

const HEIGHT = 220;
/** The width of a path in pixels before it is stretched. */
const PIXELS = 1_000;

/** Returns a whole pixel. */
const toY = (fraction: number): number => Math.round(HEIGHT - fraction * HEIGHT);
const percent = (fraction: number): string => `${Number((fraction * 100).toFixed(2))}%`;

function renderChart(chart: Chart): Html {
  const { kind, points, up, across, series } = chart;
  const level = ([at, text]: Axis["labels"][number]) =>
    html`<line x2="100%" y1="${toY(at)}" y2="${toY(at)}"/><text x="-8" y="${toY(at) + 4}" text-anchor="end">${text}</text>`;
  // An even sample of points, at most `PRESSABLE_MAX`.
  const share = Math.min(PRESSABLE_MAX / points.length, 1);
  const pressable = points.filter((_, at) => Math.floor((at + 1) * share) > Math.floor(at * share));
  return html`<div class="plot"><svg class="canvas" width="100%" height="${HEIGHT}" role="group" aria-label="${points.length} points">
${up.labels.map(level)}${labels(across)}
<svg class="${kind}" width="100%" height="${HEIGHT}" viewBox="0 0 ${PIXELS} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${kind !== "bars" && series.map((category, at) => path(chart, category, at))}</svg>
<g class="${kind}">${pressable.map((point) => button(chart, point))}</g></svg></div>`;
}

const PRESSABLE_MAX = 200;

/** Merges points that share a pixel. */
function path({ kind, points, across, up }: Chart, category: string | null, at: number): Html {
  const own = points.filter((point) => point.category === category);
  const pixels = own.map(
    ({ place, y }) => `${Math.round(across.at(place) * PIXELS)},${toY(up.at(y))}`,
  );
  const [between, end] = kind === "points" ? ["h0M", "h0"] : ["L", ""];
  const drawn =
    kind === "points" ? [...new Set(pixels)] : pixels.filter((each, n) => each !== pixels[n - 1]);
  return html`<path class="s${at}" d="M${drawn.join(between)}${end}" vector-effect="non-scaling-stroke"/>`;
}

/** Caps the width of a single bar. */
const BAND = { most: 0.12, filled: 0.76 };

/** A bar is its own button. */
function button({ kind, series, across, up, y }: Chart, point: Point): Html {
  const colour = series.indexOf(point.category);
  const band =
    kind === "bars" ? Math.min(BAND.filled / across.labels.length / series.length, BAND.most) : 0;
  const left = across.at(point.place) + (colour - series.length / 2) * band;
  const [top, base] = [toY(up.at(point.y)), toY(up.at(0))];
  const [from, height] =
    band > 0 ? [Math.min(top, base), Math.max(Math.abs(base - top), 1)] : [top];
  const size = height && html` width="${percent(band * 0.94)}" height="${height}"`;
  return html`<foreignObject class="s${colour}" x="${percent(left)}" y="${from}"${size}><button class="point" name="point" value="${point.row}" aria-label="${describePoint(y, point)}"></button></foreignObject>\n`;
}

const LABEL_MAX = 14;
/** Characters that fit below a narrow, wider and wide chart; the stylesheet shows the labels that fit. */
const LABEL_SPACE = Object.entries({ narrow: 32, wider: 80, wide: 120 });
/** East Asian characters and pictures take the width of two. */
const WIDE = /[\u2e80-\u{fffff}]/gu;

/**
 * Shows every label, or every second, fourth or eighth, so that a narrow chart's labels are a subset of a wide one's.
 */
function labels({ labels: all }: Axis): Renderable {
  const texts = all.map(([, text]) => truncate(text, LABEL_MAX));
  const needed =
    all.length * (Math.max(...texts.map((text) => text.replace(WIDE, "  ").length)) + 2);
  return all.map(([at], number) => {
    const [shown] =
      LABEL_SPACE.find(([, room]) => number % 2 ** Math.ceil(Math.log2(needed / room)) === 0) ?? [];
    // At the right end a short label may overhang; a longer one is aligned to the end, clear of the one before.
    const [x, out, anchor] =
      at > 0.94 && needed > 11 * all.length ? [1, 28, "end"] : [at, 0, "middle"];
    if (shown === undefined) return null;
    return html`<text class="${shown}" x="${percent(x)}" dx="${out}" y="${HEIGHT + 22}" text-anchor="${anchor}">${texts[number]}</text>`;
  });
}
