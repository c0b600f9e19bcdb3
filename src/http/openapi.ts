// Creates the OpenAPI 3.1 documents of the REST API and the test controls from route tables, serializers and the
// problem table. `x-spec` names the clause of the specification that shows an operation, `x-decision` the decision that
// added it. Generated clients have one flat namespace, so operation ids and schema names are unambiguous on their own.
// Many generators cannot merge `allOf` with closed objects or handle status ranges such as `4XX`: the documents use
// neither.
import { dataPoint, interactionBody } from "../domain/apps.ts";
import { EVENTS_WITHOUT_ACCOUNT } from "../domain/events.ts";
import * as model from "../domain/model.ts";
import { EVENT_TYPES, type EventType } from "../domain/model.ts";
import { DEFAULT_DECIDE, type Decide } from "../domain/variants.ts";
import { type JsonSchema, nullable, object, required } from "../lib/schema.ts";
import { VERSION } from "../lib/version.ts";
import { KEY_MAX } from "./idempotency.ts";
import { JSON_TYPE } from "./message.ts";
import { CODE_FIELD, CODES, PROBLEMS, statusOf } from "./problem.ts";
import type { AppContext, Operation } from "./route.ts";
import { closedObject, isTotalInHeader, listEnvelope } from "./serializers.ts";
import { CONTROL_PATH, PATHS } from "./urls.ts";
import { MERGE_PATCH_TYPE } from "./validation.ts";

type Entries = readonly (readonly [name: string, value: JsonSchema])[];

const TEXT: JsonSchema = { type: "string" };

const ref = (kind: string, name: string): JsonSchema => ({ $ref: `#/components/${kind}/${name}` });

/** The document of the REST API. `hasControls`: whether it mentions the document of the test controls. */
export function createApiDocument(
  rows: readonly Operation[],
  services: AppContext,
  hasControls: boolean,
): JsonSchema {
  const { urls: links, decide } = services;
  const [authorizationUrl, tokenUrl] = ["authorize", "token"].map(
    (each) => `${links.authUrl}/oauth/${each}`,
  );
  const authorizationCode = {
    authorizationUrl,
    tokenUrl,
    refreshUrl: tokenUrl,
    scopes: model.SCOPE_LABELS,
  };
  const controls = `The test controls have a document of their own, ${links.authUrl}${CONTROL_PATH}/openapi.json.`;
  return createDocument(rows, services, rateHeaders(decide), {
    info: {
      title: "Application Hosting Service",
      summary: "Create and deploy data apps, and receive their events by webhook.",
      description: `Errors are explained at ${links.authUrl}${PATHS.docs}/errors.${hasControls ? ` ${controls}` : ""}`,
    },
    server: { url: links.baseUrl, description: "The REST API of this server" },
    pathOf: ({ path }) => path,
    // An access token may do what an API key may, if it has the scope.
    securityOf: ({ scope }) =>
      scope ? [{ apiKey: [] }, { oauth: [scope] }] : [{ apiKey: [] }, { oauth: [] }],
    descriptionOf: ({ scope }) =>
      scope === null ? "Any credential will do." : `Takes the scope ${scope}.`,
    schemas: eventSchemas(decide),
    securitySchemes: {
      apiKey: {
        type: "http",
        scheme: "bearer",
        description: "An API key of the account: full access.",
      },
      oauth: {
        type: "oauth2",
        description: "An access token of a user.",
        flows: { authorizationCode },
      },
    },
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, webhook(type)])),
  });
}

/** The document of the test controls. They are beside /v1, so they cannot share the server of the REST API. */
export function createControlDocument(
  rows: readonly Operation[],
  services: AppContext,
): JsonSchema {
  const { urls: links } = services;
  const description = "Takes the start-up API key and no other.";
  return createDocument(rows, { ...services, decide: DEFAULT_DECIDE }, [], {
    info: {
      title: "Application Hosting Service: test controls",
      summary: "Control the clock, the failures and the data of a server under test.",
      description: `The REST API has a document of its own, ${links.authUrl}${PATHS.openapi}.`,
    },
    server: { url: links.authUrl, description: "This server" },
    pathOf: ({ path }) => CONTROL_PATH + path,
    securityOf: () => [{ apiKey: [] }],
    descriptionOf: () => description,
    schemas: [],
    securitySchemes: { apiKey: { type: "http", scheme: "bearer", description } },
  });
}

