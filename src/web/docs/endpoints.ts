// The endpoints in /docs, folded from the route table like the OpenAPI document: what the specification shows and what this
// project chose are told apart at each. The example answers are made from the schemas.
import type { Operation as Row, Services } from "../../http/route.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { isSchema, membersOf, requiredOf } from "../form.ts";
import { type Html, html, type Shown } from "../html.ts";
import { badge } from "../parts.ts";
import type { WebParts } from "../way.ts";
import { sampleEvent, sampleOf } from "./events.ts";
import { code, DOCS, type DocsPage, type Section } from "./frame.ts";

export function endpoints({ operations: rows, services }: WebParts): DocsPage {
  const { baseUrl } = services.links;
  const groupOf = ({ path }: Row) => path.split("/")[1] ?? "";
  return {
    name: "Endpoints",
    title: "Endpoints",
    lead: html`All paths are below <code>${baseUrl}</code>; bodies are JSON. The same as a file for machines: <a href="/openapi.json">openapi.json</a>.`,
    sections: [...new Set(rows.map(groupOf))].map((id): Section => {
      const own = rows.filter((row) => groupOf(row) === id);
      const entries = own.map(({ operation, summary }) => [operation, summary] as const);
      return { id, title: id, body: html`${own.map((row) => endpoint(row, rows, services))}`, entries };
    }),
  };
}

function endpoint(row: Row, rows: readonly Row[], services: Services): Html {
  const { method, path, operation, summary, gap, scope, status, query, example } = row;
  const body = row.body?.(services);
  const origin =
    gap === null
      ? badge("specification", "good")
      : html`<a class="badge" href="${DOCS.Register}#decision-${gap}">our choice</a>`;
  const url = services.links.baseUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const sample = sampleAnswer(row, rows);
  return html`<article class="card" id="${operation}"><h3><span class="method ${method}">${method}</span> <code>${path}</code></h3>
<p>${summary}. ${origin} ${scope === null ? "Any credential will do." : html`Takes the scope <code>${scope}</code>.`}</p>
${membersTable("Query", query.json)}${body && membersTable("Body", body.json)}${code(curl(method, url, { body: example }))}
<p>Answers <code>${status}</code>${answered(row)}</p>${sample !== undefined && code(JSON.stringify(sample, null, 2))}</article>\n`;
}

function answered({ view, once }: Row): Shown {
  if (view === undefined) return " without a body.";
  const secrets = once && html`, <code>${Object.keys(once).join(", ")}</code> this once`;
  return html` and ${view.kind === "page" ? "a page of" : "the"} ${view.name}${secrets}:`;
}

/** What the requests of the same resource say stands in the answer, too. */
function sampleAnswer({ view, once = {}, example }: Row, rows: readonly Row[]): unknown {
  if (view === undefined) return undefined;
  const { kind, name, json } = view;
  const alike = rows.find((row) => row.view?.kind === "one" && row.view.name === name && row.example);
  const known = Object.entries({ ...Object(alike?.example), ...Object(example) });
  const members = membersOf(json);
  const one =
    name === "Event"
      ? sampleEvent("app.created")
      : { ...Object(sampleOf(json)), ...Object.fromEntries(known.filter(([each]) => each in members)) };
  const secrets = Object.keys(once).map((each) => [each, "…"]);
  return kind === "page" ? { data: [one], total: 1, limit: 20, offset: 0 } : { ...one, ...Object.fromEntries(secrets) };
}

function membersTable(caption: string, schema: JsonSchema): Shown {
  const members = Object.entries(membersOf(schema));
  if (members.length === 0) return null;
  const required = requiredOf(schema);
  const rows = members.map(
    ([name, member]) =>
      html`<tr><td><code>${name}</code></td><td>${rulesOf(member).join(", ")}${required.has(name) ? html` <strong>required</strong>` : defaultOf(member)}</td></tr>`,
  );
  return html`<div class="scroll"><table><thead><tr><th>${caption}</th><th></th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

const defaultOf = (member: JsonSchema): Shown =>
  "default" in member ? html`, by default <code>${JSON.stringify(member.default)}</code>` : ", optional";

/** The rules of a JSON Schema that a reader asks about, in words. */
function rulesOf(schema: JsonSchema): string[] {
  if (Array.isArray(schema.enum)) return [`one of ${schema.enum.join(", ")}`];
  const either = [schema.oneOf, schema.anyOf].find(Array.isArray);
  if (either) return [either.filter(isSchema).flatMap(rulesOf).join(" or ")];
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems, format, items } = schema;
  const rules = [Array.isArray(type) ? type.join(" or ") : String(type ?? "any value")];
  if (typeof format === "string") rules.push(format);
  if (maxLength !== undefined) rules.push(`${minLength ?? 0} to ${maxLength} characters`);
  if (minimum !== undefined) rules.push(maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`);
  if (maxItems !== undefined) rules.push(`${minItems ?? 0} to ${maxItems} items`);
  if (isSchema(items)) rules.push(`each ${rulesOf(items).join(", ")}`);
  return rules;
}

/** A request that can be pasted into a shell; `$NAME` in the body is a variable there. */
export function curl(
  method: string,
  url: string,
  { body, token = "API_KEY" }: { body?: unknown; token?: string | null },
): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"${url}"`];
  if (token !== null) lines.push(`-H "Authorization: Bearer $${token}"`);
  const quoted =
    body !== undefined &&
    JSON.stringify(body)
      .replaceAll("'", "'\\''")
      .replace(/\$[A-Z_]+/g, `'"$&"'`);
  if (quoted) lines.push('-H "Content-Type: application/json"', `-d '${quoted}'`);
  return lines.join(" \\\n  ");
}
