// The lock file: one process at a time uses a data file. FILE.lock identifies its owner by boot, PID namespace, process
// id and start time, and has a counter that the owner raises every 2 s. Under the same boot and namespace a newcomer
// checks whether the owner runs. Otherwise (another container or machine) it watches the counter for 10 s.
import { closeSync, openSync, readFileSync, readlinkSync, rmSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { StoreOpenError } from "../domain/store.ts";
import { after } from "../lib/clock.ts";
import { systemRandom } from "../lib/ids.ts";

/** Only the owner may read the files, because they hold secrets of webhooks and the signing key. */
export const FILE_MODE = 0o600;

const RENEWAL_MS = 2_000;
/** An owner whose counter does not change for this long is considered dead. */
const WATCH_MS = 10_000;
const POLL_MS = 200;
/** A running owner has raised its counter by then. */
const WARN_AFTER_MS = 3_000;
/** If several processes take over at the same moment, each sees by then which one has the lock. */
const TAKEOVER_MS = 50;

type LockOwner = ReturnType<typeof describeSelf>;

export interface LockOptions {
  /** Receives warnings for the user, such as why a start takes long. */
  readonly warn: (line: string) => void;
  /** Resolves after this much real time. */
  readonly wait: (for_ms: number) => Promise<void>;
}

export type Lock = NonNullable<ReturnType<typeof createLock>>;

const readLock = (file: string) => readIfExists(file)?.toString();

/** Locks a data file. Throws `StoreOpenError` if another running process uses it. */
export async function acquireLock(dataFile: string, { warn, wait }: LockOptions): Promise<Lock> {
  const file = `${dataFile}.lock`;
  const self = describeSelf();
  let watched: string | undefined;
  let watched_ms = 0;
  let hasTakenOver = false;
  for (;;) {
    const text = readLock(file);
    if (text === undefined) {
      const lock = createLock(file, self);
      if (hasTakenOver) await wait(TAKEOVER_MS);
      if (lock?.isHeld()) return lock;
      lock?.release();
      continue;
    }
    const owner = parseOwner(text);
    const sharesProcessIds = owner.boot === self.boot && owner.pid_namespace === self.pid_namespace;
    const isRunning = sharesProcessIds ? isOwnerRunning(owner) : undefined;
    const name = `process ${owner.pid ?? "?"}${sharesProcessIds ? "" : " in another container or on another machine"}`;
    const isChanged = watched !== undefined && text !== watched;
    if (isRunning ?? isChanged)
      throw new StoreOpenError(
        `${dataFile} is in use by ${name}. Stop that process first, or choose another data file.`,
      );
    if (isRunning === false || watched_ms >= WATCH_MS) {
      hasTakenOver = true;
      if (readLock(file) === text) rmSync(file, { force: true });
      continue;
    }
    if (watched_ms === WARN_AFTER_MS)
      warn(`${file} names ${name}; waiting 10 s in all to see whether it still runs`);
    // Many short waits: if both processes were suspended, the owner can raise its counter in time.
    await wait(POLL_MS);
    watched = text;
    watched_ms += POLL_MS;
  }
}

/** Creates the lock file. Returns undefined if it exists. */
function createLock(file: string, self: LockOwner) {
  const fd = tryCall(() => openSync(file, "wx", FILE_MODE), "EEXIST");
  if (fd === undefined) return undefined;
  let count = 0;
  // Writes to the descriptor, so that the file of a later owner stays as it is. The text never gets shorter.
  const write = () => writeSync(fd, `${JSON.stringify({ ...self, count })}\n`, 0);
  const renew = () => {
    count += 1;
    tryCall(write);
    renewal = after(RENEWAL_MS, renew, true);
  };
  const isHeld = () => parseOwner(readLock(file)).id === self.id;
  const release = () => {
    renewal.cancel();
    closeSync(fd);
    tryCall(() => isHeld() && rmSync(file));
  };
  try {
    write();
  } catch (error) {
    closeSync(fd);
    rmSync(file);
    throw error;
  }
  let renewal = after(RENEWAL_MS, renew, true);
  return { isHeld, release };
}

/** Parses a lock file. Returns an owner without members if the text is invalid. */
function parseOwner(text = ""): Partial<LockOwner> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** Returns undefined if this process cannot determine it. */
function isOwnerRunning({ pid = 0, started }: Partial<LockOwner>): boolean | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other error means that it runs as another user.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const found = findStart(pid);
  return found && started ? found === started : undefined;
}

const describeSelf = () => ({
  id: systemRandom(12).toString("hex"),
  // Without /proc (macOS) the host name replaces the boot id.
  boot: tryCall(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? hostname(),
  pid_namespace: tryCall(() => readlinkSync("/proc/self/ns/pid")) ?? "",
  pid: process.pid,
  /** In clock ticks since the boot; empty if the system does not provide it. */
  started: findStart(process.pid) ?? "",
});

/** Returns the start time of a process, which distinguishes reused process ids. */
const findStart = (pid: number): string | undefined =>
  tryCall(() => {
    // After the name in parentheses: the state and, as the 20th field, the start time (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    // A zombie has ended and only waits for its parent.
    return fields[0] === "Z" ? "ended" : fields[19];
  });

/** Returns a file's content; undefined if there is no file. */
export const readIfExists = (file: string) => tryCall(() => readFileSync(file), "ENOENT");

/** Returns undefined if the system call fails with the code `harmless`, or with any code if none is given. */
export function tryCall<T>(call: () => T, harmless?: string): T | undefined {
  try {
    return call();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code !== (harmless ?? code)) throw error;
    return undefined;
  }
}
