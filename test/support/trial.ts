// A trial of deliveries: a failed one may be sent again, a successful one is not. One event goes to receivers that
// respond in every way at the same time, so that no clause has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import type { Answered, Arrival, Inbox } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** Longest wait for a retry: the specification shows no schedule, so no retry within it proves nothing. */
const RETRY_MAX_MS = 8_000;
/** The factor by which retry delays vary between deliveries. */
const SPREAD = 1.25;
/** A duplicate comes sooner than half of a usual delay. If no delay is known, it comes within this time. */
const [SOON, DUPLICATE_MS] = [0.5, 250] as const;
const SPARE_MS = 300;

const SUCCESSES = [200, 202, 204, 299] as const;
const FAILURES = [302, 307, 400, 404, 500, 503] as const;
/** The time that a receiver delays its response, and the times with --slow. */
const HELD_MS = 3_500;
const [IN_TIME_MS, LATE_MS] = [28_000, 33_000] as const;

/** The deliveries of the one event to a receiver with this response. */
export interface Tried {
  readonly says: string;
  readonly first: Arrival | undefined;
  /** Whether it was sent again. */
  readonly again: boolean;
}

export interface Outcome {
  /** The delay before a 500 was retried; undefined if it was not. */
  readonly retry_ms: number | undefined;
  readonly succeeded: readonly Tried[];
  readonly failed: readonly Tried[];
  /** Delayed responses within the timeout; with --slow also one after it. */
  readonly held: readonly Tried[];
  /** Whether a webhook received other events before its response; undefined if there were no others. */
  readonly several: boolean | undefined;
  /** Number of requests at the target of the redirects. */
  readonly followed: number;
}

export type Trial = Awaited<ReturnType<typeof startTrial>>;

type Answerer = Hook & Answered;

interface Scene {
  readonly isOurs: (arrival: Arrival) => boolean;
  readonly good: readonly Answerer[];
  readonly bad: readonly Answerer[];
  readonly held: readonly Answerer[];
  /** The target of the redirects. */
  readonly goal: Inbox;
}

/** The outcome is slow and shared by all callers. */
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
  // Every caller that awaits the outcome gets its error.
  outcome.catch(() => undefined);
  return { outcome };
}

/** Sends this response to our event and its duplicates, but delays only the first. Ignores everything else. */
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
  /** Delays between the first response and each repetition of the event, if longer than `after_ms`. */
  const waits = (hook: Answerer, after_ms: number): number[] => {
    const all = hook.got.filter(isOurs).map(({ at }) => at - endOf(hook));
    return all.filter((wait_ms) => wait_ms > after_ms);
  };
  /** Counts duplicates: successful deliveries are repeated as well. From the third request on they are retries. */
  const duplicates = (after_ms: number): number => {
    const fewest = Math.min(...good.map((hook) => waits(hook, after_ms).length));
    return fewest > 1 ? 0 : fewest;
  };
  /** The first retry of each, if any. */
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
  // If that was a duplicate, the retry is still to come.
  const [once_ms = RETRY_MAX_MS] = usual.flatMap((hook) => waits(hook, DUPLICATE_MS));
  await later(2, Math.max(Math.min(2 * once_ms * SPREAD + SPARE_MS, RETRY_MAX_MS - once_ms), 0));
  const [retry_ms] = retries(usual);
  const known = retries(bad);
  const [usual_ms = 0, longest_ms = 0] = [known[known.length >> 1], known.at(-1)];
  const rounds = 1 + duplicates(DUPLICATE_MS);
  const soon_ms = Math.max(usual_ms * SOON, DUPLICATE_MS);

  /** Waits until a retry would have arrived. */
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
