// The few pieces that pages are put together from. Each is plain HTML that works by itself; what the script adds hangs on
// data attributes.
import type { Row } from "../domain/columns.ts";
import type { Column, Scope } from "../domain/model.ts";
import { type Html, html, type Shown } from "./html.ts";

/** A state; its words are its classes, so that the stylesheet colours each. */
export const badge = (state: string): Html => html`<span class="badge ${state}">${state}</span>`;

/** To the second, in UTC, as the log of a server has it. */
export const time = (iso: string): Html =>
  html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;

/** Words for people; what stands between backticks is code. */
export const prose = (text: string): readonly Shown[] =>
  text.split("`").map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));

/** The name of a page, what can be done there beside it. */
export const head = (title: Shown, actions: Shown = null): Html =>
  html`<div class="head"><h1>${title}</h1>${actions && html`<div class="row">${actions}</div>`}</div>`;

/** Terms and what they mean, names and values; one with an id can be led to. */
export const terms = (entries: readonly (readonly [term: Shown, meaning: Shown, id?: string])[]): Html =>
  html`<dl class="card entries">${entries.map(([term, meaning, id]) => html`<div${id && html` id="${id}"`}><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;

/** Links of which one is where the reader is. */
export const tabs = (
  label: string,
  links: readonly (readonly [name: string, path: string, ...unknown[]])[],
  current?: string,
): Html =>
  html`<nav class="tabs" aria-label="${label}">${links.map(([name, path]) => html`<a href="${path}"${name === current && html` aria-current="page"`}>${name}</a>`)}</nav>`;

/** More makes a page too long to read and to send (contract, part 8). */
const ROWS_MAX = 200;
const COLUMNS_MAX = 30;
const CELL_MAX = 200;

/** Rows of so many in all, under their columns; `typed` where the head says what these hold. */
export function table(columns: readonly Column[], rows: readonly Row[], total: number, typed = false): Html {
  if (rows.length === 0) return html`<p class="soft">It has no rows.</p>`;
  const [shown, listed] = [columns.slice(0, COLUMNS_MAX), rows.slice(0, ROWS_MAX)];
  const right = (type: string) => type === "number" && html` class="number"`;
  const first = (count: number, all: number, what: string) =>
    count < all && html`<p class="soft">The first ${count} of ${all} ${what}.</p>`;
  return html`<div class="scroll"><table><thead><tr>${shown.map(({ name, type }) => html`<th${right(type)}>${cut(name)}${typed && html` <span class="soft">${type}</span>`}</th>`)}</tr></thead>
<tbody>${listed.map((cells) => html`<tr>${shown.map(({ name, type }) => html`<td${right(type)}>${cut(cells[name] ?? "–")}</td>`)}</tr>\n`)}</tbody></table></div>
${first(listed.length, total, "rows")}${first(shown.length, columns.length, "columns")}`;
}

export function cut(value: string | number | boolean, most = CELL_MAX): string {
  const text = String(value);
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
}

/** The scopes of the specification's part 5, as a user understands them. */
export const SCOPES_IN_WORDS: { readonly [S in Scope]: string } = {
  "read:apps": "See the apps and their deployments",
  "write:apps": "Create, change and deploy apps",
  "delete:apps": "Delete apps",
  "read:data": "See data sources and the data in them",
  admin: "Do everything in the account: apps, data, users, webhooks and keys",
};

/** Says that there is nothing yet, and what to do about it. */
export const nothingYet = (title: string, advice: Shown): Html =>
  html`<div class="card empty"><p class="title">${title}</p><p class="soft">${advice}</p></div>`;

export const notice = (tone: "good" | "bad", text: Shown): Html =>
  html`<div class="card notice ${tone}" role="${tone === "bad" ? "alert" : "status"}">${text}</div>`;

/** To be copied: the button is shown by the script alone. */
export const code = (text: string, id?: string): Html =>
  html`<div class="code"><pre${id && html` id="${id}"`}>${text}</pre><button type="button" class="quiet small" data-copy hidden>Copy</button></div>`;

export const json = (value: unknown): Html => code(JSON.stringify(value, null, 2));
