// `npm run torture [name…]`: the full torture runs; `npm test` runs a slice of them.
import { parseOptions } from "../arguments.ts";
import { type Finding, report } from "../findings.ts";
import { damage, fullDisk } from "./disk.ts";
import { faults } from "./faults.ts";
import { Lab } from "./lab.ts";
import { kill, twoProcesses } from "./processes.ts";
import { restarts } from "./restarts.ts";

const TORTURES: Readonly<Record<string, (lab: Lab) => Promise<Finding>>> = {
  kill: (lab) => kill(lab, 5000),
  faults: (lab) => faults(lab, 1),
  damage: (lab) => damage(lab, 10_000),
  "full-disk": (lab) => fullDisk(lab, 50),
  "two-processes": (lab) => twoProcesses(lab, 100, 20),
  restarts: (lab) => restarts(lab, 9_000, 20),
};

const [, , names] = parseOptions("torture -- [name…]", {}, Object.keys(TORTURES));
const selected = Object.entries(TORTURES).filter(([name]) => names.includes(name));
await report(
  selected.map(([, torture]) => async () => {
    using lab = new Lab();
    return await torture(lab);
  }),
);
