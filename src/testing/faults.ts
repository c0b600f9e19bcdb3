// Fault injection for tests of clients (contract, part 10). A fault replaces the operation after authentication, rate
// limit and scope checks. Nothing is validated, changed or stored, so a retry succeeds with the same Idempotency-Key.
import { type ErrorCode, type ErrorDetails, fail } from "../domain/errors.ts";
import { API } from "../http/api.ts";
import { emptyResponse, type HttpRequest, jsonResponse, VERSION_PREFIX } from "../http/message.ts";
import type { Operation } from "../http/operation.ts";
import { CODES, PROBLEM_TYPE, PROBLEMS } from "../http/problem.ts";
import type { Result } from "../http/router.ts";
import type { Clock } from "../lib/clock.ts";
import { type Infer, integer, object, oneOf, optional, text } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createRules, RULE_MEMBERS } from "./rules.ts";

const faultRule = object(
  {
    method: oneOf(["GET", "POST", "PATCH", "DELETE"]),
    path: text({ max: 8_192 }),
    status: optional(integer({ min: 400, max: 599 })),
    connection: optional(oneOf(["reset", "empty"])),
    ...RULE_MEMBERS,
  },
  function* ({ method, path, status, connection, delayMs }) {
    if (!isOperation(method, path))
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
  const operation = API.find(path.slice(VERSION_PREFIX.length))?.methods.get(method);
  if (operation === undefined) return false;
  return path === VERSION_PREFIX + operation.path || !/[{}?#]/.test(path);
}

interface FaultDeps {
  readonly clock: Clock;
  readonly tasks: TaskTracker;
  /** Adds the rule to the recorded request. */
  readonly annotate: (requestId: string, details: { readonly fault: FaultRule }) => void;
}

const DELAYED_REQUEST = "delayed request";

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
      const paths = [request.path, VERSION_PREFIX + operation.path];
      const rule = rules.take(
        ({ method, path }) => method === operation.method && paths.includes(path),
      );
      if (rule === undefined) return runOperation();
      annotate(request.id, { fault: rule });
      const respond = async () => faultResponse(rule, request.id) ?? runOperation();
      if (rule.delayMs === 0) return respond();
      const timer = clock.schedule(clock.now() + rule.delayMs, DELAYED_REQUEST, () => {
        rules.release(request.id);
      });
      await rules.hold(request.id);
      timer.cancel();
      const response = respond();
      // `advance` waits for the delayed request.
      tasks.run(DELAYED_REQUEST, async () => void (await response));
      return response;
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
  if (code) return fail({ code, detail, allow: [], retry_after_s: 1 } as ErrorDetails);
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
