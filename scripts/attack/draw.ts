// Draws by a seed: the same one draws the same. Values come from a JSON Schema: mostly such as it takes, their sizes often
// at a bound or just beyond, now and then something hostile.
import { seededRandom } from "../../src/kit/ids.ts";
import { trusted } from "../../src/kit/schema.ts";
import { isMembers, type Members, members } from "../../test/support/client.ts";
import { HOSTILE } from "../../test/support/hostile.ts";

/** Texts that fit their format, and texts that nearly do. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  hostname: ["a.example.com", "B.example.com", "localhost", "EXÄMPLE.com", "a..b", "127.0.0.1", "x.test:80"],
  email: ["ada@example.com", "ADA@example.com", "b@xn--.test", "c\u0085@example.com", "d@e@f", "owner@example.com"],
  uri: ["http://127.0.0.1:9/", "https://c.example.com/cb", "https:///x", "http://u:p@127.0.0.1/", "http://[::1]:9/#a"],
};
const LETTERS = ["a", "b", "a", "b", "a", "é", "\u{10FFFF}", " ", "\u001b", "\ud800"];
/** What is put between other bytes. */
const NASTY = [
  "\0",
  "\r\n",
  "\n",
  " ",
  ":",
  "é",
  "\ufeff",
  "0",
  "\r\n\r\n",
  "\r\nTransfer-Encoding: chunked",
  "\r\nHost: a",
];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export class Draw {
  readonly #random: () => number;

  constructor(seed: string) {
    this.#random = seededRandom(seed);
  }

  below(limit: number): number {
    return ((this.#random() << 16) | (this.#random() << 8) | this.#random()) % limit;
  }

  /** Once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  one<T>(from: readonly T[]): T {
    return trusted<T>(from[this.below(from.length)]);
  }

  /** With some bytes turned over, cut out, repeated or put in. */
  spoiled(bytes: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const to = at + this.below(bytes.length + 1 - at);
    const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, to), bytes.subarray(to)];
    const turned = piece.map((byte, n) => (n === 0 ? byte ^ (1 << this.below(8)) : byte));
    const middle = this.one([[turned], [], [piece, piece], [Buffer.from(this.one(NASTY)), piece]]);
    const changed = Buffer.concat([before, ...middle, after]);
    return this.once(3) ? this.spoiled(changed) : changed;
  }

  value(schema: Members): unknown {
    const { anyOf, oneOf = anyOf, enum: values, type, items, minItems, maxItems, minimum, maximum } = schema;
    if (this.once(20)) return this.one(HOSTILE);
    if (oneOf !== undefined) return this.value(members(this.one(list(oneOf))));
    if (values !== undefined) return this.one(list(values));
    switch (Array.isArray(type) ? this.one(type) : type) {
      case "object":
        return this.#object(schema);
      case "array":
        return Array.from({ length: this.#size(minItems, maxItems) }, () => this.value(members(items)));
      case "string":
        return this.#text(schema);
      case "boolean":
        return this.once(2);
      default:
        return type === "integer" || type === "number" ? this.#size(minimum, maximum) : null;
    }
  }

  #size(min: unknown = 0, max: unknown = 8): number {
    const [least, most] = [Number(min), Number(max)];
    if (this.once(12)) return this.one([most + 1, Math.max(least - 1, 0)]);
    return this.one([least, most, least + this.below(most - least + 1)]);
  }

  #text({ format, minLength, maxLength }: Members): string {
    const samples = FORMATS[String(format)];
    if (samples !== undefined && !this.once(8)) return this.one(samples);
    return this.one(LETTERS).repeat(this.#size(minLength, this.once(4) ? maxLength : 3));
  }

  /** With what is required, but for now and then, and half of the rest. */
  #object({ properties = {}, required, additionalProperties: more }: Members): Members {
    const named = Object.entries(members(properties));
    const free = isMembers(more) ? ["a", "b", "__proto__"] : this.once(25) ? ["unknown"] : [];
    const chosen = named.filter(([name]) => (list(required).includes(name) ? !this.once(25) : this.once(2)));
    const rules = [...chosen, ...free.map((name) => [name, more] as const)];
    return Object.fromEntries(rules.map(([name, rule]) => [name, this.value(isMembers(rule) ? rule : {})]));
  }
}
