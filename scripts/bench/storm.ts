// 10,000 events to 3 webhooks whose receivers fail 30 % at random: every (event, webhook) pair must succeed, with the same
// bytes at every attempt. And the whole schedule of 75 h must pass in under a second.
import { type Receiver, type Service, startReceiver, startService } from "../../src/index.ts";
import { type Line, percentile, plain, scaled } from "./figures.ts";
import { create, post } from "./load.ts";
import { KEY } from "./machine.ts";

const EVENTS = scaled(10_000);
const WEBHOOKS = 3;
const SECRET = "bench";
const REPLAYS = 5;

const started = () => startService({ apiKey: KEY, clock: "manual", randomSeed: "storm", rateLimit: "off" });
const make = ({ baseUrl }: Service, count: number, request?: () => string) =>
  create(Number(new URL(baseUrl).port), count, request);

async function subscribed(service: Service, statuses: readonly number[]): Promise<Receiver> {
  const receiver = await startReceiver({ secret: SECRET, answers: statuses });
  const draft = { url: receiver.url, events: ["app.created"], secret: SECRET };
  await make(service, 1, () => post("/v1/webhooks", draft));
  return receiver;
}

/** Whether the n-th answer fails: scattered, and the same from run to run. */
const fails = (n: number): boolean => Math.imul(n, 2_654_435_761) >>> 0 < 0.3 * 2 ** 32;

export async function storm(): Promise<Line[]> {
  await using service = await started();
  const statuses = Array.from({ length: 2 * EVENTS }, (_, n) => (fails(n) ? 500 : 200));
  const receivers: Receiver[] = [];
  while (receivers.length < WEBHOOKS) receivers.push(await subscribed(service, statuses));
  const began = performance.now();
  await make(service, EVENTS);
  await service.clock.advance("5d");
  const took_s = (performance.now() - began) / 1_000;
  const pairs = receivers.flatMap(({ received }) => received);
  const attempts = pairs.flatMap(({ attempts, rawBody: first }) => attempts.map((each) => ({ ...each, first })));
  const changed = attempts.filter(({ rawBody, first }) => rawBody !== first).length;
  const done = pairs.filter(({ attempts }) => attempts.some(({ answer }) => answer === 200)).length;
  for (const receiver of receivers) await receiver.close();
  const beside = `${attempts.length} attempts in ${took_s.toFixed(1)} s`;
  return [
    plain("Storm: pairs of event and webhook that succeeded", "pairs", done, `= ${EVENTS * WEBHOOKS}`, beside),
    plain("Storm: attempts with other bytes than the first", "attempts", changed, "= 0"),
  ];
}

export async function replay(): Promise<Line[]> {
  await using service = await started();
  const times_ms: number[] = [];
  const receivers: Receiver[] = [];
  while (times_ms.length < REPLAYS) {
    receivers.push(await subscribed(service, [500]));
    await make(service, 1);
    const began = performance.now();
    await service.clock.advance("4d");
    times_ms.push(performance.now() - began);
  }
  const made = receivers.at(-1)?.received[0]?.attempts.length ?? 0;
  for (const receiver of receivers) await receiver.close();
  return [
    plain("Replay: attempts in the schedule", "attempts", made, "= 10"),
    plain(`Replay: 75 h, slowest of ${REPLAYS}`, "ms", percentile(times_ms, 1), "<= 1000"),
  ];
}