/** The parts that differ between the two documents. */
interface Parts {
  readonly info: JsonSchema;
  readonly server: JsonSchema;
  pathOf(row: Operation): string;
  securityOf(row: Operation): readonly JsonSchema[];
  descriptionOf(row: Operation): string;
  /** Schemas besides those of the operations; they replace schemas of the same name. */
  readonly schemas: Entries;
  readonly securitySchemes: JsonSchema;
  readonly webhooks?: JsonSchema;
}

/** `rate`: the names of the headers that report the rate limit. */
function createDocument(
  rows: readonly Operation[],
  services: AppContext,
  rate: readonly string[],
  deps: Parts,
): JsonSchema {
  const { urls: links, decide } = services;
  const { server, pathOf, securitySchemes, webhooks } = deps;
  const paths: Record<string, object> = {};
  for (const row of rows) {
    const [path, method] = [pathOf(row), row.method.toLowerCase()];
    paths[path] = { ...paths[path], [method]: operation(row, services, rate, deps) };
  }
  const statuses = [...new Set(rows.flatMap((row) => failures(row, decide)))];
  const responses = statuses.map(
    (status) => [`Problem${status}`, failure(status, decide, rate)] as const,
  );
  const used = JSON.stringify([paths, responses]);
  return {
    openapi: "3.1.1",
    info: {
      ...deps.info,
      version: VERSION,
      contact: { name: "Documentation of this server", url: links.authUrl + PATHS.docs },
      license: { name: "MIT", identifier: "MIT" },
    },
    externalDocs: { url: links.authUrl + PATHS.docs, description: "Documentation of this server" },
    servers: [server],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags: [...new Set(rows.map((row) => tagOf(pathOf(row))))].map((name) => {
      return { name, description: `The operations for ${name}.` };
    }),
    paths,
    webhooks,
    components: {
      schemas: Object.fromEntries([
        ...statuses.map(
          (status) => [problemName(status, decide), problemOf(status, decide)] as const,
        ),
        ...rows.flatMap((row) => schemasOf(row, services)),
        ...deps.schemas,
      ]),
      responses: Object.fromEntries(responses),
      headers: Object.fromEntries(
        Object.entries(HEADERS).filter(([name]) => used.includes(`headers/${name}"`)),
      ),
      securitySchemes,
    },
  };
}

const tagOf = (path: string): string => /[a-z][^/]*/.exec(path)?.[0] ?? "";

const readsOne = ({ method, serializer: view }: Operation): boolean =>
  method === "GET" && view?.kind === "one";

/** Whether If-Match and If-None-Match are evaluated. */
const isConditional = (row: Operation): boolean =>
  ["PATCH", "DELETE"].includes(row.method) || readsOne(row);

function operation(
  row: Operation,
  services: AppContext,
  rate: readonly string[],
  deps: Parts,
): JsonSchema {
  const {
    operationId: operation,
    summary,
    spec,
    decision: gap,
    example,
    status,
    bodyName,
    method,
  } = row;
  const types = method === "PATCH" ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];
  const media = bodyName && { schema: ref("schemas", bodyName), example };
  const unchanged = {
    description: "Not changed since If-None-Match.",
    headers: headersOf(["X-Request-Id", "ETag", ...rate]),
  };
  return {
    operationId: operation,
    deprecated: row.deprecation && true,
    summary,
    description: deps.descriptionOf(row),
    tags: [tagOf(deps.pathOf(row))],
    security: deps.securityOf(row),
    "x-spec": spec,
    "x-decision": gap,
    parameters: parameters(row),
    requestBody: media && {
      required: true,
      content: Object.fromEntries(types.map((type) => [type, media])),
    },
    responses: {
      [status]: success(row, services, rate),
      ...(readsOne(row) && { "304": unchanged }),
      ...Object.fromEntries(
        failures(row, services.decide).map((failed) => [
          failed,
          ref("responses", `Problem${failed}`),
        ]),
      ),
    },
  };
}

