// Holds an implementation to the clauses of test/spec, in this process, one after the other. Prints nothing and ends
// nothing: what it found out is the report.
import { readdir } from "node:fs/promises";
import { type Clause, collected, finish } from "../../test/support/clause.ts";
import { Kit, NotTried } from "../../test/support/kit.ts";
import type { Target } from "./target.ts";

/** `chosen`: a test of what this project chose passes. */
export type Verdict = "shown" | "chosen" | "failed" | "not tried";

export interface Result {
  readonly id: string;
  readonly requirement: string;
  readonly verdict: Verdict;
  /** What was wrong, or what is missing; "" where it is shown. */
  readonly why: string;
}

export interface Report {
  readonly baseUrl: string;
  /** How this implementation reads the gaps, in plain sentences. */
  readonly profile: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
  readonly sums: Readonly<Record<Verdict, number>>;
}

export interface JudgeOptions {
  /** Only clauses whose id begins so. */
  readonly only?: string | undefined;
}

const SPEC = new URL("../../test/spec/", import.meta.url);

/** All of them, in the order of the specification. */
export const clauses = (): Promise<readonly Clause[]> =>
  collected(async () => {
    for (const name of (await readdir(SPEC)).sort()) await import(new URL(name, SPEC).href);
  });

export function sumsOf(results: readonly Result[]): Report["sums"] {
  const sums = { shown: 0, chosen: 0, failed: 0, "not tried": 0 };
  for (const { verdict } of results) sums[verdict] += 1;
  return sums;
}

/** Rejects with one line where the target cannot be spoken to. */
export async function judge(target: Target, { only = "" }: JudgeOptions = {}): Promise<Report> {
  const asked = (await clauses()).filter(({ id }) => id.startsWith(only));
  const { baseUrl } = target;
  if (asked.length === 0) return { baseUrl, profile: {}, results: [], sums: sumsOf([]) };
  const kit = await Kit.open(target);
  try {
    // A sender that makes one delivery at a time is kept from all others for the real 30 seconds, so those come last.
    if (!target.slow) for (const each of asked) await each.begin(kit).catch(() => undefined);
    const ends: Promise<Result>[] = [];
    for (const each of asked) ends.push((await begun(each, kit)).ended);
    const results = await Promise.all(ends);
    const profile = { ...kit.profile.says, ...(await kit.learnt()) };
    return { baseUrl, profile, results, sums: sumsOf(results) };
  } finally {
    await kit.close();
  }
}

/** Resolves when the next clause may begin; what this one waits for goes on meanwhile. */
async function begun(each: Clause, kit: Kit): Promise<{ readonly ended: Promise<Result> }> {
  const told = (error?: unknown) => resultOf(each, error);
  try {
    return { ended: finish(await each.run(kit)).then(() => told(), told) };
  } catch (error) {
    return { ended: Promise.resolve(told(error)) };
  }
}

function resultOf({ id, requirement }: Clause, error?: unknown): Result {
  if (error === undefined) return { id, requirement, verdict: "shown", why: "" };
  const why = error instanceof Error ? error.message : String(error);
  return { id, requirement, verdict: error instanceof NotTried ? "not tried" : "failed", why };
}
