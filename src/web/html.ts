// HTML templates and the components of pages. `html` is a template tag: the template is markup, and every value is
// escaped as text, also inside attributes (always quoted here). Only other `html` values are inserted unescaped, so a
// page cannot contain user-supplied markup. Components are plain HTML that works without the script, which uses data
// attributes.
import type { Cell, Column } from "../domain/model.ts";

export class Html {
  constructor(readonly text: string) {}
}

/** A template value; null, undefined and false render nothing. */
export type Renderable = Html | string | number | readonly Renderable[] | null | undefined | false;

export const html = (strings: TemplateStringsArray, ...values: readonly Renderable[]): Html =>
  new Html(String.raw({ raw: strings }, ...values.map(render)));

function render(value: Renderable): string {
  if (!value) return value === 0 ? "0" : "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

const ENTITIES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const inlineCode = (text: Renderable): Html => html`<code>${text}</code>`;
export const heading = (text: Renderable): Html => html`<h2>${text}</h2>`;
export const muted = (text: Renderable): Html => html`<p class="soft">${text}</p>`;
export const link = (href: string, text: Renderable, className = ""): Html =>
  html`<a href="${href}"${className && html` class="${className}"`}>${text}</a>`;

/** An ordered or unordered list. */
export const list = (items: readonly Renderable[], kind: "ul" | "ol" = "ul"): Html =>
  html`<${kind}>${items.map((each) => html`<li>${each}</li>\n`)}</${kind}>`;

/** A hidden form field. */
export const hidden = (name: string, value: Renderable): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Returns a name in sentence case: "Redirect URIs". Names such as `app.created` stay as they are. */
export const toLabel = (name: string): string =>
  name
    .replace(/_at$/, "")
    .replaceAll("_", " ")
    .replace(/\b(id|ur[il])(?=s?\b)/g, (word) => word.toUpperCase())
    .replace(/^.(?!\w*\.)/, (first) => first.toUpperCase());

/** A state, which is also its class, so that the stylesheet can color it. */
export const badge = (state: string): Html =>
  html`<span class="badge ${state}">${toLabel(state)}</span>`;

/** A time in UTC, to the second. */
export const time = (iso: string): Html =>
  html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;

/** Renders our own text with `code` and [links](url). */
export const inlineMarkdown = (text: string): readonly Renderable[] =>
  Array.from(text.matchAll(/`(.+?)`|\[(.+?)\]\((.+?)\)|[^`[]+|./g), ([plain, code, name, href]) =>
    href ? link(href, name) : code ? inlineCode(code) : plain,
  );

export const paragraph = (text: string): Html => html`<p>${inlineMarkdown(text)}</p>`;

/** A list of terms and meanings, or names and values. */
export const definitionList = (entries: readonly (readonly Renderable[])[]): Html =>
  html`<dl class="card">${entries.map(([term, meaning]) => html`<div><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;

/** Links, one of which is the current page. */
export const tabs = (
  label: string,
  links: readonly (readonly string[])[],
  current?: string,
): Html =>
  html`<nav class="tabs" aria-label="${label}">${links.map(([name, path]) => html`<a href="${path}"${name === current && html` aria-current="page"`}>${name}</a>`)}</nav>`;

/** Limits of a table, so that pages stay readable and quick to send (8.bounds). */
export const ROWS_MAX = 200;
const COLUMNS_MAX = 30;
const CELL_MAX = 200;

/** Renders the first rows of `total`. The box scrolls sideways, and by keyboard only with focus. */
export function table(
  label: string,
  columns: readonly Column[],
  rows: readonly Readonly<Record<string, Html | Cell>>[],
  total: number,
  renderHead = ({ name, type }: Column): Html =>
    html`<th class="${type}">${truncate(name)} <small>${type}</small>`,
): Html {
  if (rows.length === 0) return muted("No rows.");
  const firstColumns = columns.slice(0, COLUMNS_MAX);
  const body = rows.map((row) => {
    const cells = firstColumns.map(({ name, type }) => {
      const cell = row[name] ?? "–";
      return html`<td${type === "number" && html` class="number"`}>${cell instanceof Html ? cell : truncate(cell)}`;
    });
    return html`<tr>${cells}\n`;
  });
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table><thead><tr>${firstColumns.map(renderHead)}
<tbody>${body}</table></div>
${firstOfMany(rows.length, total, "rows")}${firstOfMany(firstColumns.length, columns.length, "columns")}`;
}

/** A note that the list is incomplete. */
export const firstOfMany = (count: number, all: number, what: string): Renderable =>
  count < all && muted(`The first ${count} of ${all} ${what}.`);

/** Shortens a text by characters, which are one or two UTF-16 code units each. */
export function truncate(value: string | number | boolean, maxLength = CELL_MAX): string {
  const characters = [...String(value)];
  return characters.length > maxLength
    ? `${characters.slice(0, maxLength - 1).join("")}…`
    : String(value);
}

/** A status message, or an alert that takes the focus. */
export const alertBox = (role: "status" | "alert", text: Renderable): Html =>
  html`<div class="card" role="${role}"${role === "alert" && html` tabindex="-1" autofocus`}>${text}</div>`;

/** A code block to copy; only the script shows its button. */
export const code = (text: Renderable, id?: string): Html =>
  html`<div class="code"><button type="button" data-copy hidden>Copy</button><pre${id && html` id="${id}"`}>${text}</pre></div>`;

/** Content that opens on demand. */
export const details = (summary: Renderable, content: Renderable): Html =>
  html`<details><summary>${summary}</summary>${content}</details>`;

export const json = (value: unknown): Html => code(JSON.stringify(value, null, 2));
