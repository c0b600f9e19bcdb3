// The frame of the pages of /docs: where they are, what stands on each, and the list of it at the side. They need no sign-in,
// and without the script nothing but the copy buttons is missing.
import type { Reply } from "../../http/call.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD, page } from "../page.ts";
import { code, tabs, terms } from "../parts.ts";

export const DOCS = {
  Start: "/docs",
  Endpoints: "/docs/endpoints",
  Events: "/docs/events",
  Errors: "/docs/errors",
  Register: "/docs/register",
} as const;

/** What the list at the side leads to, by its name. */
interface Entry {
  readonly id: string;
  readonly name: string;
  readonly term?: Shown;
  readonly meaning: Shown;
}

/** A part of a page. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body?: Shown;
  readonly entries?: readonly Entry[];
}

export interface DocsPage {
  readonly name: keyof typeof DOCS;
  readonly lead: Shown;
  readonly sections: readonly Section[];
}

export const docsPage = ({ name, lead, sections }: DocsPage): Reply =>
  page({
    title: name,
    header: html`<a class="soft" href="${DASHBOARD}">Dashboard</a>${tabs("Docs", Object.entries(DOCS), name)}`,
    body: html`<div class="docs"><nav class="side" aria-label="On this page"><ul>${sections.map(listed)}</ul></nav>
<div><h1>${name}</h1><p class="lead">${lead}</p>${sections.map(drawn)}</div></div>`,
  });

const listed = ({ id, title, entries }: Section): Html =>
  html`<li><a href="#${id}">${title}</a>${entries && html`<ul>${entries.map((each) => html`<li><a href="#${each.id}">${each.name}</a></li>`)}</ul>`}</li>\n`;

const drawn = ({ id, title, body, entries }: Section): Html =>
  html`<h2 id="${id}">${title}</h2>${body}
${entries && terms(entries.map((each) => [each.term ?? html`<code>${each.name}</code>`, each.meaning, each.id]))}`;

export const json = (value: unknown): Html => code(JSON.stringify(value, null, 2));
