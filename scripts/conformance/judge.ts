// Runs the clauses of test/spec against an implementation, one after the other, in this process. It never prints or
// exits; it returns the report.
import { readdirSync } from "node:fs";
import { type Clause, collected, finish } from "../../test/support/clause.ts";
import { Kit, NotTried } from "../../test/support/kit.ts";
import type { Target } from "./target.ts";

export type Verdict = "shown" | "failed" | "not tried";

export interface Result {
  readonly id: string;
  readonly requirement: string;
  readonly verdict: Verdict;
  /** The failure or the missing option; "" if the clause is shown. */
  readonly why: string;
}

/** `profile`: how this implementation reads the gaps, in plain sentences. */
export type Judgement = Awaited<ReturnType<typeof judge>>;

const SPEC = new URL("../../test/spec/", import.meta.url);

/** Runs the clauses whose ids start with `only`. Rejects with a one-line error if the target is unreachable. */
export async function judge(target: Target, only: string) {
  const clauses = await collected(async () => {
    for (const name of readdirSync(SPEC).sort()) await import(new URL(name, SPEC).href);
  });
  const asked = clauses.filter(({ id }) => id.startsWith(only));
  if (asked.length === 0) return { profile: {}, results: [] };
  await using kit = await Kit.open(target);
  // A sender that makes one delivery at a time blocks all others for the real 30 seconds, so those clauses run last.
  if (!target.slow) for (const each of asked) await each.begin(kit).catch(() => undefined);
  const ends: Promise<Result>[] = [];
  for (const each of asked) {
    // The remaining waits of a clause continue while the next clause begins.
    const rest = await Promise.resolve(kit)
      .then(each.run)
      .catch((error: unknown) => () => Promise.reject(error));
    const reported = (error?: unknown) => resultOf(each, kit, error);
    ends.push(finish(rest).then(() => reported(), reported));
  }
  const results = await Promise.all(ends);
  return { profile: kit.profile.says, results };
}

/** Clauses that only the real 30 seconds can show; anything shorter can fail them but not show them. */
const REAL_TIME: readonly string[] = ["6.success.30-seconds", "8.answer-time"];

async function resultOf({ id, requirement }: Clause, kit: Kit, error?: unknown): Promise<Result> {
  const missing =
    error instanceof NotTried ? error.message : await hindered(id, kit, error !== undefined);
  if (missing !== undefined) return { id, requirement, verdict: "not tried", why: missing };
  if (error === undefined) return { id, requirement, verdict: "shown", why: "" };
  return {
    id,
    requirement,
    verdict: "failed",
    why: error instanceof Error ? error.message : String(error),
  };
}

/** The reason why the result of the clause is inconclusive, if any. */
async function hindered(id: string, { api, target }: Kit, failed: boolean) {
  if (!failed)
    return REAL_TIME.includes(id) && !target.slow
      ? "give --slow, a shorter wait is kept"
      : undefined;
  // The key could read this list before the run.
  const { status } = await api.get("/apps?limit=1").catch(() => ({ status: 0 }));
  return status === 403 ? "403 to all by now: give a key with a higher rate limit" : undefined;
}
