// The OpenAPI 3.1 document, folded from the route table, the views and the table of problems: it cannot say anything that
// the server does not run on. `x-spec` names the clause of the specification that shows an operation, `x-decision` the
// choice that added it.
import { EVENT_TYPES, type EventType } from "../domain/model.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { VERSION } from "../kit/version.ts";
import { JSON_TYPE, jsonReply } from "./call.ts";
import type { ControlRow } from "./control-table.ts";
import { RETIREMENTS } from "./deprecation.ts";
import { type Door, document } from "./front.ts";
import { ADDRESSES, type ServiceLinks } from "./links.ts";
import { CONTROL_TAG, controlPaths } from "./openapi-control.ts";
import { HEADERS, parameters, ref, requestBody, SCHEMAS, security } from "./openapi-parts.ts";
import { CODE_MEMBER, PROBLEM_TYPE, PROBLEMS } from "./problem.ts";
import type { AnswerShape, Row } from "./route.ts";

const OPENAPI = "3.1.1";

/** `controls`: the test controls, where they are switched on. */
export function openApiDoor(rows: readonly Row[], links: ServiceLinks, controls: readonly ControlRow[] = []): Door {
  let reply: ReturnType<typeof jsonReply> | undefined;
  return document(ADDRESSES.openapi, links, () => {
    reply ??= jsonReply(200, openApi(rows, links, controls));
    return reply;
  });
}

function openApi(rows: readonly Row[], links: ServiceLinks, controls: readonly ControlRow[]): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = controlPaths(controls, links.authUrl);
  for (const row of rows) {
    const item = paths[row.path] ?? {};
    item[row.method.toLowerCase()] = operation(row);
    paths[row.path] = item;
  }
  return {
    openapi: OPENAPI,
    info: {
      title: "Application Hosting Service",
      version: VERSION,
      summary: "Create, deploy and manage data apps; be told of events by webhook.",
      description: `Errors are explained at ${links.authUrl}${ADDRESSES.docs}.`,
      contact: { name: "Documentation of this server", url: `${links.authUrl}${ADDRESSES.docs}` },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: new URL(links.baseUrl).pathname, description: "The server that this document came from" }],
    security: security([]),
    tags: [...tagsOf(rows), ...(controls.length > 0 ? [CONTROL_TAG] : [])],
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type)])),
    components: {
      schemas: SCHEMAS,
      headers: HEADERS,
      responses: Object.fromEntries(
        statuses(rows).map((status) => [`Problem${status}`, problemResponse(Number(status))]),
      ),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key of the account: full access." },
        oauth: { type: "oauth2", description: "An access token of a user.", flows: { authorizationCode: flow(links) } },
      },
    },
  };
}

const flow = (links: ServiceLinks) => ({
  authorizationUrl: `${links.authUrl}/oauth/authorize`,
  tokenUrl: `${links.authUrl}/oauth/token`,
  refreshUrl: `${links.authUrl}/oauth/token`,
  scopes: {
    "read:apps": "Read apps and their deployments",
    "write:apps": "Create, change and deploy apps",
    "delete:apps": "Delete apps",
    "read:data": "Read data sources and their rows",
    admin: "Everything in the account",
  },
});

const TAGS: Readonly<Record<string, string>> = {
  apps: "Apps and their deployments",
  "data-sources": "Data that apps show",
  webhooks: "Who is told of events, and what became of each delivery",
  users: "Users and their permissions",
  "api-keys": "Keys that open the whole account",
  "oauth-clients": "Applications that act for users",
  events: "What happened",
  account: "The account of the credential",
};

const tagOf = (row: Row): string => row.path.split("/")[1] ?? "";

const tagsOf = (rows: readonly Row[]): JsonSchema[] =>
  [...new Set(rows.map(tagOf))].map((name) => ({ name, description: TAGS[name] ?? name }));

function operation(row: Row): JsonSchema {
  return {
    operationId: row.operation,
    ...(row.operation in RETIREMENTS && { deprecated: true }),
    summary: row.summary,
    description: described(row),
    tags: [tagOf(row)],
    ...(row.spec === undefined ? { "x-decision": row.gap } : { "x-spec": row.spec }),
    ...(row.scope !== null && { security: security([row.scope]) }),
    parameters: parameters(row),
    ...(row.body && { requestBody: requestBody(row) }),
    responses: { [row.answer.status]: success(row), ...(row.method === "GET" && notModified(row)), ...failures(row) },
  };
}

