// `npm run conformance:self`: who judges the judge. The kit is held against servers that keep the specification, this one
// and others that read its gaps in other ways: nothing may fail there. And against as many wrong servers as there are
// faults: 95 % of them at least must be caught by a clause of the part that the fault breaks. What survives is named.
import { given, text, wrongUse } from "../arguments.ts";
import { pool } from "../pool.ts";
import { RIGHT } from "./right.ts";
import { FAULTS, judged, type Verdict } from "./server.ts";
import { type Fault, faultsOf } from "./ways.ts";

const USE = `Usage: npm run conformance:self -- [options]
  --only NAME     this fault or reading alone
  --part N        only the faults of that part of the specification`;
const AT_ONCE = 6;
const CAUGHT_LEAST = 0.95;

const { only, part } = given({ only: text, part: text }, USE);
const isAsked = ({ id, clause }: Fault) => (only ?? id) === id && (part === undefined || clause.startsWith(`${part}.`));
const [right, wrong] = [faultsOf(RIGHT).filter((each) => !part && isAsked(each)), FAULTS.filter(isAsked)];
if (right.length + wrong.length === 0) wrongUse("There is no such fault.", USE);

/** A line as soon as it is known; below it what should not be. */
function tell({ fault, failed, unseen }: Verdict): void {
  const isRight = right.includes(fault);
  const verdict = isRight ? `${failed.length} failed` : failed.length > 0 ? "caught" : unseen;
  console.log(`${verdict.padEnd(14)} ${fault.clause.padEnd(34)} ${fault.id}: ${fault.says}`);
  if (isRight) for (const line of failed) console.log(`    ${line}`);
}

const began = performance.now();
const verdicts = await pool(AT_ONCE, [...right, ...wrong], async (fault) => {
  const verdict = await judged(fault, right.includes(fault) ? "" : `${fault.clause.split(".")[0]}.`);
  tell(verdict);
  return verdict;
});
const [kept, broken] = [verdicts.slice(0, right.length), verdicts.slice(right.length)];
const caught = broken.filter(({ failed }) => failed.length > 0).length;
const wronged = kept.filter(({ failed }) => failed.length > 0).length;
const took_s = Math.round((performance.now() - began) / 1_000);
console.log(
  `\n${wronged} of ${kept.length} right servers called wrong; ${caught} of ${broken.length} faults caught; ${took_s} s`,
);
process.exitCode = wronged > 0 || caught < broken.length * CAUGHT_LEAST ? 1 : 0;
