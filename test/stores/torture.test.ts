// A slice of `npm run torture`: the same tests of the JSON-file store with fewer runs. Tests that cannot run here (no
// permission to mount) are reported as skipped.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { damage, fullDisk } from "../../scripts/torture/disk.ts";
import { faults } from "../../scripts/torture/faults.ts";
import { Lab } from "../../scripts/torture/lab.ts";
import { kill, twoProcesses } from "../../scripts/torture/processes.ts";
import { restarts } from "../../scripts/torture/restarts.ts";
import { skipUnless } from "../support/required.ts";

const lab = new Lab();
after(() => lab[Symbol.dispose]());

const TORTURES = {
  "promise 1: 100 killed stores keep all acknowledged commits": () => kill(lab, 100),
  "promise 2: truncated and damaged files are rejected, have no effect, or cause a warning": () =>
    damage(lab, 100),
  "promise 3: a failed disk operation or a kill at any step leaves the old state or the new one, and nothing is written after a failed fsync":
    () => faults(lab, 0.04),
  "promise 4: a second process is rejected at once, and one of several takes over a stale lock":
    () => twoProcesses(lab, 20, 1),
  "promise 5: writes are rejected while the disk is full, and succeed afterwards": () =>
    fullDisk(lab, 3),
  "a killed service delivers all acknowledged events after its restart": () => restarts(lab, 40, 1),
};

for (const [title, torture] of Object.entries(TORTURES))
  test(title, async (t) => {
    const { tried, wrong } = await torture();
    t.diagnostic(tried);
    assert.deepEqual(wrong, []);
    const skip = skipUnless(!tried.includes("SKIPPED"), "MOUNTS", tried);
    if (skip) t.skip(skip);
  });
