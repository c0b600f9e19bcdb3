// `npm run torture [name…]`: the long form of what a slice of runs in `npm test`. One line each says what was tried; what
// was lost or wrong is listed, and makes it fail.
import { chosen } from "../arguments.ts";
import { damage } from "./damage.ts";
import { faults } from "./faults.ts";
import { fullDisk } from "./full-disk.ts";
import { kill } from "./kill.ts";
import { type Finding, Lab } from "./lab.ts";
import { restarts } from "./restarts.ts";
import { twoProcesses } from "./two-processes.ts";

const TORTURES: Readonly<Record<string, (lab: Lab) => Promise<Finding>>> = {
  kill: (lab) => kill(lab, 5000),
  faults: (lab) => faults(lab, 1),
  damage: (lab) => damage(lab, 10_000),
  "full-disk": (lab) => fullDisk(lab, 50),
  "two-processes": (lab) => twoProcesses(lab, 100, 20),
  restarts: (lab) => restarts(lab, 10_000, 20),
};

const SHOWN_MAX = 20;

for (const [, torture] of chosen("torture", TORTURES, process.argv.slice(2))) {
  const lab = new Lab();
  try {
    const { tried, wrong } = await torture(lab);
    const shown = wrong.length === 0 ? ["nothing lost"] : [`${wrong.length} WRONG`, ...wrong.slice(0, SHOWN_MAX)];
    console.log(`${tried}\n  ${shown.join("\n  ")}`);
    if (wrong.length > 0) process.exitCode = 1;
  } finally {
    lab.remove();
  }
}
