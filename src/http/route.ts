// Operations: the routes of the REST API and the test controls. One definition gives the route, scope, query and body
// validation, successful response and OpenAPI operation. `route` ties the types of its parts together.
import { type DecisionId, decide } from "../former-decisions.ts";
import type { AppError } from "../domain/errors.ts";
import type { AccountRecord, Scope, UserRecord, WebhookSchemas } from "../domain/model.ts";
import type { UnitOfWork } from "../domain/unit-of-work.ts";
import type { Decide } from "../domain/variants.ts";
import { httpDate, parseIso } from "../lib/clock.ts";
import type { KeepNumbers } from "../lib/numbers.ts";
import { type ObjectSchema, object, type Schema, unsafeCast } from "../lib/schema.ts";
import { type HttpRequest, JSON_TYPE } from "./message.ts";
import type { Method, RouteKey } from "./router.ts";
import type { Serializer } from "./serializers.ts";
import type { ServiceUrls } from "./urls.ts";
import { BODY_BYTES } from "./validation.ts";

/** Services available to operations besides the unit of work. */
export interface AppContext {
  readonly urls: ServiceUrls;
  readonly decide: Decide;
  /** Schemas for creating and updating a webhook under the current URL policy. */
  readonly webhook: WebhookSchemas;
}

/** The names between braces in a path. */
type PathParams<P extends string> = string extends P
  ? { readonly [name: string]: string }
  : P extends `${string}{${infer N}}${infer Rest}`
    ? { readonly [K in N]: string } & PathParams<Rest>
    : unknown;

/** The request before the fields of its body are validated. */
export interface HandlerContext<P extends string = string, Q = unknown> {
  readonly unitOfWork: UnitOfWork;
  readonly account: AccountRecord;
  /** The user of the access token or session. */
  readonly user?: UserRecord | undefined;
  readonly params: PathParams<P>;
  readonly services: AppContext;
  readonly query: Q;
  /** The request itself, for values that no route declares, such as its host. */
  readonly request: HttpRequest;
  /** Checks If-Match against the record; call it inside the transaction that changes the record. */
  precondition(record: object): AppError | undefined;
}

export interface RouteOptions<P extends string, Q, B, R> {
  /** The clause of the specification that shows the operation; without it the route is in a `withDecision` list. */
  readonly spec?: string;
  readonly example?: object;
  /** Error codes whose status no other operation of its kind returns. */
  readonly errorCodes?: readonly ("email_taken" | "last_admin")[];
  /** The route that reads the resource of the path; it runs before the body's fields are validated. */
  readonly loads?: Operation;
  readonly query?: ObjectSchema<Q>;
  /** Schema name of the request body in the OpenAPI document; every route with a body has one. */
  readonly bodyName?: string;
  /** A function if its rules depend on the current settings. */
  readonly body?: Schema<B> | ((services: AppContext) => Schema<B>);
  readonly bodyLimit?: number;
  /** For a body whose numbers must not be rounded. */
  readonly keepNumbers?: KeepNumbers;
  /** Defaults to 200 with a serializer, otherwise 204; variants set the status of create and delete. */
  readonly status?: number;
  /** Serializes the result of `handler`; without it the response has no body. */
  readonly serializer?: Serializer<R>;
  /** Path of the created resource, relative to the version prefix. */
  location?(made: R): string;
  /** Values shown only in this response, by name: a key or a secret. */
  readonly shownOnce?: { readonly [name: string]: (made: R, links: ServiceUrls) => string | null };
  /** Announces the end of the operation in each response (spec part 9: not shown); ISO timestamps. */
  readonly deprecation?: { readonly deprecated_at: string; readonly gone_at: string };
  handler(asked: HandlerContext<P, Q> & { readonly body: B }): Promise<R | AppError>;
}

/** An operation as its router, the OpenAPI document and the docs use it. */
export interface Operation extends RouteKey, RouteOptions<string, unknown, unknown, unknown> {
  /** The required scope; null if any credential is accepted. */
  readonly scope: Scope | null;
  /** Operation name for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The decision that added the operation; undefined if the specification shows it. */
  readonly decision?: DecisionId;
  readonly query: ObjectSchema<unknown>;
  readonly body?: (services: AppContext) => Schema<unknown>;
  readonly bodyLimit: number;
  readonly status: number;
  /** Headers of every successful response. */
  readonly headers: Readonly<Record<string, string>>;
}

const [SINCE, UNTIL] = decide("9.deprecation");

/** `at`: method and path, such as `POST /apps/{app_id}/deploy`. */
export function route<P extends string, R, Q = unknown, B = undefined>(
  at: `${Method} ${P}`,
  scope: Scope | null,
  operationId: string,
  summary: string,
  spec: RouteOptions<P, Q, B, R>,
): Operation {
  const [method, path] = at.split(" ");
  const { body, serializer: view, shownOnce: once, deprecation: ends } = spec;
  const headers = {
    ...(view && { "content-type": JSON_TYPE }),
    ...((once || view?.kind === "plain") && { "cache-control": "no-store" }),
    ...(ends && { [SINCE]: `@${Math.floor(parseIso(ends.deprecated_at) / 1_000)}` }),
    ...(ends && { [UNTIL]: httpDate(parseIso(ends.gone_at)) }),
  };
  const row = {
    ...{ query: object({}), bodyLimit: BODY_BYTES, status: view ? 200 : 204 },
    ...spec,
    ...{ method, path, scope, operationId, summary, headers },
    body: body && (typeof body === "function" ? body : () => body),
  };
  // Safe: the router calls a route only with values it validated, and serializes the result with its own serializer.
  return unsafeCast(row);
}

/** Sets `decision` on the operations that the specification does not show. */
export const withDecision = (
  decision: DecisionId,
  rows: readonly Operation[],
): readonly Operation[] => rows.map((row) => (row.spec === undefined ? { ...row, decision } : row));
