// The test controls (contract, part 10): the embedding handle's verbs, for tests in any language. Their way opens to the
// start-up API key and to nothing else, so it opens while the account is suspended and after the key has been deleted from
// it; nothing here counts against the rate. What cannot be done is a refusal.
import { timingSafeEqual } from "node:crypto";
import { bearerToken, type Caller, sha256 } from "../domain/access.ts";
import { ACCOUNT_STATES, type AccountRecord, type AccountState } from "../domain/model.ts";
import { invalidField, notFound, Refusal, refuse } from "../domain/refusal.ts";
import { isStoreError } from "../domain/store.ts";
import { duration, type Instant, iso, type Ran } from "../kit/clock.ts";
import { type JsonSchema, object, oneOf, optional, type Schema, taken, text } from "../kit/schema.ts";
import { nothing, one, plain } from "./answers.ts";
import { CONTROL_PREFIX } from "./links.ts";
import { type OperateParts, operate } from "./operate.ts";
import { type ProblemLinks, problem } from "./problem.ts";
import { chosen, type Operation, route } from "./route.ts";
import { shape } from "./view.ts";
import { accountView } from "./views.ts";
import { type Method, RouteTree, type Way } from "./way.ts";

/** A rule book: what a rule may be, and how it comes into force. */
interface RuleBook {
  readonly schema: Schema<unknown>;
  add(rule: unknown): unknown;
  clear(): void;
}

/** The embedding handle, as far as it is asked from here. */
export interface Controls {
  /** The start-up API key in clear. */
  readonly apiKey: string | null;
  readonly account: AccountRecord;
  readonly clock: {
    now(): Instant;
    advance(by: string): Promise<readonly Ran[]>;
    freeze(): void;
    resume(): void;
  };
  readonly faults: RuleBook;
  readonly chaos: RuleBook;
  readonly requests: readonly object[];
  readonly events: readonly object[];
  readonly deliveries: readonly object[];
  trace(requestId: string): object | undefined;
  settled(patience: { readonly timeoutMs?: number | undefined }): Promise<object>;
  reset(): Promise<void>;
  snapshot(): Promise<object>;
  restore(snapshot: object): Promise<void>;
  setAccountState(state: AccountState): Promise<AccountRecord>;
}

export const controlWay = (parts: OperateParts, controls: Controls): Way<Operation, Caller> => ({
  under: CONTROL_PREFIX,
  tree: new RouteTree(controlRows(controls)),
  async enter(call) {
    const token = bearerToken(call.values("authorization"));
    if (token instanceof Refusal) return token;
    const { apiKey, account } = controls;
    if (apiKey !== null && timingSafeEqual(Buffer.from(sha256(token)), Buffer.from(sha256(apiKey))))
      return { account, scopes: new Set(), credential: CONTROL_PREFIX };
    const detail = "The test controls take the start-up API key and no other credential.";
    return refuse({ code: "insufficient_scope", scope: "admin", detail });
  },
  perform: (row, request) => operate(parts, row, request),
  refused: (refusal, call) => problem(refusal, call.id, parts.services.links),
});

const OFF = "The test controls are off; start the server with --control.";

/** Where they are off, whoever looks for them is told so, and so is the console. */
export const noControlWay = (links: ProblemLinks, warn: (line: string) => void): Way<Operation, never> => ({
  under: CONTROL_PREFIX,
  tree: new RouteTree([]),
  async enter() {
    warn(OFF);
    return refuse({ code: "not_found", detail: OFF });
  },
  perform: (_, { who }) => who,
  refused: (refusal, call) => problem(refusal, call.id, links),
});

/** A snapshot of a hundred thousand apps fits. */
const SNAPSHOT_BYTES = 256 * 1024 * 1024;

const says = "a duration such as 250ms, 30s, 5m, 2h or 1d";
const time = text({ max: 14, pattern: /^\d{1,12}(ms|s|m|h|d)$/, says });

const yes = taken<boolean>({ const: true }, "true", (value) => value === true);
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const anyObject = taken<object>({ type: "object" }, "an object", isObject);

const movement = object({ advance: optional(time), freeze: optional(yes), resume: optional(yes) }, (asked) =>
  Object.keys(asked).length === 1 ? [] : [{ path: [], detail: "must have one of advance, freeze and resume" }],
);
const clockBody = { ...movement, json: { ...movement.json, minProperties: 1, maxProperties: 1 } };

