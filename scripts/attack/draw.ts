// Seeded random generator for values of a JSON Schema. Most values are valid, with sizes often at or just beyond a
// limit; a few are hostile.
import { seededRandom } from "../../src/lib/ids.ts";
import { unsafeCast } from "../../src/lib/schema.ts";
import { isMembers, type Members, members } from "../../test/support/client.ts";
import { HOSTILE } from "../../test/support/hostile.ts";

/** Strings that match their format, and near misses. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  hostname: [
    "a.example.com",
    "B.example.com",
    "localhost",
    "EXÄMPLE.com",
    "a..b",
    "127.0.0.1",
    "x.test:80",
  ],
  email: [
    "ada@example.com",
    "ADA@example.com",
    "b@xn--.test",
    "c\u0085@example.com",
    "d@e@f",
    "owner@example.com",
  ],
  uri: [
    "http://127.0.0.1:9/",
    "https://c.example.com/cb",
    "https:///x",
    "http://u:p@127.0.0.1/",
    "http://[::1]:9/#a",
  ],
};
const LETTERS = ["a", "b", "a", "b", "a", "é", "\u{10FFFF}", " ", "\u001b", "\ud800"];
/** Fragments to insert between other bytes. */
const NASTY = "\0|\r\n|\n| |:|é|\ufeff|0|\r\n\r\n|\r\nTransfer-Encoding: chunked|\r\nHost: a".split(
  "|",
);

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export class Draw {
  readonly #random: ReturnType<typeof seededRandom>;

  constructor(seed: string) {
    this.#random = seededRandom(seed);
  }

  below = (limit: number): number => this.#random(3).readUIntBE(0, 3) % limit;
  /** True once in `times` calls on average. */
  once = (times: number): boolean => this.below(times) === 0;
  one = <T>(from: readonly T[]): T => unsafeCast<T>(from[this.below(from.length)]);

  /** Flips, cuts, repeats or inserts some bytes. */
  spoiled(bytes: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const to = at + this.below(bytes.length + 1 - at);
    const piece = bytes.subarray(at, to);
    const turned = piece.map((byte, n) => (n === 0 ? byte ^ (1 << this.below(8)) : byte));
    const middle = this.one([[turned], [], [piece, piece], [Buffer.from(this.one(NASTY)), piece]]);
    const changed = Buffer.concat([bytes.subarray(0, at), ...middle, bytes.subarray(to)]);
    return this.once(3) ? this.spoiled(changed) : changed;
  }

  value({ anyOf, oneOf = anyOf, enum: values, type, ...rule }: Members): unknown {
    if (this.once(20)) return this.one(HOSTILE);
    if (oneOf !== undefined) return this.value(members(this.one(list(oneOf))));
    if (values !== undefined) return this.one(list(values));
    const kind = Array.isArray(type) ? this.one(type) : type;
    if (kind === "null") return null;
    if (kind === "boolean") return this.once(2);
    if (kind === "string") return this.#text(rule);
    if (kind === "object") return this.#object(rule);
    if (kind !== "array") return this.#size(rule.minimum, rule.maximum);
    return Array.from({ length: this.#size(rule.minItems, rule.maxItems) }, () =>
      this.value(members(rule.items)),
    );
  }

  #size(min: unknown = 0, max: unknown = 8): number {
    const [least, most] = [Number(min), Number(max)];
    const within = [least, most, least + this.below(most - least + 1)];
    return this.one(this.once(12) ? [most + 1, Math.max(least - 1, 0)] : within);
  }

  #text({ format, minLength, maxLength }: Members): string {
    const samples = FORMATS[String(format)];
    if (samples !== undefined && !this.once(8)) return this.one(samples);
    return this.one(LETTERS).repeat(this.#size(minLength, this.once(4) ? maxLength : 3));
  }

  /** Usually includes every required member, and half of the others. */
  #object({ properties = {}, required, additionalProperties: more }: Members): Members {
    const free = isMembers(more) ? ["a", "b", "__proto__"] : this.once(25) ? ["unknown"] : [];
    const left = (name: string) => !this.once(list(required).includes(name) ? 25 : 2);
    const rules = Object.entries(members(properties)).filter(([name]) => left(name));
    for (const name of free) rules.push([name, isMembers(more) ? more : {}]);
    return Object.fromEntries(rules.map(([name, rule]) => [name, this.value(members(rule))]));
  }
}
