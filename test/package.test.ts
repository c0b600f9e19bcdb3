// The package as its users get it: built, packed, installed in an empty folder, without a network.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, skipUnless } from "./support/index.ts";
import { installPackage } from "./support/installed-package.ts";

const TARBALL_BYTES_MAX = 200_000;
const INSTALLED_BYTES_MAX = 1_000_000;
const installed = await installPackage();
const { folder, dist, run, runFile } = installed;

const USE = `
  const service = await startService({ clock: "manual" });
  const answer = await fetch(service.baseUrl + "/apps", { headers: { authorization: "Bearer " + service.apiKey } });
  console.log(answer.status, (await answer.json()).total);
  await service.close();
`;

test("package: the tarball is small, has no dependencies and contains no sources", async () => {
  const { size } = await stat(installed.tarball);
  assert.ok(size < TARBALL_BYTES_MAX, `${size} bytes`);
  const files = await readdir(dist, { recursive: true });
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(dist, file))).size));
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(total < INSTALLED_BYTES_MAX, `${total} bytes`);
  const listed = await run("npm", "ls", "--all", "--parseable");
  assert.equal(listed.stdout.trim().split("\n").length, 2);
  const { stdout } = await run("tar", "-tzf", installed.tarball);
  assert.doesNotMatch(stdout, /package\/(src|test|scripts)\//);
});

const NO_ESM = "--no-experimental-require-module";
const REQUIRE_USE = `const { startService } = require("app-hosting-service");\n(async () => {${USE}})();`;

for (const [what, file, script, ...flags] of [
  ["import", "use.mjs", `import { startService } from "app-hosting-service";\n${USE}`],
  ["require, without support for ES modules", "use.cjs", REQUIRE_USE, NO_ESM],
] as const)
  test(`package: ${what} works`, async () =>
    assert.equal((await runFile(file, script, ...flags)).stdout, "200 0\n"));

test("package: import and require share one copy of the exports, which include the errors that a custom store throws", async () => {
  const script = `
    import { createRequire } from "node:module";
    import * as imported from "app-hosting-service";
    const required = createRequire(import.meta.url)("app-hosting-service");
    console.log(Object.entries(required).every(([name, value]) => imported[name] === value));
    console.log(Object.keys(imported).join(", "));
  `;
  const stores =
    "collection, isStoreError, jsonFileStore, memoryStore, startReceiver, startService, verifySignature";
  const errors = "ALL_VARIANTS, OptionError, StorageUnavailable, StoreOpenError, UniqueViolation";
  assert.equal((await runFile("both.mjs", script)).stdout, `true\n${errors}, ${stores}\n`);
});

test("package: pages load, and a custom store may be an ES module", async () => {
  await installed.write(
    "store.mjs",
    'import { memoryStore } from "app-hosting-service";\nexport const store = () => memoryStore();',
  );
  const script = `
    const { startService } = require("app-hosting-service");
    (async () => {
      const service = await startService({ store: "./store.mjs" });
      for (const path of ["/docs", "/dashboard/sign-in", "/nowhere"])
        console.log((await fetch(service.authUrl + path)).status);
      await service.close();
    })();
  `;
  assert.equal((await runFile("pages.cjs", script)).stdout, "200\n200\n404\n");
});

/** Reads the ready line of a server. */
function readyIn(output: string) {
  const { base_url, auth_url, api_key, pid } = JSON.parse(output.split("\n")[0] ?? "");
  const headers = { authorization: `Bearer ${api_key}` };
  const list = async () => (await fetch(`${base_url}/apps`, { headers })).status;
  const reset = async () =>
    (await fetch(`${auth_url}/_control/reset`, { method: "POST", headers })).status;
  const hasEnded = () =>
    fetch(`${auth_url}/healthz`).then(
      () => false,
      () => true,
    );
  return { pid: Number(pid), list, reset, hasEnded };
}

const NPX = ["--no-install", "app-hosting-service"];
const NPM_START = ["start", "--silent", "--"];

/** Starts the server by npm or npx, calls it, and ends it with a signal that npm or its process group receives. */
async function answersAndEnds(
  command: string,
  args: readonly string[],
  cwd: string,
  stop: (pid: number) => void,
) {
  const flags = ["--port", "0", "--log", "json", "--control"];
  const npm = spawn(command, [...args, ...flags], { cwd, detached: true });
  const [line] = await once(npm.stdout, "data");
  npm.stdout.resume();
  const { list, reset, hasEnded } = readyIn(String(line));
  assert.deepEqual([await list(), await reset()], [200, 204]);
  stop(npm.pid ?? 0);
  await once(npm, "close"); // close also waits for the output, which the server shares
  assert.ok(await hasEnded());
}

test("package: npx starts the command, the server responds, and Ctrl-C ends it", {
  timeout: 60_000,
}, async () => {
  const version = JSON.parse(await readFile("package.json", "utf8")).version;
  assert.equal((await run("npx", ...NPX, "--version")).stdout, `${version}\n`);
  await answersAndEnds("npx", NPX, folder, (pid) => process.kill(-pid, "SIGINT"));
});

for (const signal of ["SIGTERM", "SIGKILL"])
  test(
    `package: npm start runs the sources, and ends when its npm gets ${signal}`,
    { timeout: 60_000 },
    () => answersAndEnds("npm", NPM_START, process.cwd(), (pid) => process.kill(pid, signal)),
  );

test("package: a server that an npm script started in the background outlives the script", {
  timeout: 60_000,
}, async () => {
  await installed.write(
    "package.json",
    JSON.stringify({
      scripts: {
        // The script ends a moment after the server has printed its ready line.
        pretest:
          "mkfifo pipe && (app-hosting-service --port 0 --log json > pipe 2>&1 & head -n 1 pipe > ready.json; node --version)",
        test: "node --version",
        later: "node --version",
      },
    }),
  );
  await run("npm", "test");
  const { pid, list, hasEnded } = readyIn(await readFile(join(folder, "ready.json"), "utf8"));
  await run("npm", "run", "later");
  assert.equal(await list(), 200);
  process.kill(pid, "SIGTERM");
  await eventually(async () => (await hasEnded()) || undefined);
});

test("package: on an old version of Node the command prints one line", async () => {
  await installed.write(
    "node18.cjs",
    'Object.defineProperty(process, "versions", { value: { node: "18.20.8" } });',
  );
  const bin = join(dist, "bin.js");
  await assert.rejects(run(process.execPath, "--require", "./node18.cjs", bin), {
    code: 1,
    stdout: "",
    stderr: "app-hosting-service needs Node.js 20.19 or newer; this is 18.20.8.\n",
  });
  // Old versions must be able to parse it first.
  assert.doesNotMatch(
    await readFile(bin, "utf8"),
    /\bimport\b|\basync\b|\bawait\b|\?\.|\?\?|\*\*|\.\.\.|#\w+ |catch\{/,
  );
});

test("README: the recipe for node:test passes", async () => {
  const { stdout } = await run(
    process.execPath,
    "--test",
    await installed.copyRecipe("apps.test.mjs"),
  );
  assert.match(stdout, /^(#|ℹ) pass 2$/m); // newer Node versions print it in their own way
});

test("README: the recipe for Python passes", async (t) => {
  const file = await installed.copyRecipe("test_apps.py");
  const isHere = await run("python3", "-c", "import requests").catch(() => undefined);
  const skip = skipUnless(isHere !== undefined, "PYTHON", "python3 with requests is not here");
  if (skip) return t.skip(skip);
  const { stderr } = await run("python3", "-m", "unittest", file);
  assert.match(stderr, /^Ran 2 tests .*\n\nOK$/m);
});
