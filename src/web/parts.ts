// The few pieces that pages are put together from. Each is plain HTML that works by itself; what the script adds hangs on
// data attributes.
import type { Row } from "../domain/columns.ts";
import type { Column, Scope } from "../domain/model.ts";
import { type Html, html, type Shown } from "./html.ts";

type Tone = "good" | "bad" | "warn" | "plain";

export const badge = (text: string, tone: Tone = "plain"): Html => html`<span class="badge ${tone}">${text}</span>`;

/** To the second, in UTC, as the log of a server has it. */
export const time = (iso: string): Html =>
  html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;

/** The name of a page, what can be done there beside it. */
export const head = (title: Shown, actions: Shown = null): Html =>
  html`<div class="head"><h1>${title}</h1>${actions && html`<div class="row">${actions}</div>`}</div>`;

/** Names and values of one thing. */
export const facts = (rows: readonly (readonly [name: string, value: Shown])[]): Html =>
  html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

export const list = (rows: readonly Html[]): Html => html`<ul class="list card">${rows}</ul>`;

/** A row of a list: what it is called and a line below, what stands at its right. */
export const row = (title: Shown, below: Shown, right: Shown): Html =>
  html`<li><div><div class="title">${title}</div><div class="soft">${below}</div></div><div class="row">${right}</div></li>`;

/** Links of which one is where the reader is. */
export const tabs = (links: readonly (readonly [name: string, path: string])[], current?: string): readonly Html[] =>
  links.map(([name, path]) => html`<a href="${path}"${name === current && html` aria-current="page"`}>${name}</a>`);

/** More makes a page too long to read and to send (contract, part 8). */
export const ROWS_MAX = 200;
const COLUMNS_MAX = 30;
const CELL_MAX = 200;

/** Rows under their columns; `typed` where the head says what these hold. */
export function table(columns: readonly Column[], rows: readonly Row[], typed = false): Html {
  if (rows.length === 0) return html`<p class="soft">It has no rows.</p>`;
  const shown = columns.slice(0, COLUMNS_MAX);
  const right = (type: string) => type === "number" && html` class="number"`;
  return html`<div class="scroll"><table><thead><tr>${shown.map(({ name, type }) => html`<th${right(type)}>${cut(name)}${typed && html` <span class="soft">${type}</span>`}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${shown.map(({ name, type }) => html`<td${right(type)}>${cut(cells[name] ?? "–")}</td>`)}</tr>\n`)}</tbody></table></div>
${shown.length < columns.length && html`<p class="soft">The first ${shown.length} of ${columns.length} columns.</p>`}`;
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

/** What is shown this once: the value, and a button to copy it where the script runs. */
export const shownOnce = (title: string, value: string, advice: Shown): Html =>
  notice(
    "good",
    html`<p class="title">${title}</p><div class="row"><code class="secret" id="secret">${value}</code>${copyButton}</div><p class="soft">${advice}</p>`,
  );

/** Copies what stands before it. */
export const copyButton = html`<button type="button" class="quiet small" data-copy hidden>Copy</button>`;

/** Something that cannot be undone: one has to open it first, and read what follows from it. */
export const danger = (summary: string, action: string, csrf: Html, follows: Shown): Html =>
  html`<details class="card form"><summary class="bad">${summary}</summary><p>${follows}</p>
<form method="post" action="${action}">${csrf}<button class="bad">Delete for good</button></form></details>`;

/** Newer and older; nothing where one page holds all. `address` carries what else the query says. */
export function pager(skip: number, limit: number, total: number, address: string): Shown {
  if (total <= limit && skip === 0) return null;
  const to = (at: number) => `${address}${address.includes("?") ? "&" : "?"}skip=${at}`;
  const last = Math.min(skip + limit, total);
  return html`<nav class="row" aria-label="Pages"><span class="soft">${total === 0 ? 0 : Math.min(skip + 1, last)} to ${last} of ${total}, the newest first</span>
${skip > 0 && html`<a class="button quiet small" rel="prev" href="${to(Math.max(skip - limit, 0))}">Newer</a>`}
${last < total && html`<a class="button quiet small" rel="next" href="${to(last)}">Older</a>`}</nav>`;
}
