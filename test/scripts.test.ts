// What people run beside the server: the walk through the specification, the conformance report, and what is changed to
// find missing tests.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { test } from "node:test";
import { fuzz } from "../scripts/attack/fuzz.ts";
import { slow, spoiled } from "../scripts/attack/wire.ts";
import { compare, isMissed, markdown, plain, ratio } from "../scripts/bench/figures.ts";
import { Guide } from "../scripts/demo/guide.ts";
import { changesOf } from "../scripts/mutate/changes.ts";
import { startService } from "../src/index.ts";

/** Runs a script to its end; answers its exit code and what it printed. */
const ran = (script: string, ...args: readonly string[]) =>
  new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const command = ["--import", "tsx", `scripts/${script}`, ...args];
    const child = execFile(process.execPath, command, { env, timeout: 60_000 }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, out, err }),
    );
  });

test("demo: it walks through all nine parts, each step as it must be, in under 10 s", async () => {
  const { code, out, err } = await ran("demo.ts");
  assert.deepEqual([code, err], [0, ""]);
  for (let part = 1; part <= 9; part += 1)
    assert.match(out, new RegExp(`^ {2}${part} |^${part}\\b|^\\d and ${part}\\b`, "m"));
  assert.match(out, /the receiver answered 500, 503, 204/);
  const [, took] = /all as they must be, in (\d+) ms\.\n$/.exec(out) ?? [];
  assert.ok(Number(took) < 10_000, out.slice(-200));
});

test("demo: an answer that is not as it must be ends the walk", async () => {
  await using service = await startService();
  const guide = new Guide(service.baseUrl, service.apiKey);
  await guide.step("8 the default", "GET /apps", 200, { limit: 20 });
  await assert.rejects(guide.step("8 the default", "GET /apps", 200, { limit: 21 }), /8 the default: limit/);
  await assert.rejects(guide.step("8 the default", "GET /apps", 201), /8 the default: .*GET \/apps/);
  assert.throws(() => guide.seen("6 signed", "nothing", false), /6 signed/);
  guide.close();
});

test("attack: drawn requests, spoiled ones and slow connections find nothing", async () => {
  for (const attack of [fuzz(300, "short"), spoiled(100, "short"), slow(20, 5, 0)])
    assert.deepEqual((await attack).wrong, []);
});

const AT = (baseUrl: string) => ["--base-url", baseUrl, "--api-key", "a-key-for-tests"];

test("conformance: an implementation that follows the specification gets a line for each clause, and exit code 0", async () => {
  await using service = await startService({ apiKey: "a-key-for-tests" });
  const { code, out } = await ran("conformance.ts", ...AT(service.baseUrl), "--only", "8");
  assert.equal(code, 0, out);
  assert.match(out, /^shown +8\.default-limit /m);
  assert.match(out, /^skipped +8\.answer-time .*\(needs a server of our own\)$/m);
  assert.match(out, /\n2 shown, 0 chosen, 2 skipped, 0 failed\n$/);
});

