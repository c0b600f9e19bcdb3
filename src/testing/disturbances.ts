// Disturbances on command (contract, part 10): faults, for tests of clients, and chaos, for tests of receivers. Each is a
// rule that a test hands over, checked as the body of its control route is, and falls on so many requests or attempts of
// deliveries. Nothing here strikes unasked, and what no rule names is not touched.
import { EventEmitter } from "node:events";
import { decide } from "../decisions.ts";
import { type Sender, type WebhookRequest, withoutResponse } from "../delivery/sender.ts";
import { postpone } from "../domain/deliveries.ts";
import { type ErrorDetails, fail } from "../domain/errors.ts";
import { eventType } from "../domain/model.ts";
import type { UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { API } from "../http/api.ts";
import { emptyResponse, type HttpRequest, VERSION_PREFIX } from "../http/message.ts";
import { CODE_FIELD, CODES, errorResponse, statusOf } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import type { Result } from "../http/router.ts";
import { type Instant, toIso } from "../lib/clock.ts";
import type { Infer, ObjectSchema } from "../lib/schema.ts";
import {
  integer,
  object,
  oneOf,
  optional,
  parseOption,
  text,
  unsafeCast,
  withDefault,
} from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";

/** What rules of both kinds have; the delay is by the service's clock. */
const COMMON = {
  times: withDefault(integer({ min: 1, max: 1_000_000 }), 1),
  delayMs: withDefault(integer({ min: 0, max: 86_400_000 }), 0),
};

const faultRule = object(
  {
    method: oneOf(["GET", "POST", "PATCH", "DELETE"]),
    path: text({ min: 1, max: 8_192 }),
    status: optional(integer({ min: 400, max: 599 })),
    connection: optional(oneOf(["reset", "empty"])),
    ...COMMON,
  },
  function* ({ method, path, status, connection, delayMs }) {
    const row =
      path.startsWith(`${VERSION_PREFIX}/`) &&
      API.find(path.slice(VERSION_PREFIX.length))?.methods.get(method);
    // A path is a row's template to the letter, or fits it without braces or a query: with them it never strikes.
    if (!row || (/[{}?#]/.test(path) && path !== VERSION_PREFIX + row.path))
      yield { path: ["path"], detail: `${method} ${path} is no operation of the REST API` };
    if (status !== undefined && connection !== undefined)
      yield {
        path: ["connection"],
        detail: "leaves no answer, so there can be no status beside it",
      };
    if (status === undefined && connection === undefined && delayMs === 0)
      yield { path: [], detail: "must have a status, a connection or a delayMs" };
  },
);
export type FaultRule = Infer<typeof faultRule>;

/** What is answered is a `status` (400 to 599), or the connection ends without an answer; `delayMs` by the service's clock. */
export type FaultRuleInput = Pick<FaultRule, "method" | "path"> & Partial<FaultRule>;

const chaosRule = object(
  {
    effect: oneOf(decide("1.chaos")),
    type: optional(eventType),
    webhookId: optional(text({ min: 1, max: 100 })),
    ...COMMON,
  },
  function* ({ effect, delayMs }) {
    const isDelay = effect === "delay";
    const detail = isDelay ? "must say how long the delay is" : "goes with the effect delay only";
    if (isDelay !== delayMs > 0) yield { path: ["delayMs"], detail };
  },
);
export type ChaosRule = Infer<typeof chaosRule>;
export type Effect = ChaosRule["effect"];

/** Falls on so many attempts, 1 if absent, of events of this type, to this webhook; `delayMs` is for the effect delay. */
export type ChaosRuleInput = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

/** Falls on so many requests or attempts. */
export type Rule = { readonly times: number };

/** What a test gets into its hands. */
export type Rules<Given, R extends Rule> = Pick<
  ReturnType<typeof createRules<Given, R>>,
  "schema" | "add" | "clear"
>;

/** The rules in force, in the order in which they came, and what they hold back. */
function createRules<Given, R extends Rule>(name: string, schema: ObjectSchema<R>) {
  let armed: { readonly rule: R; left: number }[] = [];
  /** By what it is called; it goes on where that is emitted. */
  const held = new EventEmitter();
  return {
    hold: (key: string) => new Promise<void>((go) => held.once(key, go)),
    isHeld: (key: string) => held.listenerCount(key) > 0,
    letGo: (key: string) => held.emit(key),
    /** What a rule may be. */
    schema,
    /** Puts the rule in force behind those that are; a wrong one is refused by name. */
    add(given: Given): R {
      const rule = parseOption(schema, given, `${name}.add`);
      armed.push({ rule, left: rule.times });
      return rule;
    },
    /** Ends every rule; what is held back goes on at once. */
    clear(): void {
      armed = [];
      for (const key of held.eventNames()) held.emit(key);
    },
    /** Uses up the first rule that fits. */
    take(fits: (rule: R) => boolean): R | undefined {
      const found = armed.find(({ rule }) => fits(rule));
      if (found) found.left -= 1;
      armed = armed.filter(({ left }) => left > 0);
      return found?.rule;
    },
  };
}

const DELAYED = "delayed request";

type Note = (requestId: string, more: { readonly fault: FaultRule }) => void;

/**
 * A fault stands in the place of the operation: the request has been authenticated, counted and found allowed, so that a
 * test of failures is not answered about something else; its headers, query and body have not been looked at. Nothing is
 * changed or remembered, so a client that tries again, with the same Idempotency-Key too, succeeds.
 */
export function createFaultInjector(
  { clock, decide }: UnitOfWorkDeps,
  note: Note,
  background: TaskTracker,
) {
  const rules = createRules<FaultRuleInput, FaultRule>("faults", faultRule);

  async function delayed(id: string, by_ms: number, goOn: () => Promise<Result>): Promise<Result> {
    const scheduled = clock.schedule(clock.now() + by_ms, DELAYED, () => void rules.letGo(id));
    await rules.hold(id);
    scheduled.cancel();
    const answer = goOn();
    // A clock that is moved by hand waits for it.
    background.run(DELAYED, async () => void (await Promise.allSettled([answer])));
    return answer;
  }

  function faultResponse(
    request: HttpRequest,
    { status, connection }: FaultRule,
  ): Result | undefined {
    if (connection !== undefined) return { ...emptyResponse(0), connectionFault: connection };
    if (status === undefined) return undefined;
    // The last of the problems that the server itself has with this status is one that any request may meet.
    const code = CODES.findLast(
      (each) => each !== "idempotency_key_reused" && statusOf(each, decide) === status,
    );
    const more = status === 400 || status === 422 ? ERRORS : {};
    if (code !== undefined)
      return fail(unsafeCast<ErrorDetails>({ code, ...FOR_HEADERS, ...more }));
    const [type, title, instance] = ["about:blank", "A failure on command", request.id];
    const reported = { type, title, status, detail: "A test asked for this answer.", instance };
    return errorResponse({ ...reported, [CODE_FIELD]: "failure_on_command" }, {}, decide);
  }

  return {
    /** What the call is answered: by a rule, or by `goOn`, the operation itself. */
    async apply(call: HttpRequest, row: Operation, goOn: () => Promise<Result>): Promise<Result> {
      const isThere = (path: string) => path === call.path || path === VERSION_PREFIX + row.path;
      const rule = rules.take(({ method, path }) => method === row.method && isThere(path));
      if (rule === undefined) return goOn();
      note(call.id, { fault: rule });
      const answer = async () => faultResponse(call, rule) ?? goOn();
      return rule.delayMs > 0 ? delayed(call.id, rule.delayMs, answer) : answer();
    },
    ...rules,
  };
}

/** Those of some problems are made of these. */
const FOR_HEADERS = { retry_after_s: 1, allow: ["OPTIONS"] };
const ERRORS = { errors: [{ pointer: "#", detail: "is what a test asked for" }] };

/** What befalls an attempt of a delivery, which does not go before `until`. */
export interface AppliedEffect {
  /** Of the delivery. */
  readonly id: string;
  readonly effect: Effect;
  until: Instant;
}

/**
 * Stands between the outbox and its sender. A delivery that is late is put off in its row; otherwise what a receiver makes
 * of all this is recorded as ever. `marks`: by the delivery's id and the number of the attempt.
 */
export function createChaos(
  { store, clock }: UnitOfWorkDeps,
  marks: Map<string, AppliedEffect>,
  background: TaskTracker,
) {
  const rules = createRules<ChaosRuleInput, ChaosRule>("chaos", chaosRule);
  const delayed = (id: string, until: Instant) =>
    store.transact((tx) => postpone(tx, id, toIso(until)));
  clock.onSetBack((by_ms) => {
    for (const mark of marks.values()) mark.until -= by_ms;
  });

  return {
    ...rules,
    /** Ends every rule; what is held back or put off may go. */
    clear(): void {
      rules.clear();
      const until = clock.now();
      for (const mark of marks.values())
        if (mark.until > until)
          background.run("ending a delay", () => delayed(Object.assign(mark, { until }).id, until));
    },
    /** The sender that does to each post what was decided for it. */
    wrap(inner: Sender): Sender {
      let closings = 0;
      return {
        close() {
          closings += 1;
          inner.close();
        },
        async send(post, delivery, postWith) {
          const before = closings;
          const { id, event_type, webhook_id, attempts } = delivery;
          const attempt = `${id} ${attempts.length + 1}`;
          // One is held back at a time, for each webhook: until the next has gone, however long that takes.
          const overtakes = rules.isHeld(webhook_id);
          const fits = ({ effect, type = event_type, webhookId = webhook_id }: ChaosRule) =>
            type === event_type && webhookId === webhook_id && !(effect === "reorder" && overtakes);
          // What was decided for an attempt stands, however often it is tried to send it.
          const rule = marks.has(attempt) ? undefined : rules.take(fits);
          if (rule)
            marks.set(attempt, { id, effect: rule.effect, until: clock.now() + rule.delayMs });
          if (rule?.effect === "reorder") return { again: rules.hold(webhook_id) };
          const { effect, until = clock.now() } = marks.get(attempt) ?? {};
          if (until > clock.now()) return { again: Promise.resolve(await delayed(id, until)) };
          const sent = changed(post, effect, postWith);
          const outcome =
            effect === "drop"
              ? withoutResponse("dropped")
              : await inner.send(sent, delivery, postWith);
          // The receiver sees the very same attempt again; what it says to the first is what counts.
          if (effect === "duplicate" && closings === before)
            await inner.send(post, delivery, postWith);
          if (overtakes) rules.letGo(webhook_id);
          return outcome;
        },
      };
    },
  };
}

function changed(
  post: WebhookRequest,
  effect: Effect | undefined,
  postWith: (body: string) => WebhookRequest,
): WebhookRequest {
  if (effect === "bad_signature")
    return { ...post, headers: { ...post.headers, ...INVALID_SIGNATURES } };
  return effect === "reformat" ? postWith(reformatted(post.body)) : post;
}

/** The same JSON with white space between its parts, where a delivery has none. */
const reformatted = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);

/** Their form is right, so that only checking them can tell. */
const INVALID_SIGNATURES = {
  "X-Service-Signature": `sha256=${"0".repeat(64)}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};
