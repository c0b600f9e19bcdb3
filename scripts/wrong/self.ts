// `npm run conformance:self`: who judges the judge. The kit is held against this server, against it under each reading
// and under all of them, and against as many wrong servers as there are faults. Nothing may fail in the first two; of the
// faults at least 95 % must be caught by a clause of the part that they break. A fault that changed nothing is one itself.
import { given, wrongUse } from "../arguments.ts";
import { judge } from "../conformance/judge.ts";
import { pool } from "../pool.ts";
import { FAULTS, wrongServer } from "./server.ts";
import type { Fault } from "./ways.ts";

const USE = `Usage: npm run conformance:self -- [options]
  --only FAULT    this fault alone
  --part N        only faults of that part of the specification
  --at-once N     so many wrong servers at a time (6)`;

interface Judged {
  readonly fault: Fault;
  readonly verdict: "caught" | "survived" | "changed nothing";
  /** What failed, with the reason of the first. */
  readonly by: readonly string[];
  readonly why: string;
}

/** The clauses of the part that it breaks look at it. */
async function judged(fault: Fault): Promise<Judged> {
  const { target, proxy, close } = await wrongServer(fault);
  try {
    const { results } = await judge(target, { only: fault.clause.slice(0, 2) });
    const failed = results.filter(({ verdict }) => verdict === "failed");
    const verdict = proxy.fired === 0 && !fault.options ? "changed nothing" : failed.length > 0 ? "caught" : "survived";
    return { fault, verdict, by: failed.map(({ id }) => id), why: failed[0]?.why ?? "" };
  } catch (error) {
    return { fault, verdict: "survived", by: [], why: String(error) };
  } finally {
    await close();
  }
}

const string = { type: "string" } as const;
const { only, part = "", "at-once": atOnce = "6" } = given({ only: string, part: string, "at-once": string }, USE);
const asked = FAULTS.filter(({ id, clause }) => (only === undefined || only === id) && clause.startsWith(part));
if (asked.length === 0) wrongUse(`There is no such fault.`, USE);
const began = performance.now();
const all = await pool(Number(atOnce), asked, async (fault) => {
  const b = performance.now();
  const one = await judged(fault);
  console.log(
    one.verdict.padEnd(16),
    fault.id.padEnd(22),
    fault.clause.padEnd(32),
    ((performance.now() - b) / 1000).toFixed(1),
    one.by.join(" "),
    "|",
    one.why.replace(/\s+/g, " ").slice(0, 100),
  );
  return one;
});
console.log(
  all.filter(({ verdict }) => verdict === "caught").length,
  "of",
  all.length,
  ((performance.now() - began) / 1000).toFixed(1),
);
