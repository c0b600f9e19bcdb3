// The OpenAPI 3.1 document, folded from the rows of the REST API and of the test controls, the views and the table of
// problems: it cannot say anything that the server does not run on. `x-spec` names the clause of the specification that
// shows an operation, `x-decision` the choice that added it.
import { LIMIT_MAX } from "../domain/lists.ts";
import { EVENT_TYPES, type EventType, SCOPES } from "../domain/model.ts";
import { asChosen, type Decide } from "../domain/readings.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { VERSION } from "../kit/version.ts";
import { JSON_TYPE } from "./call.ts";
import { KEY_MAX } from "./idempotency.ts";
import { ADDRESSES, CONTROL_PREFIX, type ServiceLinks } from "./links.ts";
import { CODE_MEMBER, CODES, PROBLEMS, statusOf } from "./problem.ts";
import type { Operation, Services } from "./route.ts";
import { isTotalApart, listing, shape } from "./view.ts";

const TEXT: JsonSchema = { type: "string" };

const ref = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

/** `controls`: the test controls, where they are switched on. What is undefined is not in the document. */
export function openApi(rows: readonly Operation[], services: Services, controls: readonly Operation[]): JsonSchema {
  const { links, decide } = services;
  const paths: Record<string, object> = {};
  const put = (path: string, row: Operation, more: object, asked = services, problems = PROBLEM) => {
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: { ...operation(row, asked, problems), ...more } };
  };
  // What an API key may do, a token may with the scope.
  for (const row of rows)
    put(row.path, row, { security: row.scope ? [{ apiKey: [] }, { oauth: [row.scope] }] : undefined });
  // They lie beside the REST API, so each names the server's root.
  const beside = {
    servers: [{ url: links.authUrl }],
    tags: [CONTROL_TAG],
    description: "Takes the start-up API key and no other.",
    security: [{ apiKey: [] }],
  };
  const decided = { ...services, decide: asChosen };
  for (const row of controls) put(CONTROL_PREFIX + row.path, row, beside, decided, CONTROL_PROBLEM);
  return {
    openapi: "3.1.1",
    info: {
      title: "Application Hosting Service",
      version: VERSION,
      summary: "Create, deploy and manage data apps; be told of events by webhook.",
      description: `Errors are explained at ${links.authUrl}${ADDRESSES.docs}/errors.`,
      contact: { name: "Documentation of this server", url: links.authUrl + ADDRESSES.docs },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: new URL(links.baseUrl).pathname, description: "The server that this document came from" }],
    security: [{ apiKey: [] }, { oauth: [] }],
    tags: [...new Set([...rows.map(tagOf), ...controls.map(() => CONTROL_TAG)])].map((name) => ({
      name,
      description: `The operations for ${name}.`,
    })),
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type, decide)])),
    components: {
      schemas: schemasOf([...rows, ...controls], decide),
      headers: { ...HEADERS, ...(isTotalApart(decide) && { "X-Total-Count": header("How many there are in all.") }) },
      responses: { ...problems(PROBLEM, rows, decide), ...problems(CONTROL_PROBLEM, controls, asChosen) },
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key of the account: full access." },
        oauth: { type: "oauth2", description: "An access token of a user.", flows: { authorizationCode: flow(links) } },
      },
    },
  };
}

const CONTROL_TAG = "control";
const tagOf = ({ path }: Operation): string => path.split("/")[1] ?? "";

const flow = ({ authUrl }: ServiceLinks) => ({
  authorizationUrl: `${authUrl}/oauth/authorize`,
  tokenUrl: `${authUrl}/oauth/token`,
  refreshUrl: `${authUrl}/oauth/token`,
  scopes: Object.fromEntries(SCOPES.map((scope) => [scope, scope === "admin" ? "Full account access" : scope])),
});

const readsOne = ({ method, view }: Operation): boolean => method === "GET" && view?.kind === "one";

/** If-Match and If-None-Match are judged. */
const isConditional = (row: Operation): boolean => ["PATCH", "DELETE"].includes(row.method) || readsOne(row);

function operation(row: Operation, services: Services, problems: string): JsonSchema {
  const { operation, scope, summary, spec, gap, example, status } = row;
  const schema = row.body?.(services).json;
  const examples = example && { example: { value: example } };
  return {
    operationId: operation,
    deprecated: row.ends && true,
    summary,
    description: scope === null ? "Any credential will do." : `Takes the scope ${scope}.`,
    tags: [tagOf(row)],
    "x-spec": spec,
    "x-decision": gap,
    parameters: parameters(row),
    requestBody: schema && { required: true, content: { [JSON_TYPE]: { schema, examples } } },
    responses: {
      [status]: success(row, services),
      ...(readsOne(row) && { "304": { description: "It has not changed since If-None-Match." } }),
      ...Object.fromEntries(failures(row, services.decide).map((each) => [each, ref("responses", problems + each)])),
    },
  };
}

function parameters(row: Operation): object[] {
  const { path, query, method, scope } = row;
  const named = (where: string, name: string, schema: unknown = TEXT, description?: string) => {
    return { name, in: where, required: where === "path", schema, description };
  };
  const key = { ...TEXT, minLength: 1, maxLength: KEY_MAX };
  return [
    ...Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => named("path", name)),
    ...Object.entries(query.members).map(([name, { json }]) => named("query", name, json)),
    // The test controls, which need no scope, remember nothing.
    ...(method === "POST" && scope !== null
      ? [named("header", "Idempotency-Key", key, "A repeated request with it is answered as the first.")]
      : []),
    ...(isConditional(row)
      ? [
          named("header", "If-Match", TEXT, "Only if the resource has one of these ETags."),
          named("header", "If-None-Match", TEXT, "Only if it has none of these."),
        ]
      : []),
  ];
}

