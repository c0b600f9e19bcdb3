// What the page of a deployed app shows of one data source: a chart whose points can be clicked with the rows as a table
// below, or the table alone where no chart fits. Made once for each state of the data (contract, part 8); only the visitor's
// own form and what was just sent are put in afterwards.
import type { Caller } from "../../domain/access.ts";
import { rowsPage } from "../../domain/data-sources.ts";
import type { DataSourceRecord } from "../../domain/model.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Reader } from "../../domain/store.ts";
import { Turns } from "../../kit/background.ts";
import { type Html, html, type Shown } from "../html.ts";
import { cut, hidden, soft, table, tabs } from "../parts.ts";
import type { Sent, Visit } from "../visit.ts";
import { type Chart, chartOf, inWords } from "./chart.ts";
import { drawing } from "./drawing.ts";

interface Shelf {
  readonly chart: Chart | undefined;
  readonly drawn: Shown;
  readonly table: Html;
}

/** A record is replaced, never changed: what was made of it holds as long as it lives. By the column that is drawn. */
const made = new WeakMap<DataSourceRecord, Map<string, Shelf>>();

/** One at a time, with others' requests in between: a page may show a hundred. */
const making = new Turns();

/** Drawing more would hold up others. */
const DRAWN_MAX = { rows: 10_000, cells: 60_000 };

/** `wanted` is the column of numbers that the reader chose. */
export async function shelfOf(reader: Reader, caller: Caller, source: DataSourceRecord, wanted = ""): Promise<Shelf> {
  const columns = source.columns ?? [];
  const chosen = columns.find(({ name, type }) => type === "number" && name === wanted);
  const name = chosen?.name ?? "";
  const shelves = made.get(source) ?? new Map<string, Shelf>();
  made.set(source, shelves);
  const make = async () => {
    const limit = Math.min(DRAWN_MAX.rows, Math.floor(DRAWN_MAX.cells / Math.max(columns.length, 1)));
    const page = await rowsPage(reader, caller, source.id, { offset: 0, limit });
    await new Promise(setImmediate);
    const { items, total } = page instanceof Refusal ? { items: [], total: 0 } : page;
    const chart = chartOf(columns, items, chosen);
    const drawn = chart && html`${saidOf(chart, items.length, total)}${drawing(chart)}`;
    const shelf = { chart, drawn, table: table(columns, items, total) };
    shelves.set(name, shelf);
    return shelf;
  };
  return shelves.get(name) ?? making.run(async () => shelves.get(name) ?? make());
}

/** What is drawn, what is not, and what the colours mean. */
function saidOf({ x, y, category, series, points }: Chart, read: number, total: number): Html {
  const missing = read - points.length;
  const lost = missing > 0 && `. ${missing} without a value ${missing === 1 ? "is" : "are"} not drawn`;
  const rest = total > read && `. Drawn are the first ${read} of ${total} rows`;
  return html`${soft([cut(y.name), ` by ${cut(x.name)}`, category && `, by ${cut(category.name)}`, lost, rest])}
${category && html`<ul class="legend">${series.map((name, at) => html`<li class="s${at}">${name ?? "none"}</li>`)}</ul>`}`;
}

/** `row` is that of the point that was just sent; `query` says what is drawn of each source, and where the page starts. */
export function figure({ form }: Visit, { id, name }: DataSourceRecord, shelf: Shelf, query: Sent, row?: number): Html {
  const { chart, drawn, table: rows } = shelf;
  const plot = () => {
    if (chart === undefined) return rows;
    const sent = chart.points.find((point) => point.row === row);
    const short = chart.ys.filter((y) => y.name === cut(y.name));
    const to = (y: string) => `?${new URLSearchParams([...new Map(query).set(id, y)])}#${id}`;
    const links = short.map((y) => [y.name, to(y.name)] as const);
    const said = sent ? `Sent: ${inWords(chart, sent)}` : "Choose a point to send it.";
    const fields = Object.entries({ chart: id, y: query.get(id), from: query.get("from") });
    const pressed = [
      fields.map(([each, value]) => hidden(each, value)),
      drawn,
      html`<output class="soft">${said}</output>`,
    ];
    return html`${links.length > 1 && tabs("What is drawn", links, chart.y.name)}${form("interactions", pressed, "chart")}
<details><summary>The same as a table</summary>${rows}</details>`;
  };
  return html`<section class="card" id="${id}" aria-label="${name}"><h2>${name}</h2>${plot()}</section>`;
}
