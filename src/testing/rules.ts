// Rules of fault injection (contract, part 10): each applies to `times` requests or delivery attempts.
import { EventEmitter } from "node:events";
import { integer, type ObjectSchema, parseOption, withDefault } from "../lib/schema.ts";

/** Members of every rule; the delay uses the service's clock. */
export const RULE_MEMBERS = {
  times: withDefault(integer({ min: 1, max: 1_000_000 }), 1),
  delayMs: withDefault(integer({ min: 0, max: 86_400_000 }), 0),
};

export interface Rule {
  readonly times: number;
}

/** The part of the rules that the service handle exposes. */
export type Rules<Input, R extends Rule> = Pick<
  ReturnType<typeof createRules<Input, R>>,
  "schema" | "add" | "clear"
>;

/** Keeps the active rules in insertion order, and the requests or attempts that they hold back. */
export function createRules<Input, R extends Rule>(name: string, schema: ObjectSchema<R>) {
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
