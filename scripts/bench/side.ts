// One measurement in a process of its own, told on standard output as figures by unit; the arguments say which (MODES).
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { join } from "node:path";
import { httpSender, type Sender } from "../../src/delivery/sender.ts";
import { apps } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { outboxWorld } from "../../test/support/outbox-world.ts";
import { listen } from "../../test/support/ports.ts";
import { promised } from "../../test/support/wait.ts";
import { pool } from "../pool.ts";
import { type Figures, median, scaled } from "./figures.ts";
import { draft } from "./load.ts";
import { answers, built, KEY, newFolder } from "./machine.ts";

/** The package, as a user runs it. */
const { jsonFileStore, startService }: typeof import("../../src/index.ts") = await import(built("index"));

const WRITE_MS = 1_500;
const LIVES = scaled(200);
const WARM_LIVES = 20;
const POSTS = scaled(20_000);
const WARM_POSTS = scaled(2_000);

const times = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };
const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(23, "0")}`;
const record = (n: number) => ({ id: idOf("app", n), ...draft(n), ...times, account_id: idOf("acc", n % 10) });
const put = (store: Store, n: number) => store.transact((tx) => tx.put(apps, record(n)));

async function opened(file: string): Promise<Store> {
  const store = jsonFileStore(file);
  await store.open([apps]);
  return store;
}

async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function sqlite(module: string, folder: string): Promise<(n: number) => void> {
  // The package is not among this repository's own, which therefore has no types of it.
  const { default: Database } = await import(module);
  const database = new Database(join(folder, "data.sqlite"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE apps (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, account TEXT, public INTEGER, body TEXT);
    CREATE INDEX account ON apps (account, seq); CREATE INDEX account_public ON apps (account, public, seq)`);
  const insert = database.prepare("INSERT INTO apps (id, account, public, body) VALUES (?, ?, ?, ?)");
  return (n) => {
    const app = record(n);
    insert.run(app.id, app.account_id, app.public ? 1 : 0, JSON.stringify(app));
  };
}

/** Creates with fsync in a folder of their own: `write own|MODULE_OF_SQLITE WRITERS`. */
async function write(kind: string, writers: string): Promise<Figures> {
  using folder = newFolder();
  const store = kind === "own" ? await opened(join(folder.path, "data.json")) : undefined;
  const work = store === undefined ? await sqlite(kind, folder.path) : (n: number) => put(store, n);
  let n = 0;
  const until = performance.now() + WRITE_MS;
  const inTime = function* () {
    while (performance.now() < until) yield n++;
  };
  const ms = await timed(() => pool(Number(writers), inTime(), work));
  await store?.close();
  return { "a second": (n / ms) * 1_000 };
}

/** `make RECORDS FILE`. */
async function make(records: string, file: string): Promise<Figures> {
  const store = await opened(file);
  const all = Array.from({ length: Number(records) }, (_, n) => record(n));
  await store.restore({ format: 1, collections: { apps: all } });
  await store.close();
  return {};
}

/** `load FILE`. It is closed again, else the next one would have the lock of a dead process to take over. */
async function load(file: string): Promise<Figures> {
  const began = performance.now();
  const store = await opened(file);
  const ms = performance.now() - began;
  await store.close();
  return { ms };
}

/** Start, first request and close in a test: `life own|bare`. */
async function life(kind: string): Promise<Figures> {
  const own = async () => {
    await using service = await startService({ apiKey: KEY });
    assert.ok(await answers(Number(new URL(service.baseUrl).port)));
  };
  const bare = async () => {
    await using server = createServer((_, response) => response.end("[]"));
    assert.ok(await answers(await listen(server)));
  };
  const ms: number[] = [];
  for (let n = -WARM_LIVES; n < LIVES; n += 1) ms.push(await timed(kind === "own" ? own : bare));
  return { ms: median(ms.slice(WARM_LIVES)) };
}

/** A bare node:http agent with keep-alive that posts what a delivery holds: `post URL AT_ONCE`. */
async function post(url: string, atOnce: string): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const work = async () => {
    const sent = request(url, { agent, method: "POST", headers }).end(body);
    const [response] = await once(sent, "response");
    await once(response.resume(), "end");
  };
  await pool(Number(atOnce), Array(WARM_POSTS).keys(), work);
  return { "a second": POSTS / ((await timed(() => pool(Number(atOnce), Array(POSTS).keys(), work))) / 1_000) };
}

/** The outbox alone, one attempt at a time for each webhook; all rows are there before the first is sent: `send URL WEBHOOKS`. */
async function send(url: string, webhooks: string): Promise<Figures> {
  const real = httpSender({ policy: "local", timeout_ms: 30_000 });
  let gate = Promise.resolve();
  const sender: Sender = { send: (one) => gate.then(() => real.send(one)), close: () => real.close() };
  const world = await outboxWorld({ sender });
  for (let n = 0; n < Number(webhooks); n += 1) await world.webhook(url);
  const sent = async (posts: number) => {
    const { kept, keep } = promised();
    gate = kept;
    for (let n = 0; n < posts / Number(webhooks); n += 1) await world.emit({ filler: "x".repeat(220) });
    keep();
    return posts / ((await timed(() => world.idle())) / 1_000);
  };
  await sent(WARM_POSTS);
  return { "a second": await sent(POSTS) };
}

const MODES: Readonly<Record<string, (...args: [string, string]) => Promise<Figures>>> = {
  ...{ write, make, load, life, post, send },
  parse: async (file) => ({ ms: await timed(() => JSON.parse(readFileSync(file, "utf8"))) }),
};
const [mode = "", first = "", second = ""] = process.argv.slice(2);
console.log(JSON.stringify(await MODES[mode]?.(first, second)));
process.exit();
