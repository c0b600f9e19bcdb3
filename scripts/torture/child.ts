// The process that is tortured. `write FILE…` writes to each file for ever, starting, folding and stopping in between;
// `session FILE` goes through a fixed list of commits once; `fold FILE` has each commit fold the journal; `hold FILE…`
// opens the files and waits. What it says on standard output is the only word on what was acknowledged, written at once
// so that no kill can swallow it.
import { writeSync } from "node:fs";
import { StorageUnavailable, type Store, StoreRefusal } from "../../src/domain/store.ts";
import { jsonFileStore } from "../../src/store/json-file.ts";
import { advance, collections, total } from "./model.ts";

const say = (line: string) => writeSync(1, `${line}\n`);

/** Small enough that the journal is folded all the time. */
const JOURNAL_BYTES_MAX = 3_000;
const WRITERS = 4;
const SESSION_STEPS = 8;
/** The steps before which the session stops and starts again, and before which it restores a snapshot. */
const RESTART_BEFORE = 4;
const RESTORE_BEFORE = 6;

const FOLDS = 4;

const open = async (file: string, journal_bytes_max = JOURNAL_BYTES_MAX): Promise<Store> => {
  const store = jsonFileStore(file, { journal_bytes_max });
  await store.open(collections);
  return store;
};

async function write(file: string, name: number): Promise<void> {
  for (let life = 0; ; life += 1) {
    const store = await open(file);
    const writer = async () => {
      for (let left = 5 + ((life * 7) % 25); left > 0; left -= 1) say(`${name} ${await advance(store)}`);
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    await store.close();
  }
}

/** Says `start`, then `ack` or `fail` for each step; `restart` where it has started anew; `phantom` where a failed step can be seen. */
async function session(file: string): Promise<void> {
  let store = await open(file);
  let acknowledged = await total(store);
  for (let step = 1; step <= SESSION_STEPS; step += 1) {
    if (step === RESTART_BEFORE) {
      await store.close();
      store = await open(file);
      say("restart");
      // What is missing or too much after a start is judged at the end, by the whole count.
      acknowledged = await total(store);
    }
    try {
      if (step === RESTORE_BEFORE) await store.restore(await store.snapshot());
      say("start");
      await Promise.all([advance(store), store.snapshot()]);
      acknowledged += 1;
      say("ack");
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      say("fail");
    }
    const seen = await total(store);
    if (seen !== acknowledged) say(`phantom: ${seen} are seen, ${acknowledged} were acknowledged`);
  }
  await store.close();
  say("end");
}

async function fold(file: string): Promise<void> {
  const store = await open(file, 0);
  for (let commit = 0; commit < FOLDS; commit += 1) say(String(await advance(store)));
  await store.close();
}

async function hold(files: readonly string[]): Promise<void> {
  try {
    for (const file of files) await advance(await open(file));
    say("open");
    process.stdin.resume();
  } catch (error) {
    giveUp(error);
  }
}

function giveUp(error: unknown): void {
  if (!(error instanceof StoreRefusal)) throw error;
  say(`refused: ${error.message}`);
}

const [role, ...files] = process.argv.slice(2);
if (role === "write") await Promise.all(files.map(write));
else if (role === "fold") await fold(files[0] ?? "");
else if (role === "session") await session(files[0] ?? "").catch(giveUp);
else await hold(files);
