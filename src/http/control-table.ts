// The table of the test controls (contract, part 10): the same verbs as the embedding handle's, for tests in any language.
// A row gives routing, the checks of query and body, the success status and the OpenAPI operation at once.
import { ACCOUNT_STATES, type AccountRecord, type AccountState } from "../domain/model.ts";
import { notFound, type Refusal } from "../domain/refusal.ts";
import { duration, type Instant, iso, type Ran } from "../kit/clock.ts";
import { type JsonSchema, object, oneOf, optional, parse, type Schema } from "../kit/schema.ts";
import type { RawQuery } from "./route.ts";
import { accountView, shape } from "./views.ts";

/** A rule book: what a rule may be, and how it comes into force. */
interface RuleBook {
  readonly schema: Schema<unknown>;
  add(rule: object): unknown;
  clear(): void;
}

/** What the controls do. What cannot be done is a refusal. */
export interface Controls {
  reset(): Promise<void>;
  now(): Instant;
  advance(by_ms: number): Promise<readonly Ran[] | Refusal>;
  freeze(): void;
  resume(): void;
  settled(timeoutMs: number | undefined): Promise<object>;
  readonly faults: RuleBook;
  readonly chaos: RuleBook;
  requests(): readonly object[];
  events(): readonly object[];
  deliveries(): readonly object[];
  trace(requestId: string): object | undefined;
  snapshot(): Promise<object>;
  restore(snapshot: object): Promise<Refusal | null>;
  setAccountState(state: AccountState): Promise<AccountRecord>;
}

export interface ControlRow {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Behind /_control; a parameter may only be its last segment. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly query?: Schema<unknown>;
  readonly body?: Schema<unknown>;
  /** Absent: 204, nothing to tell. */
  readonly answer?: { readonly status: 200 | 201; readonly json: JsonSchema };
  /** Query and body have been checked by their schemas. */
  readonly run: (input: ControlInput) => unknown;
}

export interface ControlInput {
  readonly query: RawQuery;
  readonly body: unknown;
  readonly parameter: string;
}

/** Members such as "5m", as milliseconds. */
const time: Schema<number> = {
  json: { type: "string", pattern: "^\\d{1,12}(ms|s|m|h|d)$", examples: ["5m"] },
  check(value, path, faults) {
    const read = typeof value === "string" ? duration(value) : undefined;
    if (read === undefined) faults.push({ path, detail: "must be a duration such as 250ms, 30s, 5m, 2h or 1d" });
    return read ?? 0;
  },
};

const yes: Schema<boolean> = {
  json: { const: true },
  check(value, path, faults) {
    if (value !== true) faults.push({ path, detail: "must be true" });
    return true;
  },
};

const anyObject: Schema<object> = {
  json: { type: "object" },
  check(value, path, faults) {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
    faults.push({ path, detail: "must be an object" });
    return {};
  },
};

const clockMembers = object({ advance: optional(time), freeze: optional(yes), resume: optional(yes) });
const clockBody: typeof clockMembers = {
  ...clockMembers,
  json: { ...clockMembers.json, minProperties: 1, maxProperties: 1 },
  check(value, path, faults) {
    const asked = clockMembers.check(value, path, faults);
    const given = Object.values(asked ?? {}).filter((member) => member !== undefined);
    if (faults.length === 0 && given.length !== 1)
      faults.push({ path, detail: "must have one of advance, freeze and resume" });
    return asked;
  },
};
const stateBody = object({ state: oneOf(ACCOUNT_STATES) });
const settledQuery = object({ timeout: optional(time) });

const string: JsonSchema = { type: "string" };
const items: JsonSchema = { type: "array", items: { type: "object" } };
const all = shape({ data: items, total: { type: "integer", minimum: 0 } });
const whole = (data: readonly object[]) => ({ data, total: data.length });

