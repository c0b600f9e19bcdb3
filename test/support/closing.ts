// Things that a test file opens and that have to be closed after its last test, whatever happened. The hook stands at the
// top level: one that is registered inside a running test belongs to whatever test node:test then takes for the current.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

const closers: (() => unknown)[] = [];

/** Calls `close` after the file's last test. */
export function closeLater(close: () => unknown): void {
  closers.push(close);
}

/** A folder that is removed after the file's last test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "apphost-"));
  closeLater(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A file in a folder of its own; without content there is none yet. */
export function freshFile(name: string, content?: string | Buffer): string {
  const file = join(freshFolder(), name);
  if (content !== undefined) writeFileSync(file, content);
  return file;
}

after(async () => {
  for (const close of closers.splice(0)) await close();
});
