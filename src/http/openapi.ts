// OpenAPI 3.1 documents of the REST API and of the test controls, built from route tables, serializers and the problem
// table. `x-spec` names the clause of the specification that shows an operation, `x-decision` the decision that added
// it. Many generators fail on `allOf` with closed objects and on statuses such as `4XX`, so the documents use neither.
import { dataPoint, interactionBody } from "../domain/apps.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { EVENTS_WITHOUT_ACCOUNT } from "../domain/events.ts";
import * as model from "../domain/model.ts";
import { type JsonSchema, nullable, object, required } from "../lib/schema.ts";
import { VERSION } from "../lib/version.ts";
import { CONTROL_PATH, JSON_TYPE, PATHS } from "./message.ts";
import type { AppContext, Operation } from "./operation.ts";
import { closedObject } from "./operation.ts";
import { CODES, PROBLEMS } from "./problem.ts";
import { KEY_MAX, MERGE_PATCH_TYPE } from "./request.ts";

/** The variants that change responses in general. The route table already follows the others. */
type ResponseVariant = "list-shape" | "error-body" | "validation-status" | "rate-headers";

interface DocumentOptions {
  readonly routes: readonly Operation[];
  readonly services: AppContext;
  readonly variants?: { readonly [name in ResponseVariant]?: unknown };
  /** Whether the server has test controls. */
  readonly hasControls?: boolean;
}

/** The differences between the two documents. */
interface Context {
  readonly info: JsonSchema;
  readonly server: string;
  /** The path of the routes, relative to the server. */
  readonly prefix: string;
  /** The credential that routes without a scope require. */
  readonly credential: string;
  readonly variants: NonNullable<DocumentOptions["variants"]>;
  readonly rateHeaders: readonly HeaderName[];
  readonly securitySchemes: Named;
  /** They replace schemas of the same name. */
  readonly eventSchemas: Named;
}

type Named = Record<string, JsonSchema>;

const bearer = (description: string) => ({ type: "http", scheme: "bearer", description });

/** The document of the REST API. */
export function createOpenApiDocument(options: DocumentOptions): JsonSchema {
  const { variants = {}, services } = options;
  const { authUrl, baseUrl } = services.urls;
  const tokenUrl = `${authUrl}/oauth/token`;
  const authorizationCode = {
    authorizationUrl: `${authUrl}/oauth/authorize`,
    tokenUrl,
    refreshUrl: tokenUrl,
    scopes: model.SCOPE_LABELS,
  };
  const controls = options.hasControls
    ? ` The test controls have a document of their own: ${authUrl}${CONTROL_PATH}/openapi.json.`
    : "";
  const document = createDocument(options, {
    info: {
      title: "Application Hosting Service",
      summary: "Create and deploy data apps, and receive their events by webhook.",
      description: `Errors are explained at ${authUrl}${PATHS.docs}/errors.${controls}`,
    },
    server: baseUrl,
    prefix: "",
    credential: "Any credential will do.",
    variants,
    rateHeaders: variants["rate-headers"]
      ? ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
      : ["RateLimit-Policy", "RateLimit"],
    securitySchemes: {
      apiKey: bearer("An API key of the account: full access."),
      oauth: {
        type: "oauth2",
        description: "An access token of a user.",
        flows: { authorizationCode },
      },
    },
    eventSchemas: eventSchemas(),
  });
  return {
    ...document,
    webhooks: Object.fromEntries(model.EVENT_TYPES.map((type) => [type, webhook(type)])),
  };
}

/** The document of the test controls, which have another server than the REST API. */
export function createControlDocument(options: DocumentOptions): JsonSchema {
  const { authUrl } = options.services.urls;
  const credential = "Takes the start-up API key and no other.";
  return createDocument(options, {
    info: {
      title: "Application Hosting Service: test controls",
      summary: "Control the clock, the failures and the data of a server under test.",
      description: `The REST API has a document of its own: ${authUrl}${PATHS.openapi}.`,
    },
    server: authUrl,
    prefix: CONTROL_PATH,
    credential,
    variants: {},
    rateHeaders: [],
    securitySchemes: { apiKey: bearer(credential) },
    eventSchemas: {},
  });
}

