// The endpoints in /docs, folded from the route table like the OpenAPI document: what the specification shows and what this
// project chose are told apart at each. The example answers are made from the schemas.

import { API } from "../../http/api.ts";
import { ADDRESSES } from "../../http/links.ts";
import type { Operation as Row, Services } from "../../http/route.ts";
import { listing } from "../../http/view.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { isSchema, membersOf, requiredOf } from "../form.ts";
import { html, type Shown } from "../html.ts";
import { badge, code, json } from "../parts.ts";
import type { WebParts } from "../visit.ts";
import { sampleEvent, sampleOf } from "./events.ts";

export function endpoints({ services, operations }: WebParts) {
  const { baseUrl } = services.links;
  const groupOf = ({ path }: Row) => path.split("/")[1] ?? "";
  return {
    lead: html`All paths are below <code>${baseUrl}</code>; bodies are JSON. The same as a file for machines: <a href="/openapi.json">openapi.json</a>.`,
    sections: [...new Set(operations.map(groupOf))].map((id) => {
      const own = operations.filter((row) => groupOf(row) === id);
      return { id, title: id, entries: own.map((row) => endpoint(row, services)) };
    }),
  };
}

function endpoint(row: Row, services: Services) {
  const { method, path, operation, summary, gap, scope, status, query, example } = row;
  const body = row.body?.(services);
  const origin =
    gap === null
      ? badge("specification")
      : html`<a class="badge" href="${ADDRESSES.docs}/register#decision-${gap}">our choice</a>`;
  const url = services.links.baseUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const sample = sampleAnswer(row, services);
  const term = html`<span class="method ${method}">${method}</span> <code>${path}</code>`;
  const meaning = html`<p>${summary}. ${origin} ${scope === null ? "Any credential will do." : html`Takes the scope <code>${scope}</code>.`}</p>
${rules("Query", query.json)}${body && rules("Body", body.json)}${code(curl(method, url, { body: example }))}
<p>Answers <code>${status}</code>${sample === undefined && " without a body"}</p>${sample !== undefined && json(sample)}`;
  return { id: operation, name: summary, term, meaning };
}

/** Made from its schema, and of what the requests for the same resource say. */
function sampleAnswer({ view, once = {}, example }: Row, { decide }: Services): unknown {
  if (view === undefined) return undefined;
  const { kind, name, json } = view;
  const alike = API.rows.find((row) => row.view?.kind === "one" && row.view.name === name && row.example);
  const known = Object.entries({ ...Object(alike?.example), ...Object(example) });
  const secrets = kind === "one" ? Object.keys(once).map((each) => [each, "…"] as const) : [];
  const told = [...known.filter(([each]) => each in membersOf(json)), ...secrets];
  const made = name === "Event" ? sampleEvent("app.created", decide) : Object(sampleOf(json));
  const one = { ...made, ...Object.fromEntries(told) };
  const page = { items: JSON.stringify([one]), total: 1, limit: 20, offset: 0 };
  return kind === "page" ? JSON.parse(listing(decide)(page)) : one;
}

/** Each member with its JSON Schema, which says its rules more exactly than words would. */
function rules(caption: string, schema: JsonSchema): Shown {
  if (Array.isArray(schema.oneOf)) return html`${schema.oneOf.filter(isSchema).map((each) => rules(caption, each))}`;
  const required = requiredOf(schema);
  const members = Object.entries(membersOf(schema)).map(
    ([name, member]) =>
      html`<li><code>${name}</code>${required.has(name) && html` <strong>required</strong>`} <code class="soft">${JSON.stringify(member)}</code></li>`,
  );
  return members.length > 0 && html`<p>${caption}:</p><ul>${members}</ul>`;
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