test("conformance: with --choices it is held to this server's choices, too", async () => {
  await using service = await startService({ apiKey: "a-key-for-tests" });
  const { code, out } = await ran("conformance.ts", ...AT(service.baseUrl), "--only", "9", "--choices");
  assert.equal(code, 0, out);
  assert.match(out, /^chosen +9\.deprecation /m);
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

test("clause: this server is held to the one clause that is named, and one that does not exist is told", async () => {
  const { code, out } = await ran("conformance.ts", "--own", "--only", "9.path-segment");
  assert.equal(code, 0, out);
  assert.match(out, /^shown +9\.path-segment .*\n\n1 shown, 0 chosen, 0 skipped, 0 failed\n$/);
  const none = await ran("conformance.ts", "--own", "--only", "9.nothing");
  assert.equal(none.code, 2);
  assert.match(none.err, /^No clause begins with 9\.nothing\.$/m);
});

test("conformance: wrong use is exit code 2, and says how it is used", async () => {
  for (const args of [
    [],
    ["--base-url", "nowhere", "--api-key", "k"],
    [...AT("http://x/v1"), "--only", "*"],
    ["--all"],
  ]) {
    const { code, err } = await ran("conformance.ts", ...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, /Usage: npm run conformance/);
  }
});

test("bench: sides are measured in turning rounds, and a ratio is the median of the rounds'", async () => {
  const order: string[] = [];
  const side = (name: string, values: number[]) => ({
    name,
    measure: async () => {
      order.push(name);
      return { ms: values.shift() ?? Number.NaN };
    },
  });
  const [own, base] = await compare([side("own", [9, 2, 6, 4]), side("base", [9, 1, 2, 1])], 1, 3);
  assert.equal(order.join(" "), "own base own base base own own base");
  const line = ratio("Work", own, base, "ms", "<= 2.50");
  assert.deepEqual(line.values, [2, 3, 4]);
  assert.match(
    markdown([line]),
    /\n\| Work \| base \| ratio, ms \| \*\*3\.00\*\* \(2\.00–4\.00\) \| <= 2\.50 \*\*missed\*\* \| 4\.00 against 1\.00 ms \|$/,
  );
});

test("bench: a goal is missed by what is beyond it, and by what could not be measured", () => {
  const missed = (goal: string) => [1, 2, 3, Number.NaN].filter((value) => isMissed(plain("", "", value, goal)));
  assert.deepEqual(missed("<= 2"), [3, Number.NaN]);
  assert.deepEqual(missed(">= 2"), [1, Number.NaN]);
  assert.deepEqual(missed("= 2"), [1, 3, Number.NaN]);
  assert.deepEqual(missed(""), []);
});

test("bench: an unknown part is exit code 2, and the parts are named", async () => {
  const { code, err } = await ran("bench/main.ts", "bench:delivery", "calm");
  assert.equal(code, 2);
  assert.match(err, /^There is no part calm\. Choose from: throughput, silence, /);
});

const changed = (code: string) =>
  changesOf(code)
    .flat()
    .map(({ from, to, text }) => code.slice(0, from) + text + code.slice(to));

test("mutate: a line is changed in each of its parts, one at a time", () => {
  assert.deepEqual(changed('if (a < 10 && !b) return ["x"];'), [
    'if (!(a < 10 && !b)) return ["x"];',
    'if (a <= 10 && !b) return ["x"];',
    'if (a < 10 || !b) return ["x"];',
    'if (a < 10 && b) return ["x"];',
    'if (a < 11 && !b) return ["x"];',
    'if (a < 10 && !b) return [""];',
    "if (a < 10 && !b) return [];",
    "if (a < 10 && !b) return;",
  ]);
  assert.deepEqual(changed("  await this.send(false);"), ["  await this.send(true);", "  ;"]);
  assert.deepEqual(changed('const f = (x) => x ?? "";'), [
    'const f = (x) => x && "";',
    'const f = (x) => x ?? "changed";',
    "const f = (x) => void 0;",
  ]);
});

test("mutate: imports, comments, patterns and what is undefined already stay as they are", () => {
  const code = 'import a from "a";\n/* 1 < 2\n   return true; */\nconst b = /"[0 < 1]/;\nreturn void 0;\n';
  assert.deepEqual(changed(code), []);
});

test("receiver: --help tells how it is used, and a fault in that names it", async () => {
  const help = await ran("receiver.ts", "--help");
  assert.deepEqual([help.code, help.err], [0, ""]);
  assert.match(help.out, /^Usage: npm run receiver -- --port 4700 --secret SECRET/);
  assert.match((await ran("receiver.ts")).err, /^--secret is missing/);
});

test("mutate: wrong use is exit code 2, and says how it is used", async () => {
  for (const args of [["--rooms", "attic"], ["--sample", "some"], ["--everything"]]) {
    const { code, err } = await ran("mutate.ts", ...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, /Usage: npm run mutate/);
  }
});
