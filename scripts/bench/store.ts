// Store benchmark: the JSON-file store against better-sqlite3 (WAL, synchronous=FULL), and against JSON.parse.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apps } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { took } from "../../test/support/costs.ts";
import { installed } from "../installed.ts";
import { pool } from "../pool.ts";
import { compare, type Figures, scaled, whole } from "./figures.ts";
import { draft } from "./load.ts";
import { index, inSide, newFolder, side } from "./machine.ts";

const SQLITE = "12.4.1";
const MANY = scaled(1_000_000);
const WRITE_MS = 1_500;
/** Goals by the number of concurrent writers. */
const GOALS = { 1: ">= 0.6", 16: ">= 4", 128: ">= 8" };

export async function writes(): Promise<void> {
  const module = join(
    installed(`better-sqlite3@${SQLITE}`),
    "node_modules/better-sqlite3/lib/index.js",
  );
  const sqlite = side(`better-sqlite3 ${SQLITE}, WAL, FULL`, "store", "write", "1", module);
  for (const [writers, goal] of Object.entries(GOALS)) {
    const sides = [side("own", "store", "write", writers), sqlite] as const;
    await compare(`Create with fsync, ${writers} at once`, sides, { "a second": goal }, 0);
  }
}

export async function loads(): Promise<void> {
  using folder = newFolder();
  for (const count of [MANY / 10, MANY]) {
    const file = join(folder.path, `${count}.json`);
    await inSide("store", "make", String(count), file);
    const parsing = side("JSON.parse of the file", "store", "parse", file);
    const sides = [side("own", "store", "open", file), parsing] as const;
    await compare(`Open with ${whole(count)} records`, sides, { ms: "<= 1.60" }, 0);
  }
}

const times = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };
const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(23, "0")}`;
const record = (n: number) => ({
  id: idOf("app", n),
  ...draft(n),
  ...times,
  account_id: idOf("acc", n % 10),
});

const storeOn = async (file: string): Promise<Store> => (await index()).jsonFileStore(file);

async function sqlite(module: string, folder: string): Promise<(n: number) => void> {
  // The package is not a dependency of this repository, so it has no types here.
  const { default: Database } = await import(module);
  const database = new Database(join(folder, "data.sqlite"));
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE apps (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, account TEXT, public INTEGER, body TEXT);
    CREATE INDEX account ON apps (account, seq); CREATE INDEX account_public ON apps (account, public, seq)`);
  const insert = database.prepare(
    "INSERT INTO apps (id, account, public, body) VALUES (?, ?, ?, ?)",
  );
  return (n) => {
    const app = record(n);
    insert.run(app.id, app.account_id, app.public ? 1 : 0, JSON.stringify(app));
  };
}

/** Durable creates in a new folder; `module` is the path of SQLite if that is the one measured. */
export async function write(writers: string, module?: string): Promise<Figures> {
  using folder = newFolder();
  const store = await storeOn(join(folder.path, "data.json"));
  await store.open([apps]);
  const own = (n: number) => store.transact((tx) => tx.put(apps, record(n)));
  const work = module === undefined ? own : await sqlite(module, folder.path);
  let n = 0;
  const until = performance.now() + WRITE_MS;
  const inTime = function* () {
    while (performance.now() < until) yield n++;
  };
  const ms = await took(() => pool(Number(writers), inTime(), work));
  await store.close();
  return { "a second": (n / ms) * 1_000 };
}

export async function make(count: string, file: string): Promise<Figures> {
  const store = await storeOn(file);
  await store.open([apps]);
  const all = Array.from({ length: Number(count) }, (_, n) => record(n));
  await store.restore({ format: 2, collections: { apps: all } });
  await store.close();
  return {};
}

/** Closes the store, because the next run would otherwise take over a stale lock. */
export async function open(file: string): Promise<Figures> {
  const store = await storeOn(file);
  const ms = await took(() => store.open([apps]));
  await store.close();
  return { ms };
}

export const parse = async (file: string): Promise<Figures> => ({
  ms: await took(async () => JSON.parse(readFileSync(file, "utf8"))),
});
