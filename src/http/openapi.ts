// The OpenAPI 3.1 document, folded from the rows of the REST API and of the test controls, the views and the table of
// problems: it cannot say anything that the server does not run on. `x-spec` names the clause of the specification that
// shows an operation, `x-decision` the choice that added it.
import { EVENT_TYPES, type EventType, SCOPES } from "../domain/model.ts";
import { asChosen, type Decide } from "../domain/readings.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { VERSION } from "../kit/version.ts";
import { JSON_TYPE } from "./call.ts";
import { KEY_MAX } from "./idempotency.ts";
import { ADDRESSES, CONTROL_PREFIX } from "./links.ts";
import { CODE_MEMBER, CODES, PROBLEMS, statusOf } from "./problem.ts";
import type { Operation, Services } from "./route.ts";
import { isTotalApart, listing, shape } from "./view.ts";

const TEXT: JsonSchema = { type: "string" };

const ref = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

/** `controls`: the test controls, where they are switched on. What is undefined is not in the document. */
export function openApi(rows: readonly Operation[], services: Services, controls: readonly Operation[]): JsonSchema {
  const { links, decide } = services;
  const paths = pathsOf(rows, services, controls);
  const [authorizationUrl, tokenUrl] = ["authorize", "token"].map((each) => `${links.authUrl}/oauth/${each}`);
  const scopes = Object.fromEntries(SCOPES.map((scope) => [scope, scope === "admin" ? "Full account access" : scope]));
  const authorizationCode = { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes };
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
    tags: [...new Set(Object.keys(paths).map(tagOf))].map((name) => {
      return { name, description: `The operations for ${name}.` };
    }),
    paths,
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type, decide)])),
    components: {
      schemas: Object.fromEntries([
        ["Problem", problem],
        ...[...rows, ...controls].flatMap((row) => schemasOf(row, decide)),
      ]),
      responses: Object.fromEntries(
        rows.flatMap((row) => failures(row, decide)).map((status) => [`Problem${status}`, failure(status, decide)]),
      ),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key of the account: full access." },
        oauth: { type: "oauth2", description: "An access token of a user.", flows: { authorizationCode } },
      },
    },
  };
}

function pathsOf(rows: readonly Operation[], services: Services, controls: readonly Operation[]) {
  const paths: Record<string, object> = {};
  const put = (path: string, row: Operation, failed: Responses, more: object) => {
    const described = { ...operation(row, services, failed), tags: [tagOf(path)], ...more };
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: described };
  };
  // What an API key may do, a token may with the scope.
  for (const row of rows) {
    const failed = failures(row, services.decide).map((status) => [status, ref("responses", `Problem${status}`)]);
    const security = row.scope ? [{ apiKey: [] }, { oauth: [row.scope] }] : undefined;
    put(row.path, row, Object.fromEntries(failed), { security });
  }
  // They lie beside the REST API, so each names the server's root; no reading changes how they fail.
  const beside = {
    servers: [{ url: services.links.authUrl }],
    description: "Takes the start-up API key and no other.",
    security: [{ apiKey: [] }],
  };
  const refused = { description: "What went wrong, in `code`.", content: { [PROBLEM_TYPE]: { schema: PROBLEM } } };
  for (const row of controls) put(CONTROL_PREFIX + row.path, row, { "4XX": refused, "5XX": refused }, beside);
  return paths;
}

type Responses = { readonly [status: string]: JsonSchema };

const tagOf = (path: string): string => /[a-z][^/]*/.exec(path)?.[0] ?? "";

const readsOne = ({ method, view }: Operation): boolean => method === "GET" && view?.kind === "one";

/** If-Match and If-None-Match are judged. */
const isConditional = (row: Operation): boolean => ["PATCH", "DELETE"].includes(row.method) || readsOne(row);

function operation(row: Operation, services: Services, failed: Responses): JsonSchema {
  const { operation, scope, summary, spec, gap, example, status } = row;
  const schema = row.body?.(services).json;
  return {
    operationId: operation,
    deprecated: row.ends && true,
    summary,
    description: scope === null ? "Any credential will do." : `Takes the scope ${scope}.`,
    "x-spec": spec,
    "x-decision": gap,
    parameters: parameters(row),
    requestBody: schema && { required: true, content: { [JSON_TYPE]: { schema, example } } },
    responses: {
      [status]: success(row, services.decide),
      ...(readsOne(row) && { "304": { description: "It has not changed since If-None-Match." } }),
      ...failed,
    },
  };
}

