// A trial of deliveries: a failed one may be sent again, a successful one is not. One event goes to receivers that
// respond in every way at the same time, so that no clause has to wait for each of them.
import { setTimeout as wait } from "node:timers/promises";
import { type Answered, type Arrival, orNothing } from "./hub.ts";
import { type Hook, type Kit, ofApp } from "./kit.ts";

/** Longest wait for a retry: the specification shows no schedule, so no retry within it proves nothing. */
const RETRY_MAX_MS = 8_000;
/** The factor by which retry delays vary between deliveries. */
const SPREAD = 1.5;
/** A duplicate has the number of its original; where the sender gives none, it comes sooner than a retry. */
const ATTEMPT = "x-service-attempt";
const DUPLICATE_MS = 250;
const SPARE_MS = 300;
/** A busy machine may delay the retry of a failure so much longer. */
const BUSY_MS = 4_000;

const SUCCESSES = [200, 202, 204, 299];
const FAILURES = [302, 307, 400, 404, 500, 503];
/** The time that a receiver delays its response, and the times with --slow. */
const HELD_MS = 3_500;
const [IN_TIME_MS, LATE_MS] = [28_000, 33_000];

/** The deliveries of the one event to a receiver with this response. */
interface Tried {
  says: string;
  first: Arrival | undefined;
  /** Whether it was sent again. */
  again: boolean;
}

export interface Outcome {
  /** The delay before a 500 was retried; undefined if it was not. */
  retry_ms: number | undefined;
  succeeded: readonly Tried[];
  failed: readonly Tried[];
  /** Delayed responses within the timeout; with --slow also one after it. */
  held: readonly Tried[];
  /** Number of requests at the target of the redirects. */
  followed: number;
}

export type Trial = Awaited<ReturnType<typeof startTrial>>;

type Answerer = Hook & Answered;
type IsOurs = ReturnType<typeof ofApp>;

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
  const observe = async () => {
    const hooks = [...good, ...bad, ...held];
    await Promise.all(hooks.map((hook) => hook.arrived(isOurs)));
    const usual = bad.filter(({ status }) => status === 500);
    for (const hook of usual)
      await hook.arrived(isRetry(hook, isOurs), 1, RETRY_MAX_MS).catch(orNothing);
    const [retry_ms] = usual.flatMap((hook) => findRetry(hook, isOurs) ?? []);
    const tried = await Promise.all(hooks.map((hook) => watch(hook, isOurs, retry_ms)));
    const succeeded = tried.splice(0, good.length);
    const failed = tried.splice(0, bad.length);
    return { retry_ms, succeeded, failed, held: tried, followed: goal.got.length };
  };
  const outcome = observe();
  // Every caller that awaits the outcome gets its error.
  outcome.catch(() => undefined);
  return { outcome };
}

/** Sends this response to our event and its duplicates, but delays only the first. Ignores everything else. */
async function answering(kit: Kit, answer: Answered, isOurs: IsOurs) {
  const { after_ms, ...atOnce } = answer;
  let isFirst = true;
  const hook = await kit.hook(["app.deployed"], {}, (arrival) => {
    if (!isOurs(arrival)) return { status: 200 };
    const response = isFirst ? answer : atOnce;
    isFirst = false;
    return response;
  });
  return { ...hook, ...answer };
}

/** Tells a retry of the first request from a duplicate of it. */
export function isRetryOf(first: Arrival, each: Arrival) {
  const [before, after] = [first.headers[ATTEMPT], each.headers[ATTEMPT]];
  if (before !== undefined && after !== undefined) return before !== after;
  return each.at - (first.ended_at ?? Infinity) > DUPLICATE_MS;
}

const isRetry = ({ got }: Answerer, isOurs: IsOurs) => {
  return (each: Arrival) => {
    const first = got.find(isOurs);
    return first !== undefined && isOurs(each) && isRetryOf(first, each);
  };
};

/** Returns the delay between the first response and the retry, if there was one. */
function findRetry(hook: Answerer, isOurs: IsOurs) {
  const retry = hook.got.find(isRetry(hook, isOurs));
  return retry && retry.at - (hook.got.find(isOurs)?.ended_at ?? 0);
}

/** Waits until a retry would have arrived. */
async function watch(hook: Answerer, isOurs: IsOurs, retry_ms = 0) {
  const { status, after_ms = 0, got } = hook;
  const first = got.find(isOurs);
  const until = (first?.at ?? 0) + after_ms + retry_ms * SPREAD + SPARE_MS;
  await wait(Math.max(until - performance.now(), 0));
  if (status >= 300 && retry_ms > 0)
    await hook.arrived(isRetry(hook, isOurs), 1, BUSY_MS).catch(orNothing);
  const says = after_ms === 0 ? `${status}` : `${status} after ${after_ms / 1_000} s`;
  return { says, first, again: findRetry(hook, isOurs) !== undefined };
}
