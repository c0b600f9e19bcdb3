// What becomes of a delivery is seen at the webhook: what failed may be sent again, what succeeded is not. One event goes to
// receivers that answer it in all ways at once, so that nobody has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import type { Answered, Arrival } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** How long a sender may take to try again: the schedule is not shown, so where nothing comes nothing is concluded. */
const RETRY_MAX_MS = 8_000;
/** Waits vary from delivery to delivery. A duplicate that comes sooner than half of one is no retry. */
const [SOON, LATEST] = [0.5, 1.6] as const;
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

type Answerer = Hook & Answered;

export async function startTrial(kit: Kit): Promise<Trial> {
  const { slow = false } = kit.target;
  const [app, goal] = [await kit.newApp(), kit.hub.open()];
  const isOurs = ofApp(app.id);
  /** Answers so what is ours, and only once; everything else is none of its business. */
  async function answering(answer: Answered): Promise<Answerer> {
    let answered = false;
    const hook = await kit.hook(["app.deployed"], {}, (arrival) => {
      if (answered || !isOurs(arrival)) return { status: 200 };
      answered = true;
      return answer;
    });
    return { ...hook, ...answer };
  }
  const made: Answerer[] = [];
  for (const status of [...SUCCESSES, ...FAILURES])
    made.push(await answering({ status, ...(status >= 300 && status < 400 && { location: goal.url }) }));
  const inTime = await answering({ status: 200, after_ms: slow ? IN_TIME_MS : HELD_MS });
  const late = slow ? await answering({ status: 200, after_ms: LATE_MS }) : undefined;
  await kit.deploy(app.id);

  async function watched(): Promise<Outcome> {
    const retried = made
      .find(({ status }) => status === 500)
      ?.arrived(isOurs, 2, RETRY_MAX_MS)
      .catch(() => []);
    await Promise.all([...made, inTime].map((hook) => hook.arrived(isOurs)));
    const [failing, again] = (await retried) ?? [];
    const retry_ms = failing && again && again.at - failing.at;
    /** What is known as soon as it would have been sent again. */
    const tried = async ({ got, status, after_ms = 0 }: Answerer): Promise<Tried> => {
      const [first] = got.filter(isOurs);
      const answered_at = (first?.at ?? 0) + after_ms;
      const latest_at = answered_at + (retry_ms === undefined ? 0 : retry_ms * LATEST + SPARE_MS);
      await wait(Math.max(latest_at - performance.now(), 0));
      const isAgain = ({ at }: Arrival) => retry_ms !== undefined && at > answered_at + retry_ms * SOON;
      const says = after_ms === 0 ? `${status}` : `${status} after ${after_ms / 1_000} s`;
      return { says, first, again: got.filter(isOurs).some(isAgain) };
    };
    const outcomes = await Promise.all(made.map(tried));
    return {
      retry_ms,
      succeeded: outcomes.slice(0, SUCCESSES.length),
      failed: outcomes.slice(SUCCESSES.length),
      inTime: await tried(inTime),
      late: late && (await tried(late)),
      followed: goal.got.length,
    };
  }
  const outcome = watched();
  // Whoever asks for it is told of what went wrong.
  outcome.catch(() => undefined);
  return { outcome };
}
