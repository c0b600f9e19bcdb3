// The frame of the pages of /docs: where they are, what stands on each, and the list of it at the side. They need no sign-in,
// and without the script nothing but the copy buttons is missing.
import type { Reply } from "../../http/call.ts";
import { type Html, html, type Shown } from "../html.ts";
import { DASHBOARD, page } from "../page.ts";
import { copyButton, tabs } from "../parts.ts";

export const DOCS = {
  Start: "/docs",
  Endpoints: "/docs/endpoints",
  Events: "/docs/events",
  Errors: "/docs/errors",
  Register: "/docs/register",
} as const;

/** A part of a page, which the list at the side leads to, and to each of its entries. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
  readonly entries?: readonly Entry[];
}
type Entry = readonly [id: string, name: string];

export interface DocsPage {
  readonly name: keyof typeof DOCS;
  readonly title: string;
  readonly lead: Shown;
  readonly sections: readonly Section[];
}

export const docsPage = ({ name, title, lead, sections }: DocsPage): Reply =>
  page({
    title,
    scripted: true,
    header: html`<a class="soft" href="${DASHBOARD}">Dashboard</a><nav class="tabs" aria-label="Docs">${tabs(Object.entries(DOCS), name)}</nav>`,
    body: html`<div class="docs"><nav class="side" aria-label="On this page"><ul>${sections.map(listed)}</ul></nav>
<div><h1>${title}</h1><p class="lead">${lead}</p>
${sections.map(({ id, title: heading, body }) => html`<h2 id="${id}">${heading}</h2>${body}`)}</div></div>`,
  });

const listed = ({ id, title, entries = [] }: Section): Html =>
  html`<li>${link([id, title])}${entries.length > 0 && html`<ul>${entries.map((each) => html`<li>${link(each)}</li>`)}</ul>`}</li>\n`;

const link = ([id, name]: Entry): Html => html`<a href="#${id}">${name}</a>`;

export const code = (text: string): Html => html`<div class="code"><pre>${text}</pre>${copyButton}</div>`;

/** Terms and what they mean; one with an id can be led to. */
export const glossary = (entries: readonly (readonly [term: Shown, meaning: Shown, id?: string])[]): Html =>
  html`<dl class="card entries">${entries.map(([term, meaning, id]) => html`<div${id && html` id="${id}"`}><dt>${term}</dt><dd>${meaning}</dd></div>\n`)}</dl>`;
