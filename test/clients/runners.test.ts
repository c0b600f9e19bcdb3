// The package in common test runners with their defaults: no flags, and no settings except those TypeScript needs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CLIENTS, clientTest } from "../support/clients.ts";
import { onceInstalled } from "../support/installed-package.ts";

const installed = onceInstalled();

const command = (name: string) => join(CLIENTS, "node_modules", name);
const JEST = command("jest/bin/jest.js");

clientTest(
  "the recipe for Jest and the whole service pass in parallel Jest workers without a flag",
  async () => {
    const { write, copyRecipe, run } = await installed();
    await write(
      "service.jest.test.js",
      await readFile(join(CLIENTS, "runners/service.jest.test.js")),
    );
    const recipe = await copyRecipe("apps.jest.test.js");
    const files = ["--runTestsByPath", "service.jest.test.js", recipe];
    const { stderr } = await run(
      process.execPath,
      JEST,
      "--maxWorkers=2",
      "--no-cache",
      "--detectOpenHandles",
      ...files,
    );
    assert.match(stderr, /^Tests: +7 passed, 7 total$/m);
    assert.doesNotMatch(stderr, /open handle|did not exit/);
  },
);

for (const pool of ["forks", "vmThreads"])
  clientTest(`the recipe for Vitest passes in the pool ${pool}`, async () => {
    const { copyRecipe, link, run } = await installed();
    await link("vitest").catch((error: NodeJS.ErrnoException) =>
      assert.equal(error.code, "EEXIST"),
    );
    const recipe = await copyRecipe("apps.vitest.test.mjs");
    const { stdout } = await run(
      process.execPath,
      command("vitest/vitest.mjs"),
      "run",
      `--pool=${pool}`,
      recipe,
    );
    assert.match(stdout, /Tests +1 passed/);
  });
