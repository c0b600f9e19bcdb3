// The register in /docs: what the specification leaves open, what this server does, and what others do.
import { ADDED, DECISIONS, type Decision, GAPS, SUMMED_UP } from "../../decisions.ts";
import { type Html, html } from "../html.ts";

type Rows = { readonly [id: string]: Decision };

const GROUPS: readonly (readonly [title: string, rows: Rows])[] = [
  ["What the specification does not show", GAPS],
  ["What users expect beyond it", ADDED],
  ["The rest, summed up", SUMMED_UP],
];

export const registerSection = (): Html => html`<h2 id="decisions">Decisions</h2>
<p class="lead">${Object.keys(DECISIONS).length} points that this server had to decide. Each choice is the very value that it runs on, and the tests that bear the id hold it; the first digit is the part of the specification.</p>
${GROUPS.map(([title, rows]) => html`<h3>${title}</h3><dl class="card entries">${Object.entries(rows).map(entry)}</dl>`)}`;

const entry = ([id, { open, choice, field, why }]: [string, Decision]): Html =>
  html`<div id="decision-${id}"><dt><code>${id}</code>${open}</dt><dd><p><code>${shown(choice.is)}</code></p><p>${why}</p><p class="soft">Elsewhere: ${field}. The other reading, ${choice.other}: <code>${shown(choice.or)}</code></p></dd></div>\n`;

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
