// The process under torture. `write FILE…` writes to each file forever, with starts, folds and stops in between.
// `session FILE` runs a fixed list of commits once; `hold FILE…` opens the files and waits. Its stdout is the only
// record of acknowledged commits, written synchronously so that no kill can lose a line.
import { writeSync } from "node:fs";
import { StorageUnavailable, StoreOpenError } from "../../src/domain/store.ts";
import { advance, opened, total } from "./model.ts";

const print = (line: string) => writeSync(1, `${line}\n`);

/** Small enough that the journal folds all the time. */
const FOLDING = { journal_bytes_max: 3_000 };
const WRITERS = 4;
const SESSION_STEPS = 8;
/** The session restarts before one of these steps, and restores a snapshot before the other. */
const RESTART_BEFORE = 4;
const RESTORE_BEFORE = 6;

async function write(file: string, name: number) {
  for (let life = 0; ; life += 1) {
    const store = await opened(file, FOLDING);
    const writer = async () => {
      for (let left = 5 + ((life * 7) % 25); left > 0; left -= 1)
        print(`${name} ${await advance(store)}`);
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    await store.close();
  }
}

/**
 * Prints `start`, then `ack` or `fail` for each step; `restart` after a restart; `phantom` if a failed step is visible.
 */
async function session(file: string) {
  let store = await opened(file, FOLDING);
  let acknowledged = await total(store);
  let hasFailed = false;
  for (let step = 1; step <= SESSION_STEPS; step += 1) {
    if (step === RESTART_BEFORE) {
      await store.close();
      store = await opened(file, FOLDING);
      print("restart");
      // The final check of the total covers lost and extra commits after a start.
      acknowledged = await total(store);
    }
    try {
      if (step === RESTORE_BEFORE) await store.restore(await store.snapshot());
      print("start");
      await Promise.all([advance(store), store.snapshot()]);
      acknowledged += 1;
      print("ack");
      // Half of the failures end in a crash, because a clean stop would write FILE and empty the journal.
      if (hasFailed && process.env.FAULT?.endsWith("ENOSPC")) {
        print("end");
        process.exit();
      }
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      hasFailed = true;
      print("fail");
    }
    const seen = await total(store);
    if (seen !== acknowledged) print(`phantom: ${seen} seen, ${acknowledged} acknowledged`);
  }
  await store.close();
  print("end");
}

async function hold(files: readonly string[]) {
  const stores = [];
  for (const file of files) stores.push(await opened(file));
  for (const store of stores) await advance(store);
  print("open");
  process.stdin.resume();
  // A store that nothing refers to would be collected with its open files.
  process.on("exit", () => stores.length);
}

const [role, ...files] = process.argv.slice(2);
try {
  if (role === "write") await Promise.all(files.map(write));
  else if (role === "session") await session(files[0] ?? "");
  else await hold(files);
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  print(`rejected: ${error.message}`);
}
