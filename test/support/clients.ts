// Tests with stock clients, test runners and generators: packages of test/clients, which has its own lock file so that
// `npm install` stays small. Without them these tests are skipped; TEST_REQUIRE_CLIENTS=1 makes that a failure.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** The folder test/clients: test scripts that import its packages are written below it. */
export const CLIENTS = fileURLToPath(new URL("../clients/", import.meta.url));

const isInstalled = existsSync(`${CLIENTS}node_modules`);
const INSTALL = "npm ci --prefix test/clients --ignore-scripts";

/** Resolves and loads packages of test/clients. */
export const requireClient = createRequire(`${CLIENTS}package.json`);

/** The reason to skip a test that needs packages of test/clients; false if it can run or must fail. */
export const skipWithoutClients =
  !isInstalled &&
  process.env.TEST_REQUIRE_CLIENTS !== "1" &&
  `test/clients is not installed: ${INSTALL}`;

/** A test that needs packages of test/clients. */
export function clientTest(name: string, run: () => Promise<unknown>, timeout = 120_000) {
  test(name, { skip: skipWithoutClients, timeout }, async () => {
    assert.ok(isInstalled, `TEST_REQUIRE_CLIENTS=1, but test/clients is not installed: ${INSTALL}`);
    await run();
  });
}
