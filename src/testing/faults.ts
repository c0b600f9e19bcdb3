// Fault injection for tests of clients (contract, part 10). A fault replaces the operation after authentication, rate
// limit and scope checks. Nothing is validated, changed or stored, so a retry succeeds with the same Idempotency-Key.
import { type ErrorDetails, fail } from "../domain/errors.ts";
import { API } from "../http/api.ts";
import { emptyResponse, type HttpRequest, VERSION_PREFIX } from "../http/message.ts";
import type { Operation } from "../http/operation.ts";
import type { Result } from "../http/router.ts";
import type { Clock } from "../lib/clock.ts";
import { type Infer, integer, object, oneOf, optional, text } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createRules, RULE_MEMBERS } from "./rules.ts";

const faultRule = object(
  {
    method: oneOf(["GET", "POST", "PATCH", "DELETE"]),
    path: text({ min: 1, max: 8_192 }),
    status: optional(integer({ min: 400, max: 599 })),
    connection: optional(oneOf(["reset", "empty"])),
    ...RULE_MEMBERS,
  },
  function* ({ method, path, status, connection, delayMs }) {
    if (!isOperation(method, path))
      yield { path: ["path"], detail: `${method} ${path} is no operation of the REST API` };
    if (status !== undefined && connection !== undefined)
      yield { path: ["connection"], detail: "sends no response, so leave out the status" };
    if (status === undefined && connection === undefined && delayMs === 0)
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

  async function delay(
    requestId: string,
    by_ms: number,
    respond: () => Promise<Result>,
  ): Promise<Result> {
    const timer = clock.schedule(clock.now() + by_ms, DELAYED_REQUEST, () => {
      rules.release(requestId);
    });
    await rules.hold(requestId);
    timer.cancel();
    const response = respond();
    // `advance` on a manual clock waits for the delayed request.
    tasks.run(DELAYED_REQUEST, async () => void (await Promise.allSettled([response])));
    return response;
  }

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
      return rule.delayMs > 0 ? delay(request.id, rule.delayMs, respond) : respond();
    },
  };
}

const detail = "A test asked for this response.";
const errors = [{ pointer: "#", detail: "is what a test asked for" }];

/** The error that the server itself could return with this status for any request. */
const ERRORS: { readonly [status: number]: ErrorDetails } = {
  400: { code: "invalid_json", detail, errors },
  401: { code: "expired_credential", detail },
  403: { code: "rate_limit_exceeded", retry_after_s: 1 },
  404: { code: "not_found", detail },
  405: { code: "method_not_allowed", allow: ["OPTIONS"] },
  408: { code: "request_timeout" },
  409: { code: "idempotency_in_progress" },
  412: { code: "precondition_failed" },
  413: { code: "payload_too_large", detail },
  414: { code: "uri_too_long", detail },
  415: { code: "unsupported_media_type", detail },
  422: { code: "validation_failed", errors },
  431: { code: "headers_too_large", detail },
  500: { code: "internal_error" },
  503: { code: "storage_unavailable" },
};

/** Returns undefined for a rule that only delays. */
function faultResponse({ status, connection }: FaultRule, requestId: string): Result | undefined {
  if (connection !== undefined) return { ...emptyResponse(0), connectionFault: connection };
  if (status === undefined) return undefined;
  const error = ERRORS[status];
  if (error !== undefined) return fail(error);
  const problem = {
    type: "about:blank",
    title: "Injected fault",
    status,
    detail,
    instance: requestId,
    code: "injected_fault",
  };
  return {
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify(problem),
  };
}