function createDocument({ routes, services }: DocumentOptions, context: Context): JsonSchema {
  const { info, server, prefix, securitySchemes } = context;
  const paths: Named = {};
  const schemas: Named = {};
  const responses: Named = {};
  const tags = new Set<string>();
  for (const route of routes) {
    const { bodyName, body, method } = route;
    const path = prefix + route.path;
    const tag = /[a-z][^/]*/.exec(path)?.[0] ?? "";
    tags.add(tag);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, tag, context) };
    for (const status of errorStatuses(route, context)) {
      schemas[problemName(status, context)] = problemSchema(status, context);
      responses[`Problem${status}`] = errorResponse(status, context);
    }
    Object.assign(schemas, responseSchemas(route, context));
    if (bodyName && body) schemas[bodyName] = withoutDefaults(body(services).json);
  }
  const contact = { name: "Documentation of this server", url: services.urls.authUrl + PATHS.docs };
  return {
    openapi: "3.1.1",
    info: { ...info, version: VERSION, contact, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: server, description: "This server" }],
    tags: [...tags].map((name) => ({ name, description: `The operations for ${name}.` })),
    paths,
    components: { schemas: { ...schemas, ...context.eventSchemas }, responses, securitySchemes },
  };
}

const TEXT: JsonSchema = { type: "string" };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const readsOne = ({ method, serializer }: Operation): boolean =>
  method === "GET" && serializer?.kind === "one";

/** Whether If-Match and If-None-Match are evaluated. */
const isConditional = (route: Operation): boolean =>
  ["PATCH", "DELETE"].includes(route.method) || readsOne(route);

/** The test controls, which need no scope, store no responses. */
const isIdempotent = ({ method, scope }: Operation): boolean => method === "POST" && scope !== null;

function operation(route: Operation, tag: string, context: Context): JsonSchema {
  const { operationId, summary, scope, status, bodyName, example } = route;
  const responses: Named = { [status]: successResponse(route, context) };
  if (readsOne(route))
    responses[304] = response("Not changed since If-None-Match.", ["ETag", ...context.rateHeaders]);
  for (const error of errorStatuses(route, context))
    responses[error] = { $ref: `#/components/responses/Problem${error}` };
  const types = route.method === "PATCH" ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];
  const media = bodyName && { schema: schemaRef(bodyName), example };
  return {
    operationId,
    summary,
    description: scope === null ? context.credential : `Takes the scope ${scope}.`,
    tags: [tag],
    security: Object.keys(context.securitySchemes).map((name) => ({
      [name]: name === "oauth" && scope !== null ? [scope] : [],
    })),
    "x-spec": route.spec,
    "x-decision": route.decision,
    parameters: parameters(route),
    requestBody: media && {
      required: true,
      content: Object.fromEntries(types.map((type) => [type, media])),
    },
    responses,
  };
}

const parameter = (
  place: string,
  name: string,
  schema: JsonSchema,
  description?: string,
  example?: string,
) => ({ name, in: place, required: place === "path", schema, description, example });

const QUERY_DESCRIPTIONS: { readonly [name: string]: string } = {
  limit: "How many items to return.",
  offset: "How many items to skip.",
  public: "Only public apps (`true`) or only private apps (`false`).",
  type: "Only events of this type.",
  status: "Only deliveries with this status.",
  timeout: "How long to wait.",
};

function parameters(route: Operation): object[] {
  const inPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => {
    const noun = name.replace(/_id$/, "").replaceAll("_", " ");
    return parameter("path", name, TEXT, `The id of the ${noun}.`);
  });
  const inQuery = Object.entries(route.query?.members ?? {}).map(([name, { json }]) =>
    parameter("query", name, json, QUERY_DESCRIPTIONS[name]),
  );
  const list = [...inPath, ...inQuery];
  if (isIdempotent(route)) list.push(idempotencyKey(route));
  if (isConditional(route)) list.push(...CONDITIONS);
  return list;
}

/** Their examples change nothing, because importers send them as they are. Postman sends only defaults. */
const CONDITIONS = [
  { name: "If-Match", example: "*", description: "Only if the resource has one of these ETags." },
  { name: "If-None-Match", example: '"0"', description: "Only if it has none of these ETags." },
].map(({ name, example, description }) =>
  parameter("header", name, { ...TEXT, default: example }, description, example),
);

/** Each operation has an example of its own: a key that was used for another request is an error. */
const idempotencyKey = ({ operationId }: Operation) =>
  parameter(
    "header",
    "Idempotency-Key",
    { ...TEXT, minLength: 1, maxLength: KEY_MAX },
    "A repeated request with the same key gets the first response.",
    `${operationId}-1`,
  );

const header = (description: string, schema: JsonSchema = TEXT) => ({ description, schema });

