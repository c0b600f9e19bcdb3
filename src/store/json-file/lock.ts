// Lock file: one process at a time uses a data file. `FILE.lock` identifies its owner by boot, PID namespace, process
// id and start time, and holds a counter that the owner increments every 2 s. In the same PID namespace under the same
// kernel a new process checks whether the owner is alive. Otherwise (another container, another machine on a shared
// disk) it watches the counter. A suspended owner may lose its lock, so it checks the lock on every write.
import {
  closeSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { StoreOpenError } from "../../domain/store.ts";
import { afterUnlessEnded, type Timer } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/ids.ts";
import { codeOf, PRIVATE } from "./fs.ts";

const RENEWAL_MS = 2_000;
/** An owner whose counter does not change for this long is considered dead. */
const WATCH_MS = 10_000;
const LOOK_MS = 200;
/** A live owner has incremented its counter by then. */
const WARN_AFTER_MS = 3_000;
/** A claim exists for microseconds; one that remains after this many checks was left by a dead process. */
const CLAIM_LOOKS = 10;
const CLAIM_LOOK_MS = 20;
const ID_BYTES = 12;

interface Owner {
  readonly id: string;
  readonly boot: string;
  readonly pid_namespace: string;
  readonly pid: number;
  /** In clock ticks since the boot; empty if the system does not provide it. */
  readonly started: string;
}

export interface Lock {
  /** Reads the file again. Throws if it cannot be read. */
  isHeld(): boolean;
  release(): void;
}

export interface Waiting {
  /** Receives warnings for the user, such as why a start takes long. */
  readonly warn: (line: string) => void;
  /** Resolves after this much real time. */
  readonly wait: (for_ms: number) => Promise<void>;
}

/** Locks a data file. Throws `StoreOpenError` if another live process has it. */
export async function acquireLock(dataFile: string, { warn, wait }: Waiting): Promise<Lock> {
  const file = `${dataFile}.lock`;
  const self = describeSelf();
  let [seen, owner] = ["", ownerIn("")];
  let [unchanged_ms, claimLooks] = [0, 0];
  for (;;) {
    const text = read(file);
    const now = ownerIn(text);
    const lives = text === "" ? false : isAlive(now, self);
    const isRaised = seen !== "" && text !== seen && now?.id === owner?.id;
    if (lives || (isRaised && lives === undefined)) throw inUse(dataFile, now, self);
    if (text !== seen) [seen, owner, unchanged_ms] = [text, now, 0];
    if (lives === false || unchanged_ms >= WATCH_MS) {
      if (claim(file, text, self)) return new HeldLock(file, self);
      claimLooks += 1;
      if (claimLooks > CLAIM_LOOKS) rmSync(claimOf(file), { force: true });
      await wait(CLAIM_LOOK_MS);
    } else {
      if (unchanged_ms === WARN_AFTER_MS)
        warn(
          `${file} names ${nameOf(now, self)}; waiting ${WATCH_MS / 1_000} s in all to see whether that still runs`,
        );
      // Waits briefly and often: if both processes were suspended, the owner can increment its counter in time.
      await wait(LOOK_MS);
      unchanged_ms += LOOK_MS;
    }
  }
}

const claimOf = (file: string): string => `${file}.takeover`;

/** Replaces the lock that was read with our own. Returns false if another process is doing the same. */
function claim(file: string, seen: string, self: Owner): boolean {
  const mine = claimOf(file);
  try {
    writeFileSync(mine, textOf(self, 0), { flag: "wx", mode: PRIVATE });
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    if (read(file) === seen) renameSync(mine, file);
    else rmSync(mine, { force: true });
  } catch (error) {
    // Another process considered this one dead and removed the claim.
    if (codeOf(error) !== "ENOENT") throw error;
  }
  return read(file).startsWith(prefixOf(self));
}

class HeldLock implements Lock {
  readonly #prefix: string;
  #count = 0;
  #renewal: Timer | undefined;

  constructor(
    private readonly file: string,
    private readonly self: Owner,
  ) {
    this.#prefix = prefixOf(self);
    this.#renewLater();
  }

  isHeld(): boolean {
    return read(this.file).startsWith(this.#prefix);
  }

  release(): void {
    this.#renewal?.cancel();
    try {
      if (this.isHeld()) rmSync(this.file, { force: true });
    } catch (error) {
      // If the file cannot be removed, the lock is void once this process has ended.
      if (codeOf(error) === undefined) throw error;
    }
  }

  #renewLater(): void {
    this.#renewal = afterUnlessEnded(RENEWAL_MS, () => {
      if (this.#renew()) this.#renewLater();
    });
  }

  /** Returns false if another process owns the lock now. */
  #renew(): boolean {
    try {
      const fd = openSync(this.file, "r+");
      try {
        // Read and write one descriptor, so that a lock renamed to this name meanwhile is not overwritten.
        if (!readFileSync(fd, "utf8").startsWith(this.#prefix)) return false;
        this.#count += 1;
        writeSync(fd, textOf(this.self, this.#count), 0);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      // The next renewal tries again. A takeover is detected before anything is written.
      if (codeOf(error) === undefined) throw error;
    }
    return true;
  }
}

/** The part of the text that stays the same when the counter changes. */
const prefixOf = (self: Owner): string => `${JSON.stringify(self).slice(0, -1)},`;
/** The text never gets shorter, so that it can be overwritten in place. */
const textOf = (self: Owner, count: number): string => `${prefixOf(self)}"count":${count}}\n`;

/** Parses the owner of a lock; undefined if the text is invalid. */
function ownerIn(text: string): Owner | undefined {
  try {
    const { id, boot, pid_namespace, pid, started } = Object(JSON.parse(text));
    return Number.isSafeInteger(pid) && pid > 0
      ? { id, boot, pid_namespace, pid, started }
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns the file's text; empty if there is no file. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
}

const isNear = (owner: Owner, self: Owner): boolean =>
  owner.boot === self.boot && owner.pid_namespace === self.pid_namespace;

/** Returns undefined if this process cannot determine it. */
function isAlive(owner: Owner | undefined, self: Owner): boolean | undefined {
  if (owner === undefined || !isNear(owner, self)) return undefined;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // Any other error means that it is alive and belongs to another user.
    if (codeOf(error) === "ESRCH") return false;
  }
  const started = startOf(owner.pid);
  return started === "" || owner.started === "" ? undefined : started === owner.started;
}

function nameOf(owner: Owner | undefined, self: Owner): string {
  if (owner === undefined) return "another process";
  return `process ${owner.pid}${isNear(owner, self) ? "" : " in another container or on another machine"}`;
}

const inUse = (dataFile: string, owner: Owner | undefined, self: Owner) =>
  new StoreOpenError(
    `${dataFile} is in use by ${nameOf(owner, self)}. Stop that process first, or give this one another data file.`,
  );

const describeSelf = (): Owner => ({
  id: systemRandom(ID_BYTES).toString("hex"),
  // Without /proc (macOS) the host name replaces the boot id.
  boot:
    fromProc(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) || hostname(),
  pid_namespace: fromProc(() => readlinkSync("/proc/self/ns/pid")),
  pid: process.pid,
  started: startOf(process.pid),
});

/** The start time of a process, which distinguishes reused process ids; empty if the system does not provide it. */
const startOf = (pid: number): string =>
  fromProc(() => {
    // A /proc mounted for another PID namespace has other processes under these ids.
    if (readlinkSync("/proc/self") !== `${process.pid}`) return "";
    // The name in parentheses may contain anything; after it come the state and, as the 20th field, the start time
    // (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // A zombie has ended and only waits to be reaped by its parent.
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : (fields[19] ?? "");
  });

function fromProc(look: () => string): string {
  try {
    return look();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return "";
  }
}
