// The way into the REST API (spec part 5; contract, part 5): the credential, the account's standing, the rate, and for every
// answer what is left of it.
import { decide } from "../decisions.ts";
import { type Access, type Caller, standing } from "../domain/access.ts";
import { RATE_WINDOW_S, type Rate, type RateLimiter } from "../domain/limits.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { VERSION_PREFIX } from "./call.ts";
import { type OperateParts, operate } from "./operate.ts";
import { problem } from "./problem.ts";
import type { Operation } from "./route.ts";
import { accountRoutes } from "./routes-account.ts";
import { appRoutes } from "./routes-apps.ts";
import { webhookRoutes } from "./routes-webhooks.ts";
import { template } from "./view.ts";
import { RouteTree, type Way } from "./way.ts";

export interface ApiParts extends OperateParts {
  readonly access: Access;
  readonly limiter: RateLimiter;
}

/** THE route table (spec part 4; contract, part 4). */
export const API = new RouteTree([...appRoutes, ...webhookRoutes, ...accountRoutes]);

interface Guest {
  readonly caller: Caller;
  /** Undefined where there is no limit. */
  readonly rate: Rate | undefined;
  readonly unfit: Refusal | undefined;
}

const RATE_HEADERS = Object.entries(decide("8.rate-headers")).map(([name, text]) => [name, template(text)] as const);

export const apiWay = (parts: ApiParts): Way<Operation, Guest> => ({
  under: VERSION_PREFIX,
  tree: API,
  async enter(call) {
    const { access, limiter } = parts;
    const caller = await access.authenticate(call.values("authorization"));
    if (caller instanceof Refusal) return caller;
    const unfit = standing(caller.account, call.method);
    const rate = await limiter.count(caller.account.id, unfit ? 0 : 1);
    const exceeded = rate?.exceeded && refuse({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s });
    return { caller, rate, unfit: unfit ?? (exceeded || undefined) };
  },
  admit: ({ unfit }) => unfit,
  perform: (row, { call, who, params }) => operate(parts, row, { call, who: who.caller, params }),
  refused: (refusal, call) => problem(refusal, call.id, parts.services.links),
  leave({ headers }, { rate }) {
    if (rate === undefined) return;
    const { remaining, reset_s: reset } = rate;
    const values = { limit: String(parts.limiter.limit), window: RATE_WINDOW_S, remaining, reset };
    for (const [name, text] of RATE_HEADERS) headers[name] = text(values);
  },
});
