// What an operation is: a row of the REST API or of the test controls. It gives routing, scope, the checks of query and
// body, the success status and the OpenAPI operation at once. `route` ties the types of its parts together.
import type { DecisionId } from "../decisions.ts";
import type { Caller } from "../domain/access.ts";
import type { Scope } from "../domain/model.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { WebhookChanges, WebhookDraft } from "../domain/webhooks.ts";
import type { Unit } from "../domain/work.ts";
import { type ObjectSchema, object, type Schema, trusted } from "../kit/schema.ts";
import { JSON_TYPE } from "./call.ts";
import { announced } from "./deprecation.ts";
import { BODY_BYTES } from "./input.ts";
import type { ServiceLinks } from "./links.ts";
import type { Presenter, View } from "./view.ts";
import type { Method, Row } from "./way.ts";

/** What operations may use beside the unit of work. */
export interface Services {
  readonly links: ServiceLinks;
  /** The body of POST /webhooks and of PATCH under the URL policy in force. */
  readonly webhookDraft: ObjectSchema<WebhookDraft>;
  readonly webhookChanges: ObjectSchema<WebhookChanges>;
}

/** A body whose rules depend on the settings in force: `shown` describes it, `of` checks it. */
export interface DependentBody<B> {
  readonly shown: Schema<B>;
  of(services: Services): Schema<B>;
}

/** The names between braces in a path. */
export type ParamsOf<P extends string> = string extends P
  ? { readonly [name: string]: string }
  : P extends `${string}{${infer N}}${infer Rest}`
    ? { readonly [K in N]: string } & ParamsOf<Rest>
    : unknown;

export interface Base<P extends string = string> {
  readonly unit: Unit;
  readonly caller: Caller;
  readonly params: ParamsOf<P>;
  readonly services: Services;
}

export interface Context<P extends string, Q, B, T> extends Base<P> {
  readonly query: Q;
  readonly body: B;
  /** The precondition of If-Match, to be asked of the record inside the transaction that changes it. */
  expect(record: T): Refusal | undefined;
}

/** The resource that a path names, looked for before the body's fields are judged. */
export interface Target<T extends object> {
  readonly path: string;
  readonly view: View<T>;
  id(base: Base): string;
  find(base: Base): Promise<T | Refusal>;
}

/** What a success looks like: its status, and the text made of what `run` answered. */
export interface Outcome<R> {
  readonly status: number;
  /** Its name and form for the OpenAPI document. */
  readonly shape: OutcomeShape;
  present(result: R, presenter: Presenter, place: Place): Presented;
}

export type OutcomeShape =
  | { readonly kind: "nothing" }
  | { readonly kind: "plain"; readonly view: { readonly name: ""; readonly json: View<never>["json"] } }
  | {
      readonly kind: "one" | "page";
      readonly view: Pick<View<never>, "name" | "json">;
      readonly shownOnce: readonly string[];
    };

/** The request that is answered, for Location and Link. */
export interface Place {
  /** From the version on. */
  readonly path: string;
  readonly query: string;
}

export interface Presented {
  readonly text: string;
  readonly headers?: Record<string, string>;
  readonly etag?: string;
  /** The text without what is shown once; absent where it is the same. */
  readonly kept?: string;
}

interface Work<P extends string, Q, B, T extends object, R> {
  /** The clause of the specification that shows the operation; without it the row stands in a `chosen` list. */
  readonly spec?: string;
  readonly example?: unknown;
  /** The codes that only this operation can refuse with, beside those of its kind. */
  readonly refusals?: readonly ("domain_taken" | "email_taken" | "last_admin")[];
  readonly target?: Target<T>;
  run(context: Context<P, Q, B, T>): Promise<R | Refusal>;
  readonly answer: Outcome<R>;
}

interface Spec<P extends string, Q, B, T extends object, R> extends Work<P, Q, B, T, R> {
  readonly query?: ObjectSchema<Q>;
  readonly body?: Schema<B> | DependentBody<B>;
  readonly bodyLimit?: number;
}

/** One operation as its way, the OpenAPI document and the docs see it. */
export interface Operation extends Row, Work<string, unknown, unknown, object, unknown> {
  /** The scope that it takes; null where any credential will do. */
  readonly scope: Scope | null;
  /** The operation's name for generated clients. */
  readonly operation: string;
  readonly summary: string;
  /** The decision that chose the operation; null where the specification shows it. */
  readonly gap: DecisionId | null;
  readonly query: ObjectSchema<unknown>;
  /** The body as it is described; what checks it may depend on the settings. */
  readonly body: Schema<unknown> | undefined;
  bodyIn(services: Services): Schema<unknown> | undefined;
  readonly bodyLimit: number;
  /** What every success says of itself, whatever its content. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `at`: method and path, as `POST /apps/{app_id}/deploy`. */
export function route<P extends string, R, Q = unknown, B = undefined, T extends object = object>(
  at: `${Method} ${P}`,
  scope: Scope | null,
  operation: string,
  summary: string,
  spec: Spec<P, Q, B, T, R>,
): Operation {
  const [method, path] = trusted<[Method, P]>(at.split(" "));
  const { body, bodyLimit = BODY_BYTES } = spec;
  const query: ObjectSchema<unknown> = spec.query ?? object({});
  const bodyIn = (services: Services) => (body && "of" in body ? body.of(services) : body);
  const shown = body && "shown" in body ? body.shown : body;
  const headers = {
    ...(spec.answer.shape.kind !== "nothing" && { "content-type": JSON_TYPE }),
    ...announced(operation),
  };
  return {
    ...spec,
    ...{ method, path, scope, operation, summary, query, bodyIn, bodyLimit, headers },
    body: shown,
    gap: null,
    // Its way fills the context from this very row, so its types are the row's.
    run: (context) => spec.run(trusted<Context<P, Q, B, T>>(context)),
  };
}

/** Operations that the specification does not show: one decision for the whole list. */
export const chosen = (gap: DecisionId, rows: readonly Operation[]): readonly Operation[] =>
  rows.map((row) => ({ ...row, gap }));
