// Rules that a test hands over (contract, part 10): what a fault and what a chaos rule may be, each checked as the body of
// its control route is, and the list of those in force. What a rule does to a request or a delivery is not known here.
import { decide } from "../decisions.ts";
import { eventType } from "../domain/model.ts";
import { API } from "../http/api.ts";
import { VERSION_PREFIX } from "../http/call.ts";
import {
  fitting,
  type Infer,
  type ObjectSchema,
  object,
  oneOf,
  optional,
  text,
  whole,
  withDefault,
} from "../kit/schema.ts";

/** What rules of both kinds have; the delay is by the service's clock. */
const COMMON = {
  times: withDefault(whole({ min: 1, max: 1_000_000 }), 1),
  delayMs: withDefault(whole({ min: 0, max: 86_400_000 }), 0),
};

export const faultRule = object(
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
    if (!row || (/[{}]/.test(path) && path !== VERSION_PREFIX + row.path))
      yield { path: ["path"], detail: `${method} ${path} is no operation of the REST API` };
    if (status !== undefined && connection !== undefined)
      yield { path: ["connection"], detail: "leaves no answer, so there can be no status beside it" };
    if (status === undefined && connection === undefined && delayMs === 0)
      yield { path: [], detail: "must have a status, a connection or a delayMs" };
  },
);
export type FaultRule = Infer<typeof faultRule>;

/** What is answered is a `status` (400 to 599), or the connection ends without an answer; `delayMs` by the service's clock. */
export type GivenFault = Pick<FaultRule, "method" | "path"> & Partial<FaultRule>;

export const chaosRule = object(
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
export type GivenChaos = Pick<ChaosRule, "effect"> & Partial<ChaosRule>;

/** Falls on so many requests or attempts. */
export type Rule = { readonly times: number };

/** What a test gets into its hands. */
export type Rules<Given, R extends Rule> = Pick<ReturnType<typeof rulesOf<Given, R>>, "schema" | "add" | "clear">;

/** The rules in force, in the order in which they came, and what they hold back. */
export function rulesOf<Given, R extends Rule>(name: string, schema: ObjectSchema<R>) {
  let armed: { readonly rule: R; left: number }[] = [];
  /** Each lets go what waits. */
  const held = new Map<string, () => void>();
  const letGo = (key: string): void => {
    held.get(key)?.();
    held.delete(key);
  };
  return {
    /** What a rule may be. */
    schema,
    /** Puts the rule in force behind those that are; a wrong one is refused by name. */
    add(given: Given): R {
      const rule = fitting(schema, given, `${name}.add`);
      armed.push({ rule, left: rule.times });
      return rule;
    },
    /** Ends every rule; what is held back goes on at once. */
    clear(): void {
      armed = [];
      for (const key of held.keys()) letGo(key);
    },
    /** Uses up the first rule that fits. */
    take(fits: (rule: R) => boolean): R | undefined {
      const found = armed.find(({ rule }) => fits(rule));
      if (found === undefined) return undefined;
      found.left -= 1;
      armed = armed.filter(({ left }) => left > 0);
      return found.rule;
    },
    holds: (key: string): boolean => held.has(key),
    /** Resolves when it is let go. */
    hold: (key: string) => new Promise<void>((go) => held.set(key, go)),
    letGo,
  };
}
