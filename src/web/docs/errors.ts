// The errors in /docs: the `type` of a problem leads to its entry here, so each code is an anchor. The statuses and titles
// are the table that the server answers from, and so is what to do about each.
import type { Code } from "../../domain/refusal.ts";
import { trusted } from "../../kit/schema.ts";
import { type Html, html } from "../html.ts";

export type Problems = { readonly [C in Code]: { readonly status: number; readonly title: string } };

/** What to do about each. */
export type Advice = { readonly [C in Code]: string };

export function errorsSection(problems: Problems, advice: Advice, links: { problemType(code: Code): string }): Html {
  const example = {
    type: links.problemType("validation_failed"),
    title: problems.validation_failed.title,
    status: problems.validation_failed.status,
    detail: "#/title is required.",
    instance: "req_0Ub4aF…",
    code: "validation_failed",
    errors: [{ pointer: "#/title", detail: "is required" }],
  };
  return html`<h2 id="errors">Errors</h2>
<p class="lead">Every error is RFC 9457 problem details, <code>application/problem+json</code>. Programs look at <code>code</code>, people at <code>detail</code>; <code>instance</code> is the request id, which every answer carries in <code>X-Request-Id</code>.</p>
<pre>${JSON.stringify(example, null, 2)}</pre>
<dl class="card entries">${codesOf(problems).map((code) => entry(code, problems, advice[code]))}</dl>`;
}

/** The keys of a table that has every code and nothing else. */
const codesOf = (problems: Problems) => trusted<readonly Code[]>(Object.keys(problems));

const entry = (code: Code, problems: Problems, advice: string): Html =>
  html`<div id="${code}"><dt><code>${code}</code> <span class="badge">${problems[code].status}</span></dt><dd>${problems[code].title}. ${advice}</dd></div>`;
