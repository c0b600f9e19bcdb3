// Operations: the routes of the REST API and the test controls, the serializers of their results, and the CRUD routes
// that nearly every resource has. One plain object gives the route, scope, query and body validation, successful
// response and OpenAPI operation.
import { hash } from "node:crypto";
import { type CrudService, type ListPage, listQuery, type Patch } from "../domain/crud.ts";
import type { AppError, FieldError } from "../domain/errors.ts";
import * as model from "../domain/model.ts";
import type { UnitOfWork } from "../domain/unit-of-work.ts";
import type { CheckUrl } from "../domain/webhooks.ts";
import {
  type Infer,
  type JsonSchema,
  type ObjectSchema,
  pickMembers,
  type Schema,
} from "../lib/schema.ts";
import type { ServiceUrls } from "./message.ts";
import type { PathParams, RouteKey } from "./router.ts";

/** What operations depend on besides the unit of work. */
export interface RouteDeps {
  readonly urls: ServiceUrls;
  readonly checkWebhookUrl: CheckUrl;
}

/** A call of an operation, by a request or by a page of the dashboard. */
export interface HandlerContext<Q = unknown, B = unknown> {
  readonly unitOfWork: UnitOfWork;
  readonly account: model.AccountRecord;
  /** The user of the access token or session. */
  readonly user?: model.UserRecord | undefined;
  readonly params: PathParams;
  readonly routeDeps: RouteDeps;
  readonly query: Q;
  readonly body: B;
  /** Checks If-Match and If-None-Match against the unchanged record, inside the transaction that changes it. */
  precondition(record: object): AppError | undefined;
}

/** The types of the query, the body and the result tie the schemas, the handler and the serializer together. */
export interface Operation<Q = unknown, B = unknown, R = unknown> extends RouteKey {
  /** The required scope; null if any credential is accepted. */
  readonly scope: model.Scope | null;
  /** Operation name for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The clause of the specification that shows the operation. */
  readonly spec?: string;
  /** The decision that added the operation; undefined if the specification shows it. */
  readonly decision?: string;
  readonly example?: object;
  /** Error codes that not every operation of its kind returns. */
  readonly errorCodes?: readonly ("domain_taken" | "email_taken" | "last_admin")[];
  /** The route that reads the resource of the path; it runs before the body's fields are validated. */
  readonly loads?: Operation;
  readonly query?: ObjectSchema<Q>;
  /** Schema name of the request body in the OpenAPI document; every route with a body has one. */
  readonly bodyName?: string;
  readonly body?: Schema<B>;
  /** Errors of valid fields that depend on settings or stored data. Invalid fields of the body are undefined. */
  fieldErrors?(context: HandlerContext<Q, Partial<B>>): Promise<readonly FieldError[]>;
  /** Defaults to 1 MiB. */
  readonly bodyLimit?: number;
  /** The numbers of the body must not be rounded. */
  readonly exactNumbers?: boolean;
  readonly status: number;
  /** Serializes the result of `handler`; without it the response has no body. */
  readonly serializer?: Serializer<R>;
  /** Path of the created resource, relative to the version prefix. */
  location?(result: R): string;
  /** The member of the result that only this response shows: a key or a secret. */
  readonly shownOnce?: string;
  handler(context: HandlerContext<Q, B>): Promise<R | AppError>;
}

/** Infers the types that tie a route's parts together. */
export const route = <Q = unknown, B = unknown, R = unknown>(
  operation: Operation<Q, B, R>,
): Operation<Q, B, R> => operation;

/** Sets `decision` on the operations that the specification does not show. */
export const withDecision = (
  decision: string,
  routes: readonly Operation[],
): readonly Operation[] =>
  routes.map((each) => (each.spec === undefined ? { ...each, decision } : each));

export interface Serializer<R = unknown> {
  /** One resource, a page of a list, or JSON that is not a resource. */
  readonly kind: "one" | "page" | "plain";
  /** Schema name of one resource in the OpenAPI document: App, Webhook, … */
  readonly name: string;
  /** JSON Schema of one resource. */
  readonly json: JsonSchema;
  toJson(result: R, cache: TextCache): string;
}

/**
 * Keeps the JSON text of each record as long as the record lives. With it a list of 20 takes 0.95 of the time of a bare
 * node:http server, without it 1.45.
 */
export class TextCache {
  readonly #texts = new WeakMap<object, SerializedRecord>();

  constructor(readonly urls: ServiceUrls) {}

  serialize<R extends object>(serializer: Serializer<R>, record: R): SerializedRecord {
    const cached = this.#texts.get(record);
    if (cached) return cached;
    const serialized = serializeOnce(serializer, record, this);
    this.#texts.set(record, serialized);
    return serialized;
  }
}

interface SerializedRecord {
  readonly text: string;
  readonly etag: string;
}

export function serializeOnce<R extends object>(
  serializer: Serializer<R>,
  record: R,
  cache: TextCache,
): SerializedRecord {
  const text = serializer.toJson(record, cache);
  // Strong (RFC 9110 8.8.1): equal tags are equal bytes.
  return { text, etag: `"${hash("sha256", text, "base64url")}"` };
}

/** JSON Schema of an object with exactly these members, all required by default. */
export const closedObject = (
  properties: Record<string, JsonSchema>,
  required = Object.keys(properties),
): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** Serializes the members of `response`, in order. */
export const resourceSerializer = <R extends object>(
  name: string,
  response: ObjectSchema<unknown>,
): Serializer<R> => ({
  kind: "one",
  name,
  json: response.json,
  toJson: (record) => JSON.stringify(pickMembers(response, record)),
});

