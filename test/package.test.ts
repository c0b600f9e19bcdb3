// The package as its users get it: built, packed, installed in an empty folder, without a network (contract, part 10).
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freshFolder } from "./support/closing.ts";

const BYTES_MAX = 200_000;
const run = promisify(execFile);
const folder = freshFolder();

// Installed once for all tests.
await run("npm", ["run", "build", "--silent"], { timeout: 60_000 });
const packed = await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder]);
const tarball = join(folder, packed.stdout.trim());
await writeFile(join(folder, "package.json"), '{"name":"user","private":true}');
await run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--silent", tarball], { cwd: folder });

const inFolder = async (file: string, script: string, ...flags: readonly string[]) => {
  await writeFile(join(folder, file), script);
  return run(process.execPath, [...flags, file], { cwd: folder, timeout: 20_000 });
};

const USE = `
  const service = await startService({ clock: "manual" });
  const answer = await fetch(service.baseUrl + "/apps", { headers: { authorization: "Bearer " + service.apiKey } });
  console.log(answer.status, (await answer.json()).total);
  await service.close();
`;

test("package: the tarball is small, brings nothing along and holds no source", async () => {
  const { size } = await stat(tarball);
  assert.ok(size < BYTES_MAX, `${size} bytes`);
  const listed = await run("npm", ["ls", "--all", "--parseable"], { cwd: folder });
  assert.equal(listed.stdout.trim().split("\n").length, 2);
  const { stdout } = await run("tar", ["-tzf", tarball]);
  assert.doesNotMatch(stdout, /package\/(src|test|scripts)\//);
});

for (const [way, file, script] of [
  ["import", "use.mjs", `import { startService } from "app-hosting-service";\n${USE}`],
  ["require", "use.cjs", `const { startService } = require("app-hosting-service");\n(async () => {${USE}})();`],
] as const)
  test(`package: ${way} works where Node allows it`, async () =>
    assert.equal((await inFolder(file, script)).stdout, "200 0\n"));

test("package: require says what to do where it cannot work", async () => {
  await assert.rejects(
    inFolder("old.cjs", 'require("app-hosting-service");', "--no-experimental-require-module"),
    /is an ES module, and require\(\) cannot load it here .* await import\("app-hosting-service"\)/,
  );
});

test("package: it exports what the contract names, and the errors that a store of one's own throws", async () => {
  const script = 'console.log(Object.keys(await import("app-hosting-service")).sort().join(", "));';
  const stores =
    "collection, isStoreError, jsonFileStore, memoryStore, startReceiver, startService, storeContract, verifySignature";
  const errors = "OptionError, READINGS, StorageUnavailable, StoreRefusal, UniqueViolation";
  assert.equal((await inFolder("names.mjs", script)).stdout, `${errors}, ${stores}\n`);
});

test("package: its types say what there is, and what there is not", async () => {
  const script = `
    import { memoryStore, startService, startReceiver, type Service, type Store, type Trace } from "app-hosting-service";
    const service: Service = await startService({ clock: "manual", seed: { accounts: [] } });
    export const lease: ReturnType<Store["lease"]> = memoryStore().lease("mine", 1_000);
    const trace: Trace | undefined = service.trace("req_1");
    service.faults.add({ method: "POST", path: "/v1/apps", status: 500, times: 1 });
    // @ts-expect-error: there is no such effect
    service.chaos.add({ effect: "lose" });
    service.faults.add({ method: "GET", path: "/v1/apps", connection: "reset", status: undefined });
    await startService({ retrySchedule: "5s", webhookTimeout: "500ms", readings: "4.list-shape=bare" });
    await startService({ clock: "system", rateLimit: "off", readings: { "4.list-shape": "bare" }, seed: "seed.json" });
    // @ts-expect-error: there is no such option
    await startService({ prot: 1 });
    // @ts-expect-error: there is no such clock
    await startService({ clock: "manuel" });
    // @ts-expect-error: a bare number is no duration
    await startService({ webhookTimeout: 500 });
    // @ts-expect-error: nor is one in a list
    await startService({ retrySchedule: [5_000] });
    // @ts-expect-error: nor is a number a reading
    await startService({ readings: 42 });
    // @ts-expect-error: and it has no such other reading
    await startService({ readings: { "4.list-shape": "nope" } });
    await using receiver = await startReceiver({ secret: "s", answers: [500, "hang", 200] });
    export const declared = await startService();
    export const seen: readonly string[] = [receiver.url, String(trace?.events.length)];
  `;
  await writeFile(join(folder, "use.mts"), script);
  // Node's own types declare this class differently from one version to the next.
  const own = join(folder, "node_modules/app-hosting-service/dist/embedding/disturbances.d.ts");
  assert.doesNotMatch(await readFile(own, "utf8"), /EventEmitter/);
  const types = join(process.cwd(), "node_modules/@types");
  const lib = ["--module", "nodenext", "--target", "es2023", "--lib", "es2023,esnext.disposable"];
  const flags = ["--strict", "--declaration", "--exactOptionalPropertyTypes", ...lib];
  const tsc = [join(process.cwd(), "node_modules/typescript/bin/tsc"), "--noEmit", "--types", "node"];
  await run(process.execPath, [...tsc, "--typeRoots", types, ...flags, "use.mts"], { cwd: folder }).catch((error) =>
    assert.fail(String(error.stdout)),
  );
});

/** Starts, answers, and ends with the npm that started it. */
async function lives(command: string, args: readonly string[], cwd: string): Promise<void> {
  const npm = spawn(command, [...args, "--port", "0", "--log", "json", "--control"], { cwd });
  const [line] = await once(npm.stdout, "data");
  const { base_url, auth_url, api_key } = JSON.parse(String(line).split("\n")[0] ?? "");
  const headers = { authorization: `Bearer ${api_key}` };
  assert.equal((await fetch(`${base_url}/apps`, { headers })).status, 200);
  assert.equal((await fetch(`${auth_url}/_control/reset`, { method: "POST", headers })).status, 204);
  npm.stdout.resume();
  npm.kill("SIGTERM");
  await once(npm, "close"); // of the output, which the server has as well
  await assert.rejects(fetch(`${auth_url}/healthz`));
}

test("package: the command starts, answers, and ends with the npm that started it", { timeout: 60_000 }, async () => {
  const npx = ["--no-install", "app-hosting-service"];
  const version = JSON.parse(await readFile("package.json", "utf8")).version;
  assert.equal((await run("npx", [...npx, "--version"], { cwd: folder })).stdout, `${version}\n`);
  await lives("npx", npx, folder);
});

test("package: npm start does the same with the sources", { timeout: 60_000 }, () =>
  lives("npm", ["start", "--silent", "--"], process.cwd()),
);

test("package: PostgreSQL needs its driver, and one line says so", async () => {
  const bin = join(folder, "node_modules/app-hosting-service/dist/bin.js");
  const started = run(process.execPath, [bin, "--data", "postgres://localhost/apps"]);
  await assert.rejects(started, (error: Error & { code?: unknown; stderr?: unknown }) => {
    assert.match(String(error.stderr), /^.*driver that is not installed here: npm install pg\. See --help\.\n$/);
    return error.code === 2;
  });
});

const RECIPES = "test/embedding/recipes";

/** A recipe, written into the folder of a user: the README has the one for node:test, and links to the others. */
async function recipe(file: string): Promise<string> {
  const readme = await readFile("README.md", "utf8");
  const [, inReadme] = new RegExp(`^\`\`\`\\w+ ${file}\\n(.*?)^\`\`\`$`, "ms").exec(readme) ?? [];
  assert.ok(inReadme !== undefined || readme.includes(`(${RECIPES}/${file})`), `the README does not lead to ${file}`);
  await writeFile(join(folder, file), inReadme ?? (await readFile(join(RECIPES, file))));
  return file;
}

/** As a user would run it: not as a part of this test run. */
function asUser(command: string, ...args: readonly string[]) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return run(command, args, { cwd: folder, env, timeout: 60_000 });
}

test("README: the recipe for node:test passes", async () => {
  const { stdout } = await asUser(process.execPath, "--test", await recipe("apps.test.mjs"));
  assert.match(stdout, /^(#|ℹ) pass 2$/m); // newer Nodes print it their way
});

for (const [tool, file] of [
  ["vitest", "apps.vitest.test.mjs"],
  ["jest", "apps.jest.test.js"],
] as const)
  test(`README: the recipe for ${tool} is whole`, async () => {
    await asUser(process.execPath, "--check", await recipe(file));
  });

test("README: the recipe for Python passes", async (t) => {
  const file = await recipe("test_apps.py");
  const isHere = await run("python3", ["-c", "import requests"]).catch(() => undefined);
  if (!isHere) return t.skip("python3 with requests is not here");
  const { stderr } = await asUser("python3", "-m", "unittest", file);
  assert.match(stderr, /^Ran 2 tests .*\n\nOK$/m);
});
