// Holds an implementation to the clauses of test/spec, in this process, one after the other, and this server to the tests of
// what this project chose, too. Prints nothing and ends nothing: what it found out is the report.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { run } from "node:test";
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

/** `profile`: how this implementation reads the gaps, in plain sentences. */
export type Judgement = Awaited<ReturnType<typeof judge>>;

const SPEC = new URL("../../test/spec/", import.meta.url);

/** By the clauses whose ids begin so. Rejects with one line where the target cannot be spoken to. */
export async function judge(target: Target, only: string) {
  const clauses = await collected(async () => {
    for (const name of readdirSync(SPEC).sort()) await import(new URL(name, SPEC).href);
  });
  const asked = clauses.filter(({ id }) => id.startsWith(only));
  if (asked.length === 0) return { profile: {}, results: [] };
  await using kit = await Kit.open(target);
  // A sender that makes one delivery at a time is kept from all others for the real 30 seconds, so those come last.
  if (!target.slow) for (const each of asked) await each.begin(kit).catch(() => undefined);
  const ends: Promise<Result>[] = [];
  for (const each of asked) {
    // What it still waits for goes on while the next one begins.
    const rest = await Promise.resolve(kit)
      .then(each.run)
      .catch((error: unknown) => () => Promise.reject(error));
    const reported = (error?: unknown) => resultOf(each, kit, error);
    ends.push(finish(rest).then(() => reported(), reported));
  }
  const results = await Promise.all(ends);
  return { profile: { ...kit.profile.says, ...(await kit.learnt()) }, results };
}

/** What only the real 30 seconds show: anything shorter can fail it, and no more. */
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

/** Why nothing can be concluded from how the clause went. */
async function hindered(
  id: string,
  { api, target }: Kit,
  failed: boolean,
): Promise<string | undefined> {
  if (!failed)
    return REAL_TIME.includes(id) && !target.slow
      ? "give --slow, a shorter wait is kept"
      : undefined;
  // The key opened the list before anything was judged.
  const { status } = await api.get("/apps?limit=1").catch(() => ({ status: 0 }));
  return status === 403 ? "403 to all by now: give a key with a higher rate limit" : undefined;
}

const CHOICES = "test/choices";
const CHOICE = /^(?<id>\d[\w.-]*) \(our choice\): (?<requirement>.*)$/s;

/** What became of each test of a choice whose id begins so; they are node:test's, and each file has a process of its own. */
export async function chosen(only: string): Promise<readonly Result[]> {
  const paths = readdirSync(CHOICES).map((name) => `${CHOICES}/${name}`);
  const files = paths.filter((path) => readFileSync(path, "utf8").includes(`"${only}`));
  const results: Result[] = [];
  if (files.length === 0) return results;
  const reported = (name: string, error?: Error) => {
    const { id, requirement } = CHOICE.exec(name)?.groups ?? {};
    const { message } = error?.cause instanceof Error ? error.cause : (error ?? { message: "" });
    if (!id?.startsWith(only) || requirement === undefined) return;
    results.push({ id, requirement, verdict: error ? "failed" : "chosen", why: message });
  };
  const testNamePatterns = [
    new RegExp(`^${only.replaceAll(".", "\\.")}[\\w.-]* \\(our choice\\): `),
  ];
  const events = run({ files, concurrency: 1, testNamePatterns });
  events.on("test:pass", ({ name, skip }) => skip === undefined && reported(name));
  events.on("test:fail", ({ name, details }) => reported(name, details.error));
  await once(events.resume(), "end");
  return results;
}
