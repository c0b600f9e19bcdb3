// What people run beside the server: the walk through the specification, the conformance report and the receiver; and how
// they and the others are used.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fuzz } from "../scripts/attack/fuzz.ts";
import { slow, spoiled } from "../scripts/attack/wire.ts";
import { startService } from "../src/index.ts";
import { ran } from "./support/process.ts";

test("attack: drawn requests, spoiled ones and slow connections find nothing", async () => {
  for (const attack of [fuzz(300, "short"), spoiled(100, "short"), slow(20, 5, 0)])
    assert.deepEqual((await attack).wrong, []);
});

const AT = (baseUrl: string) => ["--base-url", baseUrl, "--api-key", "a-key-for-tests"];

test("conformance: who follows the specification gets a line for each clause, with --choices for each choice, and exit code 0", async () => {
  await using service = await startService({ apiKey: "a-key-for-tests" });
  const shown = await ran("conformance.ts", ...AT(service.baseUrl), "--only", "8");
  assert.equal(shown.code, 0, shown.out);
  assert.match(shown.out, /^shown +8\.default-limit /m);
  assert.match(shown.out, /^skipped +8\.answer-time .*\(needs a server of our own\)$/m);
  assert.match(shown.out, /\n2 shown, 0 chosen, 2 skipped, 0 failed\n$/);
  const chosen = await ran("conformance.ts", ...AT(service.baseUrl), "--only", "9", "--choices");
  assert.equal(chosen.code, 0, chosen.out);
  assert.match(chosen.out, /^chosen +9\.deprecation /m);
});

test("conformance: one that does not is told which clause it breaks, on every line, with exit code 1", async () => {
  const other = createServer((_request, response) => response.writeHead(418).end("{}"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { code, out } = await ran("conformance.ts", ...AT(`http://127.0.0.1:${port}/v1`), "--only", "9");
  other.closeAllConnections();
  other.close();
  assert.equal(code, 1);
  const failing = out.split("\n").filter((line) => /^(failed|\s{8})/.test(line));
  assert.ok(failing.length > 1, out);
  for (const line of failing) assert.match(line, /9\.path-segment/);
});

test("clause: this server is held to the one clause that is named", async () => {
  const { code, out } = await ran("conformance.ts", "--own", "--only", "9.path-segment");
  assert.equal(code, 0, out);
  assert.match(out, /^shown +9\.path-segment .*\n\n1 shown, 0 chosen, 0 skipped, 0 failed\n$/);
});

/** What is wrong about each use, and what is said of it. */
const WRONG: readonly (readonly [command: string, says: RegExp])[] = [
  ...["", "--base-url nowhere --api-key k", "--base-url http://x/v1 --api-key k --only *", "--all"].map(
    (args) => [`conformance.ts ${args}`, /Usage: npm run conformance/] as const,
  ),
  ["conformance.ts --own --only 9.nothing", /^No clause begins with 9\.nothing\.$/m],
  ["bench/main.ts bench:delivery calm", /^There is no part calm\. Choose from: throughput, silence, /],
  ...["--rooms attic", "--sample some", "--everything"].map(
    (args) => [`mutate.ts ${args}`, /Usage: npm run mutate/] as const,
  ),
  ["receiver.ts", /^--secret is missing.*npm run receiver.*\n$/],
  ...["--secret x --answers maybe", "--secret x --port many", "--colour"].map(
    (args) => [`receiver.ts ${args}`, /^.*npm run receiver.*\n$/] as const,
  ),
];

test("scripts: wrong use is exit code 2, and says how it is used", async () => {
  for (const [command, says] of WRONG) {
    const [script = "", ...args] = command.trim().split(" ");
    const { code, err } = await ran(script, ...args);
    assert.equal(code, 2, command);
    assert.match(err, says, command);
  }
});

test("receiver: prints each delivery with its verdict, and --help how it is used", async () => {
  const help = await ran("receiver.ts", "--help");
  assert.deepEqual([help.code, help.err], [0, ""]);
  assert.match(help.out, /^Usage: npm run receiver -- --port 4700 --secret SECRET/);
  const command = "--import tsx scripts/receiver.ts --port 0 --secret whsecret --answers 500,200";
  const child = spawn(process.execPath, command.split(" "));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const url = (await line()).replace("Listening on ", "");
  const body = '{"id":"evt_1","type":"app.created"}';
  // openssl dgst -sha256 -hmac whsecret
  const right = "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e";
  for (const [hex, status] of [
    ["0", 401],
    [right, 500],
    [right, 200],
  ] as const) {
    const headers = { "X-Service-Signature": `sha256=${hex}` };
    assert.equal((await fetch(url, { method: "POST", body, headers })).status, status);
  }
  const printed = [await line(), await line(), await line(), await line(), await line()];
  assert.match(printed[0] ?? "", /bad signature, answered 401/);
  assert.match(printed[2] ?? "", /new, answered 500/);
  assert.equal(printed[3]?.trim(), body);
  assert.match(printed[4] ?? "", /seen before, answered 200/);
  child.kill();
  await once(child, "exit");
});
