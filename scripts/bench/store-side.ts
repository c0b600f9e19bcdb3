// One side of a comparison of stores, in a process of its own so that no side finds the other's heap warm. Prints one
// JSON line. Modes: `write own|sqlite WRITERS FOLDER`, `grow memory|file RECORDS FOLDER`, `make RECORDS FILE`,
// `parse FILE`, `load FILE`, `nearly RECORDS FOLDER KEY`.
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { collections } from "../../src/domain/collections.ts";
import { type AppRecord, apps } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { startService } from "../../src/index.ts";
import { trusted } from "../../src/kit/schema.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { memoryStore } from "../../src/store/memory.ts";

const WRITE_MS = 1500;
const GROW_STEP = 20_000;
const GROW_WARM_STEPS = 4;
const GROW_STEPS = 10;
/** What is left to write until the journal is folded. */
const NEARLY_BYTES = 5_000_000;

const record = (n: number): AppRecord => ({
  id: `app_${String(n).padStart(23, "0")}`,
  title: `Application number ${n}`,
  description: "Shows the sales of the quarter by region and product",
  theme: "light",
  public: n % 2 === 0,
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
  account_id: `acc_${String(n % 10).padStart(23, "0")}`,
});

const create = (store: Store, n: number) => store.transact((tx) => tx.put(apps, record(n)));

async function opened(store: Store): Promise<Store> {
  await store.open([apps]);
  return store;
}

/** Runs `work` in so many loops at once for the time of a measurement; answers how often it ran a second. */
async function rate(writers: number, work: (n: number) => Promise<void> | void): Promise<number> {
  let n = 0;
  const start = performance.now();
  const writer = async () => {
    while (performance.now() < start + WRITE_MS) await work(n++);
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return (n / (performance.now() - start)) * 1000;
}

interface Sqlite {
  pragma(text: string): unknown;
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown };
}

async function sqlite(folder: string): Promise<(n: number) => void> {
  // The package is not among this repository's own; what is used of it is what the interface above says.
  const { default: Database } = trusted<{ default: new (file: string) => Sqlite }>(
    await import(process.env.BENCH_SQLITE ?? "better-sqlite3"),
  );
  const database = new Database(join(folder, "data.sqlite"));
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(`CREATE TABLE apps (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, account TEXT, public INTEGER, body TEXT);
    CREATE INDEX account ON apps (account, seq); CREATE INDEX account_public ON apps (account, public, seq)`);
  const insert = database.prepare("INSERT INTO apps (id, account, public, body) VALUES (?, ?, ?, ?)");
  return (n) => {
    const app = record(n);
    insert.run(app.id, app.account_id, app.public ? 1 : 0, JSON.stringify(app));
  };
}

async function write(side: string, writers: number, folder: string): Promise<number> {
  if (side === "sqlite") return rate(1, await sqlite(folder));
  const store = await opened(jsonFileStore(join(folder, "data.json")));
  return rate(writers, (n) => create(store, n));
}

/**
 * Microseconds of CPU for a create with so many records there; as many of the oldest are removed between two measurements.
 * The first steps do not count: in them V8 clears away what making the records has left behind.
 */
async function grow(side: string, records: number, folder: string): Promise<number> {
  const store = await opened(side === "memory" ? memoryStore() : jsonFileStore(join(folder, `${records}.json`)));
  await store.restore({ format: 1, collections: { apps: Array.from({ length: records }, (_, n) => record(n)) } });
  globalThis.gc?.();
  let used = 0;
  for (let step = 0; step < GROW_WARM_STEPS + GROW_STEPS; step += 1) {
    const first = step * GROW_STEP;
    const before = process.cpuUsage();
    await each(records + first, (n) => create(store, n));
    const { user, system } = process.cpuUsage(before);
    if (step >= GROW_WARM_STEPS) used += user + system;
    await each(first, (n) => store.transact((tx) => tx.remove(apps, record(n).id)));
  }
  return used / GROW_STEPS / GROW_STEP;
}

/** Does the work for a step of numbers, many at once. */
async function each(first: number, work: (n: number) => Promise<void>): Promise<void> {
  let n = first;
  const worker = async () => {
    while (n < first + GROW_STEP) await work(n++);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

async function make(records: number, file: string): Promise<number> {
  const store = await opened(jsonFileStore(file));
  await store.restore({ format: 1, collections: { apps: Array.from({ length: records }, (_, n) => record(n)) } });
  await store.close();
  return records;
}

async function timed(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Leaves a service's FILE with so many apps, and a journal that it will be folded with before long, as if killed. */
async function nearly(records: number, folder: string, apiKey: string): Promise<number> {
  mkdirSync(folder);
  const file = join(folder, "data.json");
  const service = await startService({ data: file, apiKey });
  const { id: account_id } = service.account;
  await service.close();
  const store = jsonFileStore(file, { journal_bytes_max: Number.POSITIVE_INFINITY });
  await store.open(collections);
  const { format, collections: lists } = await store.snapshot();
  const made = Array.from({ length: records }, (_, n) => ({ ...record(n), account_id }));
  await store.restore({ format, collections: { ...lists, apps: made } });
  const large = { ...record(0), account_id, description: "x".repeat(5_000) };
  const enough = Math.max(statSync(file).size, 8 * 1024 * 1024) - NEARLY_BYTES;
  while (statSync(`${file}.journal`).size < enough) await store.transact((tx) => tx.put(apps, large));
  return records;
}

const [mode, first = "", second = "", third = ""] = process.argv.slice(2);
const modes: Readonly<Record<string, () => Promise<unknown>>> = {
  write: () => write(first, Number(second), third),
  grow: () => grow(first, Number(second), third),
  make: () => make(Number(first), second),
  parse: () => timed(() => JSON.parse(readFileSync(first, "utf8"))),
  load: () => timed(() => opened(jsonFileStore(first))),
  nearly: () => nearly(Number(first), second, third),
};
process.stdout.write(`${JSON.stringify(await modes[mode ?? ""]?.())}\n`);
process.exit(0);
