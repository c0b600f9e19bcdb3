// What becomes of a delivery is seen at the webhook: what failed may be sent again, what succeeded is not. One event goes to
// receivers that answer it in all ways at once, so that nobody has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import type { Answered, Arrival } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** How long a sender may take to try again: the schedule is not shown, so where nothing comes nothing is concluded. */
const RETRY_MAX_MS = 8_000;
/** Waits vary, from delivery to delivery; a duplicate that comes at once is no retry. */
const [SOON, LATEST] = [0.5, 1.6] as const;
const SPARE_MS = 300;

const SUCCESSES = [200, 202, 204, 299] as const;
const FAILURES = [302, 307, 400, 404, 500, 503] as const;
/** How long a receiver makes the sender wait, and with --slow. */
const HELD_MS = 4_000;
const [IN_TIME_MS, LATE_MS] = [28_000, 33_000] as const;

/** A receiver, how it answers, and what came of the one event. */
export interface Tried {
  readonly says: string;
  readonly attempts: readonly Arrival[];
  readonly again: boolean;
}

export interface Outcome {
  /** After how long a 500 was sent again; undefined where it was not. */
  readonly retry_ms: number | undefined;
  readonly succeeded: readonly Tried[];
  readonly failed: readonly Tried[];
  readonly inTime: Tried;
  /** Answered too late; with --slow alone. */
  readonly late: Tried | undefined;
  /** How many requests came to where the redirects lead. */
  readonly followed: number;
}

export interface Trial {
  /** Takes its time, once for all who ask. */
  readonly outcome: Promise<Outcome>;
}

export async function startTrial(kit: Kit): Promise<Trial> {
  const goal = kit.hub.open();
  const held_ms = kit.target.slow ? IN_TIME_MS : HELD_MS;
  const hooked = async (answer: Answered) => {
    const hook = await kit.hook(["app.deployed"], {}, answer);
    return { ...hook, says: `${answer.status}${answer.after_ms ? ` after ${answer.after_ms / 1_000} s` : ""}` };
  };
  const all = (statuses: readonly number[]) =>
    statuses.map((status) => () => hooked({ status, ...(status < 400 && status >= 300 && { location: goal.url }) }));
  const made: (Hook & { readonly says: string })[] = [];
  for (const make of [...all(SUCCESSES), ...all(FAILURES)]) made.push(await make());
  const inTime = await hooked({ status: 200, after_ms: held_ms });
  const late = kit.target.slow ? await hooked({ status: 200, after_ms: LATE_MS }) : undefined;
  const app = await kit.newApp();
  await kit.deploy(app.id);
  const isOurs = ofApp(app.id);

  async function watched(): Promise<Outcome> {
    const failing = made.find(({ says }) => says === "500");
    const retried = failing?.arrived(isOurs, 2, RETRY_MAX_MS).catch(() => []);
    await Promise.all([...made, inTime].map((hook) => hook.arrived(isOurs)));
    const [first, second] = (await retried) ?? [];
    const retry_ms = first && second && second.at - first.at;
    const window_ms = retry_ms === undefined ? 0 : retry_ms * LATEST + SPARE_MS;
    const tried = ({ says, got }: Hook & { readonly says: string }, answered_ms = 0): Tried => {
      const attempts = got.filter(isOurs);
      const since = (attempts[0]?.at ?? 0) + answered_ms + (retry_ms ?? 0) * SOON;
      return { says, attempts, again: retry_ms !== undefined && attempts.some(({ at }) => at > since) };
    };
    const until = (ms: number) => wait(Math.max((first?.at ?? 0) + ms - performance.now(), 0));
    await until(window_ms);
    const outcomes = made.map((hook) => tried(hook));
    await until((late ? LATE_MS : held_ms) + window_ms);
    return {
      retry_ms,
      succeeded: outcomes.slice(0, SUCCESSES.length),
      failed: outcomes.slice(SUCCESSES.length),
      inTime: tried(inTime, held_ms),
      late: late && tried(late, LATE_MS),
      followed: goal.got.length,
    };
  }
  const outcome = watched();
  outcome.catch(() => undefined);
  return { outcome };
}
