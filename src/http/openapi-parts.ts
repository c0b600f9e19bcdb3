// The parts of the OpenAPI document that operations share: schemas, headers, parameters, bodies, security.

import { LIMIT_MAX } from "../domain/lists.ts";
import type { Scope } from "../domain/model.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { JSON_TYPE } from "./call.ts";
import { KEY_MAX } from "./idempotency.ts";
import { CODE_MEMBER, PROBLEMS } from "./problem.ts";
import type { Row } from "./route.ts";
import { routes } from "./routes.ts";
import type { View } from "./view.ts";
import * as views from "./views.ts";

const text: JsonSchema = { type: "string" };

const problem = views.shape(
  {
    type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
    title: text,
    status: { type: "integer" },
    detail: text,
    instance: { type: "string", description: "The request id." },
    [CODE_MEMBER]: { type: "string", enum: Object.keys(PROBLEMS) },
    errors: {
      type: "array",
      items: views.shape({ pointer: text, parameter: text, header: text, detail: text }, ["detail"]),
    },
  },
  ["type", "title", "status", "detail", "instance", CODE_MEMBER],
);

const listed = ({ name }: { readonly name: string }): JsonSchema =>
  views.shape({
    data: { type: "array", items: { $ref: `#/components/schemas/${name}` } },
    total: { type: "integer", minimum: 0 },
    limit: { type: "integer", minimum: 1, maximum: LIMIT_MAX },
    offset: { type: "integer", minimum: 0 },
  });

/** The resource with what is shown once; a replayed answer has null there. */
function withSecrets(view: Pick<View<never>, "json">, names: readonly string[]): JsonSchema {
  const { properties, required } = view.json;
  const own = Object.fromEntries(names.map((name) => [name, { type: ["string", "null"] }]));
  const known = Array.isArray(required) ? required.map(String) : [];
  return views.shape({ ...(typeof properties === "object" ? properties : {}), ...own }, [...known, ...names]);
}

function schemasOf(rows: readonly Row[]): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = { Problem: problem };
  for (const { answer } of rows) {
    if (answer.shape.kind === "nothing") continue;
    const { view, shownOnce } = answer.shape;
    schemas[view.name] = view.json;
    if (answer.shape.kind === "page") schemas[`${view.name}List`] = listed(view);
    if (shownOnce.length > 0) schemas[`New${view.name}`] = withSecrets(view, shownOnce);
  }
  return schemas;
}

export const SCHEMAS = schemasOf(routes);

export const ref = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

const header = (description: string): JsonSchema => ({ description, schema: text });

export const HEADERS: Record<string, JsonSchema> = {
  XRequestId: header("The id of this request."),
  RateLimit: header('What is left in the window: `"default";r=…;t=…`.'),
  RateLimitPolicy: header('The limit: `"default";q=…;w=…`.'),
  Location: header("Where the new resource is."),
  Link: header("The next and the previous page (RFC 8288)."),
  ETag: header("The version of the resource, for If-Match and If-None-Match."),
  WwwAuthenticate: header("How to authenticate (RFC 6750)."),
};

export function parameters(row: Row): JsonSchema[] {
  const inPath = row.paramNames.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: text,
    description: "The id of the resource.",
  }));
  const inQuery = Object.entries(row.query.members).map(([name, { json }]) => ({
    name,
    in: "query",
    required: false,
    schema: json,
  }));
  return [...inPath, ...inQuery, ...inHeader(row)];
}

function inHeader(row: Row): JsonSchema[] {
  const optional = (name: string, description: string, schema: JsonSchema = text) => ({
    name,
    in: "header",
    required: false,
    description,
    schema,
  });
  const single = row.answer.shape.kind === "one" && row.method === "GET";
  const changing = row.method === "PATCH" || row.method === "DELETE";
  const key = { type: "string", minLength: 1, maxLength: KEY_MAX };
  return [
    ...(row.method === "POST"
      ? [optional("Idempotency-Key", "The same key makes a repeated request answer as the first.", key)]
      : []),
    ...(single || changing
      ? [
          optional("If-Match", "Only if the resource has one of these ETags."),
          optional("If-None-Match", "Only if it has none of these."),
        ]
      : []),
  ];
}

export const requestBody = (row: Row): JsonSchema => ({
  required: true,
  content: {
    [JSON_TYPE]: {
      schema: row.body?.json,
      ...(row.example !== undefined && { examples: { example: { value: row.example } } }),
    },
  },
});

export const security = (scopes: readonly Scope[]): JsonSchema[] => [{ apiKey: [] }, { oauth: scopes }];
