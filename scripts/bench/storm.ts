// 10,000 events to 3 webhooks whose receivers fail 30 % at random: every (event, webhook) pair must succeed, with the same
// bytes at every attempt.
import { type Receiver, startReceiver, startService } from "../../src/index.ts";
import { type Line, plain, scaled } from "./figures.ts";
import { create, post } from "./load.ts";
import { KEY } from "./machine.ts";

const EVENTS = scaled(10_000);
const WEBHOOKS = 3;
const SECRET = "bench";

/** Whether the n-th answer fails: scattered, and the same from run to run. */
const fails = (n: number): boolean => Math.imul(n, 2_654_435_761) >>> 0 < 0.3 * 2 ** 32;

export async function storm(): Promise<Line[]> {
  await using service = await startService({ apiKey: KEY, clock: "manual", randomSeed: "storm", rateLimit: "off" });
  const port = Number(new URL(service.baseUrl).port);
  const answers = Array.from({ length: 2 * EVENTS }, (_, n) => (fails(n) ? 500 : 200));
  const receivers: Receiver[] = [];
  while (receivers.length < WEBHOOKS) {
    const receiver = await startReceiver({ secret: SECRET, answers });
    receivers.push(receiver);
    await create(port, 1, () => post("/v1/webhooks", { url: receiver.url, events: ["app.created"], secret: SECRET }));
  }
  const began = performance.now();
  await create(port, EVENTS);
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
