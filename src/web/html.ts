// HTML, and the few pieces that pages are put together from. `html` is a template tag: what stands in the template is markup,
// everything that is put into it is text and is escaped, also inside attributes (which are always quoted here). Only other
// `html` is taken as it is. There is no way around it, so a page cannot carry markup that somebody typed in. Each piece is
// plain HTML that works by itself; what the script adds hangs on data attributes.
import type { Column, Row } from "../domain/model.ts";

export class Html {
  constructor(readonly text: string) {}
}

/** What can be put into a template; nothing is shown for null, undefined and false. */
export type Renderable = Html | string | number | readonly Renderable[] | null | undefined | false;

export const html = (raw: TemplateStringsArray, ...values: readonly Renderable[]): Html =>
  new Html(String.raw({ raw }, ...values.map(render)));

function render(value: Renderable): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  return typeof value === "object" ? value.map(render).join("") : escaped(String(value));
}

const ENTITIES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");

export const inlineCode = (text: Renderable): Html => html`<code>${text}</code>`;
export const muted = (text: Renderable): Html => html`<p class="soft">${text}</p>`;
export const link = (href: string, text: Renderable, look = ""): Html =>
  html`<a href="${href}"${look && html` class="${look}"`}>${text}</a>`;

/** In order, or not. */
export const list = (items: readonly Renderable[], kind: "ul" | "ol" = "ul"): Html =>
  html`<${kind}>${items.map((each) => html`<li>${each}</li>\n`)}</${kind}>`;

/** What a form says of itself. */
export const hidden = (name: string, value: Renderable): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** A state; its words are its classes, so that the stylesheet colours each. */
export const badge = (state: string): Html => html`<span class="badge ${state}">${state}</span>`;

/** To the second, in UTC, as the log of a server has it. */
export const time = (iso: string): Html =>
  html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;

/** Words of our own for people: `code` and [what leads](elsewhere). */
export const inlineMarkdown = (text: string): readonly Renderable[] =>
  text.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part) => {
    const [, code, name = "", href] = /^(?:`(.+)`|\[(.+)\]\((.+)\))$/.exec(part) ?? [];
    if (href !== undefined) return link(href, name);
    return code === undefined ? part : inlineCode(code);
  });

export const paragraph = (text: string): Html => html`<p>${inlineMarkdown(text)}</p>`;

/** Terms and what they mean, names and values; one with an id can be led to. */
export const definitionList = (
  entries: readonly (readonly [term: Renderable, meaning: Renderable, id?: string])[],
): Html =>
  html`<dl class="card">${entries.map(([term, meaning, id]) => html`<div${id && html` id="${id}"`}><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;

type Tab = readonly [name: string, path: string, ...more: unknown[]];
/** Links of which one is where the reader is. */
export const tabs = (label: string, urls: readonly Tab[], current?: string): Html =>
  html`<nav class="tabs" aria-label="${label}">${urls.map(([name, path]) => html`<a href="${path}"${name === current && html` aria-current="page"`}>${name}</a>`)}</nav>`;

/** More makes a page too long to read and to send (contract, part 8). */
const ROWS_MAX = 200;
const COLUMNS_MAX = 30;
const CELL_MAX = 200;

/** A box that scrolls sideways. The keyboard can scroll it only while it has the focus. */
export const scrollBox = (label: string, content: Renderable): Html =>
  html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">${content}</div>`;

/** Rows of so many in all, under their columns; `typed` where the head says what these hold. */
export function table(
  label: string,
  columns: readonly Column[],
  rows: readonly Row[],
  total: number,
  typed = false,
) {
  if (rows.length === 0) return muted("It has no rows.");
  const [shown, listed] = [columns.slice(0, COLUMNS_MAX), rows.slice(0, ROWS_MAX)];
  const right = ({ type }: Column) => type === "number" && html` class="number"`;
  const head = shown.map(
    (each) =>
      html`<th${right(each)}>${truncate(each.name)}${typed && html` <small>${each.type}</small>`}</th>`,
  );
  const body = listed.map(
    (cells) =>
      html`<tr>${shown.map((each) => html`<td${right(each)}>${truncate(cells[each.name] ?? "–")}</td>`)}</tr>\n`,
  );
  return html`${scrollBox(label, html`<table><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table>`)}
${firstOfMany(listed.length, total, "rows")}${firstOfMany(shown.length, columns.length, "columns")}`;
}

/** Where not all are shown. */
export const firstOfMany = (count: number, all: number, what: string): Renderable =>
  count < all && muted(`The first ${count} of ${all} ${what}.`);

export function truncate(value: string | number | boolean, most = CELL_MAX): string {
  const text = String(value);
  // No character is longer than two units.
  const first = [...text.slice(0, 2 * most + 1)];
  return first.length > most ? `${first.slice(0, most - 1).join("")}…` : text;
}

/** How it stands, what was done, or why it was not: then it has the focus. */
export const alertBox = (role: "status" | "alert", text: Renderable): Html =>
  html`<div class="card" role="${role}"${role === "alert" && html` tabindex="-1" autofocus`}>${text}</div>`;

/** To be copied: the button is shown by the script alone. */
export const code = (text: Renderable, id?: string): Html =>
  html`<div class="code"><pre${id && html` id="${id}"`}>${text}</pre><button type="button" data-copy hidden>Copy</button></div>`;

export const json = (value: unknown): Html => code(JSON.stringify(value, null, 2));
