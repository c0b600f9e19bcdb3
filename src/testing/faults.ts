// Fault injection (1.test-controls, 1.chaos). Faults, for tests of clients, replace an operation after authentication,
// rate limit and scope checks. Nothing is validated, changed or stored, so a retry succeeds with the same
// Idempotency-Key. Chaos, for tests of receivers, disturbs delivery attempts. It wraps the sender of the outbox, and
// every outcome is recorded as usual.
import { EventEmitter } from "node:events";
import { failure, type Sender, type WebhookRequest } from "../delivery/sender.ts";
import { appError, type ErrorCode, type ErrorDetails } from "../domain/errors.ts";
import { postpone } from "../domain/events.ts";
import { type DeliveryRecord, eventType } from "../domain/model.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { API_ROUTES } from "../http/api.ts";
import { emptyResponse, type HttpRequest, jsonResponse, VERSION_PREFIX } from "../http/message.ts";
import type { Operation } from "../http/operation.ts";
import { CODES, PROBLEM_TYPE, PROBLEMS } from "../http/problem.ts";
import type { Result } from "../http/router.ts";
import { type Clock, toIso } from "../lib/clock.ts";
import {
  enumOf,
  type Infer,
  integer,
  type ObjectSchema,
  object,
  optional,
  parseOption,
  text,
  withDefault,
} from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";

/** Members of every rule; the delay uses the service's clock. */
const RULE_MEMBERS = {
  times: withDefault(integer({ min: 1, max: 1_000_000 }), 1),
  delayMs: withDefault(integer({ min: 0, max: 86_400_000 }), 0),
};

interface Rule {
  readonly times: number;
}

/** The part of the rules that the service handle exposes. */
export type Rules<Input, R extends Rule> = Pick<
  ReturnType<typeof createRules<Input, R>>,
  "schema" | "add" | "clear"
>;

/** Keeps the active rules in insertion order, and the requests or attempts that they hold back. */
function createRules<Input, R extends Rule>(name: string, schema: ObjectSchema<R>) {
  let active: { readonly rule: R; left: number }[] = [];
  /** Emitting a key releases everything held under it. */
  const held = new EventEmitter().setMaxListeners(0);

  return {
    schema,
    /** Adds a rule after the active ones; throws an OptionError for an invalid rule. */
    add(input: Input): R {
      const rule = parseOption(schema, input, `${name}.add`);
      active.push({ rule, left: rule.times });
      return rule;
    },
    /** Removes every rule and releases everything held back. */
    clear(): void {
      active = [];
      for (const key of held.eventNames()) held.emit(key);
    },
    /** Returns the first matching rule and uses it up once. */
    take(matches: (rule: R) => boolean): R | undefined {
      const match = active.find(({ rule }) => matches(rule));
      if (match) match.left -= 1;
      active = active.filter(({ left }) => left > 0);
      return match?.rule;
    },
    /** Resolves when the key is released. */
    hold: (key: string) => new Promise<void>((resolve) => held.once(key, resolve)),
    isHeld: (key: string): boolean => held.listenerCount(key) > 0,
    release: (key: string): boolean => held.emit(key),
  };
}

const faultRule = object(
  {
    method: enumOf(["GET", "POST", "PATCH", "DELETE"]),
    path: text({ max: 8_192 }),
    status: optional(integer({ min: 400, max: 599 })),
    connection: optional(enumOf(["reset", "empty"])),
    ...RULE_MEMBERS,
  },
  function* ({ method, path, status, connection, delayMs }) {
    if (method && path && !isOperation(method, path))
      yield { path: ["path"], detail: `${method} ${path} is no operation of the REST API` };
    if (!status && !connection && !delayMs)
      yield { path: [], detail: "must have a status, a connection or a delayMs" };
  },
);
export type FaultRule = Infer<typeof faultRule>;

/** Responds with `status`, or closes the connection without a response. `delayMs` uses the service's clock. */
export type FaultRuleInput = Pick<FaultRule, "method" | "path"> & Partial<FaultRule>;

