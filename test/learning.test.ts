// Learning material: the walk through the specification and the exercise.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { DECISIONS } from "../src/decisions.ts";
import { freshFile } from "./support/closing.ts";
import { printedBy, ran, script } from "./support/process.ts";
import { CLAUSES } from "./support/sources.ts";

/** Returns the titles of the parts shown so far. */
const partsIn = (output: string) => stripVTControlCharacters(output).match(/^\d [A-Z].*$/gm) ?? [];

test("demo: all nine parts succeed in under 10 s, and each line of them names a clause or a decision", async () => {
  const output = stripVTControlCharacters(await printedBy("demo.ts"));
  assert.equal(partsIn(output).length, 9);
  const ids = Array.from(output.matchAll(/^ {2}(\d\.[\w.-]+) /gm), ([, id = ""]) => id);
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

/** Each fixes one of the five bugs, except one that declares the variables of the last two. */
const FIXES = [
  ["const body = JSON.stringify(event);", "const body = Buffer.concat(chunks);"],
  ["signature && signature !== expected", "signature !== expected"],
  [
    "  await work(event);\n  response.writeHead(204).end();",
    "  response.writeHead(204).end();\n  await work(event);",
  ],
  ["const handled", "const seen = new Set(), newest = new Map(), handled"],
  ["await work(event);", "if (!seen.has(event.id)) { seen.add(event.id); await work(event); }"],
  [
    "apps.set(id, title);",
    "if (!(newest.get(id) > event.id)) { apps.set(id, title); newest.set(id, event.id); }",
  ],
] as const;

test("exercise: five bugs are reported without their solution, and the fixed receiver passes", async () => {
  const results = [0, 1, FIXES.length].map(async (count) => {
    let text = readFileSync("scripts/exercise/receiver.mjs", "utf8");
    for (const [from, to] of FIXES.slice(0, count)) {
      assert.ok(text.includes(from), from);
      text = text.replace(from, to);
    }
    const file = freshFile("receiver.mjs", text);
    const { code, stdout, stderr } = await ran("exercise.ts", "--receiver", file);
    const output = stripVTControlCharacters(stdout);
    assert.equal(stderr, "");
    assert.doesNotMatch(output, /JSON\.|seen|await|created/);
    return [code, output.match(/^wrong /gm)?.length ?? 0];
  });
  assert.deepEqual(await Promise.all(results), [
    [1, 5],
    [1, 4],
    [0, 0],
  ]);
});
