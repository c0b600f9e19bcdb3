// The test controls in the OpenAPI document, under a tag of their own, where they are switched on.
import type { DecisionId } from "../decisions.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { JSON_TYPE } from "./call.ts";
import type { ControlRow } from "./control-table.ts";
import { CONTROL_PREFIX } from "./links.ts";
import { ref } from "./openapi-parts.ts";

export const CONTROL_TAG = { name: "control", description: "For tests: time, failures, journals, states" };

/** The path items; they lie beside the REST API, so each names the server's root. */
export function controlPaths(rows: readonly ControlRow[], root: string): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of rows) {
    const path = CONTROL_PREFIX + row.path;
    paths[path] ??= { servers: [{ url: root }] };
    paths[path][row.method.toLowerCase()] = operation(row);
  }
  return paths;
}

const operation = (row: ControlRow): JsonSchema => ({
  operationId: row.operation,
  summary: row.summary,
  description: `${row.summary}. Takes the start-up API key and no other credential.`,
  tags: [CONTROL_TAG.name],
  "x-decision": "1.test-controls" satisfies DecisionId,
  security: [{ apiKey: [] }],
  parameters: parameters(row),
  ...(row.body && { requestBody: { required: true, content: { [JSON_TYPE]: { schema: row.body.json } } } }),
  responses: {
    ...(row.answer
      ? {
          [row.answer.status]: {
            description: row.summary,
            headers,
            content: { [JSON_TYPE]: { schema: row.answer.json } },
          },
        }
      : { "204": { description: row.summary, headers } }),
    ...Object.fromEntries(problemsOf(row).map((status) => [status, ref("responses", `Problem${status}`)])),
  },
});

const headers = { "X-Request-Id": ref("headers", "XRequestId") };

const problemsOf = (row: ControlRow): readonly number[] => [
  400,
  401,
  403,
  ...(row.path.includes("{") ? [404] : []),
  ...(row.body ? [413, 415, 422] : []),
  500,
];

function parameters({ path, query }: ControlRow): JsonSchema[] {
  const schema = { type: "string" };
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => ({ name, in: "path", required: true, schema }));
  const { properties = {} } = query?.json ?? {};
  const inQuery = Object.entries(typeof properties === "object" && properties !== null ? properties : {});
  return [...inPath, ...inQuery.map(([name, json]) => ({ name, in: "query", required: false, schema: json }))];
}
