// fast-check arbitraries for values of a JSON Schema and for corrupted bytes. Most values are valid, with sizes at or
// just beyond a limit; a few are hostile.
import fc, { type Arbitrary } from "fast-check";
import { isMembers, type Members, members } from "../../test/support/client.ts";
import { HOSTILE } from "../../test/support/hostile.ts";

/** Strings that match their format, and near misses. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  hostname: ["a.example.com", "B.example.com", "localhost", "EXÄMPLE.com", "a..b", "127.0.0.1"],
  email: ["ada@example.com", "ADA@example.com", "c\u0085@example.com", "d@e@f"],
  uri: ["http://127.0.0.1:9/", "https://c.example.com/cb", "https:///x", "http://[::1]:9/#a"],
};
const LETTERS = ["a", "b", "é", "\u{10FFFF}", " ", "\u001b", "\ud800"];

/** Values of the schema; one in 20 is hostile. */
export function valueFor(schema: Members): Arbitrary<unknown> {
  return fc.oneof(
    { weight: 19, arbitrary: conformingValue(schema) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE) },
  );
}

function conformingValue({ anyOf, oneOf = anyOf, enum: values, type, ...rules }: Members) {
  if (Array.isArray(oneOf)) return fc.oneof(...oneOf.map((schema) => valueFor(members(schema))));
  if (Array.isArray(values)) return fc.constantFrom(...values);
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valueForType(one, rules)));
  return valueForType(type, rules);
}

function valueForType(type: unknown, rules: Members): Arbitrary<unknown> {
  if (type === "null") return fc.constant(null);
  if (type === "boolean") return fc.boolean();
  if (type === "string") return textFor(rules);
  if (type === "object") return objectFor(rules);
  if (type === "array") return fc.array(valueFor(members(rules.items)), { maxLength: 6 });
  return sizeFor(rules.minimum, rules.maximum);
}

/** Sizes within the limits, at them and one beyond. */
const sizeFor = (min: unknown = 0, max: unknown = 8): Arbitrary<number> =>
  fc.oneof(
    { weight: 11, arbitrary: fc.integer({ min: Number(min), max: Number(max) }) },
    fc.constantFrom(Number(max) + 1, Math.max(Number(min) - 1, 0)),
  );

function textFor({ format, minLength, maxLength }: Members): Arbitrary<string> {
  const letters = fc.constantFrom(...LETTERS);
  const repeated = fc
    .tuple(letters, sizeFor(minLength, maxLength))
    .map(([letter, size]) => letter.repeat(size));
  const short = fc.string({ unit: letters, maxLength: 3 });
  const samples = FORMATS[String(format)];
  return fc.oneof(
    { weight: 3, arbitrary: samples ? fc.constantFrom(...samples) : short },
    repeated,
  );
}

/** Objects with most required members, half of the others, and sometimes an unknown one. */
function objectFor({ properties = {}, required = [], additionalProperties }: Members) {
  const requiredNames = new Set([required].flat());
  const freeNames = isMembers(additionalProperties) ? ["a", "b", "__proto__"] : [];
  const schemas = { ...members(properties) };
  for (const name of freeNames) schemas[name] = additionalProperties;
  const entries = Object.entries(schemas).map(([name, schema]) =>
    fc.oneof(
      {
        weight: requiredNames.has(name) ? 24 : 1,
        arbitrary: valueFor(members(schema)).map((value) => [[name, value]]),
      },
      fc.constant([]),
    ),
  );
  const unknown = fc.constantFrom(...Array(24).fill([]), [["unknown", 1]]);
  return fc.tuple(unknown, ...entries).map((lists) => Object.fromEntries(lists.flat()));
}

const INSERTS = ["\0", "\r\n", "\n", ":", "é", "\ufeff", "\r\n\r\n", "\r\nHost: a"].concat(
  "\r\nTransfer-Encoding: chunked",
);

/** The bytes with one to three changes: a flipped byte, a cut, a repetition or an insertion. */
export const corrupted = (bytes: Buffer): Arbitrary<Buffer> =>
  fc
    .array(
      fc.record({
        kind: fc.constantFrom("flip", "cut", "repeat", "insert"),
        at: fc.nat(bytes.length),
        length: fc.nat(bytes.length),
        insert: fc.constantFrom(...INSERTS),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((changes) => changes.reduce(applyChange, bytes));

interface ByteChange {
  readonly kind: string;
  readonly at: number;
  readonly length: number;
  readonly insert: string;
}

function applyChange(bytes: Buffer, { kind, at, length, insert }: ByteChange): Buffer {
  const piece = bytes.subarray(at, at + length);
  const replacements: Readonly<Record<string, readonly Uint8Array[]>> = {
    flip: [piece.map((byte, n) => (n === 0 ? byte ^ (1 << (length % 8)) : byte))],
    cut: [],
    repeat: [piece, piece],
    insert: [Buffer.from(insert), piece],
  };
  return Buffer.concat([
    bytes.subarray(0, at),
    ...(replacements[kind] ?? []),
    bytes.subarray(at + length),
  ]);
}
