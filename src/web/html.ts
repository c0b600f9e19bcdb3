// The one way in which HTML is made. `html` is a template tag: what stands in the template is markup, everything that is
// put into it is text and is escaped, also inside attributes (which are always quoted here). Only other `html` is taken as
// it is. There is no way around it, so a page cannot carry markup that somebody typed in.

export class Html {
  constructor(readonly text: string) {}
}

/** What can be put into a template; nothing is shown for null, undefined and false. */
export type Shown = Html | string | number | readonly Shown[] | null | undefined | false;

export const html = (raw: TemplateStringsArray, ...values: readonly Shown[]): Html =>
  new Html(String.raw({ raw }, ...values.map(shown)));

function shown(value: Shown): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  return typeof value === "object" ? value.map(shown).join("") : escaped(String(value));
}

const ENTITIES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
