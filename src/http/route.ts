// What a row of the route table is. A row gives routing, scope, the checks of path, query and body, the success status
// and the OpenAPI operation at once. `route` ties the types of its parts together and hands the router closures, so
// that no step needs to know what another one found.
import type { DecisionId } from "../decisions.ts";
import type { Caller } from "../domain/access.ts";
import type { Scope } from "../domain/model.ts";
import { type Expect, type FieldError, Refusal, refuse } from "../domain/refusal.ts";
import type { WebhookChanges, WebhookDraft } from "../domain/webhooks.ts";
import type { Unit } from "../domain/work.ts";
import {
  type Fault,
  type ObjectSchema,
  object,
  parse,
  pointer,
  type Schema,
  trusted,
  UNKNOWN_MEMBER,
} from "../kit/schema.ts";
import { BODY_BYTES } from "./body.ts";
import { JSON_TYPE } from "./call.ts";
import { announced } from "./deprecation.ts";
import type { ServiceLinks } from "./links.ts";
import type { Presenter, View } from "./view.ts";

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
  readonly of: (services: Services) => Schema<B>;
}

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** The names between braces in a path. */
export type Params<P extends string> = P extends `${string}{${infer N}}${infer Rest}`
  ? { readonly [K in N]: string } & Params<Rest>
  : unknown;

export interface Base<P extends string> {
  readonly unit: Unit;
  readonly caller: Caller;
  readonly params: Params<P>;
  readonly services: Services;
}

export interface Context<P extends string, Q, B, T extends object> extends Base<P> {
  readonly query: Q;
  readonly body: B;
  /** The precondition of If-Match, to be asked of the record inside the transaction that changes it. */
  readonly expect: Expect<T>;
}

/** The resource that a path names, looked for before the body's fields are judged. */
export interface Target<P extends string, T extends object> {
  readonly view: View<T>;
  readonly find: (base: Base<P>) => Promise<T | Refusal>;
}

/** What a success looks like: its status, and the text made of what `run` answered. */
export interface Answer<R> {
  readonly status: number;
  /** Its name and shape for the OpenAPI document. */
  readonly shape: AnswerShape;
  readonly present: (result: R, presenter: Presenter, place: Place) => Presented;
}

export type AnswerShape =
  | { readonly kind: "nothing" }
  | {
      readonly kind: "one" | "page";
      readonly view: { readonly name: string; readonly json: View<never>["json"] };
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
  /** The text's length in UTF-8, where it is known already. */
  readonly bytes?: number;
  readonly headers: Record<string, string>;
  readonly etag?: string;
  /** The text without what is shown once; absent where it is the same. */
  readonly kept?: string;
}

interface RowBase<P extends string> {
  readonly method: Method;
  readonly path: P;
  /** The scope that it takes; null where any credential will do. */
  readonly scope: Scope | null;
  /** The operation's name for generated clients. */
  readonly operation: string;
  readonly summary: string;
  /** The clause of the specification that shows the operation; without it the row stands in a `chosen` list. */
  readonly spec?: string;
  readonly bodyLimit?: number;
  /** The codes that only this operation can refuse with, beside those of its kind. */
  readonly refusals?: readonly ("domain_taken" | "email_taken" | "last_admin")[];
}

export interface RowSpec<P extends string, Q, B, T extends object, R> extends RowBase<P> {
  readonly query?: ObjectSchema<Q>;
  readonly body?: Schema<B> | DependentBody<B>;
  readonly example?: unknown;
  readonly target?: Target<P, T>;
  readonly run: (context: Context<P, Q, B, T>) => Promise<R | Refusal>;
  readonly answer: Answer<R>;
}

/** One operation as the router and the OpenAPI document see it. */
export interface Row extends RowBase<string> {
  /** The decision that chose the operation; null where the specification shows it. */
  readonly gap: DecisionId | null;
  readonly query: ObjectSchema<unknown>;
  readonly body: Schema<unknown> | undefined;
  readonly example: unknown;
  readonly answer: { readonly status: number; readonly shape: AnswerShape };
  readonly bodyLimit: number;
  readonly paramNames: readonly string[];
  /** The query parameters as `begin` takes them, or all that is wrong with them. */
  readonly readQuery: (query: RawQuery) => { readonly value: unknown } | { readonly faults: readonly FieldError[] };
  /** What every success says of itself, whatever its content. */
  readonly headers: Readonly<Record<string, string>>;
  readonly begin: (input: Input) => Prepared;
  /** How a value that `run` put through its unit of work goes out. */
  readonly present: (result: unknown, presenter: Presenter, place: Place) => Presented;
}

