// What becomes of a delivery is seen at the webhook: what failed may be sent again, what succeeded is not. One event goes to
// receivers that answer it in all ways at once, so that nobody has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import type { Answered, Arrival, Inbox } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** How long a sender may take to try again: the schedule is not shown, so where nothing comes nothing is concluded. */
const RETRY_MAX_MS = 8_000;
/** By how much waits vary from delivery to delivery. A duplicate that comes sooner than half of the shortest is no retry. */
const [SPREAD, SOON] = [1.25, 0.5] as const;
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
  const bad = await all(FAILURES.map((status) => ({ status, ...(status < 400 && { location: goal.url }) })));
  const times = kit.target.slow ? [IN_TIME_MS, LATE_MS] : [HELD_MS];
  const held = await all(times.map((after_ms) => ({ status: 200, after_ms })));
  await kit.deploy(app.id);
  const outcome = watched({ isOurs, good, bad, held, goal });
  // Whoever asks for it is told of what went wrong.
  outcome.catch(() => undefined);
  return { outcome };
}

/** Answers so what is ours, and only once; everything else is none of its business. */
async function answering(kit: Kit, answer: Answered, isOurs: Scene["isOurs"]): Promise<Answerer> {
  let answered = false;
  const hook = await kit.hook(["app.deployed"], {}, (arrival) => {
    if (answered || !isOurs(arrival)) return { status: 200 };
    answered = true;
    return answer;
  });
  return { ...hook, ...answer };
}

async function watched({ isOurs, good, bad, held, goal }: Scene): Promise<Outcome> {
  /** How long it took until the event came again; undefined where it does not within the time. */
  const retried = async (hook: Answerer | undefined, limit_ms: number): Promise<number | undefined> => {
    const [first, second] = (await hook?.arrived(isOurs, 2, limit_ms).catch(() => [])) ?? [];
    return first && second && second.at - first.at;
  };
  const usual = bad.find(({ status }) => status === 500);
  const firsts = [...good, ...bad, ...held].map((hook) => hook.arrived(isOurs));
  const [retry_ms] = await Promise.all([retried(usual, RETRY_MAX_MS), ...firsts]);
  const waits = await Promise.all(bad.map((hook) => retried(hook, retry_ms === undefined ? 0 : RETRY_MAX_MS)));
  const known = waits.filter((each) => each !== undefined);
  const [shortest_ms, longest_ms] = [Math.min(...known), Math.max(0, ...known)];

  /** What is known when it would have been sent again. */
  const tried = async ({ got, status, after_ms = 0 }: Answerer): Promise<Tried> => {
    const [first] = got.filter(isOurs);
    const began = first?.at ?? 0;
    await wait(Math.max(began + after_ms + longest_ms * SPREAD + SPARE_MS - performance.now(), 0));
    const again = got.filter(isOurs).some(({ at }) => at > began + shortest_ms * SOON);
    return { says: after_ms === 0 ? `${status}` : `${status} after ${after_ms / 1_000} s`, first, again };
  };
  const all = (hooks: readonly Answerer[]) => Promise.all(hooks.map(tried));
  const [succeeded, failed, late] = [await all(good), await all(bad), await all(held)];
  const several = isOvertaken(held[0], isOurs);
  return { retry_ms, succeeded, failed, held: late, several, followed: goal.got.length };
}

function isOvertaken(slow: Answerer | undefined, isOurs: Scene["isOurs"]): boolean | undefined {
  const began = slow?.got.find(isOurs)?.at ?? Infinity;
  const later = slow?.got.filter((arrival) => !isOurs(arrival) && arrival.at > began) ?? [];
  return later.length === 0 ? undefined : later.some(({ at }) => at < began + (slow?.after_ms ?? 0));
}
