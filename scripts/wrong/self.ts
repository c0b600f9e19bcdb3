// `npm run conformance:self`: tests the conformance kit itself. Servers that keep the specification, this one and some
// with other readings of its gaps, must pass. Each fault gives one wrong server; a clause of the broken part must catch
// at least 95 % of them. Survivors are named. With --serve one of these servers runs, for you to find its fault.
import { parseOptions, textOption } from "../arguments.ts";
import { pool } from "../pool.ts";
import { CONFORMING } from "./conforming.ts";
import { type Fault, parseFaults } from "./patches.ts";
import { FAULTS, judgeFault, startFaultyServer } from "./server.ts";

const AT_ONCE = 6;
const CAUGHT_LEAST = 0.95;

const [{ only, part = "", serve }, misused] = parseOptions("conformance:self -- [options]", {
  only: textOption("NAME", "this fault or reading alone"),
  part: textOption("N", "only the faults of that part of the specification"),
  serve: textOption("NAME", "starts that server in place of judging it"),
});
if (serve !== undefined) {
  const fault = FAULTS.find(({ id }) => id === serve) ?? misused("There is no such fault.");
  console.log((await startFaultyServer(fault)).target);
  await new Promise(() => {});
}
const isAsked = ({ id, clause }: Fault) => (only ?? id) === id && clause.startsWith(part);
const right = parseFaults(CONFORMING).filter((each) => part === "" && isAsked(each));
const wrong = FAULTS.filter(isAsked);
if (right.length + wrong.length === 0) misused("There is no such fault.");

const began = performance.now();
let [wronged, caught] = [0, 0];

async function judge(fault: Fault, isRight: boolean) {
  const { id, clause, says } = fault;
  const result = judgeFault(fault, isRight ? "" : `${clause[0]}.`);
  const { failed, unseen } = await result.catch((error: unknown) => {
    const unseen = `the kit gave up (${error})`;
    return { failed: isRight ? [unseen] : [], unseen };
  });
  const isCaught = failed.length > 0;
  if (isCaught && isRight) wronged += 1;
  else if (isCaught) caught += 1;
  const verdict = isRight ? `${failed.length} failed` : isCaught ? "caught" : unseen;
  console.log(`${verdict.padEnd(14)} ${clause.padEnd(34)} ${id}: ${says}`);
  // Unexpected failures are listed below the line.
  for (const why of isRight ? failed : []) console.log(`    ${why}`);
}

await pool(AT_ONCE, [...right, ...wrong], (fault) => judge(fault, right.includes(fault)));
const took_s = Math.round((performance.now() - began) / 1_000);
const faults = `${caught} of ${wrong.length} faults caught`;
console.log(`\n${wronged} of ${right.length} right servers called wrong; ${faults}; ${took_s} s`);
process.exitCode = wronged > 0 || caught < wrong.length * CAUGHT_LEAST ? 1 : 0;
