// Names that nothing else has taken, in this file, in another that runs at the same time, or in a run before it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closeLater } from "./closing.ts";

let made = 0;

/** Lower-case letters, digits and hyphens; fits into a host name, an address or a key. */
export function fresh(): string {
  made += 1;
  return `${process.pid.toString(36)}-${Date.now().toString(36)}-${made}`;
}

export const freshHost = (): string => `h${fresh()}.example.com`;
export const freshAddress = (): string => `user-${fresh()}@example.com`;

/** A folder that is removed after the file's last test. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "apphost-"));
  closeLater(() => rmSync(folder, { recursive: true }));
  return folder;
}
