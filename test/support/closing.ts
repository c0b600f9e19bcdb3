// Things that a test file opens and that have to be closed after its last test, whatever happened. The hook stands at the
// top level: one that is registered inside a running test belongs to whatever test node:test then takes for the current.
import { after } from "node:test";

const closers: (() => unknown)[] = [];

/** Calls `close` after the file's last test. */
export function closeLater(close: () => unknown): void {
  closers.push(close);
}

after(async () => {
  for (const close of closers.splice(0)) await close();
});