export type RawQuery = { readonly [name: string]: string };

export interface Input {
  readonly unit: Unit;
  readonly caller: Caller;
  readonly params: { readonly [name: string]: string };
  readonly services: Services;
  readonly presenter: Presenter;
  /** What `readQuery` made of it. */
  readonly query: unknown;
  /** What If-Match and If-None-Match say to this ETag. */
  readonly judge: (etag: string) => Refusal | undefined;
}

/** A request whose query is right: still to be found, checked and run. */
export interface Prepared {
  /** The resource in the path exists, or the refusal; undefined where there is nothing to find. */
  readonly find: (() => Promise<Refusal | undefined>) | undefined;
  /** Checks the body's fields; answers what remains to be done, whose result `Row.present` shows. */
  readonly check: (body: unknown) => Refusal | (() => Promise<unknown>);
}

const NO_QUERY: ObjectSchema<unknown> = object({});

export function route<P extends string, R, Q = unknown, B = undefined, T extends object = object>(
  spec: RowSpec<P, Q, B, T, R>,
): Row {
  const { answer } = spec;
  const query: ObjectSchema<unknown> = spec.query ?? NO_QUERY;
  return {
    ...spec,
    gap: null,
    query,
    body: spec.body && ("shown" in spec.body ? spec.body.shown : spec.body),
    example: spec.example,
    bodyLimit: spec.bodyLimit ?? BODY_BYTES,
    paramNames: namesIn(spec.path),
    readQuery(raw) {
      const read = parse(query, raw);
      return "faults" in read ? { faults: read.faults.map(parameterError) } : read;
    },
    headers: {
      ...(answer.shape.kind === "nothing" ? {} : { "content-type": JSON_TYPE }),
      ...announced(spec.operation),
    },
    begin: (input) => prepare(spec, input),
    // The unit of work passes on what `run` answers, which is an R.
    present: (result, presenter, place) => answer.present(trusted<R>(result), presenter, place),
  };
}

const namesIn = (path: string): readonly string[] =>
  path
    .split("/")
    .filter((segment) => segment.startsWith("{"))
    .map((segment) => segment.slice(1, -1));

/** Operations that the specification does not show: one decision for the whole list. */
export const chosen = (gap: DecisionId, rows: readonly Row[]): readonly Row[] => rows.map((row) => ({ ...row, gap }));

function prepare<P extends string, R, Q, B, T extends object>(spec: RowSpec<P, Q, B, T, R>, input: Input): Prepared {
  const { unit, caller, services, presenter } = input;
  const { target } = spec;
  // The router fills `params` from this very path, so its names are the ones that `Params<P>` lists.
  const params = trusted<Params<P>>(input.params);
  return {
    find:
      target &&
      (async () => {
        const found = await target.find({ unit, caller, services, params });
        return found instanceof Refusal ? found : undefined;
      }),
    check(raw) {
      const schema = spec.body && ("of" in spec.body ? spec.body.of(services) : spec.body);
      const body = schema ? parse(schema, raw) : { value: trusted<B>(undefined) };
      if ("faults" in body) return refuse({ code: "validation_failed", errors: body.faults.map(bodyError) });
      // `readQuery` of this row made it, with this row's schema.
      const query = trusted<Q>(input.query);
      const expect = (record: T) => target && input.judge(presenter.tagged(target.view, record).etag);
      // Written out: a spread here took 2.5 of the 6.5 us between listener and answer.
      return () => spec.run({ unit, caller, services, params, query, body: body.value, expect });
    },
  };
}

const bodyError = ({ path, detail }: Fault): FieldError => ({ pointer: pointer(path), detail });
const parameterError = ({ path, detail }: Fault): FieldError => ({
  parameter: String(path[0]),
  detail: detail === UNKNOWN_MEMBER ? "is not a parameter of this operation" : detail,
});
