// The parts of the OpenAPI document that operations share: schemas, headers, problems.
import { LIMIT_MAX } from "../domain/lists.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { CODE_MEMBER, PROBLEM_TYPE, PROBLEMS } from "./problem.ts";
import type { Operation } from "./route.ts";
import { shape, type View } from "./view.ts";

export const TEXT: JsonSchema = { type: "string" };

export const ref = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

const problem = shape(
  {
    type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
    title: TEXT,
    status: { type: "integer" },
    detail: TEXT,
    instance: { type: "string", description: "The request id." },
    [CODE_MEMBER]: { type: "string", enum: Object.keys(PROBLEMS) },
    errors: { type: "array", items: shape({ pointer: TEXT, parameter: TEXT, header: TEXT, detail: TEXT }, ["detail"]) },
  },
  ["type", "title", "status", "detail", "instance", CODE_MEMBER],
);

const listed = (name: string): JsonSchema =>
  shape({
    data: { type: "array", items: ref("schemas", name) },
    total: { type: "integer", minimum: 0 },
    limit: { type: "integer", minimum: 1, maximum: LIMIT_MAX },
    offset: { type: "integer", minimum: 0 },
  });

/** The resource with what is shown once; a replayed answer has null there. */
function withSecrets({ json }: Pick<View<never>, "json">, names: readonly string[]): JsonSchema {
  const own = Object.fromEntries(names.map((name) => [name, { type: ["string", "null"] }]));
  return shape(Object.assign({}, json.properties, own));
}

export function schemasOf(rows: readonly Operation[]): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = { Problem: problem };
  for (const { answer } of rows) {
    if (answer.shape.kind === "nothing" || answer.shape.kind === "plain") continue;
    const { kind, view, shownOnce } = answer.shape;
    schemas[view.name] = view.json;
    if (kind === "page") schemas[`${view.name}List`] = listed(view.name);
    if (shownOnce.length > 0) schemas[`New${view.name}`] = withSecrets(view, shownOnce);
  }
  return schemas;
}

const header = (description: string): JsonSchema => ({ description, schema: TEXT });

export const HEADERS: Record<string, JsonSchema> = {
  "X-Request-Id": header("The id of this request."),
  RateLimit: header('What is left in the window: `"default";r=…;t=…`.'),
  "RateLimit-Policy": header('The limit: `"default";q=…;w=…`.'),
  Location: header("Where the new resource is."),
  Link: header("The next and the previous page (RFC 8288)."),
  ETag: header("The version of the resource, for If-Match and If-None-Match."),
  "WWW-Authenticate": header("How to authenticate (RFC 6750)."),
};

export const headers = (...names: readonly string[]): JsonSchema =>
  Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, ref("headers", name)]));

/** One for each status that a request can fail with. */
export function problemResponse(status: number): JsonSchema {
  const codes = Object.entries(PROBLEMS).filter(([, entry]) => entry.status === status);
  const own = { status: { const: status }, [CODE_MEMBER]: { enum: codes.map(([code]) => code) } };
  return {
    description: codes.map(([code, { title }]) => `\`${code}\`: ${title}.`).join(" "),
    headers: status === 401 ? headers("WWW-Authenticate") : headers(),
    content: { [PROBLEM_TYPE]: { schema: { allOf: [ref("schemas", "Problem"), { properties: own }] } } },
  };
}
