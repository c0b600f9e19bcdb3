// Fault injection on command (contract, part 10): faults for tests of clients, chaos for tests of receivers. Each is a
// rule with the schema of its control route, and applies to `times` requests or delivery attempts. Requests and
// attempts that match no rule are untouched.
import { EventEmitter } from "node:events";
import { type Sender, type WebhookRequest, withoutResponse } from "../delivery/sender.ts";
import { postpone } from "../domain/deliveries.ts";
import { type ErrorDetails, fail } from "../domain/errors.ts";
import { eventType } from "../domain/model.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { decide } from "../former-decisions.ts";
import { API } from "../http/api.ts";
import { emptyResponse, type HttpRequest, jsonResponse, VERSION_PREFIX } from "../http/message.ts";
import { CODES, getStatus, PROBLEM_TYPE } from "../http/problem.ts";
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

/** Fields of both kinds of rule; the delay uses the service's clock. */
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
    // A path is a route's template verbatim, or matches it without braces or a query. Any other path would never match.
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

/**
 * Responds with `status` (400 to 599), or closes the connection without a response. `delayMs` uses the service's clock.
 */
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

/** Applies to `times` attempts (default 1) of this event type to this webhook. `delayMs` is for the effect `delay`. */
export type ChaosRuleInput = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

/** A rule that applies to `times` requests or attempts. */
export type Rule = { readonly times: number };

/** The public part of the rules, exposed on the service handle. */
export type Rules<Given, R extends Rule> = Pick<
  ReturnType<typeof createRules<Given, R>>,
  "schema" | "add" | "clear"
>;

/** The active rules in insertion order, and the requests or attempts that they hold back. */
function createRules<Given, R extends Rule>(name: string, schema: ObjectSchema<R>) {
  let armed: { readonly rule: R; left: number }[] = [];
  /** Emitting a key releases whatever is held under it. */
  const held = new EventEmitter();
  return {
    hold: (key: string) => new Promise<void>((go) => held.once(key, go)),
    isHeld: (key: string) => held.listenerCount(key) > 0,
    letGo: (key: string) => held.emit(key),
    schema,
    /** Adds a rule after the active ones; throws an OptionError for an invalid rule. */
    add(given: Given): R {
      const rule = parseOption(schema, given, `${name}.add`);
      armed.push({ rule, left: rule.times });
      return rule;
    },
    /** Removes every rule and releases everything held back. */
    clear(): void {
      armed = [];
      for (const key of held.eventNames()) held.emit(key);
    },
    /** Returns the first matching rule and uses it up once. */
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
 * A fault replaces the operation after authentication, rate limit and permission checks, so that a test of failures
 * gets no other error. Headers, query and body have not been validated. Nothing is changed or stored, so a retry
 * succeeds, with the same Idempotency-Key too.
 */
export function createFaultInjector(
  { clock }: UnitOfWorkDeps,
  note: Note,
  background: TaskTracker,
) {
  const rules = createRules<FaultRuleInput, FaultRule>("faults", faultRule);

  async function delayed(id: string, by_ms: number, goOn: () => Promise<Result>): Promise<Result> {
    const scheduled = clock.schedule(clock.now() + by_ms, DELAYED, () => void rules.letGo(id));
    await rules.hold(id);
    scheduled.cancel();
    const answer = goOn();
    // `advance` on a manual clock waits for the delayed request.
    background.run(DELAYED, async () => void (await Promise.allSettled([answer])));
    return answer;
  }

  function faultResponse(
    request: HttpRequest,
    { status, connection }: FaultRule,
  ): Result | undefined {
    if (connection !== undefined) return { ...emptyResponse(0), connectionFault: connection };
    if (status === undefined) return undefined;
    // Picks the last problem code with this status, because that one can occur on any request.
    const code = CODES.findLast(
      (each) => each !== "idempotency_key_reused" && getStatus(each) === status,
    );
    const more = status === 400 || status === 422 ? ERRORS : {};
    if (code !== undefined)
      return fail(unsafeCast<ErrorDetails>({ code, ...FOR_HEADERS, ...more }));
    const [type, title, instance] = ["about:blank", "A failure on command", request.id];
    const detail = "A test asked for this answer.";
    const problem = { type, title, status, detail, instance, code: "failure_on_command" };
    return jsonResponse(status, problem, { "content-type": PROBLEM_TYPE });
  }

  return {
    /** Returns the response of the matching rule, or that of the operation (`goOn`). */
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

/** Values for the headers and issues that some problems need. */
const FOR_HEADERS = { retry_after_s: 1, allow: ["OPTIONS"] };
const ERRORS = { errors: [{ pointer: "#", detail: "is what a test asked for" }] };

/** The chaos effect of an attempt, which is not sent before `until`. */
export interface AppliedEffect {
  /** The delivery's id. */
  readonly id: string;
  readonly effect: Effect;
  until: Instant;
}

/**
 * Wraps the sender of the outbox. A delayed delivery is postponed in its row; every other outcome is recorded as usual.
 * `marks` is keyed by delivery id and attempt number.
 */
export function createChaos(
  deps: UnitOfWorkDeps,
  marks: Map<string, AppliedEffect>,
  background: TaskTracker,
) {
  const { clock } = deps;
  const rules = createRules<ChaosRuleInput, ChaosRule>("chaos", chaosRule);
  const delayed = (id: string, until: Instant) =>
    new UnitOfWork(deps).run((ctx) => postpone(ctx, id, toIso(until)));
  clock.onSetBack((by_ms) => {
    for (const mark of marks.values()) mark.until -= by_ms;
  });

  return {
    ...rules,
    /** Removes every rule and releases everything held back or postponed. */
    clear(): void {
      rules.clear();
      const until = clock.now();
      for (const mark of marks.values())
        if (mark.until > until)
          background.run("ending a delay", () => delayed(Object.assign(mark, { until }).id, until));
    },
    /** Returns a sender that applies the chosen effect to each attempt. */
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
          // Holds back one attempt per webhook until the next one has been sent, however long that takes.
          const overtakes = rules.isHeld(webhook_id);
          const fits = ({ effect, type = event_type, webhookId = webhook_id }: ChaosRule) =>
            type === event_type && webhookId === webhook_id && !(effect === "reorder" && overtakes);
          // The effect of an attempt is chosen once, even if sending is tried several times.
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
          // The receiver gets the same attempt twice; the first response counts.
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

/** The same JSON with whitespace, which real deliveries do not have. */
const reformatted = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);

/** Well-formed signatures that only verification rejects. */
const INVALID_SIGNATURES = {
  "X-Service-Signature": `sha256=${"0".repeat(64)}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};
