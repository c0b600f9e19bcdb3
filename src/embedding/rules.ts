// Rules that a test hands over (faults, chaos): checked as the body of the control route is, then in force.
import { type Fault, type ObjectSchema, parse, pointer } from "../kit/schema.ts";
import { OptionError } from "../options.ts";

export class Rules<Given extends object, Rule> {
  /** What a rule may be. */
  readonly schema: ObjectSchema<Rule>;
  readonly #name: string;
  readonly #target: { add(rule: Rule): void; clear(): void };

  constructor(name: string, schema: ObjectSchema<Rule>, target: { add(rule: Rule): void; clear(): void }) {
    this.#name = name;
    this.schema = schema;
    this.#target = target;
  }

  /** Puts the rule in force behind those that are; a wrong one is refused by name. */
  add(given: Given): Rule {
    const read = parse(this.schema, given);
    if ("faults" in read) throw new OptionError(`${this.#name}.add: ${read.faults.map(said).join("; ")}`);
    this.#target.add(read.value);
    return read.value;
  }

  /** Ends every rule. */
  clear(): void {
    this.#target.clear();
  }
}

const said = ({ path, detail }: Fault): string =>
  path.length === 0 ? `the rule ${detail}` : `${pointer(path)} ${detail}`;
