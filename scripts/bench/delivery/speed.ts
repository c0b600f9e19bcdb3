// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes; and whether the API answers as fast when a subscribed receiver is silent. The receivers are a process of
// their own, so that both sides of a ratio have the same one.
import { Agent, request } from "node:http";
import { recordEvent } from "../../../src/domain/events.ts";
import { collections } from "../../../src/domain/model.ts";
import { addWebhook } from "../../../src/domain/webhooks.ts";
import { Unit } from "../../../src/domain/work.ts";
import { AdjustableClock } from "../../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../../src/kit/ids.ts";
import { readSettings } from "../../../src/options.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { webhookOutbox } from "../../../src/webhook-delivery.ts";
import { type Figure, percentile, receiverProcess, SECRET, serve, times, type World, withServer } from "./world.ts";

const POSTS = 20_000;
const AT_ONCE = 16;
const CREATES = 3_000;

export async function throughput(): Promise<Figure[]> {
  const receiver = await receiverProcess("quick");
  const rates: { bare: number; ours: number }[] = [];
  for (let round = 0; round < 3; round += 1)
    rates.push({ bare: await bareRate(receiver.url), ours: await ourRate(receiver.url) });
  receiver.close();
  const ratios = rates.map(({ bare, ours }) => ours / bare);
  const middle = percentile(ratios, 0.5);
  const shown = rates.map(({ bare, ours }) => `${ours.toFixed(0)}/${bare.toFixed(0)}`).join(", ");
  return [
    {
      name: `deliveries a second against the bare agent, ${AT_ONCE} at once`,
      value: `${middle.toFixed(2)} (${shown})`,
      goal: ">= 0.50",
      reached: middle >= 0.5,
    },
  ];
}

async function bareRate(url: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const post = () =>
    new Promise<void>((done, failed) => {
      const sent = request(url, { agent, method: "POST", headers }, (response) => response.resume().on("end", done));
      sent.on("error", failed);
      sent.end(body);
    });
  await times(2_000, AT_ONCE, post);
  const began = performance.now();
  await times(POSTS, AT_ONCE, post);
  agent.destroy();
  return POSTS / ((performance.now() - began) / 1_000);
}

/** The outbox alone: the rows stand ready when it starts. 16 webhooks, one attempt at a time each. */
async function ourRate(url: string): Promise<number> {
  const clock = new AdjustableClock();
  const store = memoryStore();
  await store.open(collections);
  const unitParts = { store, clock, ids: new TimeOrderedIds(clock, systemRandom), onDue: () => {} };
  const unit = new Unit(unitParts);
  const outbox = webhookOutbox(
    unitParts,
    readSettings({}, (name) => name),
    {
      onError(error) {
        throw error;
      },
    },
  );
  const account = { id: "acc_1", name: "Bench" };
  for (let n = 0; n < AT_ONCE; n += 1)
    await unit.transact((w) =>
      addWebhook(w, account.id, { url, events: ["app.created"], secret: SECRET, active: true }),
    );
  for (let n = 0; n < POSTS / AT_ONCE; n += 1)
    await unit.transact((w) => recordEvent(w, account, "app.created", { filler: "x".repeat(220) }));
  const began = performance.now();
  await outbox.start();
  await outbox.idle();
  const rate = POSTS / ((performance.now() - began) / 1_000);
  await outbox.stop();
  clock.close();
  return rate;
}

/** The answer time of a create with a webhook whose receiver is silent against that quiet_ms one, taken in turns. */
export async function besideSilence(): Promise<Figure[]> {
  const silent = await serve(() => {});
  const ratio = await withServer({}, (quiet) =>
    withServer({}, async (beside) => {
      await beside.post("/webhooks", { url: silent.url, events: ["app.created"], secret: SECRET });
      for (let n = 0; n < 500; n += 1) await Promise.all([createTime(quiet), createTime(beside)]);
      const quiet_ms: number[] = [];
      const beside_ms: number[] = [];
      for (let n = 0; n < CREATES; n += 1) {
        quiet_ms.push(await createTime(quiet));
        beside_ms.push(await createTime(beside));
      }
      return percentile(beside_ms, 0.5) / percentile(quiet_ms, 0.5);
    }),
  );
  silent.close();
  const name = "create beside a silent receiver, against no webhook, median";
  return [{ name, value: ratio.toFixed(2), goal: "<= 1.10", reached: ratio <= 1.1 }];
}

async function createTime({ post }: World): Promise<number> {
  const began = performance.now();
  await post("/apps", { title: "Timed" });
  return performance.now() - began;
}
