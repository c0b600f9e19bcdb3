// The page of a deployed app: title, description, and for each data source that is ready a chart whose points can be
// clicked, or a table where no chart fits.
import type { Row } from "../../domain/columns.ts";
import type { AppRecord, Column, DataSourceRecord } from "../../domain/model.ts";
import type { Reply } from "../../http/call.ts";
import { type Html, html, type Shown } from "../html.ts";
import { page } from "../page.ts";
import { nothingYet } from "../parts.ts";
import type { Visit } from "../visit.ts";
import { type Chart, chartOf } from "./chart.ts";
import { drawing, inWords } from "./drawing.ts";

/** Two are drawn as named; with any other the page follows the reader's system. */
const themeOf = ({ theme }: AppRecord): "light" | "dark" | null =>
  theme === "light" || theme === "dark" ? theme : null;

/** A data source as it is shown, with the first of its rows. */
export interface Shelf {
  readonly source: DataSourceRecord;
  readonly rows: readonly Row[];
}

/** The point that was just sent. */
export interface Chosen {
  readonly source: string;
  readonly row: number;
}

export function sitePage(visit: Visit, app: AppRecord, shelves: readonly Shelf[], chosen: Chosen | undefined): Reply {
  return page({
    title: app.title,
    site: { theme: themeOf(app) },
    scripted: true,
    headers: visit.setCookie,
    body: html`<h1>${app.title}</h1>
${app.description !== "" && html`<p class="lead prose">${app.description}</p>`}
${shelves.length === 0 ? nothingYet("There is nothing to see yet", "This app has no data. As soon as it is given a data source, its chart stands here.") : shelves.map((shelf) => figure(visit, shelf, chosen))}`,
  });
}

function figure(visit: Visit, { source, rows }: Shelf, chosen: Chosen | undefined): Html {
  const columns = source.columns ?? [];
  const chart = chartOf(columns, rows);
  const cut =
    (source.row_count ?? 0) > rows.length &&
    html`<p class="soft">The first ${rows.length} of ${source.row_count} rows.</p>`;
  const row = chosen?.source === source.id ? chosen.row : undefined;
  return html`<section class="card chart" id="${source.id}" aria-label="${source.name}"><h2>${source.name}</h2>
${chart ? charted(visit, source, chart, columns, rows, row) : rows.length === 0 ? html`<p class="soft">It has no rows.</p>` : table(columns, rows)}${cut}</section>`;
}

function charted(
  visit: Visit,
  source: DataSourceRecord,
  chart: Chart,
  columns: readonly Column[],
  rows: readonly Row[],
  row: number | undefined,
): Html {
  const sent = chart.points.find((point) => point.row === row);
  const left = rows.length - chart.points.length;
  return html`<p class="soft">${chart.y.name} by ${chart.x.name}${chart.category && html`, by ${chart.category.name}`}${left > 0 && html`. ${left} without a value ${left === 1 ? "is" : "are"} not drawn`}</p>
${legend(chart)}
<form method="post" action="interactions" data-chart>${visit.csrfField}<input type="hidden" name="chart" value="${source.id}">
${drawing(chart, row)}<p class="said"><output class="soft">${sent ? inWords(sent) : "Choose a point to see it here."}</output></p></form>
<details><summary>The same as a table</summary>${table(columns, rows)}</details>`;
}

const legend = ({ category, series }: Chart): Shown =>
  category !== null &&
  html`<ul class="legend">${series.map((name, at) => html`<li class="s${at}">${name ?? "none"}</li>`)}</ul>`;

const table = (columns: readonly Column[], rows: readonly Row[]): Html =>
  html`<div class="scroll"><table><thead><tr>${columns.map(({ name, type }) => html`<th${type === "number" && html` class="number"`}>${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${columns.map(({ name, type }) => html`<td${type === "number" && html` class="number"`}>${textOf(cells[name])}</td>`)}</tr>\n`)}</tbody></table></div>`;

const textOf = (cell: Row[string] | undefined): string => (cell === null || cell === undefined ? "" : String(cell));