const HEADERS = {
  "X-Request-Id": header("The id of this request."),
  "X-Total-Count": header("How many items there are in all.", COUNT),
  Location: header("The URL of the new resource.", { ...TEXT, format: "uri" }),
  Link: header("The next and the previous page (RFC 8288)."),
  ETag: header("The version of the resource, for If-Match and If-None-Match."),
  "Idempotency-Replayed": header("`true` if this is the stored response of an earlier request."),
  "WWW-Authenticate": header("How to authenticate (RFC 6750, RFC 9728)."),
  "Retry-After": header("Seconds until the next rate window.", COUNT),
  "RateLimit-Policy": header('The rate limit: `"default";q=` requests in `w=` seconds.'),
  RateLimit: header(
    "The requests that remain in this rate window, and the seconds until the next.",
  ),
  "X-RateLimit-Limit": header("The number of requests in a rate window.", COUNT),
  "X-RateLimit-Remaining": header("The number of requests that remain in this rate window.", COUNT),
  "X-RateLimit-Reset": header("Seconds until the next rate window.", COUNT),
};
type HeaderName = keyof typeof HEADERS;

function response(
  description: string,
  headers: readonly HeaderName[],
  schema?: JsonSchema,
  type = JSON_TYPE,
): JsonSchema {
  const names: readonly HeaderName[] = ["X-Request-Id", ...headers];
  return {
    description,
    headers: Object.fromEntries(names.map((name) => [name, HEADERS[name]])),
    content: schema && { [type]: { schema } },
  };
}

function successResponse(route: Operation, context: Context): JsonSchema {
  const { serializer, location, summary } = route;
  const headers = [...context.rateHeaders];
  if (serializer?.kind === "one") headers.push("ETag");
  if (serializer?.kind === "page") headers.push("Link");
  if (serializer?.kind === "page" && context.variants["list-shape"]) headers.push("X-Total-Count");
  if (location) headers.push("Location");
  if (isIdempotent(route)) headers.push("Idempotency-Replayed");
  const [name] = Object.keys(responseSchemas(route, context));
  return response(summary, headers, name === undefined ? serializer?.json : schemaRef(name));
}

const getStatus = (code: ErrorCode, { variants }: Context): number =>
  code === "validation_failed" && variants["validation-status"] ? 400 : PROBLEMS[code][0];

const codesOf = (status: number, context: Context) =>
  CODES.filter((code) => getStatus(code, context) === status);

/** The error statuses of an operation, without 405, which means that there is no operation. */
function errorStatuses(route: Operation, context: Context): number[] {
  const { path, method, body, errorCodes = [] } = route;
  const statuses = [400, 401, 403, 408, 414, 431, 500, 503];
  if (path.includes("{")) statuses.push(404);
  if (body) statuses.push(413, 415, getStatus("validation_failed", context));
  if (method === "POST") statuses.push(409, 413, 422);
  if (isConditional(route)) statuses.push(412);
  return [...statuses, ...errorCodes.map((code) => getStatus(code, context))];
}

/** Responses that are sent before the account is known have no rate limit headers. */
const WITHOUT_ACCOUNT = [401, 408, 414, 431];

