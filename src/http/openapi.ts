// The OpenAPI 3.1 document, folded from the rows of the REST API and of the test controls, the views and the table of
// problems: it cannot say anything that the server does not run on. `x-spec` names the clause of the specification that
// shows an operation, `x-decision` the choice that added it.
import { EVENT_TYPES, type EventType } from "../domain/model.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { VERSION } from "../kit/version.ts";
import { JSON_TYPE } from "./call.ts";
import { RETIREMENTS } from "./deprecation.ts";
import { KEY_MAX } from "./idempotency.ts";
import { ADDRESSES, CONTROL_PREFIX, type ServiceLinks } from "./links.ts";
import { HEADERS, headers, problemResponse, ref, schemasOf, TEXT } from "./openapi-parts.ts";
import { PROBLEMS } from "./problem.ts";
import type { Operation } from "./route.ts";

const OPENAPI = "3.1.1";

/** `controls`: the test controls, where they are switched on. */
export function openApi(rows: readonly Operation[], links: ServiceLinks, controls: readonly Operation[]): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  const put = (path: string, row: Operation, tag: string, common: object) => {
    paths[path] = { ...common, ...paths[path], [row.method.toLowerCase()]: operation(row, tag) };
  };
  for (const row of rows) put(row.path, row, tagOf(row), {});
  // They lie beside the REST API, so each names the server's root.
  for (const row of controls) put(CONTROL_PREFIX + row.path, row, CONTROL, { servers: [{ url: links.authUrl }] });
  const all = [...rows, ...controls];
  const tags = [...new Set(rows.map(tagOf)), ...(controls.length > 0 ? [CONTROL] : [])];
  return {
    openapi: OPENAPI,
    info: {
      title: "Application Hosting Service",
      version: VERSION,
      summary: "Create, deploy and manage data apps; be told of events by webhook.",
      description: `Errors are explained at ${links.authUrl}${ADDRESSES.docs}/errors.`,
      contact: { name: "Documentation of this server", url: `${links.authUrl}${ADDRESSES.docs}` },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: new URL(links.baseUrl).pathname, description: "The server that this document came from" }],
    security: [{ apiKey: [] }, { oauth: [] }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type)])),
    components: {
      schemas: schemasOf(all),
      headers: HEADERS,
      responses: Object.fromEntries(
        [...new Set(all.flatMap(statuses))].map((status) => [`Problem${status}`, problemResponse(status)]),
      ),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key of the account: full access." },
        oauth: { type: "oauth2", description: "An access token of a user.", flows: { authorizationCode: flow(links) } },
      },
    },
  };
}

const flow = ({ authUrl }: ServiceLinks) => ({
  authorizationUrl: `${authUrl}/oauth/authorize`,
  tokenUrl: `${authUrl}/oauth/token`,
  refreshUrl: `${authUrl}/oauth/token`,
  scopes: {
    "read:apps": "Read apps and their deployments",
    "write:apps": "Create, change and deploy apps",
    "delete:apps": "Delete apps",
    "read:data": "Read data sources and their rows",
    admin: "Everything in the account",
  },
});

const CONTROL = "control";
const TAGS: Readonly<Record<string, string>> = {
  apps: "Apps and their deployments",
  "data-sources": "Data that apps show",
  webhooks: "Who is told of events, and what became of each delivery",
  users: "Users and their permissions",
  "api-keys": "Keys that open the whole account",
  "oauth-clients": "Applications that act for users",
  events: "What happened",
  account: "The account of the credential",
  [CONTROL]: "For tests: time, failures, journals, states",
};

const tagOf = (row: Operation): string => row.path.split("/")[1] ?? "";

function operation(row: Operation, tag: string): JsonSchema {
  const { method, summary, scope, body, example, answer } = row;
  const control = tag === CONTROL;
  const needs = scope === null ? "any credential will do" : `an access token needs the scope ${scope}`;
  const origin = row.spec === undefined ? `Chosen by this server (decision ${row.gap})` : "Shown in the specification";
  const examples = example !== undefined && { examples: { example: { value: example } } };
  const rate = control ? [] : ["RateLimit", "RateLimit-Policy"];
  const unchanged = method === "GET" && answer.shape.kind === "one";
  return {
    operationId: row.operation,
    ...(row.operation in RETIREMENTS && { deprecated: true }),
    summary,
    description: `${summary}. ${origin}; ${control ? "only the start-up API key will do" : needs}.`,
    tags: [tag],
    ...(row.spec === undefined ? { "x-decision": row.gap } : { "x-spec": row.spec }),
    ...((control || scope !== null) && { security: [{ apiKey: [] }, ...(control ? [] : [{ oauth: [scope] }])] }),
    parameters: parameters(row),
    ...(body && { requestBody: { required: true, content: { [JSON_TYPE]: { schema: body.json, ...examples } } } }),
    responses: {
      [answer.status]: success(row, rate),
      ...(unchanged && {
        "304": { description: "It has not changed since If-None-Match.", headers: headers(...rate) },
      }),
      ...Object.fromEntries(statuses(row).map((status) => [status, ref("responses", `Problem${status}`)])),
    },
  };
}

