// lib/numbers: JSON parsing that keeps numbers as written. test/choices/2-data-sources lists the numbers that a double
// represents exactly.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isExactNumber, parseJsonKeeping } from "../../src/lib/numbers.ts";

/** The arguments of the `keep` call; empty if there was no call. */
function keepCall(json: string): unknown[] {
  const calls: unknown[] = [];
  const parsed = parseJsonKeeping(json, (...values) => calls.push(...values));
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

test("numbers: megabytes of numbers, escapes or digits are parsed in linear time", () => {
  const zeros = "0".repeat(1_000_000);
  const [, written] = keepCall(`[${"1.50,".repeat(100_000)}1]`);
  assert.equal(JSON.stringify(written), `[${'"1.50",'.repeat(100_000)}1]`);
  assert.deepEqual(keepCall(`["${'\\"'.repeat(zeros.length)}"]`), []);
  assert.equal(String(keepCall(`[1${zeros}]`)[1]), `1${zeros}`);
  assert.equal(isExactNumber(`1.${zeros}`), true);
});