const parameter = (
  where: string,
  name: string,
  schema: JsonSchema,
  description?: string,
  example?: string,
) => {
  return { name, in: where, required: where === "path", schema, description, example };
};
const KEY = { ...TEXT, minLength: 1, maxLength: KEY_MAX };
/** Importers send examples as they are, and Postman sends defaults; these values have no effect. */
const CONDITIONS = [
  parameter(
    "header",
    "If-Match",
    { ...TEXT, default: "*" },
    "Only if the resource has one of these ETags.",
    "*",
  ),
  parameter(
    "header",
    "If-None-Match",
    { ...TEXT, default: '"0"' },
    "Only if it has none of these ETags.",
    '"0"',
  ),
];
/** Two operations must not share an example: a key that was used for another request is an error. */
const idempotencyKey = ({ operationId: operation }: Operation) =>
  parameter(
    "header",
    "Idempotency-Key",
    KEY,
    "A repeated request with the same key gets the first response.",
    `${operation}-1`,
  );

const QUERY: { readonly [name: string]: string } = {
  limit: "How many items to return.",
  offset: "How many items to skip.",
  public: "Only public apps (`true`) or only private apps (`false`).",
  type: "Only events of this type.",
  status: "Only deliveries with this status.",
  timeout: "How long to wait.",
};

const inWords = (name: string): string => name.replace(/_id$/, "").replaceAll("_", " ");

const parameters = (row: Operation): object[] => [
  ...Array.from(row.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) =>
    parameter("path", name, TEXT, `The id of the ${inWords(name)}.`),
  ),
  ...Object.entries(row.query.members).map(([name, { json }]) =>
    parameter("query", name, json, QUERY[name]),
  ),
  // The test controls, which need no scope, store no responses.
  ...(row.method === "POST" && row.scope !== null ? [idempotencyKey(row)] : []),
  ...(isConditional(row) ? CONDITIONS : []),
];

function success(row: Operation, services: AppContext, rate: readonly string[]): JsonSchema {
  const { serializer: view, location, method, scope, summary: description } = row;
  const page = ["Link", ...(isTotalInHeader(services.decide) ? ["X-Total-Count"] : [])];
  const names = [
    "X-Request-Id",
    ...{ one: ["ETag"], page, plain: [] }[view?.kind ?? "plain"],
    ...(location ? ["Location"] : []),
    ...(method === "POST" && scope !== null ? ["Idempotency-Replayed"] : []),
    ...rate,
  ];
  const headers = headersOf(names);
  if (view === undefined) return { description, headers };
  const [[name] = []] = shown(row, services.decide);
  const schema = name === undefined ? view.json : ref("schemas", name);
  return { description, headers, content: { [JSON_TYPE]: { schema } } };
}

const header = (description: string, schema: JsonSchema = TEXT): JsonSchema => ({
  description,
  schema,
});
const COUNT: JsonSchema = { type: "integer", minimum: 0 };

const HEADERS = {
  "X-Request-Id": header("The id of this request."),
  "X-Total-Count": header("How many items there are in all.", COUNT),
  Location: header("The URL of the new resource.", { ...TEXT, format: "uri" }),
  Link: header("The next and the previous page (RFC 8288)."),
  ETag: header("The version of the resource, for If-Match and If-None-Match."),
  "Idempotency-Replayed": header(
    "`true` if this is the stored response of an earlier request with the same key.",
  ),
  "WWW-Authenticate": header(
    "How to authenticate (RFC 6750), and where the metadata is (RFC 9728).",
  ),
  "Retry-After": header(
    "Seconds until the next rate window; sent with `rate_limit_exceeded`.",
    COUNT,
  ),
  "RateLimit-Policy": header('The rate limit: `"default";q=` requests in `w=` seconds.'),
  RateLimit: header(
    'The rest of the rate window: `"default";r=` requests, and `t=` seconds until the next one.',
  ),
  "X-RateLimit-Limit": header("The number of requests in a rate window.", COUNT),
  "X-RateLimit-Remaining": header("The number of requests that remain in this rate window.", COUNT),
  "X-RateLimit-Reset": header("Seconds until the next rate window.", COUNT),
};

const headersOf = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, ref("headers", name)]));

const rateHeaders = (decide: Decide): readonly string[] =>
  Object.keys(HEADERS).filter((name) =>
    Object.hasOwn(decide("8.rate-headers"), name.toLowerCase()),
  );

