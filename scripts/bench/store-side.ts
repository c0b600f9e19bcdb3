// One side of a comparison of stores, in a process of its own so that no side finds the other's heap warm. Prints one
// JSON line. Modes: `write own|sqlite WRITERS FOLDER`, `grow memory|file RECORDS FOLDER`, `make RECORDS FILE`,
// `parse FILE`, `load FILE`, `fold FOLDER`.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type AppRecord, apps } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { trusted } from "../../src/kit/schema.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { memoryStore } from "../../src/store/memory.ts";

const WRITE_MS = 1500;
const GROW_STEP = 20_000;
const FOLD_RECORDS = 5_000;
const FOLD_MS = 10_000;

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

/** Microseconds of CPU for a create with so many records there. */
async function grow(side: string, records: number, folder: string): Promise<number> {
  const store = await opened(side === "memory" ? memoryStore() : jsonFileStore(join(folder, `${records}.json`)));
  await store.restore({ format: 1, collections: { apps: Array.from({ length: records }, (_, n) => record(n)) } });
  // What making the records has left behind is not a cost of the writes.
  globalThis.gc?.();
  let n = records;
  const step = async () => {
    const until = n + GROW_STEP;
    const writer = async () => {
      while (n < until) await create(store, n++);
    };
    await Promise.all(Array.from({ length: 64 }, writer));
  };
  await step();
  const before = process.cpuUsage();
  await step();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / GROW_STEP;
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

/** p99 of a change while FILE is written anew, against p99 while it is not. The records are large, so it often is. */
async function fold(folder: string): Promise<{ folding: number; quiet: number }> {
  const file = join(folder, "data.json");
  const large = (n: number) => ({ ...record(n % FOLD_RECORDS), description: "x".repeat(4000) });
  const store = await opened(jsonFileStore(file, { journal_bytes_max: 1_000_000 }));
  const all = Array.from({ length: FOLD_RECORDS }, (_, n) => large(n));
  await store.restore({ format: 1, collections: { apps: all } });
  const times: Record<"folding" | "quiet", number[]> = { folding: [], quiet: [] };
  const end = performance.now() + FOLD_MS;
  const writer = async (first: number) => {
    for (let n = first; performance.now() < end; n += 16) {
      const wasFolding = existsSync(`${file}.new`);
      const start = performance.now();
      await store.transact((tx) => tx.put(apps, large(n)));
      const took = performance.now() - start;
      times[wasFolding || existsSync(`${file}.new`) ? "folding" : "quiet"].push(took);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, n) => writer(n)));
  const p99 = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length * 0.99)] ?? Number.NaN;
  return { folding: p99(times.folding), quiet: p99(times.quiet) };
}

const [mode, first = "", second = "", third = ""] = process.argv.slice(2);
const modes: Readonly<Record<string, () => Promise<unknown>>> = {
  write: () => write(first, Number(second), third),
  grow: () => grow(first, Number(second), third),
  make: () => make(Number(first), second),
  parse: () => timed(() => JSON.parse(readFileSync(first, "utf8"))),
  load: () => timed(() => opened(jsonFileStore(first))),
  fold: () => fold(first),
};
process.stdout.write(`${JSON.stringify(await modes[mode ?? ""]?.())}\n`);
process.exit(0);