export const jsonSerializer = (json: JsonSchema): Serializer<object> => ({
  kind: "plain",
  name: "",
  json,
  toJson: (value) => JSON.stringify(value),
});

export const listSerializer = <R extends object>(item: Serializer<R>): Serializer<ListPage<R>> => ({
  kind: "page",
  name: item.name,
  json: item.json,
  toJson({ items, total, range: { limit, offset } }, cache) {
    const data = items.map((record) => cache.serialize(item, record).text).join(",");
    return `{"data":[${data}],"total":${total},"limit":${limit},"offset":${offset}}`;
  },
});

export const deploymentSerializer: Serializer<model.DeploymentRecord> = {
  ...resourceSerializer("Deployment", model.deployment.response),
  toJson: (record, { urls }) =>
    JSON.stringify(
      pickMembers(model.deployment.response, { ...record, url: urls.site(record.id) }),
    ),
};

export const deliverySerializer = resourceSerializer<model.DeliveryRecord>(
  "Delivery",
  model.delivery,
);

export const accountSerializer = resourceSerializer<Infer<typeof model.shownAccount>>(
  "Account",
  model.shownAccount,
);

export const eventSerializer: Serializer<model.EventRecord> = {
  ...resourceSerializer("Event", model.envelopeSchema),
  toJson: ({ body }) => body,
};

export const rowSerializer: Serializer<object> = {
  ...jsonSerializer(model.dataRow.json),
  kind: "one",
  name: "DataSourceRow",
};

/** Scope of operations that the specification's scope table does not name (part 5). */
export const ADMIN_SCOPE: model.Scope = "admin";

/** `create`, `list`, `update` and `delete` replace or add members of the operation. */
interface CrudOptions<R extends model.AccountScoped, D, N, Q> {
  /** Path of one resource: `/apps/{app_id}`. */
  readonly path: string;
  /** Name in operation ids and schemas: createApp, listApps, App. */
  readonly noun: string;
  /** Name in summaries. */
  readonly label: string;
  /** Defaults to admin for each. */
  readonly scopes?: {
    readonly read: model.Scope;
    readonly write: model.Scope;
    readonly delete: model.Scope;
  };
  readonly service: CrudService<R, D, N>;
  readonly create: Partial<Operation>;
  readonly list?: Partial<Operation<Q>>;
  readonly update?: Partial<Operation>;
  readonly delete?: Partial<Operation>;
}

/** `R` is the record, `N` the created record with its secret, `D` the create body, `Q` the query of the list. */
export function crudOperations<R extends model.AccountScoped, N extends R, D, Q>({
  path,
  noun,
  label,
  scopes = { read: ADMIN_SCOPE, write: ADMIN_SCOPE, delete: ADMIN_SCOPE },
  service,
  ...overrides
}: CrudOptions<R, D, N, Q>) {
  const { updateBody } = service;
  const collectionPath = path.slice(0, path.lastIndexOf("/"));
  const parameter = path.slice(collectionPath.length + 2, -1);
  const getId = ({ params }: HandlerContext) => params[parameter] ?? "";
  const serializer = resourceSerializer<R>(noun, service.response);
  const readOperation = route({
    method: "GET",
    path,
    scope: scopes.read,
    operationId: `get${noun}`,
    summary: `Read ${label}`,
    status: 200,
    serializer,
    handler: (context) => service.get(context.unitOfWork.store, context.account, getId(context)),
  });
  const createOperation = route({
    method: "POST",
    path: collectionPath,
    scope: scopes.write,
    operationId: `create${noun}`,
    summary: `Create ${label}`,
    bodyName: `${noun}Create`,
    body: service.createBody,
    status: 201,
    serializer,
    location: ({ id }) => `${collectionPath}/${id}`,
    handler: ({ unitOfWork, account, body }) => service.create(unitOfWork, account, body),
  });
  const listOperation = route({
    method: "GET",
    path: collectionPath,
    scope: scopes.read,
    operationId: `list${noun}s`,
    summary: `List ${label}s`,
    query: listQuery,
    status: 200,
    serializer: listSerializer(serializer),
    handler: ({ unitOfWork, account, query }) => service.list(unitOfWork.store, account, query),
  });
  const updateOperation =
    updateBody &&
    route({
      method: "PATCH",
      path,
      scope: scopes.write,
      operationId: `update${noun}`,
      summary: `Update ${label}`,
      loads: readOperation,
      bodyName: `${noun}Update`,
      body: updateBody,
      status: 200,
      serializer,
      handler: (context) =>
        service.update(
          context.unitOfWork,
          context.account,
          getId(context),
          context.body as Patch<R>,
          context.precondition,
        ),
    });
  const deleteOperation = route({
    method: "DELETE",
    path,
    scope: scopes.delete,
    operationId: `delete${noun}`,
    summary: `Delete ${label}`,
    loads: readOperation,
    status: 204,
    handler: (context) =>
      service.delete(context.unitOfWork, context.account, getId(context), context.precondition),
  });
  const operations: Operation[] = [
    { ...createOperation, ...overrides.create },
    { ...listOperation, ...overrides.list },
    readOperation,
    ...(updateOperation ? [{ ...updateOperation, ...overrides.update }] : []),
    { ...deleteOperation, ...overrides.delete },
  ];
  return { readOperation, operations };
}