/** The error statuses of an operation of this kind. 405 is not among them: it means that there is no operation. */
function failures(row: Operation, decide: Decide): number[] {
  const { path, method, body, errorCodes: refusals = [] } = row;
  return [
    ...[400, 401, 403, 408, 414, 431, 500, 501, 503],
    ...(path.includes("{") ? [404] : []),
    ...(body ? [413, 415, decide("7.validation-status")] : []),
    ...(method === "POST" ? [409, 413, 422] : []),
    ...(isConditional(row) ? [412] : []),
    ...refusals.map((code) => statusOf(code, decide)),
  ];
}

const codesOf = (status: number, decide: Decide) =>
  CODES.filter((code) => statusOf(code, decide) === status);

/** Responses that are sent before the account is known, and so without the state of its rate limit. */
const WITHOUT_ACCOUNT = [401, 408, 414, 431, 501];
const OWN_HEADERS: { readonly [status: number]: readonly string[] } = {
  401: ["WWW-Authenticate"],
  403: ["WWW-Authenticate", "Retry-After"],
};

function failure(status: number, decide: Decide, rate: readonly string[]): JsonSchema {
  const names = [...(OWN_HEADERS[status] ?? []), ...(WITHOUT_ACCOUNT.includes(status) ? [] : rate)];
  return {
    description: codesOf(status, decide)
      .map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`)
      .join(" "),
    headers: headersOf(["X-Request-Id", ...names]),
    content: { [decide("7.error-body")]: { schema: ref("schemas", problemName(status, decide)) } },
  };
}

const PROBLEM_MEMBERS = {
  type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
  title: TEXT,
  status: { type: "integer" },
  detail: TEXT,
  instance: { type: "string", description: "The request id." },
  [CODE_FIELD]: { type: "string", enum: CODES },
  errors: {
    type: "array",
    items: closedObject({ pointer: TEXT, parameter: TEXT, header: TEXT, detail: TEXT }, ["detail"]),
  },
};
const ALWAYS = Object.keys(PROBLEM_MEMBERS).filter((name) => name !== "errors");
const problem = closedObject(PROBLEM_MEMBERS, ALWAYS);

const isFlat = (decide: Decide): boolean => decide("7.error-body") === JSON_TYPE;

/** Server errors share one schema, because a program cannot handle them by their code. */
const problemName = (status: number, decide: Decide): string =>
  status < 500 || isFlat(decide) ? `Problem${status}` : "Problem";

/** The problem with the codes of one status. */
function problemOf(status: number, decide: Decide): JsonSchema {
  if (problemName(status, decide) === "Problem") return problem;
  const own = { [CODE_FIELD]: { type: "string", enum: codesOf(status, decide) } };
  if (isFlat(decide)) return closedObject({ error: closedObject({ ...own, message: TEXT }) });
  return closedObject(
    { ...PROBLEM_MEMBERS, status: { type: "integer", const: status }, ...own },
    ALWAYS,
  );
}

/** Created from the template of the list body. */
function listed(name: string, decide: Decide): JsonSchema {
  const count = JSON.stringify(COUNT);
  const items = JSON.stringify({ type: "array", items: ref("schemas", name) });
  const made = JSON.parse(
    listEnvelope(decide)({ items, total: count, limit: count, offset: count }),
  );
  return made.type === "array" ? made : closedObject(made);
}

/** The schemas of a route's request body and response. */
function schemasOf(row: Operation, services: AppContext): Entries {
  const { bodyName, body } = row;
  const sent = bodyName && body ? [[bodyName, withoutDefaults(body(services).json)] as const] : [];
  return [...shown(row, services.decide), ...sent];
}

/** Moves defaults to the description: openapi-typescript treats a member with `default` as always present. */
function withoutDefaults(schema: JsonSchema): JsonSchema {
  const inDescription = (_: string, value: unknown) => {
    if (!isSchema(value) || !("default" in value)) return value;
    const { default: absent, ...rest } = value;
    return { ...rest, description: `Default: ${JSON.stringify(absent)}.` };
  };
  return JSON.parse(JSON.stringify(schema), inDescription);
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null;

/** The schema of the response, and of a single resource if it differs; JSON that is not a resource has none. */
function shown({ serializer: view, shownOnce: once }: Operation, decide: Decide): Entries {
  if (view === undefined || view.kind === "plain") return [];
  const { name, json } = view;
  const one = [name, json] as const;
  if (view.kind === "page") return [[`${name}List`, listed(name, decide)], one];
  if (once === undefined) return [one];
  // A replayed response has null for each value that is shown once.
  const secrets = Object.fromEntries(
    Object.keys(once).map((each) => [each, { type: ["string", "null"] }]),
  );
  return [[`Created${name}`, closedObject({ ...json.properties, ...secrets })], one];
}

const { id: app_id, title } = model.app.response.members;
const { id, url, status, deployed_at } = model.deployment.response.members;
/** The objects of the events that the specification shows. */
const DeployedApp = object({
  id: app_id,
  title,
  deployment: object({ id, url, status, deployed_at }),
}).json;
const Interaction = object({
  app_id,
  ...required(interactionBody.members),
  data_point: nullable(object(required(dataPoint.members))),
}).json;

/** The name of the schema of `data.object`. */
const OBJECTS: { readonly [type in EventType]: string } = {
  "app.created": "App",
  "app.updated": "App",
  "app.deployed": "DeployedApp",
  "app.deleted": "App",
  "data.processed": "DataSource",
  "user.interaction": "Interaction",
};

const inPascalCase = (type: string): string =>
  type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());

const eventName = (type: EventType): string => `${inPascalCase(type)}Event`;

/** One schema for each event type, and `Event`, which is one of them. */
function eventSchemas(decide: Decide): Entries {
  const all = EVENT_TYPES.map((type) => [type, ref("schemas", eventName(type))] as const);
  const mapping = Object.fromEntries(all.map(([type, { $ref }]) => [type, $ref]));
  return [
    ["DeployedApp", DeployedApp],
    ["Interaction", Interaction],
    ...EVENT_TYPES.map((type) => [eventName(type), event(type, decide)] as const),
    [
      "Event",
      { oneOf: all.map(([, schema]) => schema), discriminator: { propertyName: "type", mapping } },
    ],
  ];
}

/** Schema of the payload for one event type (spec part 6). */
function event(type: EventType, decide: Decide): JsonSchema {
  const isWhole = type !== "app.deleted" || decide("6.event-objects").length > 1;
  const isChosen = OBJECTS[type] === "App" || OBJECTS[type] === "DataSource";
  const data = closedObject({
    object: isWhole ? ref("schemas", OBJECTS[type]) : closedObject({ id: TEXT }),
  });
  const { account, ...members } = model.envelopeSchema.json.properties ?? {};
  return closedObject({
    ...members,
    type: { type: "string", enum: [type] },
    data: isChosen ? { ...data, "x-decision": "6.event-objects" } : data,
    ...(!EVENTS_WITHOUT_ACCOUNT.has(type) && { account }),
  });
}

const SENT = {
  "X-Service-Signature":
    "`sha256=` and the HMAC-SHA256 of the raw body in hexadecimal, keyed with the webhook secret.",
  "X-Service-Event": "The type of the event.",
  "X-Service-Delivery": "The id of the delivery, the same at every attempt.",
  "X-Service-Attempt": "The number of the attempt, from 1.",
  "webhook-id": "The id of the event (Standard Webhooks).",
  "webhook-timestamp": "When the attempt was sent, in seconds since 1970 (Standard Webhooks).",
  "webhook-signature": "The signatures of id, timestamp and body (Standard Webhooks).",
};

function webhook(type: EventType): JsonSchema {
  const received = {
    description: "Received. Any other 2xx status means the same; other statuses are retried.",
  };
  return {
    post: {
      operationId: `on${inPascalCase(type)}`,
      summary: `Sent to each active webhook that subscribes to ${type}`,
      "x-spec": "6.envelope",
      security: [],
      parameters: Object.entries(SENT).map(([name, description]) => {
        return { ...parameter("header", name, TEXT, description), required: true };
      }),
      requestBody: {
        required: true,
        content: { [JSON_TYPE]: { schema: ref("schemas", eventName(type)) } },
      },
      responses: {
        "200": received,
        "204": received,
        "410": { description: "The receiver is gone: the webhook is switched off." },
      },
    },
  };
}
