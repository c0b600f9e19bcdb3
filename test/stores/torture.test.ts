// A slice of `npm run torture`: the same tests of the JSON-file store with fewer runs. Tests that cannot run here (no
// permission to mount) are reported as skipped.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Finding } from "../../scripts/findings.ts";
import { damage, fullDisk } from "../../scripts/torture/disk.ts";
import { faults } from "../../scripts/torture/faults.ts";
import { fleet, restarts } from "../../scripts/torture/fleet.ts";
import { Lab } from "../../scripts/torture/lab.ts";
import { kill, twoProcesses } from "../../scripts/torture/processes.ts";

const lab = new Lab();
after(() => lab[Symbol.dispose]());

const TORTURES: Readonly<Record<string, () => Promise<Finding>>> = {
  "promise 1: 300 stores that were killed keep what was acknowledged": () => kill(lab, 300),
  "promise 2: cut and damaged files are refused, harmless or told": () => damage(lab, 300),
  "promise 3: a disk operation that fails leaves the old state or the new": () =>
    faults(lab, 0.08, ["EIO", "ENOSPC", "no cut"]),
  "promise 3: a process that dies in any step, of a fold too, leaves the old state or the new":
    () => faults(lab, 0.12, ["SIGKILL"]),
  "promise 4: a second process is refused at once; a dead one's lock is taken over, by one": () =>
    twoProcesses(lab, 100, 1),
  "promise 5: a full disk refuses writes until there is room": () => fullDisk(lab, 3),
  "promise 5: after a failed fsync nothing more is written until a restart": () =>
    faults(lab, 0.3, ["EIO"], ["fdatasync"]),
  "promise 5: a write that comes back short is none": () => faults(lab, 0.2, ["short"]),
  "a service that is killed delivers after the restart what it had acknowledged": () =>
    restarts(lab, 100, 1),
  "processes on one database that are killed lose nothing, keep no half, and leave nothing behind":
    () => fleet(2, 40, 2, 0),
};

for (const [title, torture] of Object.entries(TORTURES))
  test(title, async (t) => {
    const { tried, wrong } = await torture();
    t.diagnostic(tried);
    assert.deepEqual(wrong, []);
    if (tried.includes("SKIPPED")) t.skip(tried);
  });