function parameters({ path, query, method, answer }: Operation): JsonSchema[] {
  const named = (where: string, name: string, schema: unknown = TEXT, description = "The id of the resource.") => ({
    ...{ name, in: where, required: where === "path", schema },
    ...(where !== "query" && { description }),
  });
  const inHeader: JsonSchema[] = [];
  if (method === "POST") {
    const key = { type: "string", minLength: 1, maxLength: KEY_MAX };
    inHeader.push(named("header", "Idempotency-Key", key, "A repeated request with it is answered as the first."));
  }
  if (method === "PATCH" || method === "DELETE" || (method === "GET" && answer.shape.kind === "one")) {
    inHeader.push(named("header", "If-Match", TEXT, "Only if the resource has one of these ETags."));
    inHeader.push(named("header", "If-None-Match", TEXT, "Only if it has none of these."));
  }
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => named("path", name));
  const inQuery = Object.entries(query.members).map(([name, { json }]) => named("query", name, json));
  return [...inPath, ...inQuery, ...inHeader];
}

function success({ answer: { shape, status }, summary }: Operation, rate: readonly string[]): JsonSchema {
  const location = status === 201 && shape.kind === "one" ? ["Location"] : [];
  if (shape.kind === "nothing") return { description: summary, headers: headers(...rate) };
  const own = shape.kind === "page" ? ["Link"] : shape.kind === "one" ? ["ETag"] : [];
  return {
    description: summary,
    headers: headers(...rate, ...location, ...own),
    content: { [JSON_TYPE]: { schema: schemaOf(shape) } },
  };
}

function schemaOf(shape: Exclude<Operation["answer"]["shape"], { kind: "nothing" }>): JsonSchema {
  const { name, json } = shape.view;
  if (shape.kind === "plain") return json;
  if (shape.kind === "page") return ref("schemas", `${name}List`);
  return ref("schemas", shape.shownOnce.length > 0 ? `New${name}` : name);
}

/** What an operation of this kind can fail with; 405 is nobody's, since it means that there is no operation. */
function statuses(row: Operation): number[] {
  const possible = new Set([400, 401, 403, 408, 414, 431, 500]);
  if (row.path.includes("{")) possible.add(404);
  if (row.body) for (const status of [413, 415, 422]) possible.add(status);
  if (row.method === "POST") for (const status of [409, 422]) possible.add(status);
  if (row.answer.shape.kind === "one" && row.method === "GET") possible.add(412);
  if (row.method === "PATCH" || row.method === "DELETE") possible.add(412);
  if (row.method !== "GET") possible.add(503);
  for (const code of row.refusals ?? []) possible.add(PROBLEMS[code].status);
  return [...possible].sort((a, b) => a - b);
}

/** The schema of `data.object` where the specification does not show it. */
const OBJECTS: { readonly [type in EventType]?: string } = {
  "app.created": "App",
  "app.updated": "App",
  "app.deleted": "App",
  "data.processed": "DataSource",
};

/** What a receiver gets for one event type (spec part 6). */
function webhook(type: EventType): JsonSchema {
  const name = OBJECTS[type];
  const data = name === undefined ? {} : { data: { properties: { object: ref("schemas", name) } } };
  const schema = { allOf: [ref("schemas", "Event"), { properties: { type: { const: type }, ...data } }] };
  const sent = ["X-Service-Signature", "X-Service-Event", "X-Service-Delivery", "X-Service-Attempt"];
  return {
    post: {
      operationId: `on-${type}`,
      summary: `Sent for ${type}`,
      description: `A POST to each active webhook that asked for ${type}, signed in X-Service-Signature.`,
      "x-spec": "6.envelope",
      security: [],
      parameters: sent.map((name) => ({ name, in: "header", required: true, schema: TEXT })),
      requestBody: { required: true, content: { [JSON_TYPE]: { schema } } },
      responses: { "2XX": { description: "Received; anything else is tried again." } },
    },
  };
}
