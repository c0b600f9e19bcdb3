// The layout of a page of /docs: a side navigation and sections, some of which are lists of entries with anchors.
import type { HttpResponse } from "../../http/message.ts";
import {
  definitionList,
  html,
  inlineCode,
  inlineMarkdown,
  link,
  list,
  type Renderable,
} from "../html.ts";
import { page } from "../layout.ts";

/** An entry has an anchor. `name` is its text in the side navigation and, without a `term`, in the page. */
export interface Entry {
  readonly id: string;
  readonly name?: string;
  readonly term?: Renderable;
  readonly meaning: Renderable;
}

export interface DocsPage {
  readonly lead: string;
  readonly sections: readonly {
    readonly title: string;
    readonly body?: Renderable;
    readonly entries?: readonly Entry[];
  }[];
}

export function renderDocsPage(
  title: string,
  header: Renderable,
  { lead, sections }: DocsPage,
): HttpResponse {
  const navigation = sections.map(({ title, entries }) => [
    link(`#${toAnchor(title)}`, title),
    entries && list(entries.map(({ id, name = id }) => link(`#${id}`, name))),
  ]);
  const content = sections.map(({ title, body, entries }) => {
    const rows = entries?.map(
      ({ id, name = id, term = inlineCode(name), meaning }) => [term, meaning, id] as const,
    );
    return html`<h2 id="${toAnchor(title)}">${title}</h2>${body}\n${rows && definitionList(rows)}`;
  });
  const body = html`<div class="docs"><nav class="side" aria-label="On this page">${list(navigation)}</nav>
<div><h1>${title}</h1><p class="lead">${inlineMarkdown(lead)}</p>${content}</div></div>`;
  return page({ title, section: "Docs", header, body });
}

/** `what-it-says` for "What it says". */
const toAnchor = (title: string): string => title.toLowerCase().replace(/\W+/g, "-");
