// `npm run conformance:self`: tests the conformance kit itself. Servers that keep the specification, this one and some
// with other readings of its gaps, must pass. Each fault gives one wrong server; a clause of the broken part must catch
// at least 95 % of them. Survivors are named.
import { parseOptions, textOption } from "../arguments.ts";
import { pool } from "../pool.ts";
import { CONFORMING } from "./conforming.ts";
import { type Fault, parseFaults } from "./patches.ts";
import { FAULTS, judgeFault } from "./server.ts";

const AT_ONCE = 6;
const CAUGHT_LEAST = 0.95;

const [{ only, part }, misused] = parseOptions("conformance:self -- [options]", {
  only: textOption("NAME", "this fault or reading alone"),
  part: textOption("N", "only the faults of that part of the specification"),
});
const isAsked = ({ id, clause }: Fault) =>
  (only ?? id) === id && (part === undefined || clause.startsWith(`${part}.`));
const [right, wrong] = [
  parseFaults(CONFORMING).filter((each) => !part && isAsked(each)),
  FAULTS.filter(isAsked),
];
if (right.length + wrong.length === 0) misused("There is no such fault.");

const began = performance.now();
let [wronged, caught] = [0, 0];
await pool(AT_ONCE, [...right, ...wrong], async (fault) => {
  const { id, clause, says } = fault;
  const isRight = right.includes(fault);
  const { failed, unseen } = await judgeFault(fault, isRight ? "" : `${clause[0]}.`).catch(
    (error: unknown) => {
      const why = `the kit gave up (${error})`;
      return { failed: isRight ? [why] : [], unseen: why };
    },
  );
  if (failed.length > 0 && isRight) wronged += 1;
  else if (failed.length > 0) caught += 1;
  const verdict = isRight ? `${failed.length} failed` : failed.length > 0 ? "caught" : unseen;
  // Unexpected failures are listed below the line.
  console.log(
    [`${verdict.padEnd(14)} ${clause.padEnd(34)} ${id}: ${says}`, ...(isRight ? failed : [])].join(
      "\n    ",
    ),
  );
});
const took_s = Math.round((performance.now() - began) / 1_000);
const faults = `${caught} of ${wrong.length} faults caught`;
console.log(`\n${wronged} of ${right.length} right servers called wrong; ${faults}; ${took_s} s`);
process.exitCode = wronged > 0 || caught < wrong.length * CAUGHT_LEAST ? 1 : 0;
