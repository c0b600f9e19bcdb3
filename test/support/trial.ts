// What becomes of a delivery is seen at the webhook: what failed may be sent again, what succeeded is not. One event goes to
// receivers that answer it in all ways at once, so that nobody has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import type { Answered, Arrival, Inbox } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** How long a sender may take to try again: the schedule is not shown, so where nothing comes nothing is concluded. */
const RETRY_MAX_MS = 8_000;
/** By how much waits vary from delivery to delivery. */
const SPREAD = 1.25;
/** A duplicate comes sooner than half of a usual wait. Where no wait is known, it comes within this time. */
const [SOON, DUPLICATE_MS] = [0.5, 250] as const;
const SPARE_MS = 300;

const SUCCESSES = [200, 202, 204, 299] as const;
const FAILURES = [302, 307, 400, 404, 500, 503] as const;
/** How long a receiver keeps the sender waiting, and with --slow. */
const HELD_MS = 3_500;
const [IN_TIME_MS, LATE_MS] = [28_000, 33_000] as const;

/** What came of the one event where it was answered so. */
export interface Tried {
  readonly says: string;
  readonly first: Arrival | undefined;
  /** Whether it was sent again. */
  readonly again: boolean;
}

export interface Outcome {
  /** After how long a 500 was sent again; undefined where it was not. */
  readonly retry_ms: number | undefined;
  readonly succeeded: readonly Tried[];
  readonly failed: readonly Tried[];
  /** What kept the sender waiting, within the time; with --slow also what answered too late. */
  readonly held: readonly Tried[];
  /** Whether one webhook was sent others while it had not answered yet; undefined where there were no others. */
  readonly several: boolean | undefined;
  /** How many requests came to where the redirects lead. */
  readonly followed: number;
}

export type Trial = Awaited<ReturnType<typeof startTrial>>;

type Answerer = Hook & Answered;

interface Scene {
  readonly isOurs: (arrival: Arrival) => boolean;
  readonly good: readonly Answerer[];
  readonly bad: readonly Answerer[];
  readonly held: readonly Answerer[];
  /** Where the redirects lead. */
  readonly goal: Inbox;
}

/** Its outcome takes its time, once for all who ask. */
export async function startTrial(kit: Kit) {
  const [app, goal] = [await kit.newApp(), kit.hub.open()];
  const isOurs = ofApp(app.id);
  const all = async (answers: readonly Answered[]) => {
    const hooks: Answerer[] = [];
    for (const answer of answers) hooks.push(await answering(kit, answer, isOurs));
    return hooks;
  };
  const good = await all(SUCCESSES.map((status) => ({ status })));
  const bad = await all(
    FAILURES.map((status) => ({ status, ...(status < 400 && { location: goal.url }) })),
  );
  const times = kit.target.slow ? [IN_TIME_MS, LATE_MS] : [HELD_MS];
  const held = await all(times.map((after_ms) => ({ status: 200, after_ms })));
  await kit.deploy(app.id);
  const outcome = watched({ isOurs, good, bad, held, goal });
  // Whoever asks for it is told of what went wrong.
  outcome.catch(() => undefined);
  return { outcome };
}

/** Answers so what is ours, duplicates too, but keeps the sender waiting once. Everything else is none of its business. */
async function answering(kit: Kit, answer: Answered, isOurs: Scene["isOurs"]): Promise<Answerer> {
  const { after_ms, ...atOnce } = answer;
  let isFirst = true;
  const hook = await kit.hook(["app.deployed"], {}, (arrival) => {
    if (!isOurs(arrival)) return { status: 200 };
    const given = isFirst ? answer : atOnce;
    isFirst = false;
    return given;
  });
  return { ...hook, ...answer };
}

async function watched({ isOurs, good, bad, held, goal }: Scene): Promise<Outcome> {
  const endOf = ({ got }: Answerer) => got.find(isOurs)?.ended_at ?? Infinity;
  /** How long after its first answer the event came again, each time that was later than `after_ms`. */
  const waits = (hook: Answerer, after_ms: number): number[] => {
    const all = hook.got.filter(isOurs).map(({ at }) => at - endOf(hook));
    return all.filter((wait_ms) => wait_ms > after_ms);
  };
  /** How many of them are duplicates: what succeeded comes again as well. Where it comes a third time they are retries. */
  const duplicates = (after_ms: number): number => {
    const fewest = Math.min(...good.map((hook) => waits(hook, after_ms).length));
    return fewest > 1 ? 0 : fewest;
  };
  /** The first retry of each, where there was one. */
  const retries = (hooks: readonly Answerer[]): number[] => {
    const before = duplicates(DUPLICATE_MS);
    return hooks.flatMap((hook) => waits(hook, DUPLICATE_MS)[before] ?? []).sort((a, b) => a - b);
  };

  await Promise.all([...good, ...bad, ...held].map((hook) => hook.arrived(isOurs)));
  const usual = bad.filter(({ status }) => status === 500);
  const later = (count: number, limit_ms: number) =>
    Promise.all(
      usual.map((hook) => {
        const isLater = (each: Arrival) => isOurs(each) && each.at - endOf(hook) > DUPLICATE_MS;
        return hook.arrived(isLater, count, Math.ceil(limit_ms)).catch(() => []);
      }),
    );
  await later(1, RETRY_MAX_MS);
  // Where that was a duplicate, the retry is still to come.
  const [once_ms = RETRY_MAX_MS] = usual.flatMap((hook) => waits(hook, DUPLICATE_MS));
  await later(2, Math.max(Math.min(2 * once_ms * SPREAD + SPARE_MS, RETRY_MAX_MS - once_ms), 0));
  const [retry_ms] = retries(usual);
  const known = retries(bad);
  const [usual_ms = 0, longest_ms = 0] = [known[known.length >> 1], known.at(-1)];
  const rounds = 1 + duplicates(DUPLICATE_MS);
  const soon_ms = Math.max(usual_ms * SOON, DUPLICATE_MS);

  /** Waits until it would have been sent again. */
  const watch = async ({ got, after_ms = 0 }: Answerer): Promise<void> => {
    const began = got.find(isOurs)?.at ?? 0;
    const until = began + after_ms + rounds * longest_ms * SPREAD + SPARE_MS;
    await wait(Math.max(until - performance.now(), 0));
  };
  await Promise.all([...good, ...bad, ...held].map(watch));
  const before = duplicates(soon_ms);
  const tried = (hook: Answerer): Tried => {
    const { status, after_ms = 0, got } = hook;
    const says = after_ms === 0 ? `${status}` : `${status} after ${after_ms / 1_000} s`;
    return { says, first: got.find(isOurs), again: waits(hook, soon_ms).length > before };
  };
  const [succeeded, failed, late] = [good.map(tried), bad.map(tried), held.map(tried)];
  const several = isOvertaken(held[0], isOurs);
  return { retry_ms, succeeded, failed, held: late, several, followed: goal.got.length };
}

function isOvertaken(slow: Answerer | undefined, isOurs: Scene["isOurs"]): boolean | undefined {
  const began = slow?.got.find(isOurs)?.at ?? Infinity;
  const later = slow?.got.filter((arrival) => !isOurs(arrival) && arrival.at > began) ?? [];
  return later.length === 0
    ? undefined
    : later.some(({ at }) => at < began + (slow?.after_ms ?? 0));
}
