// The package in common test runners with their defaults: no flags, and no settings except those TypeScript needs. Also
// with their faked timers on, and beside sinon's.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { startReceiver, startService } from "../../src/index.ts";
import { CLIENTS, clientTest, requireClient } from "../support/clients.ts";
import { onceInstalled } from "../support/installed-package.ts";

const installed = onceInstalled();
const realDate = Date;
const require = createRequire(import.meta.url);
const SCENARIO = require.resolve("../support/faked-timers.cjs");
const { useEverything, runAlone } = require(SCENARIO);

/** The installed package, with the scenario and a test file of this runner beside it. */
async function withService(file: string) {
  const { write, run, ...others } = await installed();
  await write("scenario.cjs", await readFile(SCENARIO));
  await write(file, await readFile(join(CLIENTS, "runners", file)));
  /** Runs a program of test/clients. */
  const runClient = (program: string, ...args: readonly string[]) =>
    run(process.execPath, join(CLIENTS, "node_modules", program), ...args);
  return { ...others, runClient };
}

clientTest(
  "the recipe for Jest and the service, with faked timers too, pass in parallel Jest workers without a flag",
  async () => {
    const { copyRecipe, runClient } = await withService("service.jest.test.js");
    const files = ["service.jest.test.js", await copyRecipe("apps.jest.test.js")];
    const flags = ["--maxWorkers=2", "--no-cache", "--detectOpenHandles", "--runTestsByPath"];
    const { stderr } = await runClient("jest/bin/jest.js", ...flags, ...files);
    assert.match(stderr, /^Tests: +8 passed, 8 total$/m);
    assert.doesNotMatch(stderr, /open handle|did not exit/);
  },
);

for (const pool of ["forks", "vmThreads"])
  clientTest(
    `the recipe for Vitest and the service under vi.useFakeTimers() pass in the pool ${pool}`,
    async () => {
      const { copyRecipe, link, runClient } = await withService("service.vitest.test.mjs");
      await link("vitest").catch((error: NodeJS.ErrnoException) =>
        assert.equal(error.code, "EEXIST"),
      );
      const files = ["service.vitest.test.mjs", await copyRecipe("apps.vitest.test.mjs")];
      const { stdout } = await runClient("vitest/vitest.mjs", "run", `--pool=${pool}`, ...files);
      assert.match(stdout, /Tests +3 passed/);
    },
  );

clientTest("faked timers: a service works beside sinon.useFakeTimers()", async () => {
  const sinon = requireClient("sinon");
  const { timers } = createRequire(requireClient.resolve("sinon"))("@sinonjs/fake-timers");
  const toFake = Object.keys(timers).filter(
    (name) => name !== "nextTick" && name !== "queueMicrotask",
  );
  for (const before of [true, false]) {
    const fake = () => sinon.useFakeTimers({ toFake });
    await useEverything({ startService, startReceiver, fake, before, realDate }).finally(() =>
      sinon.restore(),
    );
    await runAlone({ startService, startReceiver, realDate });
  }
});
