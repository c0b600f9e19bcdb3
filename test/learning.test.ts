// Learning material: the walk through the specification, the exercise and the trace of a request.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { DECISIONS } from "../src/former-decisions.ts";
import { startService } from "../src/index.ts";
import { closeLater, freshFile } from "./support/closing.ts";
import { embedded } from "./support/embedded.ts";
import { listen } from "./support/ports.ts";
import { printedBy, ran, script } from "./support/process.ts";
import { hooked } from "./support/receivers.ts";
import { CLAUSES } from "./support/sources.ts";

/** Escape sequences of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const STYLE = /\u001b\[\d+m/g;

test("demo: all nine parts succeed in under 10 s", async () => {
  const stdout = await printedBy("demo.ts");
  for (let part = 1; part <= 9; part += 1)
    assert.match(stdout, new RegExp(`^ {2}${part} |^${part}\\b|^\\d and ${part}\\b`, "m"));
  assert.match(stdout, /the receiver answered 500, 503, 204/);
  const ids = [...stdout.replace(STYLE, "").matchAll(/^ {2}(\d\.[\w.-]+) /gm)].map(
    ([, id = ""]) => id,
  );
  assert.ok(ids.length > 30);
  for (const id of ids) assert.ok(CLAUSES.has(id) || id in DECISIONS, id);
  const [, took] = /all as they must be, in (\d+) ms\.\n$/.exec(stdout) ?? [];
  assert.ok(Number(took) < 10_000, stdout.slice(-200));
});

test("demo: with --step each step waits for Enter", async () => {
  const { child, said, ended } = script("demo.ts", "--step");
  const steps = () => [...said.stdout.replace(STYLE, "").matchAll(/^ {2}\d\./gm)].length;
  const shown = async (count: number) => {
    while (steps() < count) await once(child.stdout, "data");
  };
  await shown(1);
  await ran("demo.ts"); // longer than a walk that does not wait
  assert.equal(steps(), 1);
  child.stdin.write("\n");
  await shown(2);
  child.stdin.end();
  const { code, signal, stdout } = await ended;
  assert.deepEqual([code, signal], [0, null]);
  assert.match(stdout.replace(STYLE, ""), /all as they must be/);
});

/** Each fixes one of the five faults, except one that declares the variables of the last two. */
const MENDS: readonly (readonly [from: string, to: string])[] = [
  ["const body = JSON.stringify(event);", "const body = Buffer.concat(chunks);"],
  ["signature && signature !== expected", "signature !== expected"],
  [
    "  await work(event);\n  response.writeHead(204).end();",
    "  response.writeHead(204).end();\n  await work(event);",
  ],
  ["const handled", "const seen = new Set(), newest = new Map(), handled"],
  ["await work(event);", "if (!seen.has(event.id)) { seen.add(event.id); await work(event); }"],
  [
    "apps.set(id, title);",
    "if (!(newest.get(id) > event.id)) { apps.set(id, title); newest.set(id, event.id); }",
  ],
];

/** Runs the exercise on the receiver with these fixes; returns its exit code, and its lines in a fixed order. */
async function judged(mends: typeof MENDS) {
  let text = readFileSync("scripts/exercise/receiver.mjs", "utf8");
  for (const [from, to] of mends) {
    assert.ok(text.includes(from), from);
    text = text.replace(from, to);
  }
  const { code, stdout, stderr } = await ran(
    "exercise.ts",
    "--receiver",
    freshFile("receiver.mjs", text),
  );
  assert.equal(stderr, "");
  return { code, lines: stdout.replace(STYLE, "").trim().split("\n").sort() };
}

test("exercise: the receiver has five faults, each is reported without its solution, and the fixed receiver passes", async () => {
  const [faulty, oneMended, mended] = await Promise.all([
    judged([]),
    judged(MENDS.slice(0, 1)),
    judged(MENDS),
  ]);
  const wrong = (lines: readonly string[]) => lines.filter((line) => line.startsWith("wrong  "));
  assert.deepEqual([faulty.code, wrong(faulty.lines).length], [1, 5]);
  assert.doesNotMatch(faulty.lines.join("\n"), /JSON\.|seen|await|created/);
  assert.deepEqual([oneMended.code, wrong(oneMended.lines).length], [1, 4]);
  assert.ok(oneMended.lines.includes("right  what is signed"));
  assert.deepEqual([mended.code, wrong(mended.lines)], [0, []], mended.lines.join("\n"));
});

const KEY = "a-key-for-tests";
const trace = (id: string, at: string) =>
  ["trace.ts", "--id", id, "--base-url", at, "--api-key", KEY] as const;

test("trace: the output lists the events and deliveries caused by a request of a running server", async () => {
  await using own = await embedded({ apiKey: KEY, control: true });
  const { service, api } = own;
  await hooked(api, ["app.created"], {}, [500, 200]);
  const id = (await api.post("/apps", { title: "Sales" })).header("x-request-id");
  await service.settled();
  const traced = () => printedBy(...trace(id, service.baseUrl));
  assert.match(
    await traced(),
    /^1\. Client → Service: POST \/v1\/apps – req_\w+, .*, answered 201\n2\. Service: app\.created – evt_/,
  );
  assert.match(
    await traced(),
    /: attempt 1 – .*: 500 – 0 ms\n.*: pending – to be tried again .* our choice.*\n$/s,
  );
  await service.clock.advance("10s");
  assert.match(await traced(), /: attempt 2 – .*: 200 – 0 ms\n.*: succeeded\n$/s);
});

test("trace: a server without controls, an unknown id and a silent address print one line and exit with code 2", async () => {
  await using service = await startService({ apiKey: KEY, control: true });
  await using closed = await startService({ apiKey: KEY });
  const cutting = createServer((socket) => void socket.destroy());
  const cut = `http://127.0.0.1:${await listen(cutting)}/v1`;
  closeLater(() => cutting.close());
  for (const [id, at, says] of [
    ["req_1", service.baseUrl, /no such request in the journal/],
    ["req_1", closed.baseUrl, /start the server with --control/],
    ["req_1", "http://127.0.0.1:9/v1", /Nothing answers/],
    ["req_1", cut, /Nothing answers/],
    ["req_1", "localhost:4600/v1", /--base-url must be a URL, which begins with http/],
    ["", service.baseUrl, /id of a request is missing/],
  ] as const) {
    const { code, stdout, stderr } = await ran(...trace(id, at));
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
  }
});
