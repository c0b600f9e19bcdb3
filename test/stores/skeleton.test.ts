// The skeleton of a custom store passes the contract, run as its author would run it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contains, ran } from "../support/index.ts";

for (const [module, code, text] of [
  ["./test/stores/skeleton.mjs", 0, " fail 0\n"],
  ["node:path", 2, "node:path must export a store, or a function that creates one"],
] as const)
  test(`npm run store-contract -- ${module} exits with ${code}`, async () => {
    const ended = await ran("store-contract.ts", module);
    assert.equal(ended.code, code, ended.stderr + ended.stdout);
    contains(ended.stderr + ended.stdout, text);
  });
