// Operations: the routes of the REST API and the test controls. One plain object gives the route, scope, query and body
// validation, successful response and OpenAPI operation.
import type { AppError } from "../domain/errors.ts";
import type { AccountRecord, Scope, UserRecord, WebhookSchemas } from "../domain/model.ts";
import type { UnitOfWork } from "../domain/unit-of-work.ts";
import type { KeepNumbers } from "../lib/numbers.ts";
import type { ObjectSchema, Schema } from "../lib/schema.ts";
import type { HttpRequest } from "./message.ts";
import type { PathParams, RouteKey } from "./router.ts";
import type { Serializer } from "./serializers.ts";
import type { ServiceUrls } from "./urls.ts";

/** Services available to operations besides the unit of work. */
export interface AppContext {
  readonly urls: ServiceUrls;
  /** Schemas for creating and updating a webhook under the current URL policy. */
  readonly webhook: WebhookSchemas;
}

/** A call of an operation, by a request or by a page of the dashboard. */
export interface HandlerContext<Q = unknown, B = unknown> {
  readonly unitOfWork: UnitOfWork;
  readonly account: AccountRecord;
  /** The user of the access token or session. */
  readonly user?: UserRecord | undefined;
  readonly params: PathParams;
  readonly services: AppContext;
  readonly query: Q;
  readonly body: B;
  /** The request itself, for values that no route declares, such as its host. */
  readonly request: HttpRequest;
  /** Checks If-Match against the record; call it inside the transaction that changes the record. */
  precondition(record: object): AppError | undefined;
}

/** The types of the query, the body and the result tie the schemas, the handler and the serializer together. */
export interface Operation<Q = unknown, B = unknown, R = unknown> extends RouteKey {
  /** The required scope; null if any credential is accepted. */
  readonly scope: Scope | null;
  /** Operation name for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The clause of the specification that shows the operation. */
  readonly spec?: string;
  /** The decision that added the operation; undefined if the specification shows it. */
  readonly decision?: string;
  readonly example?: object;
  /** Error codes whose status no other operation of its kind returns. */
  readonly errorCodes?: readonly ("email_taken" | "last_admin")[];
  /** The route that reads the resource of the path; it runs before the body's fields are validated. */
  readonly loads?: Operation;
  readonly query?: ObjectSchema<Q>;
  /** Schema name of the request body in the OpenAPI document; every route with a body has one. */
  readonly bodyName?: string;
  /** The schema of the body, which may depend on the settings. */
  body?(services: AppContext): Schema<B>;
  /** Defaults to 1 MiB. */
  readonly bodyLimit?: number;
  /** For a body whose numbers must not be rounded. */
  readonly keepNumbers?: KeepNumbers;
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