/** A path is a route's template verbatim, or matches it without braces and query. */
function isOperation(method: string, path: string): boolean {
  if (!path.startsWith(`${VERSION_PREFIX}/`)) return false;
  const operation = API_ROUTES.find(path.slice(VERSION_PREFIX.length))?.methods.get(method);
  return (
    operation !== undefined && (path === VERSION_PREFIX + operation.path || !/[{}?#]/.test(path))
  );
}

interface FaultDeps {
  readonly clock: Clock;
  readonly tasks: TaskTracker;
  /** Adds the rule to the recorded request. */
  readonly annotate: (requestId: string, details: { readonly fault: FaultRule }) => void;
}

export function createFaults({ clock, tasks, annotate }: FaultDeps) {
  const rules = createRules<FaultRuleInput, FaultRule>("faults", faultRule);

  return {
    ...rules,
    /** Returns the response of the matching rule, or that of the operation. */
    async apply(
      request: HttpRequest,
      operation: Operation,
      runOperation: () => Promise<Result>,
    ): Promise<Result> {
      const rule = rules.take(
        ({ method, path }) =>
          method === operation.method &&
          [request.path, VERSION_PREFIX + operation.path].includes(path),
      );
      if (rule === undefined) return runOperation();
      annotate(request.id, { fault: rule });
      const respond = async () => faultResponse(rule, request.id) ?? runOperation();
      if (rule.delayMs === 0) return respond();
      const timer = clock.schedule(clock.now() + rule.delayMs, "delayed request", () => {
        rules.release(request.id);
      });
      await rules.hold(request.id);
      timer.cancel();
      return tasks.track(respond()); // `advance` waits for it
    },
  };
}

/** The most common cause of these statuses; for others it is the first code with the status. */
const COMMON_CODES: { readonly [status: number]: ErrorCode } = {
  401: "expired_credential",
  403: "rate_limit_exceeded",
};

/** Returns undefined for a rule that only delays. */
function faultResponse({ status, connection }: FaultRule, requestId: string): Result | undefined {
  if (connection) return { ...emptyResponse(0), connectionFault: connection };
  if (status === undefined) return undefined;
  const detail = "A fault rule caused this response.";
  const code = COMMON_CODES[status] ?? CODES.find((each) => PROBLEMS[each][0] === status);
  // Some codes take a header's value from one of these members.
  if (code) return appError({ code, detail, allow: [], retry_after_s: 1 } as ErrorDetails);
  const problem = {
    type: "about:blank",
    title: "Injected fault",
    status,
    detail,
    instance: requestId,
    code: "injected_fault",
  };
  return jsonResponse(status, problem, { "content-type": PROBLEM_TYPE });
}

const chaosRule = object(
  {
    effect: enumOf(["duplicate", "reorder", "drop", "delay", "bad_signature", "reformat"]),
    type: optional(eventType),
    webhookId: optional(text({ max: 100 })),
    ...RULE_MEMBERS,
  },
  function* ({ effect, delayMs }) {
    if (effect === "delay" && delayMs === 0)
      yield { path: ["delayMs"], detail: "must be the length of the delay" };
  },
);
export type ChaosRule = Infer<typeof chaosRule>;
export type Effect = ChaosRule["effect"];

/** Applies to `times` attempts of this event type to this webhook. `delayMs` is for the effect `delay`. */
export type ChaosRuleInput = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

interface ChaosDeps {
  readonly unitOfWorkDeps: UnitOfWorkDeps;
  /** Keyed by delivery id and attempt number. */
  readonly effects: Map<string, Effect>;
}

export function createChaos({ unitOfWorkDeps, effects }: ChaosDeps) {
  const rules = createRules<ChaosRuleInput, ChaosRule>("chaos", chaosRule);

  /** Returns the first matching rule; a second `reorder` for a webhook waits until the first has gone. */
  const takeRule = ({ event_type, webhook_id }: DeliveryRecord): ChaosRule | undefined =>
    rules.take(
      ({ effect, type = event_type, webhookId = webhook_id }) =>
        type === event_type &&
        webhookId === webhook_id &&
        !(effect === "reorder" && rules.isHeld(webhook_id)),
    );

  /** A count, because the sender is used again after a close. */
  let closes = 0;

  /** Returns a sender that applies the chosen effect to each attempt. */
  const wrap = (sender: Sender): Sender => ({
    async send(request, delivery, buildSignedRequest) {
      const { id, webhook_id, attempts } = delivery;
      const closesBefore = closes;
      const attempt = `${id} ${attempts.length + 1}`;
      const isOvertaking = rules.isHeld(webhook_id);
      // The effect of an attempt is chosen once, even if sending is tried several times.
      const rule = effects.has(attempt) ? undefined : takeRule(delivery);
      if (rule) effects.set(attempt, rule.effect);
      // Held until the webhook's next attempt has been sent, however long that takes.
      if (rule?.effect === "reorder") return { after: rules.hold(webhook_id) };
      if (rule?.effect === "delay") {
        const until = toIso(unitOfWorkDeps.clock.now() + rule.delayMs);
        await new UnitOfWork(unitOfWorkDeps).run((ctx) => postpone(ctx, id, until));
        return { after: Promise.resolve() };
      }
      const effect = effects.get(attempt);
      const outcome =
        effect === "drop"
          ? failure("dropped")
          : await sender.send(
              changeRequest(request, effect, buildSignedRequest),
              delivery,
              buildSignedRequest,
            );
      // The receiver gets the same attempt twice, unless the service has stopped; the first response counts.
      if (effect === "duplicate" && closes === closesBefore)
        await sender.send(request, delivery, buildSignedRequest);
      if (isOvertaking) rules.release(webhook_id);
      return outcome;
    },
    close(): void {
      closes += 1;
      sender.close();
    },
  });

  return { ...rules, wrap };
}

/** Well-formed signatures that only verification rejects. */
const INVALID_SIGNATURES = {
  "X-Service-Signature": `sha256=${"0".repeat(64)}`,
  "webhook-signature": `v1,${"A".repeat(43)}=`,
};

function changeRequest(
  request: WebhookRequest,
  effect: Effect | undefined,
  buildSignedRequest: (body: string) => WebhookRequest,
): WebhookRequest {
  if (effect === "bad_signature")
    return { ...request, headers: { ...request.headers, ...INVALID_SIGNATURES } };
  if (effect !== "reformat") return request;
  // The same JSON with white space, which real deliveries do not have.
  return buildSignedRequest(JSON.stringify(JSON.parse(request.body), null, 2));
}