const string: JsonSchema = { type: "string" };
const items: JsonSchema = { type: "array", items: { type: "object" } };
const all = plain(shape({ data: items, total: { type: "integer", minimum: 0 } }));
const moved = plain(shape({ now: string, ran: { type: "array", items: shape({ at: string, what: string }) } }));
const settled = plain(shape({ settled: { type: "boolean" }, pending: items }));
const trace = plain(shape({ request: { type: "object" }, events: items }));

const control = <P extends string, R, Q = unknown, B = undefined>(
  at: `${Method} ${P}`,
  operation: string,
  summary: string,
  spec: Parameters<typeof route<P, R, Q, B>>[4],
) => route<P, R, Q, B>(at, null, operation, summary, spec);

/** Does it, and has nothing to tell. */
const doing = (at: `${Method} ${string}`, operation: string, summary: string, run: () => unknown): Operation =>
  control(at, operation, summary, { run: async () => run(), answer: nothing });

const controlRows = (controls: Controls): readonly Operation[] =>
  chosen("1.test-controls", [
    control("POST /clock", "moveClock", "Advance, freeze or resume the service's clock", {
      body: clockBody,
      async run({ body: { advance, freeze, resume } }) {
        const { clock } = controls;
        if (freeze) clock.freeze();
        if (resume) clock.resume();
        const ran = advance === undefined ? [] : await refusedAt("#/advance", () => clock.advance(advance));
        return ran instanceof Refusal ? ran : { now: iso(clock.now()), ran };
      },
      answer: moved,
    }),
    control("POST /settled", "waitUntilSettled", "Wait until every delivery that is due has been attempted", {
      query: object({ timeout: optional(time) }),
      run: ({ query: { timeout } }) => controls.settled(timeout === undefined ? {} : { timeoutMs: duration(timeout) }),
      answer: settled,
    }),
    ...rulesAt("/faults", "Fault", "Have requests fail", controls.faults),
    ...rulesAt("/chaos", "Chaos", "Disturb deliveries", controls.chaos),
    journal("/requests", "listRequests", "What came in", () => controls.requests),
    journal("/events", "listEmitted", "What was emitted", () => controls.events),
    journal("/deliveries", "listSent", "What was sent, and is to be", () => controls.deliveries),
    control("GET /trace/{request_id}", "traceRequest", "What a request has led to", {
      run: async ({ params }) => controls.trace(params.request_id) ?? notFound("request in the journal"),
      answer: trace,
    }),
    doing("POST /reset", "reset", "Back to the seed", () => controls.reset()),
    control("GET /snapshot", "takeSnapshot", "Everything that is kept and the time", {
      run: () => controls.snapshot(),
      answer: plain(anyObject.json),
    }),
    control("PUT /snapshot", "restoreSnapshot", "Back to a snapshot and its time", {
      bodyLimit: SNAPSHOT_BYTES,
      body: anyObject,
      run: ({ body }) => refusedAt("#", () => controls.restore(body)),
      answer: nothing,
    }),
    control("PATCH /account", "setAccountState", "Suspend or limit the account, or make it active again", {
      body: object({ state: oneOf(ACCOUNT_STATES) }),
      run: ({ body }) => controls.setAccountState(body.state),
      answer: one(accountView),
    }),
  ]);

/** What the handle throws at a caller in its own process, as a refusal. */
async function refusedAt<T>(pointer: string, work: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && (error.name === "OptionError" || isStoreError(error, "StoreRefusal")))
      return invalidField(pointer, error.message);
    throw error;
  }
}

const rulesAt = (path: string, name: string, summary: string, book: RuleBook): readonly Operation[] => [
  control(`POST ${path}`, `add${name}`, summary, {
    body: book.schema,
    run: async ({ body }) => book.add(body),
    answer: plain(book.schema.json, 201),
  }),
  doing(`DELETE ${path}`, `clear${name}`, `${summary} no longer`, () => book.clear()),
];

const journal = (path: string, operation: string, summary: string, list: () => readonly object[]): Operation =>
  control(`GET ${path}`, operation, summary, {
    run: async () => ({ data: list(), total: list().length }),
    answer: all,
  });
