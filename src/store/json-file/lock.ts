// One process at a time uses a data file: `FILE.lock` names the owner by process id and start time, so that a number
// that was given to another process later is not mistaken for it. A dead owner's lock is taken over. It does not guard
// against a process on another machine or in another container that shares the folder.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { StoreRefusal } from "../../domain/store.ts";
import { errorCode, PRIVATE } from "./disk.ts";

/** A lock that is empty may just be being written; looked at so often before it counts as left behind. */
const LOOKS = 10;
const LOOK_WAIT_MS = 20;

interface Owner {
  readonly pid: number;
  readonly started: string;
}

export class Lock {
  readonly #file: string;
  readonly #text: string;

  private constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
  }

  /** Rejects nothing and waits for nobody: throws `StoreRefusal` when another process that lives has the file. */
  static take(dataFile: string): Lock {
    const file = `${dataFile}.lock`;
    const text = `${JSON.stringify({ pid: process.pid, started: startOf(process.pid) ?? "" })}\n`;
    while (!create(file, text)) takeOver(file, dataFile);
    return new Lock(file, text);
  }

  /** Where the disk does not let it go, it counts no more as soon as this process has ended. */
  release(): void {
    try {
      if (read(this.#file) === this.#text) rmSync(this.#file, { force: true });
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
    }
  }
}

/** Makes the file with this content; false when it is there already. */
function create(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { flag: "wx", mode: PRIVATE });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of an owner that is dead. Of several processes that find the same dead owner only the one that makes
 * the marker file may remove its lock, and it looks again first: else the second would remove the lock of the first.
 */
function takeOver(file: string, dataFile: string): void {
  const text = settledText(file);
  if (text === undefined) return;
  const owner = ownerOf(text);
  if (owner !== undefined && isAlive(owner))
    throw new StoreRefusal(
      `${dataFile} is in use by process ${owner.pid}. Stop that process first, or give this one another data file.`,
    );
  const marker = `${file}.takeover`;
  if (!create(marker, `${process.pid}\n`)) {
    clearMarker(marker);
    return;
  }
  try {
    if (read(file) === text) rmSync(file, { force: true });
  } finally {
    rmSync(marker, { force: true });
  }
}

/** A marker stands for microseconds; one that stays was left by a process that died in them. */
function clearMarker(marker: string): void {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    if (read(marker) === undefined) return;
    pause();
  }
  rmSync(marker, { force: true });
}

function settledText(file: string): string | undefined {
  let text = read(file);
  for (let looks = 0; looks < LOOKS && text !== undefined && ownerOf(text) === undefined; looks += 1) {
    pause();
    text = read(file);
  }
  return text;
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_WAIT_MS);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function ownerOf(text: string): Owner | undefined {
  const [, pid, started] = /^\{"pid":(\d+),"started":"([^"]*)"\}\n$/.exec(text) ?? [];
  return pid === undefined || started === undefined ? undefined : { pid: Number(pid), started };
}

function isAlive({ pid, started }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    if (errorCode(error) !== "EPERM") return false;
  }
  const now = startOf(pid);
  return now === undefined || started === "" || now === started;
}

/** When a process was started, in a form that no other process has; undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    // The name in parentheses may hold anything; behind it come the state and, as the 20th, the start time (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // A zombie has ended and only waits for its parent to ask.
    return fields[0] === "Z" ? "ended" : `${boot}/${fields[19]}`;
  } catch {
    // No /proc, or the process has ended meanwhile: its number alone must do.
    return undefined;
  }
}
