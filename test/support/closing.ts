// Closes a test file's resources after its last test, even on failure. The hook is registered at the
// top level: inside a running test, node:test would register it for whichever test it takes for the current one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

const closers: (() => unknown)[] = [];

/** Calls `close` after the file's last test. */
export function closeLater(close: () => unknown) {
  closers.push(close);
}

/** A folder that is removed after the file's last test. */
export function freshFolder() {
  const folder = mkdtempSync(join(tmpdir(), "apphost-"));
  closeLater(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A file in a folder of its own; without content it is not created. */
export function freshFile(name: string, content?: string | Buffer) {
  const file = join(freshFolder(), name);
  if (content !== undefined) writeFileSync(file, content);
  return file;
}

after(async () => {
  for (const close of closers.splice(0)) await close();
});
