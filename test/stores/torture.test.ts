// A slice of `npm run torture`: the same tortures of the JSON-file store with fewer runs. What cannot be run here (no
// strace, no right to mount) is told as skipped.
import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import { damage } from "../../scripts/torture/damage.ts";
import { faults } from "../../scripts/torture/faults.ts";
import { fullDisk } from "../../scripts/torture/full-disk.ts";
import { kill } from "../../scripts/torture/kill.ts";
import { type Finding, Lab } from "../../scripts/torture/lab.ts";
import { restarts } from "../../scripts/torture/restarts.ts";
import { twoProcesses } from "../../scripts/torture/two-processes.ts";

let lab: Lab;
before(() => {
  lab = new Lab();
});
after(() => lab.remove());

function judge(t: TestContext, { tried, wrong }: Finding): void {
  t.diagnostic(tried);
  assert.deepEqual(wrong, []);
  if (tried.includes("SKIPPED")) t.skip(tried);
}

test("promise 1: 300 stores that were killed keep what was acknowledged", async (t) => judge(t, await kill(lab, 300)));

test("promise 2: cut and damaged files are refused, harmless or told", async (t) => judge(t, await damage(lab, 300)));

test("promise 3: a disk operation that fails leaves the old state or the new", async (t) =>
  judge(t, await faults(lab, 0.08, ["EIO", "ENOSPC", "no cut"])));

test("promise 3: a process that dies in any step, of a fold too, leaves the old state or the new", async (t) =>
  judge(t, await faults(lab, 0.12, ["SIGKILL"])));

test("promise 4: a second process is refused at once; a dead one's lock is taken over, by one", async (t) =>
  judge(t, await twoProcesses(lab, 100, 1)));

test("promise 5: a full disk refuses writes until there is room", async (t) => judge(t, await fullDisk(lab, 3)));

test("promise 5: after a failed fsync nothing more is written until a restart", async (t) =>
  judge(t, await faults(lab, 0.3, ["EIO"], ["fdatasync"])));

test("promise 5: a write that comes back short is none", async (t) => judge(t, await faults(lab, 0.2, ["short"])));

test("a service that is killed delivers after the restart what it had acknowledged", async (t) =>
  judge(t, await restarts(lab, 100, 1)));
