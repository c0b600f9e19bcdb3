// Failures on command, for tests of clients (contract, part 10). Nothing here strikes unasked.
import { type Reason, refuse } from "../domain/refusal.ts";
import { API } from "../http/api.ts";
import { type Call, type Cut, empty, type Reply, VERSION_PREFIX } from "../http/call.ts";
import type { ServiceLinks } from "../http/links.ts";
import { PROBLEM_TYPE, problem } from "../http/problem.ts";
import type { Operation } from "../http/route.ts";
import type { Clock } from "../kit/clock.ts";
import { type Infer, object, oneOf, optional, text, whole } from "../kit/schema.ts";
import { COMMON, Rules } from "./rules.ts";

/**
 * The request has been authenticated, counted and found allowed, so that a test of failures is not answered about
 * something else; its headers, query and body have not been looked at. Nothing is changed or remembered, so a client that
 * tries again, with the same Idempotency-Key too, succeeds.
 */
const PLACE = "instead of the operation";

const rule = object(
  {
    method: oneOf(["GET", "POST", "PATCH", "DELETE"]),
    path: text({ min: 1, max: 8_192 }),
    status: optional(whole({ min: 400, max: 599 })),
    connection: optional(oneOf(["reset", "empty"])),
    ...COMMON,
  },
  function* ({ method, path, status, connection, delayMs }) {
    const row = path.startsWith(`${VERSION_PREFIX}/`) && API.find(path.slice(VERSION_PREFIX.length))?.rows.get(method);
    // A path is a row's template to the letter, or one without braces that the template fits: with them it never strikes.
    if (!row || (/[{}]/.test(path) && path !== template(row)))
      yield { path: ["path"], detail: `${method} ${path} is no operation of the REST API` };
    if (status !== undefined && connection !== undefined)
      yield { path: ["connection"], detail: "leaves no answer, so there can be no status beside it" };
    if (status === undefined && connection === undefined && delayMs === 0)
      yield { path: [], detail: "must have a status, a connection or a delayMs" };
  },
);
export type FaultRule = Infer<typeof rule>;

/** What is answered is a `status` (400 to 599), or the connection ends without an answer; `delayMs` by the service's clock. */
export type GivenFault = Pick<FaultRule, "method" | "path"> & Partial<FaultRule>;

/** How a struck request is marked in the journal. */
export interface FaultMark {
  readonly place: typeof PLACE;
  readonly status: number | null;
  readonly connection: Cut | null;
  readonly delay_ms: number;
}

export interface FaultParts {
  readonly clock: Clock;
  readonly links: ServiceLinks;
  readonly onStrike: (requestId: string, mark: FaultMark) => void;
}

export class Faults extends Rules<GivenFault, FaultRule> {
  readonly #parts: FaultParts;
  readonly #waiting = new Set<() => void>();

  constructor(parts: FaultParts) {
    super("faults", rule);
    this.#parts = parts;
  }

  /** What a delay holds back goes on at once. */
  override clear(): void {
    super.clear();
    for (const go of [...this.#waiting]) go();
  }

  /** What the call is answered instead of the operation's own answer; undefined where the operation goes on. */
  async strike(call: Call, row: Operation): Promise<Reply | undefined> {
    const rule = this.take(({ method, path }) => method === row.method && [call.path, template(row)].includes(path));
    if (rule === undefined) return undefined;
    const { status, connection, delayMs: delay_ms } = rule;
    this.#parts.onStrike(call.id, { place: PLACE, status: status ?? null, connection: connection ?? null, delay_ms });
    if (delay_ms > 0) await this.#wait(delay_ms);
    if (connection !== undefined) return { ...empty(0), cut: connection };
    return status === undefined ? undefined : answerOf(status, call.id, this.#parts.links);
  }

  /** By the service's clock: a manual one has to be advanced. */
  #wait(delay_ms: number): Promise<void> {
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      const go = () => {
        scheduled.cancel();
        this.#waiting.delete(go);
        resolve();
      };
      const scheduled = clock.schedule(clock.now() + delay_ms, "delayed request", go);
      this.#waiting.add(go);
    });
  }
}

const template = (row: Operation): string => VERSION_PREFIX + row.path;

const ASKED = "A test asked for this answer.";

/** The problem that the server itself would have with this status. */
function answerOf(status: number, requestId: string, links: ServiceLinks): Reply {
  const own = OWN[status];
  if (own !== undefined) return problem(refuse(own), requestId, links);
  const title = "A failure on command";
  const body = { type: "about:blank", title, status, detail: ASKED, instance: requestId, code: "failure_on_command" };
  return { status, headers: { "content-type": PROBLEM_TYPE }, body: JSON.stringify(body) };
}

const OWN: { readonly [status: number]: Reason } = {
  400: { code: "invalid_request", detail: ASKED },
  401: { code: "expired_credential", detail: ASKED },
  403: { code: "rate_limit_exceeded", retry_after_s: 1 },
  404: { code: "not_found", detail: ASKED },
  408: { code: "request_timeout" },
  409: { code: "idempotency_in_progress" },
  412: { code: "precondition_failed" },
  415: { code: "unsupported_media_type", detail: ASKED },
  500: { code: "internal_error" },
  503: { code: "storage_unavailable" },
};
