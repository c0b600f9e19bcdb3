// The OpenAPI 3.1 document of the REST API, built from the route table, the serializers and the problem table. `x-spec`
// names the clause of the specification that shows an operation, `x-decision` the decision that added it. Many
// generators fail on `allOf` with closed objects and on statuses such as `4XX`, so the document uses neither.
import { dataPoint, interactionBody } from "../domain/apps.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { EVENTS_WITHOUT_ACCOUNT } from "../domain/events.ts";
import * as model from "../domain/model.ts";
import { type JsonSchema, nullable, object, required } from "../lib/schema.ts";
import { VERSION } from "../lib/version.ts";
import { JSON_TYPE, PATHS } from "./message.ts";
import { closedObject, type Operation, type RouteDeps } from "./operation.ts";
import { CODES, PROBLEM_TYPE, PROBLEMS } from "./problem.ts";
import { bodyTypes, KEY_MAX } from "./request.ts";
import type { Variants } from "./variants.ts";

type Named = Record<string, JsonSchema>;

/** The route table already follows the variants that change single routes. */
export function createOpenApiDocument(
  routes: readonly Operation[],
  routeDeps: RouteDeps,
  variants: Variants,
): JsonSchema {
  const { authUrl, baseUrl } = routeDeps.urls;
  const paths: Named = {};
  const schemas: Named = { Problem: problemSchema(variants) };
  const responses: Named = {};
  for (const route of routes) {
    const { bodyName, body, method, path } = route;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(route, variants) };
    for (const status of errorStatuses(route, variants))
      responses[`Problem${status}`] = errorResponse(status, variants);
    Object.assign(schemas, responseSchemas(route, variants));
    if (bodyName && body) schemas[bodyName] = withoutDefaults(body.json);
  }
  const tokenUrl = authUrl + PATHS.token;
  const authorizationCode = {
    authorizationUrl: authUrl + PATHS.authorize,
    tokenUrl,
    refreshUrl: tokenUrl,
    scopes: model.SCOPE_LABELS,
  };
  return {
    openapi: "3.1.1",
    info: {
      title: "Application Hosting Service",
      summary: "Create and deploy data apps, and receive their events by webhook.",
      description: "The documentation explains each error.",
      version: VERSION,
      contact: { name: "Documentation of this server", url: authUrl + PATHS.docs },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: baseUrl, description: "This server" }],
    paths,
    webhooks: Object.fromEntries(model.EVENT_TYPES.map((type) => [type, describeWebhook(type)])),
    components: {
      schemas: { ...schemas, ...eventSchemas() },
      responses,
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
    },
  };
}

const TEXT: JsonSchema = { type: "string" };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const isSingleRead = ({ method, serializer }: Operation): boolean =>
  method === "GET" && serializer?.kind === "one";

/** Whether If-Match and If-None-Match are evaluated. */
const isConditional = (route: Operation): boolean =>
  ["PATCH", "DELETE"].includes(route.method) || isSingleRead(route);

function describeOperation(route: Operation, variants: Variants): JsonSchema {
  const { operationId, summary, scope, method, status, bodyName, example } = route;
  const responses: Named = { [status]: successResponse(route, variants) };
  if (isSingleRead(route))
    responses[304] = describeResponse("Not changed.", ["ETag", ...rateHeaders(variants)]);
  for (const error of errorStatuses(route, variants))
    responses[error] = { $ref: `#/components/responses/Problem${error}` };
  const media = bodyName && { schema: schemaRef(bodyName), example };
  return {
    operationId,
    summary,
    description: scope === null ? "Any credential will do." : `Requires the scope ${scope}.`,
    tags: [route.path.split("/")[1]],
    security: [{ apiKey: [] }, { oauth: scope === null ? [] : [scope] }],
    "x-spec": route.spec,
    "x-decision": route.decision,
    parameters: describeParameters(route),
    requestBody: media && {
      required: true,
      content: Object.fromEntries(bodyTypes(method).map((type) => [type, media])),
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
};

function describeParameters(route: Operation): object[] {
  const inPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) =>
    parameter("path", name, TEXT),
  );
  const inQuery = Object.entries(route.query?.members ?? {}).map(([name, { json }]) =>
    parameter("query", name, json, QUERY_DESCRIPTIONS[name]),
  );
  const list = [...inPath, ...inQuery];
  if (route.method === "POST") list.push(idempotencyKey(route));
  if (isConditional(route)) list.push(...CONDITIONS);
  return list;
}

