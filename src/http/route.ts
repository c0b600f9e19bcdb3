// What an operation is: a row of the REST API or of the test controls. It gives routing, scope, the checks of query and
// body, what a success answers and the OpenAPI operation at once. `route` ties the types of its parts together.
import { type DecisionId, decide } from "../decisions.ts";
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

/** What operations may use beside the unit of work. */
export interface AppContext {
  readonly urls: ServiceUrls;
  readonly decide: Decide;
  /** What makes and changes a webhook, under the URL policy in force. */
  readonly webhook: WebhookSchemas;
}

/** The names between braces in a path. */
type PathParams<P extends string> = string extends P
  ? { readonly [name: string]: string }
  : P extends `${string}{${infer N}}${infer Rest}`
    ? { readonly [K in N]: string } & PathParams<Rest>
    : unknown;

/** What is known of a request before the fields of its body are judged. */
export interface HandlerContext<P extends string = string, Q = unknown> {
  readonly unitOfWork: UnitOfWork;
  readonly account: AccountRecord;
  /** The user whose access token or session it is. */
  readonly user?: UserRecord | undefined;
  readonly params: PathParams<P>;
  readonly services: AppContext;
  readonly query: Q;
  /** The request itself, for what no row declares, such as the host that it came to. */
  readonly request: HttpRequest;
  /** The precondition of If-Match, to be asked of the record inside the transaction that changes it. */
  precondition(record: object): AppError | undefined;
}

export interface RouteOptions<P extends string, Q, B, R> {
  /** The clause of the specification that shows the operation; without it the row stands in a `chosen` list. */
  readonly spec?: string;
  readonly example?: object;
  /** Codes whose status no other operation of its kind answers. */
  readonly errorCodes?: readonly ("email_taken" | "last_admin")[];
  /** The row that reads the resource of the path: it is looked for before the body's fields are judged. */
  readonly loads?: Operation;
  readonly query?: ObjectSchema<Q>;
  /** The name of the request body's schema in the OpenAPI document; every row with a body has one. */
  readonly bodyName?: string;
  /** A function where its rules depend on the settings in force. */
  readonly body?: Schema<B> | ((services: AppContext) => Schema<B>);
  readonly bodyLimit?: number;
  /** For a body with numbers that must not be rounded. */
  readonly keepNumbers?: KeepNumbers;
  /** 200 where none is named, or without a view 204; of what makes or removes, the register says it. */
  readonly status?: number;
  /** How what `run` answers is shown; without it nothing is. */
  readonly serializer?: Serializer<R>;
  /** The path, below the version, of what was made. */
  location?(made: R): string;
  /** By its name, what is shown this once and never again: a key, a secret, a sign-in link. */
  readonly shownOnce?: { readonly [name: string]: (made: R, links: ServiceUrls) => string | null };
  /** How its end is announced on each of its answers (spec part 9: not shown): timestamps as everywhere. */
  readonly deprecation?: { readonly deprecated_at: string; readonly gone_at: string };
  handler(asked: HandlerContext<P, Q> & { readonly body: B }): Promise<R | AppError>;
}

/** One operation as its way, the OpenAPI document and the docs see it. */
export interface Operation extends RouteKey, RouteOptions<string, unknown, unknown, unknown> {
  /** The scope that it takes; null where any credential will do. */
  readonly scope: Scope | null;
  /** The operation's name for generated clients. */
  readonly operationId: string;
  readonly summary: string;
  /** The decision that chose the operation; without one the specification shows it. */
  readonly decision?: DecisionId;
  readonly query: ObjectSchema<unknown>;
  readonly body?: (services: AppContext) => Schema<unknown>;
  readonly bodyLimit: number;
  readonly status: number;
  /** What every success says of itself, whatever its content. */
  readonly headers: Readonly<Record<string, string>>;
}

const [SINCE, UNTIL] = decide("9.deprecation");

/** `at`: method and path, as `POST /apps/{app_id}/deploy`. */
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
  // Its way asks it with what this very row has read, and shows what it answers by its own view.
  return unsafeCast(row);
}

/** Those of the operations that the specification does not show were chosen by one decision. */
export const withDecision = (
  decision: DecisionId,
  rows: readonly Operation[],
): readonly Operation[] => rows.map((row) => (row.spec === undefined ? { ...row, decision } : row));
