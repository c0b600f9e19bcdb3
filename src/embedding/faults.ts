// Failures on command, for tests of clients (contract, part 10). A fault stands in the place of the operation: the request
// has been authenticated, counted and found allowed, so that a test of failures is not answered about something else; its
// headers, query and body have not been looked at. Nothing is changed or remembered, so a client that tries again, with
// the same Idempotency-Key too, succeeds. Nothing here strikes unasked.
import { type Reason, refuse } from "../domain/refusal.ts";
import type { UnitParts } from "../domain/work.ts";
import { type Call, empty, VERSION_PREFIX } from "../http/call.ts";
import { CODE_MEMBER, CODES, errorReply, statusOf } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import type { Answer } from "../http/way.ts";
import type { Background } from "../kit/background.ts";
import { trusted } from "../kit/schema.ts";
import type { Journals } from "./journals.ts";
import { type FaultRule, faultRule, type GivenFault, rulesOf } from "./rules.ts";

const DELAYED = "delayed request";

export function faultsOf({ clock, decide }: UnitParts, journals: Journals, background: Background) {
  const rules = rulesOf<GivenFault, FaultRule>("faults", faultRule);

  async function delayed(id: string, by_ms: number, goOn: () => Answer | Promise<Answer>): Promise<Answer> {
    // A clock that is moved by hand waits for what is let go, and for all that follows from it.
    const scheduled = clock.schedule(clock.now() + by_ms, DELAYED, async () => {
      rules.letGo(id);
      await new Promise(setImmediate);
      await background.idle();
    });
    await rules.hold(id);
    scheduled.cancel();
    const answer = goOn();
    background.run(DELAYED, async () => void (await Promise.allSettled([answer])));
    return answer;
  }

  function struck(call: Call, { status, connection }: FaultRule): Answer | undefined {
    if (connection !== undefined) return { ...empty(0), cut: connection };
    if (status === undefined) return undefined;
    // The last of the problems that the server itself has with this status is one that any request may meet.
    const code = CODES.findLast((each) => each !== "idempotency_key_reused" && statusOf(each, decide) === status);
    const more = status === 400 || status === 422 ? ERRORS : {};
    if (code !== undefined) return refuse(trusted<Reason>({ code, ...FOR_HEADERS, ...more }));
    const [type, title, instance] = ["about:blank", "A failure on command", call.id];
    const told = { type, title, status, detail: "A test asked for this answer.", instance };
    return errorReply({ ...told, [CODE_MEMBER]: "failure_on_command" }, {}, decide);
  }

  return {
    /** What the call is answered: by a rule, or by `goOn`, the operation itself. */
    strike(call: Call, row: Operation, goOn: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
      // A row of the test controls may be called as one of the API is.
      const isThere = (path: string) =>
        path === call.path || (path === VERSION_PREFIX + row.path && call.path.startsWith(VERSION_PREFIX));
      const rule = rules.take(({ method, path }) => method === row.method && isThere(path));
      if (rule === undefined) return goOn();
      journals.note(call.id, { fault: rule });
      const answer = () => struck(call, rule) ?? goOn();
      return rule.delayMs > 0 ? delayed(call.id, rule.delayMs, answer) : answer();
    },
    ...rules,
  };
}

/** Those of some problems are made of these. */
const FOR_HEADERS = { retry_after_s: 1, allow: ["OPTIONS"] };
const ERRORS = { errors: [{ pointer: "#", detail: "is what a test asked for" }] };
