// One process at a time uses a data file: `FILE.lock` names the owner by process id and start time, so that a number
// that was given to another process later is not mistaken for it. A dead owner's lock is taken over. It does not guard
// against a process on another machine or in another container that shares the folder.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { StoreRefusal } from "../../domain/store.ts";
import { codeOf, PRIVATE } from "./disk.ts";

/** A marker stands for microseconds; one that is still there after so many looks was left by a process that died in them. */
const LOOKS = 10;
const LOOK_WAIT_MS = 20;
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/** Throws `StoreRefusal` when another process that lives has the file. Answers how to unlock it. */
export function lock(dataFile: string): () => void {
  const file = `${dataFile}.lock`;
  const marker = `${file}.takeover`;
  const own = `${JSON.stringify({ pid: process.pid, started: startOf(process.pid) })}\n`;
  mark(marker);
  try {
    const [, pid, started = ""] = /^\{"pid":(\d+),"started":"([^"]*)"\}\n$/.exec(read(file)) ?? [];
    if (pid !== undefined && isAlive(Number(pid), started))
      throw new StoreRefusal(
        `${dataFile} is in use by process ${pid}. Stop that process first, or give this one another data file.`,
      );
    writeFileSync(file, own, { mode: PRIVATE });
  } finally {
    rmSync(marker, { force: true });
  }
  return () => {
    try {
      if (read(file) === own) rmSync(file, { force: true });
    } catch (error) {
      // Where the disk does not let it go, it counts no more as soon as this process has ended.
      if (codeOf(error) === undefined) throw error;
    }
  };
}

/** Of several processes that find nobody there only the one that makes the marker may look and write. */
function mark(marker: string): void {
  for (let looks = 1; ; looks += 1) {
    try {
      writeFileSync(marker, "", { flag: "wx", mode: PRIVATE });
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    if (looks > LOOKS) rmSync(marker, { force: true });
    else Atomics.wait(NEVER, 0, 0, LOOK_WAIT_MS);
  }
}

/** What the file says; nothing where there is none. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

function isAlive(pid: number, started: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    if (codeOf(error) !== "EPERM") return false;
  }
  return [started, ""].includes(startOf(pid)) || started === "";
}

/** When a process was started, in a form that no other has; nothing where the system does not say, and its number must do. */
function startOf(pid: number): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The name in parentheses may hold anything; behind it come the state and, as the 20th, the start time (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // A zombie has ended and only waits for its parent to ask.
    return fields[0] === "Z" ? "ended" : `${boot}/${fields[19]}`;
  } catch {
    return "";
  }
}
