// domain/columns: which decimal numbers a double represents exactly, and JSON parsing that keeps numbers as written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isExactNumber, isWithinRange, parseExactJson } from "../../src/domain/columns.ts";

const EXACT = [
  "0 -0 0.0 -0.00 0e999 1 -1 1.0 1.50 100 1e2 1E2 1e+2 100e-2 0.1 0.30000000000000004",
  "9007199254740991 -9007199254740991 9007199254740991.0 90071992547409910e-1 0.0000001 1e-7 5e-324",
];
const INEXACT = [
  "9007199254740992 -9007199254740992 9007199254740993 9007199254740991.4 9007199254740990.6 1e16 1e21",
  "1.7976931348623157e308 1e309 -1e400 2.5e-324 1e-400 0.1234567890123456789 0.30000000000000005",
  "123456789.123456789 123456789012345678901234567890 1e99999999999999999999",
];

for (const [lists, isExact] of [
  [EXACT, true],
  [INEXACT, false],
] as const)
  test(`numbers: ${isExact ? "a double holds" : "no double in the safe range holds"} these decimal values`, () => {
    for (const text of lists.join(" ").split(" "))
      assert.equal(isExactNumber(text), isExact, text.slice(0, 40));
  });

test("numbers: integers are within range up to 2^53 - 1, and other numbers if they are finite", () => {
  for (const value of [0, 0.5, 5e-324, 2 ** 53 - 1, 1 - 2 ** 53])
    assert.equal(isWithinRange(value), true, `${value}`);
  for (const value of [2 ** 53, -(2 ** 53), Infinity, -Infinity, NaN])
    assert.equal(isWithinRange(value), false, `${value}`);
});

/** The arguments of the `keep` call; empty if there was no call. */
function keepCall(json: string): unknown[] {
  const calls: unknown[] = [];
  const parsed = parseExactJson(json, (...values) => calls.push(...values));
  assert.deepEqual(parsed, JSON.parse(json));
  return calls;
}

test("numbers: JSON whose numbers are all written as JavaScript writes them is parsed once", () => {
  for (const json of [
    ...['{"a":[1,-2.5,0.1,1e-7,9007199254740991]}', "1", "-1", '""', "[]", "null", " [1 , 2] "],
    String.raw`["1.50","a\"1.50","\\",1,"\\\"","1e400","\u00221.50"]`,
  ])
    assert.deepEqual(keepCall(json), [], json);
});

test("numbers: a number that is written differently or out of range becomes text in the second value", () => {
  for (const [json, written] of [
    ["1.50", "1.50"],
    ["-0", "-0"],
    [" 1e400 ", "1e400"],
    [
      '[1,1.0,"1.0",-1E2,true,9007199254740992]',
      [1, "1.0", "1.0", "-1E2", true, "9007199254740992"],
    ],
    [
      String.raw`{"\\":1.0,"\"":{"1.0":[1.50 ]},"\\\"":"2.0"}`,
      { "\\": "1.0", '"': { "1.0": ["1.50"] }, '\\"': "2.0" },
    ],
  ] as const)
    assert.deepEqual(keepCall(json), [JSON.parse(json), written]);
  assert.throws(() => keepCall("[1.50"), SyntaxError);
});

test("numbers: ten MiB of numbers, escapes or digits are parsed in linear time", () => {
  const zeros = "0".repeat(5_000_000);
  const [, written] = keepCall(`[${"1.50,".repeat(1_000_000)}1]`);
  assert.equal(JSON.stringify(written), `[${'"1.50",'.repeat(1_000_000)}1]`);
  assert.deepEqual(keepCall(`["${'\\"'.repeat(zeros.length)}"]`), []);
  assert.equal(String(keepCall(`[1${zeros}]`)[1]), `1${zeros}`);
  assert.equal(isExactNumber(`1.${zeros}`), true);
});
