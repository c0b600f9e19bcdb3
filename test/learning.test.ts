// Learning material: the walk through the specification.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { DECISIONS } from "../src/decisions.ts";
import { groups } from "./support/patterns.ts";
import { printedBy, ran, script } from "./support/process.ts";
import { CLAUSES } from "./support/sources.ts";

/** Returns the titles of the parts shown so far. */
const partsIn = (output: string) => stripVTControlCharacters(output).match(/^\d [A-Z].*$/gm) ?? [];

test("demo: all nine parts succeed in under 10 s, and each line of them names a clause or a decision", async () => {
  const output = stripVTControlCharacters(await printedBy("demo.ts"));
  assert.equal(partsIn(output).length, 9);
  const ids = groups(output, /^ {2}(\d\.[\w.-]+) /gm);
  assert.ok(ids.length >= 30);
  for (const id of ids) assert.ok(CLAUSES.has(id) || id in DECISIONS, id);
  const [, duration_ms] = /in (\d+) ms\.\n$/.exec(output) ?? [];
  assert.ok(Number(duration_ms) < 10_000, output.slice(-200));
});

test("demo: with --step each part waits for Enter", async () => {
  const { child, said, ended } = script("demo.ts", "--step");
  const steps = async (count: number) => {
    while (partsIn(said.stdout).length < count) await once(child.stdout, "data");
  };
  await steps(1);
  await ran("demo.ts"); // takes longer than a walk that does not wait
  assert.equal(partsIn(said.stdout).length, 1);
  child.stdin.write("\n");
  await steps(2);
  child.stdin.end();
  const { code } = await ended;
  assert.equal(code, 0);
});
