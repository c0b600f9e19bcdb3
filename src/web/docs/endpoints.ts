// The endpoints in /docs, folded from the route table like the OpenAPI document: what the specification shows and what this
// project chose are told apart at each. The example answers are made from the schemas.

import { API } from "../../http/api.ts";
import { ADDRESSES } from "../../http/links.ts";
import type { Operation as Row, Services } from "../../http/route.ts";
import { listing } from "../../http/view.ts";
import type { JsonSchema } from "../../kit/schema.ts";
import { isSchema, membersOf, requiredOf } from "../form.ts";
import { html, type Shown } from "../html.ts";
import { badge, code, json, link, list, mono } from "../parts.ts";
import type { WebParts } from "../visit.ts";
import { sampleOf } from "./events.ts";

export function endpoints({ services, operations }: WebParts) {
  const { baseUrl } = services.links;
  const groupOf = ({ path }: Row) => path.split("/")[1] ?? "";
  return {
    lead: `All paths are below \`${baseUrl}\`; bodies are JSON. The same as a file for machines: [openapi.json](/openapi.json).`,
    sections: [...new Set(operations.map(groupOf))].map((id) => {
      const own = operations.filter((row) => groupOf(row) === id);
      return [id, id, null, own.map((row) => endpoint(row, services))] as const;
    }),
  };
}

function endpoint(row: Row, services: Services) {
  const { method, path, operation, summary, gap, scope, status, query, example } = row;
  const body = row.body?.(services);
  const choice = `${ADDRESSES.docs}/register#decision-${gap}`;
  const origin = gap === null ? badge("specification") : link(choice, "our choice", "badge");
  const url = services.links.baseUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`);
  const sample = sampleAnswer(row, services);
  const term = html`<span class="method ${method}">${method}</span> ${mono(path)}`;
  const meaning = html`<p>${summary}. ${origin} ${scope === null ? "Any credential will do." : `Takes the scope ${scope}.`}</p>
${rules("Query", query.json)}${body && rules("Body", body.json)}${code(curl(method, url, { body: example }))}
<p>Answers <code>${status}</code>${sample === undefined && " without a body"}</p>${sample !== undefined && json(sample)}`;
  return [operation, meaning, summary, term] as const;
}

/** Made from its schema, and of what the requests for the same resource say. */
function sampleAnswer({ view, once = {}, example }: Row, { decide }: Services): unknown {
  if (view === undefined) return undefined;
  const { kind, name, json } = view;
  const alike = API.rows.find((row) => row.view?.kind === "one" && row.view.name === name && row.example);
  const known = Object.entries({ ...Object(alike?.example), ...Object(example) });
  const told = known.filter(([each]) => each in membersOf(json));
  const secrets = Object.keys(once).map((each) => [each, "…"]);
  const one = { ...Object(sampleOf(json)), ...Object.fromEntries([...told, ...secrets]) };
  const page = { items: JSON.stringify([one]), total: 1, limit: 20, offset: 0 };
  return kind === "page" ? JSON.parse(listing(decide)(page)) : one;
}

/** Each member with its JSON Schema, which says its rules more exactly than words would. */
function rules(caption: string, schema: JsonSchema): Shown {
  if (Array.isArray(schema.oneOf)) return html`${schema.oneOf.filter(isSchema).map((each) => rules(caption, each))}`;
  const required = requiredOf(schema);
  const members = Object.entries(membersOf(schema)).map(
    ([name, member]) =>
      html`${mono(name)}${required.has(name) && html` <strong>required</strong>`} <code class="soft">${JSON.stringify(member)}</code>`,
  );
  return members.length > 0 && html`<p>${caption}:</p>${list(members)}`;
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
