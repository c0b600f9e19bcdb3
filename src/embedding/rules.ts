// Rules that a test hands over (faults, chaos): checked as the body of the control route is, then in force.
import { type ObjectSchema, parse, pointer } from "../kit/schema.ts";
import { OptionError } from "../options.ts";

interface Target<Rule> {
  add(rule: Rule): void;
  clear(): void;
}

export class Rules<Given extends object, Rule> {
  /** What a rule may be. */
  readonly schema: ObjectSchema<Rule>;
  readonly #name: string;
  readonly #target: Target<Rule>;

  constructor(name: string, schema: ObjectSchema<Rule>, target: Target<Rule>) {
    this.#name = name;
    this.schema = schema;
    this.#target = target;
  }

  /** Puts the rule in force behind those that are; a wrong one is refused by name. */
  add(given: Given): Rule {
    const read = parse(this.schema, given);
    if ("value" in read) {
      this.#target.add(read.value);
      return read.value;
    }
    const said = read.faults.map(({ path, detail }) => `${path.length > 0 ? pointer(path) : "the rule"} ${detail}`);
    throw new OptionError(`${this.#name}.add: ${said.join("; ")}`);
  }

  /** Ends every rule. */
  clear(): void {
    this.#target.clear();
  }
}
