// A service in test files of Vitest and Jest, and beside sinon, with their faked timers on.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { startReceiver, startService } from "../../src/index.ts";
import { CLIENTS, clientTest, requireClient } from "../support/clients.ts";
import { freshFolder } from "../support/closing.ts";

const require = createRequire(import.meta.url);
const SCENARIO = require.resolve("../support/faked-timers.cjs");
const { useEverything, runAlone } = require(SCENARIO);
const realDate = Date;

/** A folder with the bundled service, the scenario and these files. */
async function folderWith(
  format: "cjs" | "esm",
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = freshFolder();
  const outfile = join(folder, format === "cjs" ? "service.cjs" : "service.mjs");
  await build({
    entryPoints: ["src/index.ts"],
    bundle: true,
    platform: "node",
    format,
    outfile,
    logLevel: "error",
  });
  cpSync(SCENARIO, join(folder, "scenario.cjs"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** Runs a test runner of test/clients; fails with its output. */
async function passes(folder: string, ...args: readonly string[]): Promise<void> {
  const run = promisify(execFile)(process.execPath, args, { cwd: folder, timeout: 100_000 });
  await run.catch((error) => assert.fail(`${error.message}\n${error.stdout}\n${error.stderr}`));
}

/** The same test for both runners, except how their timers are faked. */
const testFile = (fake: string, real: string) => `
const realDate = Date;
afterEach(() => { ${real} });
for (const before of [true, false])
  test("faked " + (before ? "before" : "after") + " the start", async () => {
    await useEverything({ startService, startReceiver, fake: () => { ${fake} }, before, realDate });
    ${real}
    await runAlone({ startService, startReceiver, realDate });
  }, 40_000);
`;

clientTest("faked timers: a service works in Vitest under vi.useFakeTimers()", async () => {
  const imports = `import { startReceiver, startService } from "./service.mjs";
import scenario from "./scenario.cjs";
const { useEverything, runAlone } = scenario;`;
  const folder = await folderWith("esm", {
    "faked.test.mjs": imports + testFile("vi.useFakeTimers()", "vi.useRealTimers()"),
  });
  await passes(
    folder,
    join(CLIENTS, "node_modules/vitest/vitest.mjs"),
    "run",
    "--root",
    folder,
    "--globals",
  );
});

clientTest("faked timers: a service works in Jest under jest.useFakeTimers()", async () => {
  const imports = `const { startReceiver, startService } = require("./service.cjs");
const { useEverything, runAlone } = require("./scenario.cjs");`;
  const fake = 'jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] })';
  const folder = await folderWith("cjs", {
    "faked.test.js": imports + testFile(fake, "jest.useRealTimers()"),
    "package.json": JSON.stringify({ jest: { testEnvironment: "node" } }),
  });
  await passes(folder, join(CLIENTS, "node_modules/jest/bin/jest.js"), "--rootDir", folder);
});

clientTest("faked timers: a service works beside sinon.useFakeTimers()", async () => {
  const sinon = requireClient("sinon");
  const { timers } = createRequire(requireClient.resolve("sinon"))("@sinonjs/fake-timers");
  const toFake = Object.keys(timers).filter(
    (name) => name !== "nextTick" && name !== "queueMicrotask",
  );
  for (const before of [true, false]) {
    let clock = { restore: () => {} };
    const fake = () => {
      clock = sinon.useFakeTimers({ toFake });
    };
    try {
      await useEverything({ startService, startReceiver, fake, before, realDate });
    } finally {
      clock.restore();
    }
    await runAlone({ startService, startReceiver, realDate });
  }
});
