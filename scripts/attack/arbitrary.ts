// fast-check arbitraries that spoil something valid: a JSON value in one of its members, or bytes.
import fc, { type Arbitrary } from "fast-check";
import { isMembers } from "../../test/support/client.ts";
import { HOSTILE } from "../../test/support/hostile.ts";

/** At and just beyond the usual limits of a text. */
const SIZES = [0, 1, 64, 65, 100, 101, 200, 201, 5_000, 5_001];
const LETTERS = ["a", "é", "\u{10FFFF}", " ", "\u001b", "\ud800"];
const text = fc
  .tuple(fc.constantFrom(...LETTERS), fc.constantFrom(...SIZES))
  .map(([letter, size]) => letter.repeat(size));

/** The value with one member, at any depth, replaced; undefined leaves it out of the JSON. */
export function spoiledValue(value: unknown): Arbitrary<unknown> {
  const other = fc.oneof(fc.constantFrom(undefined, ...HOSTILE), fc.jsonValue(), fc.nat(200), text);
  if (Array.isArray(value)) return fc.oneof(other, fc.array(fc.constantFrom(...value, undefined)));
  if (!isMembers(value)) return other;
  const members = [...Object.keys(value), "unknown"].map((name) =>
    spoiledValue(value[name]).map((member) => ({ ...value, [name]: member })),
  );
  return fc.oneof(other, ...members.map((arbitrary) => ({ weight: 3, arbitrary })));
}

const INSERTS = "\0,\r\n,\n,:,é,\ufeff,\r\n\r\n,\r\nHost: a,\r\nTransfer-Encoding: chunked".split(
  ",",
);

/** The bytes with one to three changes: a flipped bit, a cut, a repetition or an insertion. */
export const spoiledBytes = (bytes: Buffer): Arbitrary<Buffer> =>
  fc
    .array(
      fc.record({
        kind: fc.nat(3),
        at: fc.nat(bytes.length),
        length: fc.nat(bytes.length),
        insert: fc.constantFrom(...INSERTS),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((changes) =>
      changes.reduce((before, { kind, at, length, insert }) => {
        const piece = before.subarray(at, at + length);
        const flipped = piece.map((byte, n) => (n === 0 ? byte ^ (1 << (length % 8)) : byte));
        const pieces = [[flipped], [], [piece, piece], [Buffer.from(insert), piece]][kind] ?? [];
        return Buffer.concat([before.subarray(0, at), ...pieces, before.subarray(at + length)]);
      }, bytes),
    );
