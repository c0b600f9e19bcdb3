// The endpoints in /docs, folded from the route table like the OpenAPI document: what the specification shows and what this
// project chose are told apart at each.
import type { Operation as Row } from "../../http/route.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { type Html, html, type Shown } from "../html.ts";
import { badge } from "../parts.ts";
import { isSchema, membersOf, requiredOf } from "../schemas.ts";

export function endpointsSection(rows: readonly Row[], baseUrl: string): Html {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = row.path.split("/")[1] ?? "";
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return html`<h2 id="endpoints">Endpoints</h2>
<p class="lead">All paths are below <code>${baseUrl}</code>; bodies are JSON. The same as a file for machines: <a href="/openapi.json">openapi.json</a>.</p>
${[...groups].map(([name, all]) => html`<h3 id="${name}">${name}</h3>${all.map((row) => endpoint(row, baseUrl))}`)}`;
}

function endpoint(row: Row, baseUrl: string): Html {
  const origin =
    row.gap === null
      ? badge("specification", "good")
      : html`<a class="badge" href="#decision-${row.gap}">our choice</a>`;
  return html`<details class="card entry" id="${row.operation}"><summary><span class="method">${row.method}</span> <code>${row.path}</code> <span class="soft">${row.summary}</span></summary>
<p>${origin} ${row.scope === null ? "Any credential will do." : html`Takes the scope <code>${row.scope}</code>.`} Answers <code>${row.answer.status}</code>${answered(row)}.</p>
${membersTable("Query", row.query.json)}${row.body && membersTable("Body", row.body.json)}
<pre>${curl(row, baseUrl)}</pre>${answerFields(row)}</details>\n`;
}

function answered({ answer: { shape } }: Row): Shown {
  if (shape.kind === "nothing") return " without a body";
  return shape.kind === "page" ? ` and a page of ${shape.view.name}` : ` and the ${shape.view.name}`;
}

function answerFields({ answer: { shape } }: Row): Shown {
  if (shape.kind === "nothing" || shape.kind === "plain") return null;
  const names = Object.keys(membersOf(shape.view.json));
  if (names.length === 0) return null;
  const once = shape.shownOnce.length > 0 && html`; only in this answer <code>${shape.shownOnce.join(", ")}</code>`;
  return html`<p class="soft">Fields: ${names.map((name, at) => html`${at > 0 && ", "}<code>${name}</code>`)}${once}.</p>`;
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

function curl({ method, path, example }: Row, baseUrl: string): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}"${baseUrl}${path}"`];
  lines.push(`  -H "Authorization: Bearer $API_KEY"`);
  if (example !== undefined) {
    lines.push(`  -H "Content-Type: application/json"`);
    lines.push(`  -d '${JSON.stringify(example).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n");
}