const parameter = (where: string, name: string, schema = TEXT, description?: string) => {
  return { name, in: where, required: where === "path", schema, description };
};
const KEY = { ...TEXT, minLength: 1, maxLength: KEY_MAX };
const IDEMPOTENCY = parameter("header", "Idempotency-Key", KEY, "A repeated request with it is answered as the first.");
const CONDITIONS = [
  parameter("header", "If-Match", TEXT, "Only if the resource has one of these ETags."),
  parameter("header", "If-None-Match", TEXT, "Only if it has none of these."),
];

const parameters = (row: Operation): object[] => [
  ...Array.from(row.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => parameter("path", name)),
  ...Object.entries(row.query.members).map(([name, { json }]) => parameter("query", name, json)),
  // The test controls, which need no scope, remember nothing.
  ...(row.method === "POST" && row.scope !== null ? [IDEMPOTENCY] : []),
  ...(isConditional(row) ? CONDITIONS : []),
];

function success(row: Operation, decide: Decide): JsonSchema {
  const { view, location, summary: description } = row;
  const page = ["Link", ...(isTotalApart(decide) ? ["X-Total-Count"] : [])];
  const own = { one: ["ETag"], page, plain: [] }[view?.kind ?? "plain"];
  const names = ["X-Request-Id", ...own, ...(location ? ["Location"] : [])];
  const headers = Object.fromEntries(names.map((name) => [name, { description: HEADERS[name], schema: TEXT }]));
  if (view === undefined) return { description, headers };
  const [[name] = []] = schemasOf(row, decide);
  const schema = name === undefined ? view.json : ref("schemas", name);
  return { description, headers, content: { [JSON_TYPE]: { schema } } };
}

/** Beside them every answer of the REST API says in its headers what is left of the rate. */
const HEADERS: { readonly [name: string]: string } = {
  "X-Request-Id": "The id of this request.",
  "X-Total-Count": "How many there are in all.",
  Location: "Where the new resource is.",
  Link: "The next and the previous page (RFC 8288).",
  ETag: "The version of the resource, for If-Match and If-None-Match.",
};

/** What an operation of this kind can fail with; 405 is nobody's, since it means that there is no operation. */
function failures(row: Operation, decide: Decide): number[] {
  const { path, method, body, refusals = [] } = row;
  return [
    ...[400, 401, 403, 408, 414, 431, 500, 501, 503],
    ...(path.includes("{") ? [404] : []),
    ...(body ? [413, 415, decide("7.validation-status")] : []),
    ...(method === "POST" ? [409, 413, 422] : []),
    ...(isConditional(row) ? [412] : []),
    ...refusals.map((code) => statusOf(code, decide)),
  ];
}

function failure(status: number, decide: Decide): JsonSchema {
  const codes = CODES.filter((code) => statusOf(code, decide) === status);
  const own = { [CODE_MEMBER]: { enum: codes } };
  const type = decide("7.error-body");
  const flat = shape({ error: shape({ ...own, message: TEXT }) });
  const details = { allOf: [PROBLEM, { properties: { status: { const: status }, ...own } }] };
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`).join(" "),
    content: { [type]: { schema: type === JSON_TYPE ? flat : details } },
  };
}

const PROBLEM = ref("schemas", "Problem");
const PROBLEM_TYPE = asChosen("7.error-body");
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
  const count = JSON.stringify({ type: "integer", minimum: 0 });
  const items = JSON.stringify({ type: "array", items: ref("schemas", name) });
  const made = JSON.parse(listing(decide)({ items, total: count, limit: count, offset: count }));
  return made.type === "array" ? made : shape(made);
}

/** What a success holds, by its name, and then one of it where that is another; JSON that is no resource has none. */
function schemasOf({ view, once }: Operation, decide: Decide): readonly (readonly [name: string, JsonSchema])[] {
  if (view === undefined || view.kind === "plain") return [];
  const { name, json } = view;
  const one = [name, json] as const;
  if (view.kind === "page") return [[`${name}List`, listed(name, decide)], one];
  if (once === undefined) return [one];
  // A replayed answer has null where the first had what is shown once.
  const secrets = Object.fromEntries(Object.keys(once).map((each) => [each, { type: ["string", "null"] }]));
  return [[`New${name}`, shape({ ...json.properties, ...secrets })], one];
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
      parameters: sent.map((each) => ({ ...parameter("header", each), required: true })),
      requestBody: { required: true, content: { [JSON_TYPE]: { schema } } },
      responses: { "2XX": { description: "Received; anything else is tried again." } },
    },
  };
}
