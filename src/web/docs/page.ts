// The layout of a page of /docs: links to all pages, links into this one, and its sections.
import type { HttpResponse } from "../../http/message.ts";
import {
  definitionList,
  type Html,
  html,
  inlineMarkdown,
  link,
  list,
  paragraph,
  type Renderable,
  tabs,
} from "../html.ts";
import { page } from "../layout.ts";

/** A section has the anchor `what-it-says` for the title "What it says". One with an id is a part of the one before. */
export type Section = readonly [title: string, body?: Renderable, id?: string];

/** A page of the documentation, with the pages below it, which it lists. */
export interface Doc {
  readonly title: string;
  readonly path: string;
  readonly lead: string;
  readonly sections: readonly Section[];
  /** What the page above shows of this one, besides the lead. */
  readonly contents?: Renderable;
  readonly pages?: readonly Doc[];
}

/** `docs` are the pages of the highest level. */
export function renderDoc(docs: readonly Doc[], doc: Doc): HttpResponse {
  const { title, lead, sections, pages = [] } = doc;
  const links = docs
    .flatMap((each) => (doc.path.startsWith(each.path) ? [each, ...(each.pages ?? [])] : each))
    .map((each) => [each.title, each.path] as const);
  const anchors: Html[] = [];
  const content = sections.map(([title, body, id]) => {
    const level = id ? "h3" : "h2";
    const anchor = id ?? toAnchor(title);
    anchors.push(link(`#${anchor}`, title, level));
    return html`<${level} id="${anchor}">${title}</${level}>\n${toBlocks(body)}\n`;
  });
  const below = pages.map(
    ({ path, title, lead, contents }) =>
      [link(path, title), [inlineMarkdown(lead), contents]] as const,
  );
  const body = html`<div class="docs"><div class="side">${tabs("Documentation", links, title)}
<nav aria-label="On this page">${list(anchors)}</nav></div>
<article><h1>${title}</h1><p class="lead">${inlineMarkdown(lead)}</p>${pages.length > 0 && definitionList(below)}${content}</article></div>`;
  return page({ title, section: "Docs", body });
}

export const toAnchor = (title: string): string => title.toLowerCase().replace(/\W+/g, "-");

/** Renders texts as paragraphs. */
const toBlocks = (content: Renderable): readonly Renderable[] =>
  [content].flat().map((part) => (typeof part === "string" ? paragraph(part) : part));

/** A list of terms with their meanings. */
export const terms = (texts: Readonly<Record<string, string>>): Html =>
  definitionList(
    Object.entries(texts).map(([term, text]) => [inlineMarkdown(term), inlineMarkdown(text)]),
  );

/** Two columns where the page is wide. */
export const split = (left: Renderable, right: Renderable): Html =>
  html`<div class="grid"><div>${toBlocks(left)}</div><div>${toBlocks(right)}</div></div>`;