/** Where the operation comes from and what it takes, in words. */
function described(row: Row): string {
  const origin = row.spec === undefined ? `Chosen by this server (decision ${row.gap})` : "Shown in the specification";
  const needs = row.scope === null ? "any credential will do" : `an access token needs the scope ${row.scope}`;
  return `${row.summary}. ${origin}; ${needs}.`;
}

function success(row: Row): JsonSchema {
  const { shape: answer, status } = row.answer;
  const headers: Record<string, JsonSchema> = { ...common };
  if (status === 201) headers.Location = ref("headers", "Location");
  if (answer.kind === "page") headers.Link = ref("headers", "Link");
  if (answer.kind === "one") headers.ETag = ref("headers", "ETag");
  const described = { description: row.summary, headers };
  return answer.kind === "nothing"
    ? described
    : { ...described, content: { [JSON_TYPE]: { schema: answered(answer) } } };
}

function answered(answer: Exclude<AnswerShape, { kind: "nothing" }>): JsonSchema {
  const { name } = answer.view;
  if (answer.kind === "page") return ref("schemas", `${name}List`);
  return ref("schemas", answer.shownOnce.length > 0 ? `New${name}` : name);
}

const notModified = (row: Row): Record<string, JsonSchema> =>
  row.answer.shape.kind === "one"
    ? { "304": { description: "It has not changed since If-None-Match.", headers: common } }
    : {};

const common = {
  "X-Request-Id": ref("headers", "XRequestId"),
  RateLimit: ref("headers", "RateLimit"),
  "RateLimit-Policy": ref("headers", "RateLimitPolicy"),
};

/** The problems that an operation of this kind can answer. */
function failures(row: Row): Record<string, JsonSchema> {
  const possible = new Set([400, 401, 403, 408, 414, 431, 500]);
  if (row.paramNames.length > 0) possible.add(404);
  if (row.body) for (const status of [413, 415, 422]) possible.add(status);
  if (row.method === "POST") for (const status of [409, 422]) possible.add(status);
  if (row.answer.shape.kind === "one" && row.method === "GET") possible.add(412);
  if (row.method === "PATCH" || row.method === "DELETE") possible.add(412);
  if (row.method !== "GET") possible.add(503);
  for (const code of row.refusals ?? []) possible.add(PROBLEMS[code].status);
  const listed = [...possible].sort((a, b) => a - b);
  return Object.fromEntries(listed.map((status) => [status, ref("responses", `Problem${status}`)]));
}

/** Every status that an operation can fail with: of all, 405 is nobody's, since it means that there is no operation. */
const statuses = (rows: readonly Row[]): string[] => [...new Set(rows.flatMap((row) => Object.keys(failures(row))))];

function problemResponse(status: number): JsonSchema {
  const codes = Object.entries(PROBLEMS).filter(([, entry]) => entry.status === status);
  const schema = {
    allOf: [
      ref("schemas", "Problem"),
      { properties: { status: { const: status }, [CODE_MEMBER]: { enum: codes.map(([code]) => code) } } },
    ],
  };
  return {
    description: codes.map(([code, { title }]) => `\`${code}\`: ${title}.`).join(" "),
    headers: { "X-Request-Id": ref("headers", "XRequestId"), ...challenge(status) },
    content: { [PROBLEM_TYPE]: { schema } },
  };
}

const challenge = (status: number) => (status === 401 ? { "WWW-Authenticate": ref("headers", "WwwAuthenticate") } : {});

/** The schema of `data.object` where the specification does not show it. */
const OBJECTS: { readonly [type in EventType]?: string } = {
  "app.created": "App",
  "app.updated": "App",
  "app.deleted": "App",
  "data.processed": "DataSource",
};

function eventOf(type: EventType): JsonSchema {
  const name = OBJECTS[type];
  const object = name === undefined ? {} : { data: { properties: { object: ref("schemas", name) } } };
  return { allOf: [ref("schemas", "Event"), { properties: { type: { const: type }, ...object } }] };
}

/** What a receiver gets for one event type (spec part 6). */
function webhook(type: EventType): JsonSchema {
  return {
    post: {
      operationId: `on-${type}`,
      summary: `Sent for ${type}`,
      description: `A POST to each active webhook that asked for ${type}, signed in X-Service-Signature.`,
      "x-spec": "6.envelope",
      security: [],
      parameters: ["X-Service-Signature", "X-Service-Event", "X-Service-Delivery", "X-Service-Attempt"].map((name) => ({
        name,
        in: "header",
        required: true,
        schema: { type: "string" },
      })),
      requestBody: {
        required: true,
        content: { [JSON_TYPE]: { schema: eventOf(type) } },
      },
      responses: { "2XX": { description: "Received; anything else is tried again." } },
    },
  };
}
