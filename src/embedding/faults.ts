// Failures on command, for tests of clients (contract, part 10). A fault stands in the place of the operation: the request
// has been authenticated, counted and found allowed, so that a test of failures is not answered about something else; its
// headers, query and body have not been looked at. Nothing is changed or remembered, so a client that tries again, with
// the same Idempotency-Key too, succeeds. Nothing here strikes unasked.
import { type Reason, refuse } from "../domain/refusal.ts";
import type { UnitParts } from "../domain/work.ts";
import { type Call, empty, VERSION_PREFIX } from "../http/call.ts";
import { CODE_MEMBER, errorReply, statusOf } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import type { Answer } from "../http/way.ts";
import type { Background } from "../kit/background.ts";
import type { Journals } from "./journals.ts";
import { type FaultRule, faultRule, type GivenFault, rulesOf } from "./rules.ts";

export function faultsOf({ clock, decide }: UnitParts, journals: Journals, background: Background) {
  const rules = rulesOf<GivenFault, FaultRule>("faults", faultRule);
  /** Each ends a delay. */
  const delays = new Set<() => void>();

  /** A clock that is moved by hand waits for what is let go, and for all that follows from it. */
  const delayed = (by_ms: number, goOn: () => Promise<Answer>) =>
    new Promise<Answer>((resolve) => {
      const end = () => {
        scheduled.cancel();
        delays.delete(end);
        const answer = goOn();
        resolve(answer);
        background.run("delayed request", async () => void (await Promise.allSettled([answer])));
        return background.idle();
      };
      const scheduled = clock.schedule(clock.now() + by_ms, "delayed request", end);
      delays.add(end);
    });

  function struck(call: Call, { status, connection }: FaultRule): Answer | undefined {
    if (connection !== undefined) return { ...empty(0), cut: connection };
    if (status === undefined) return undefined;
    const own = OWN[status];
    if (own !== undefined && statusOf(own.code, decide) === status) return refuse(own);
    const [type, title, instance] = ["about:blank", "A failure on command", call.id];
    const told = { type, title, status, detail: ASKED, instance, [CODE_MEMBER]: "failure_on_command" };
    return errorReply(told, {}, decide);
  }

  return {
    ...rules,
    /** Ends every rule; what a delay holds back goes on at once. */
    clear(): void {
      rules.clear();
      for (const end of delays) end();
    },
    /** What the call is answered: by a rule, or by `goOn`, the operation itself. */
    strike(call: Call, row: Operation, goOn: () => Promise<Answer>): Promise<Answer> {
      // A row of the test controls may be called as one of the API is.
      const isThere = (path: string) =>
        path === call.path || (path === VERSION_PREFIX + row.path && call.path.startsWith(VERSION_PREFIX));
      const rule = rules.take(({ method, path }) => method === row.method && isThere(path));
      if (rule === undefined) return goOn();
      journals.note(call.id, { fault: rule });
      const answer = async () => struck(call, rule) ?? goOn();
      return rule.delayMs > 0 ? delayed(rule.delayMs, answer) : answer();
    },
  };
}

const ASKED = "A test asked for this answer.";

/** The problem that the server itself would have with this status, unless it is read as another. */
const OWN: { readonly [status: number]: Reason } = {
  400: { code: "invalid_request", detail: ASKED },
  401: { code: "expired_credential", detail: ASKED },
  403: { code: "rate_limit_exceeded", retry_after_s: 1 },
  404: { code: "not_found", detail: ASKED },
  405: { code: "method_not_allowed", allow: ["OPTIONS"] },
  408: { code: "request_timeout" },
  409: { code: "idempotency_in_progress" },
  412: { code: "precondition_failed" },
  413: { code: "payload_too_large", detail: ASKED },
  414: { code: "uri_too_long", detail: ASKED },
  415: { code: "unsupported_media_type", detail: ASKED },
  422: { code: "validation_failed", errors: [{ pointer: "#", detail: "is what a test asked for" }] },
  431: { code: "headers_too_large", detail: ASKED },
  500: { code: "internal_error" },
  503: { code: "storage_unavailable" },
};
