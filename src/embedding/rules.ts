// Rules that a test hands over (contract, part 10: faults, chaos): checked as the body of the control route is, then in
// force, each for so many times, in the order in which they came.
import { type ObjectSchema, whole, withDefault } from "../kit/schema.ts";
import { fitting } from "../options.ts";

/** What rules of every kind have; the delay is by the service's clock. */
export const COMMON = {
  times: withDefault(whole({ min: 1, max: 1_000_000 }), 1),
  delayMs: withDefault(whole({ min: 0, max: 86_400_000 }), 0),
};

export abstract class Rules<Given extends object, Rule extends { readonly times: number }> {
  /** What a rule may be. */
  readonly schema: ObjectSchema<Rule>;
  readonly #name: string;
  #armed: { readonly rule: Rule; left: number }[] = [];

  constructor(name: string, schema: ObjectSchema<Rule>) {
    this.#name = name;
    this.schema = schema;
  }

  /** Puts the rule in force behind those that are; a wrong one is refused by name. */
  add(given: Given): Rule {
    const rule = fitting(this.schema, given, `${this.#name}.add`);
    this.#armed.push({ rule, left: rule.times });
    return rule;
  }

  /** Ends every rule. */
  clear(): void {
    this.#armed = [];
  }

  get armed(): boolean {
    return this.#armed.length > 0;
  }

  /** Uses up the first rule that fits. */
  protected take(fits: (rule: Rule) => boolean): Rule | undefined {
    const armed = this.#armed.find(({ rule }) => fits(rule));
    if (armed) armed.left -= 1;
    this.#armed = this.#armed.filter(({ left }) => left > 0);
    return armed?.rule;
  }
}
