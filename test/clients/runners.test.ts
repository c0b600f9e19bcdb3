// The package in common test runners with their defaults: no flags, and no settings except those TypeScript needs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CLIENTS, clientTest, requireClient } from "../support/clients.ts";
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

clientTest("the package and its types work in ts-jest", async () => {
  const { write, run } = await installed();
  await write(
    "apps.test.ts",
    `
    import { OptionError, startService, type Service } from "app-hosting-service";
    let service: Service;
    beforeAll(async () => {
      service = await startService({ clock: "manual" });
    });
    afterAll(() => service.close());
    test("types are checked", async () => {
      const advanced = await service.clock.advance("5m");
      expect(advanced).toBeDefined();
      // @ts-expect-error: there is no such option
      await expect(startService({ prot: 1 })).rejects.toThrow(OptionError);
    });
    `,
  );
  const tsconfig = {
    module: "commonjs",
    target: "es2022",
    strict: true,
    types: ["jest", "node"],
    typeRoots: [command("@types")],
  };
  const transform = { "\\.ts$": [requireClient.resolve("ts-jest"), { tsconfig }] };
  await write("jest.config.json", JSON.stringify({ transform }));
  const { stderr } = await run(
    process.execPath,
    JEST,
    "--no-cache",
    "--config",
    "jest.config.json",
    "apps.test.ts",
  );
  assert.match(stderr, /^Tests: +1 passed, 1 total$/m);
});

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