function success({ view, once, location, summary: description }: Operation, { decide }: Services): JsonSchema {
  const page = ["Link", ...(isTotalApart(decide) ? ["X-Total-Count"] : [])];
  const own = { one: ["ETag"], page, plain: [] }[view?.kind ?? "plain"];
  const names = ["X-Request-Id", ...own, ...(location ? ["Location"] : [])];
  const headers = Object.fromEntries(names.map((name) => [name, ref("headers", name)]));
  if (view === undefined) return { description, headers };
  const { kind, name, json } = view;
  const named = kind === "page" ? `${name}List` : once ? `New${name}` : name;
  const schema = kind === "plain" ? json : ref("schemas", named);
  return { description, headers, content: { [JSON_TYPE]: { schema } } };
}

const header = (description: string): JsonSchema => ({ description, schema: TEXT });

/** Beside them every answer of the REST API says in its headers what is left of the rate. */
const HEADERS = {
  "X-Request-Id": header("The id of this request."),
  Location: header("Where the new resource is."),
  Link: header("The next and the previous page (RFC 8288)."),
  ETag: header("The version of the resource, for If-Match and If-None-Match."),
};

/** What an operation of this kind can fail with; 405 is nobody's, since it means that there is no operation. */
function failures(row: Operation, decide: Decide): number[] {
  const { path, method, body, refusals = [] } = row;
  return [
    ...[400, 401, 403, 408, 414, 431, 500],
    ...(path.includes("{") ? [404] : []),
    ...(body ? [413, 415, decide("7.validation-status")] : []),
    ...(method === "POST" ? [409, 422] : []),
    ...(isConditional(row) ? [412] : []),
    ...(method === "GET" ? [] : [503]),
    ...refusals.map((code) => statusOf(code, decide)),
  ];
}

/** The failures of the REST API and those of the test controls, which no reading changes, by what they are called. */
const [PROBLEM, CONTROL_PROBLEM] = ["Problem", "ControlProblem"];

const problems = (name: string, rows: readonly Operation[], decide: Decide): Record<string, JsonSchema> =>
  Object.fromEntries(
    rows.flatMap((row) => failures(row, decide)).map((status) => [name + status, problemResponse(status, decide)]),
  );

function problemResponse(status: number, decide: Decide): JsonSchema {
  const codes = CODES.filter((code) => statusOf(code, decide) === status);
  const own = { [CODE_MEMBER]: { enum: codes } };
  const type = decide("7.error-body");
  const flat = shape({ error: shape({ ...own, message: TEXT }) });
  const details = { allOf: [ref("schemas", "Problem"), { properties: { status: { const: status }, ...own } }] };
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`).join(" "),
    content: { [type]: { schema: type === JSON_TYPE ? flat : details } },
  };
}

const problem = shape(
  {
    type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
    title: TEXT,
    status: { type: "integer" },
    detail: TEXT,
    instance: { type: "string", description: "The request id." },
    [CODE_MEMBER]: { type: "string", enum: CODES },
    errors: { type: "array", items: shape({ pointer: TEXT, parameter: TEXT, header: TEXT, detail: TEXT }, ["detail"]) },
  },
  ["type", "title", "status", "detail", "instance", CODE_MEMBER],
);

/** Made as the list itself is made. */
function listed(name: string, decide: Decide): JsonSchema {
  const values = {
    items: { type: "array", items: ref("schemas", name) },
    total: { type: "integer", minimum: 0 },
    limit: { type: "integer", minimum: 1, maximum: LIMIT_MAX },
    offset: { type: "integer", minimum: 0 },
  };
  const texts = Object.entries(values).map(([each, schema]) => [each, JSON.stringify(schema)]);
  const made = JSON.parse(listing(decide)(Object.fromEntries(texts)));
  return made.type === "array" ? made : shape(made);
}

function schemasOf(rows: readonly Operation[], decide: Decide): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = { Problem: problem };
  for (const { view, once } of rows) {
    if (view === undefined || view.kind === "plain") continue;
    const { name, json } = view;
    schemas[name] = json;
    if (view.kind === "page") schemas[`${name}List`] = listed(name, decide);
    // A replayed answer has null where the first had what is shown once.
    const secrets = Object.fromEntries(Object.keys(once ?? {}).map((each) => [each, { type: ["string", "null"] }]));
    if (once) schemas[`New${name}`] = shape(Object.assign({}, json.properties, secrets));
  }
  return schemas;
}

/** The schema of `data.object` where the specification does not show it. */
const OBJECTS: { readonly [type in EventType]?: string } = {
  "app.created": "App",
  "app.updated": "App",
  "app.deleted": "App",
  "data.processed": "DataSource",
};

/** What a receiver gets for one event type (spec part 6). */
function webhook(type: EventType, decide: Decide): JsonSchema {
  const name = OBJECTS[type];
  const isWhole = type !== "app.deleted" || decide("6.event-objects").length > 1;
  const object = isWhole && name ? ref("schemas", name) : shape({ id: TEXT });
  const data = name === undefined ? {} : { data: { properties: { object }, "x-decision": "6.event-objects" } };
  const schema = { allOf: [ref("schemas", "Event"), { properties: { type: { const: type }, ...data } }] };
  const sent = ["X-Service-Signature", "X-Service-Event", "X-Service-Delivery", "X-Service-Attempt"];
  return {
    post: {
      operationId: `on-${type}`,
      summary: `Sent to each active webhook that asked for ${type}`,
      "x-spec": "6.envelope",
      security: [],
      parameters: sent.map((name) => ({ name, in: "header", required: true, schema: TEXT })),
      requestBody: { required: true, content: { [JSON_TYPE]: { schema } } },
      responses: { "2XX": { description: "Received; anything else is tried again." } },
    },
  };
}