function errorResponse(status: number, context: Context): JsonSchema {
  const headers = WITHOUT_ACCOUNT.includes(status) ? [] : [...context.rateHeaders];
  if (status === 401 || status === 403) headers.push("WWW-Authenticate");
  if (status === 403) headers.push("Retry-After");
  const titles = codesOf(status, context).map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`);
  const schema = schemaRef(problemName(status, context));
  const type = context.variants["error-body"] ? JSON_TYPE : "application/problem+json";
  return response(titles.join(" "), headers, schema, type);
}

/** Server errors share one schema, because a program cannot handle them by their code. */
const problemName = (status: number, { variants }: Context): string =>
  status < 500 || variants["error-body"] ? `Problem${status}` : "Problem";

function problemSchema(status: number, context: Context): JsonSchema {
  const isShared = problemName(status, context) === "Problem";
  const code = { type: "string", enum: isShared ? CODES : codesOf(status, context) };
  if (context.variants["error-body"])
    return closedObject({ error: closedObject({ code, message: TEXT }) });
  const always = {
    type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
    title: TEXT,
    status: isShared ? { type: "integer" } : { type: "integer", const: status },
    detail: TEXT,
    instance: { type: "string", description: "The request id." },
    code,
  };
  const error = { pointer: TEXT, parameter: TEXT, header: TEXT, detail: TEXT };
  const errors = { type: "array", items: closedObject(error, ["detail"]) };
  return closedObject({ ...always, errors }, Object.keys(always));
}

/** Moves defaults to the description: openapi-typescript treats a member with `default` as always present. */
const withoutDefaults = (schema: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(schema), (_, value) => {
    if (value?.default === undefined) return value;
    const { default: absent, ...rest } = value;
    return { ...rest, description: `Default: ${JSON.stringify(absent)}.` };
  });

/** The schema of the response comes first, then that of one resource. JSON that is not a resource has none. */
function responseSchemas({ serializer, shownOnce }: Operation, { variants }: Context): Named {
  if (serializer === undefined || serializer.kind === "plain") return {};
  const { kind, name, json } = serializer;
  if (kind === "page") {
    const data = { type: "array", items: schemaRef(name) };
    const list = closedObject({ data, total: COUNT, limit: COUNT, offset: COUNT });
    return { [`${name}List`]: variants["list-shape"] ? data : list, [name]: json };
  }
  if (shownOnce === undefined) return { [name]: json };
  const properties: Named = { ...json.properties };
  // A replayed response has null for the value that is shown once.
  properties[shownOnce] = { type: ["string", "null"] };
  return { [`Created${name}`]: closedObject(properties), [name]: json };
}

const { id: app_id, title } = model.app.response.members;
const { id, url, status, deployed_at } = model.deployment.response.members;
/** The objects of the events that the specification shows. */
const SHOWN_OBJECTS = {
  DeployedApp: object({ id: app_id, title, deployment: object({ id, url, status, deployed_at }) })
    .json,
  Interaction: object({
    app_id,
    ...required(interactionBody.members),
    data_point: nullable(object(required(dataPoint.members))),
  }).json,
};

type EventTable = { readonly [type in model.EventType]: readonly [event: string, object: string] };

/** The schema names of each event and of its `data.object`. */
const EVENTS: EventTable = {
  "app.created": ["AppCreatedEvent", "App"],
  "app.updated": ["AppUpdatedEvent", "App"],
  "app.deployed": ["AppDeployedEvent", "DeployedApp"],
  "app.deleted": ["AppDeletedEvent", "App"],
  "data.processed": ["DataProcessedEvent", "DataSource"],
  "user.interaction": ["UserInteractionEvent", "Interaction"],
};

/** One schema for each event type, and `Event`, which is one of them. */
function eventSchemas(): Named {
  const { account, ...members } = model.envelopeSchema.json.properties ?? {};
  const schemas: Named = { ...SHOWN_OBJECTS };
  const mapping: Record<string, string> = {};
  for (const type of model.EVENT_TYPES) {
    const [name, objectName] = EVENTS[type];
    const data = closedObject({ object: schemaRef(objectName) });
    mapping[type] = schemaRef(name).$ref;
    schemas[name] = closedObject({
      ...members,
      type: { type: "string", enum: [type] },
      data: objectName in SHOWN_OBJECTS ? data : { ...data, "x-decision": "6.event-objects" },
      ...(account && !EVENTS_WITHOUT_ACCOUNT.has(type) && { account }),
    });
  }
  const oneOf = Object.values(EVENTS).map(([name]) => schemaRef(name));
  return { ...schemas, Event: { oneOf, discriminator: { propertyName: "type", mapping } } };
}

const DELIVERY_HEADERS = {
  "X-Service-Signature":
    "`sha256=` and the HMAC-SHA256 of the raw body in hexadecimal, keyed with the webhook secret.",
  "X-Service-Event": "The type of the event.",
  "X-Service-Delivery": "The id of the delivery, the same at every attempt.",
  "X-Service-Attempt": "The number of the attempt, from 1.",
  "webhook-id": "The id of the event (Standard Webhooks).",
  "webhook-timestamp": "When the attempt was sent, in seconds since 1970 (Standard Webhooks).",
  "webhook-signature": "The signature of id, timestamp and body (Standard Webhooks).",
};

function webhook(type: model.EventType): JsonSchema {
  const [name] = EVENTS[type];
  const received = {
    description: "Received. Any other 2xx status means the same; other statuses are retried.",
  };
  const parameters = Object.entries(DELIVERY_HEADERS).map(([header, description]) => ({
    ...parameter("header", header, TEXT, description),
    required: true,
  }));
  const post = {
    operationId: `on${name.replace(/Event$/, "")}`,
    summary: `Sent to each active webhook that subscribes to ${type}`,
    "x-spec": "6.envelope",
    security: [],
    parameters,
    requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemaRef(name) } } },
    responses: {
      200: received,
      204: received,
      410: { description: "The receiver is gone: the webhook is switched off." },
    },
  };
  return { post };
}
