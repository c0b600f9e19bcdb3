// The way into the REST API (spec part 5; contract, part 5): the credential, the account's standing, the rate, and for every
// answer what is left of it.
import { type Caller, standing } from "../domain/access.ts";
import { cutLimit } from "../domain/lists.ts";
import { asChosen, type Decide } from "../domain/readings.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { object, passing, type Schema } from "../kit/schema.ts";
import type { Authenticate } from "./authorization.ts";
import { JSON_TYPE, VERSION_PREFIX } from "./call.ts";
import { RATE_WINDOW_S, type RateLimiter } from "./limits.ts";
import { type OperateParts, operate } from "./operate.ts";
import { problem } from "./problem.ts";
import type { Operation, Services } from "./route.ts";
import { accountRoutes } from "./routes-account.ts";
import { appRoutes } from "./routes-apps.ts";
import { webhookRoutes } from "./routes-webhooks.ts";
import { RouteTree, type Way } from "./way.ts";

export interface ApiParts extends OperateParts {
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
}

/** The rows as they are read: what a request may bring, and what a success says. */
function read(rows: readonly Operation[], decide: Decide): readonly Operation[] {
  const taken = <S extends Schema<unknown>>(schema: S): S => (decide("2.unknown-members") ? passing(schema) : schema);
  const isCut = decide("8.max-limit").over === "cut";
  const gone = decide("4.delete-response");
  return rows.map((row): Operation => {
    const { body, location, method, target, headers } = row;
    const query = isCut && "limit" in row.query.members ? object({ ...row.query.members, limit: cutLimit }) : row.query;
    const other = { ...row, query: taken(query), ...(body && { body: (services: Services) => taken(body(services)) }) };
    if (location) return { ...other, status: decide("4.create-status") };
    if (method !== "DELETE" || !target?.view || gone === 204) return other;
    const view = { ...target.view, kind: "plain" } as const;
    return { ...other, status: gone, view, headers: { ...headers, "content-type": JSON_TYPE } };
  });
}

/** THE route table (spec part 4; contract, part 4), as a service has it that was asked for no other reading. */
export const API = new RouteTree(read([...appRoutes, ...webhookRoutes, ...accountRoutes], asChosen));

export function apiWay(parts: ApiParts): Way<Operation, Caller> {
  const { decide, links } = parts.services;
  const ofWindow = (text: string) =>
    text.replace("<limit>", String(parts.limiter.limit)).replace("<window>", String(RATE_WINDOW_S));
  const rateHeaders = Object.entries(decide("8.rate-headers")).map(([name, text]) => [name, ofWindow(text)] as const);
  return {
    under: VERSION_PREFIX,
    tree: decide === asChosen ? API : new RouteTree(read(API.rows, decide)),
    async enter(call, said) {
      const { authenticate, limiter } = parts;
      const who = await authenticate(call.values("authorization"));
      if (who instanceof Refusal) return who;
      const unfit = standing(who.account, call.method);
      const counted = limiter.count(who.account.id, unfit ? 0 : 1);
      const rate = counted instanceof Promise ? await counted : counted;
      if (rate)
        for (const [name, text] of rateHeaders)
          said[name] = text.replace("<remaining>", String(rate.remaining)).replace("<reset>", String(rate.reset_s));
      const over = rate?.exceeded ? refuse({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s }) : undefined;
      return unfit ?? over ?? { who };
    },
    perform: (row, request) => operate(parts, row, request),
    refused: (refusal, call) => problem(refusal, call.id, links, decide),
  };
}
