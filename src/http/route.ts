// What an operation is: a row of the REST API or of the test controls. It gives routing, scope, the checks of query and
// body, what a success answers and the OpenAPI operation at once. `route` ties the types of its parts together.
import { type DecisionId, decide } from "../decisions.ts";
import type { AccountRecord, Scope, UserRecord, WebhookBodies } from "../domain/model.ts";
import type { Decide } from "../domain/readings.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { Unit } from "../domain/work.ts";
import { httpDate, instant } from "../kit/clock.ts";
import type { KeepNumbers } from "../kit/numbers.ts";
import { type ObjectSchema, object, type Schema, trusted } from "../kit/schema.ts";
import { type Call, JSON_TYPE } from "./call.ts";
import { BODY_BYTES } from "./input.ts";
import type { ServiceLinks } from "./links.ts";
import type { View } from "./view.ts";
import type { Method, Row } from "./way.ts";

/** What operations may use beside the unit of work. */
export interface Services {
  readonly links: ServiceLinks;
  readonly decide: Decide;
  /** What makes and changes a webhook, under the URL policy in force. */
  readonly webhook: WebhookBodies;
}

/** The names between braces in a path. */
type ParamsOf<P extends string> = string extends P
  ? { readonly [name: string]: string }
  : P extends `${string}{${infer N}}${infer Rest}`
    ? { readonly [K in N]: string } & ParamsOf<Rest>
    : unknown;

/** What is known of a request before the fields of its body are judged. */
export interface Asked<P extends string = string, Q = unknown> {
  readonly unit: Unit;
  readonly account: AccountRecord;
  /** The user whose access token or session it is. */
  readonly user?: UserRecord | undefined;
  readonly params: ParamsOf<P>;
  readonly services: Services;
  readonly query: Q;
  /** The request itself, for what no row declares, such as the host that it came to. */
  readonly call: Call;
  /** The precondition of If-Match, to be asked of the record inside the transaction that changes it. */
  expect(record: object): Refusal | undefined;
}

export interface Spec<P extends string, Q, B, R> {
  /** The clause of the specification that shows the operation; without it the row stands in a `chosen` list. */
  readonly spec?: string;
  readonly example?: object;
  /** Codes whose status no other operation of its kind answers. */
  readonly refusals?: readonly ("email_taken" | "last_admin")[];
  /** The row that reads the resource of the path: it is looked for before the body's fields are judged. */
  readonly target?: Operation;
  readonly query?: ObjectSchema<Q>;
  /** The name of the request body's schema in the OpenAPI document; every row with a body has one. */
  readonly bodyName?: string;
  /** A function where its rules depend on the settings in force. */
  readonly body?: Schema<B> | ((services: Services) => Schema<B>);
  readonly bodyLimit?: number;
  /** For a body with numbers that must not be rounded. */
  readonly keepNumbers?: KeepNumbers;
  /** 200 where none is named, or without a view 204; of what makes or removes, the register says it. */
  readonly status?: number;
  /** How what `run` answers is shown; without it nothing is. */
  readonly view?: View<R>;
  /** The path, below the version, of what was made. */
  location?(made: R): string;
  /** By its name, what is shown this once and never again: a key, a secret, a sign-in link. */
  readonly once?: { readonly [name: string]: (made: R, links: ServiceLinks) => string | null };
  /** How its end is announced on each of its answers (spec part 9: not shown): timestamps as everywhere. */
  readonly ends?: { readonly deprecated_at: string; readonly gone_at: string };
  run(asked: Asked<P, Q> & { readonly body: B }): Promise<R | Refusal>;
}

/** One operation as its way, the OpenAPI document and the docs see it. */
export interface Operation extends Row, Spec<string, unknown, unknown, unknown> {
  /** The scope that it takes; null where any credential will do. */
  readonly scope: Scope | null;
  /** The operation's name for generated clients. */
  readonly operation: string;
  readonly summary: string;
  /** The decision that chose the operation; without one the specification shows it. */
  readonly gap?: DecisionId;
  readonly query: ObjectSchema<unknown>;
  readonly body?: (services: Services) => Schema<unknown>;
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
  operation: string,
  summary: string,
  spec: Spec<P, Q, B, R>,
): Operation {
  const [method, path] = at.split(" ");
  const { body, view, once, ends } = spec;
  const headers = {
    ...(view && { "content-type": JSON_TYPE }),
    ...((once || view?.kind === "plain") && { "cache-control": "no-store" }),
    ...(ends && { [SINCE]: `@${Math.floor(instant(ends.deprecated_at) / 1_000)}` }),
    ...(ends && { [UNTIL]: httpDate(instant(ends.gone_at)) }),
  };
  const row = {
    ...{ query: object({}), bodyLimit: BODY_BYTES, status: view ? 200 : 204 },
    ...spec,
    ...{ method, path, scope, operation, summary, headers },
    body: body && (typeof body === "function" ? body : () => body),
  };
  // Its way asks it with what this very row has read, and shows what it answers by its own view.
  return trusted(row);
}

/** Those of the operations that the specification does not show were chosen by one decision. */
export const chosen = (gap: DecisionId, rows: readonly Operation[]): readonly Operation[] =>
  rows.map((row) => (row.spec === undefined ? { ...row, gap } : row));