/** The value that a schema has let pass. */
function read<T>(schema: Schema<T>, value: unknown): T {
  const result = parse(schema, value);
  if ("faults" in result) throw new Error("A control ran on input that was not checked");
  return result.value;
}

export const controlRows = (controls: Controls): readonly ControlRow[] => [
  ...timeRows(controls),
  ...ruleRows(controls),
  ...journalRows(controls),
  ...stateRows(controls),
];

const timeRows = (controls: Controls): readonly ControlRow[] => [
  {
    method: "POST",
    path: "/clock",
    operation: "moveClock",
    summary: "Advance, freeze or resume the service's clock",
    body: clockBody,
    answer: {
      status: 200,
      json: shape({ now: string, ran: { type: "array", items: shape({ at: string, what: string }) } }),
    },
    async run({ body }) {
      const { advance, freeze, resume } = read(clockBody, body);
      if (freeze) controls.freeze();
      if (resume) controls.resume();
      const ran = advance === undefined ? [] : await controls.advance(advance);
      return "reason" in ran ? ran : { now: iso(controls.now()), ran };
    },
  },
  {
    method: "POST",
    path: "/settled",
    operation: "waitUntilSettled",
    summary: "Wait until every delivery that is due has been attempted",
    query: settledQuery,
    answer: { status: 200, json: shape({ settled: { type: "boolean" }, pending: items }) },
    run: ({ query }) => controls.settled(read(settledQuery, query).timeout),
  },
];

const ruleRows = ({ faults, chaos }: Controls): readonly ControlRow[] => [
  ...rulesAt("/faults", "Fault", "Have requests fail", faults),
  ...rulesAt("/chaos", "Chaos", "Disturb deliveries", chaos),
];

const rulesAt = (path: string, name: string, summary: string, book: RuleBook): readonly ControlRow[] => [
  {
    method: "POST",
    path,
    operation: `add${name}`,
    summary,
    body: book.schema,
    answer: { status: 201, json: book.schema.json },
    run: ({ body }) => book.add(read(anyObject, body)),
  },
  { method: "DELETE", path, operation: `clear${name}`, summary: `${summary} no longer`, run: () => book.clear() },
];

const journalRows = (controls: Controls): readonly ControlRow[] => [
  journal("/requests", "listRequests", "What came in", () => controls.requests()),
  journal("/events", "listEmitted", "What was emitted", () => controls.events()),
  journal("/deliveries", "listSent", "What was sent, and is to be", () => controls.deliveries()),
  {
    method: "GET",
    path: "/trace/{request_id}",
    operation: "traceRequest",
    summary: "What a request has led to",
    answer: { status: 200, json: shape({ request: { type: "object" }, events: items }) },
    run: ({ parameter }) => controls.trace(parameter) ?? notFound("request in the journal"),
  },
];

const journal = (path: string, operation: string, summary: string, list: () => readonly object[]): ControlRow => ({
  method: "GET",
  path,
  operation,
  summary,
  answer: { status: 200, json: all },
  run: () => whole(list()),
});

const stateRows = (controls: Controls): readonly ControlRow[] => [
  { method: "POST", path: "/reset", operation: "reset", summary: "Back to the seed", run: () => controls.reset() },
  {
    method: "GET",
    path: "/snapshot",
    operation: "takeSnapshot",
    summary: "Everything that is kept and the time",
    answer: { status: 200, json: anyObject.json },
    run: () => controls.snapshot(),
  },
  {
    method: "PUT",
    path: "/snapshot",
    operation: "restoreSnapshot",
    summary: "Back to a snapshot and its time",
    body: anyObject,
    run: ({ body }) => controls.restore(read(anyObject, body)),
  },
  {
    method: "PATCH",
    path: "/account",
    operation: "setAccountState",
    summary: "Suspend or limit the account, or make it active again",
    body: stateBody,
    answer: { status: 200, json: accountView.json },
    async run({ body }) {
      const { id, name, state } = await controls.setAccountState(read(stateBody, body).state);
      return { id, name, state };
    },
  },
];