/** Their examples change nothing, because importers send them as they are. Postman sends only defaults. */
const CONDITIONS = [
  ["If-Match", "*", "Only if the resource has one of these ETags."],
  ["If-None-Match", '"0"', "Only if it has none of these ETags."],
].map(([name = "", example, description]) =>
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

/** Response headers and what they contain. */
const HEADERS = {
  "X-Request-Id": "The id of this request.",
  "X-Total-Count": "How many items there are in all.",
  Location: "The URL of the new resource.",
  Link: "The next and the previous page (RFC 8288).",
  ETag: "The version of the resource, for If-Match and If-None-Match.",
  "Idempotency-Replayed": "`true` if this is the stored response of an earlier request.",
  "WWW-Authenticate": "How to authenticate (RFC 6750, RFC 9728).",
  "Retry-After": "Seconds until the next rate window.",
  "RateLimit-Policy": 'The rate limit: `"default";q=` requests in `w=` seconds.',
  RateLimit: "The requests that remain, and the seconds until the next rate window.",
  "X-RateLimit-Limit": "The number of requests in a rate window.",
  "X-RateLimit-Remaining": "The number of requests that remain in this rate window.",
  "X-RateLimit-Reset": "Seconds until the next rate window.",
};
type HeaderName = keyof typeof HEADERS;

const rateHeaders = (variants: Variants): readonly HeaderName[] =>
  variants["rate-headers"]
    ? ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    : ["RateLimit-Policy", "RateLimit"];

function describeResponse(
  description: string,
  headers: readonly HeaderName[],
  schema?: JsonSchema,
  type = JSON_TYPE,
): JsonSchema {
  const names: readonly HeaderName[] = ["X-Request-Id", ...headers];
  return {
    description,
    headers: Object.fromEntries(
      names.map((name) => [name, { description: HEADERS[name], schema: TEXT }]),
    ),
    content: schema && { [type]: { schema } },
  };
}

function successResponse(route: Operation, variants: Variants): JsonSchema {
  const { serializer, location, summary } = route;
  const headers = [...rateHeaders(variants)];
  if (serializer?.kind === "one") headers.push("ETag");
  if (serializer?.kind === "page") headers.push("Link");
  if (serializer?.kind === "page" && variants["list-shape"]) headers.push("X-Total-Count");
  if (location) headers.push("Location");
  if (route.method === "POST") headers.push("Idempotency-Replayed");
  const [name] = Object.keys(responseSchemas(route, variants));
  return describeResponse(
    summary,
    headers,
    name === undefined ? serializer?.json : schemaRef(name),
  );
}

const getStatus = (code: ErrorCode, variants: Variants): number =>
  code === "validation_failed" && variants["validation-status"] ? 400 : PROBLEMS[code][0];

/** The errors of an operation beyond those that any operation can return. */
export function findErrorCodes(route: Operation): readonly ErrorCode[] {
  const { path, method, body, errorCodes = [] } = route;
  const codes: ErrorCode[] = [...errorCodes];
  if (path.includes("{")) codes.push("not_found");
  if (body) codes.push("invalid_json", "unsupported_media_type", "validation_failed");
  if (method === "POST") codes.push("idempotency_in_progress", "idempotency_key_reused");
  if (body || method === "POST") codes.push("payload_too_large");
  if (isConditional(route)) codes.push("precondition_failed");
  return CODES.filter((code) => codes.includes(code));
}

/** The error statuses of an operation, without 405, which means that there is no operation. */
const errorStatuses = (route: Operation, variants: Variants): readonly number[] => [
  ...[400, 401, 403, 408, 414, 431, 500, 503],
  ...findErrorCodes(route).map((code) => getStatus(code, variants)),
];

function errorResponse(status: number, variants: Variants): JsonSchema {
  const headers = [...rateHeaders(variants)];
  if (status === 401 || status === 403) headers.push("WWW-Authenticate");
  if (status === 403) headers.push("Retry-After");
  const codes = CODES.filter((code) => getStatus(code, variants) === status);
  const titles = codes.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}.`);
  const type = variants["error-body"] ? JSON_TYPE : PROBLEM_TYPE;
  return describeResponse(titles.join(" "), headers, schemaRef("Problem"), type);
}

function problemSchema(variants: Variants): JsonSchema {
  const code = { type: "string", enum: CODES };
  if (variants["error-body"]) return closedObject({ error: closedObject({ code, message: TEXT }) });
  const always = {
    type: { type: "string", format: "uri", description: "The entry of this error in /docs." },
    title: TEXT,
    status: COUNT,
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
function responseSchemas({ serializer, shownOnce }: Operation, variants: Variants): Named {
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

/** The schema names of each event and of its `data.object`. */
const EVENTS: Record<model.EventType, readonly [event: string, object: string]> = {
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
  for (const type of model.EVENT_TYPES) {
    const [name, objectName] = EVENTS[type];
    const data = closedObject({ object: schemaRef(objectName) });
    schemas[name] = closedObject({
      ...members,
      type: { type: "string", enum: [type] },
      data: objectName in SHOWN_OBJECTS ? data : { ...data, "x-decision": "6.event-objects" },
      ...(account && !EVENTS_WITHOUT_ACCOUNT.has(type) && { account }),
    });
  }
  return { ...schemas, Event: { oneOf: Object.values(EVENTS).map(([name]) => schemaRef(name)) } };
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

function describeWebhook(type: model.EventType): JsonSchema {
  const [name] = EVENTS[type];
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
      204: { description: "Received, as with any other 2xx status. Other statuses are retried." },
      410: { description: "The receiver is gone: the webhook is disabled." },
    },
  };
  return { post };
}
