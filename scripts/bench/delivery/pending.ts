// A million deliveries that wait for their next attempt: the outbox must use no CPU while none is due, and a new delivery
// must cost what it costs beside a thousand.
import { Outbox } from "../../../src/delivery/outbox.ts";
import { collections } from "../../../src/domain/collections.ts";
import { afterAttempt, newDelivery } from "../../../src/domain/deliveries.ts";
import { recordEvent } from "../../../src/domain/events.ts";
import { type Attempt, deliveries, webhooks } from "../../../src/domain/model.ts";
import { addWebhook } from "../../../src/domain/webhooks.ts";
import { Unit, type Work } from "../../../src/domain/work.ts";
import { Background } from "../../../src/kit/background.ts";
import { AdjustableClock, iso } from "../../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../../src/kit/ids.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { type Figure, pause, percentile, SECRET } from "./world.ts";

const FEW = 1_000;
const MANY = 1_000_000;
const WEBHOOKS = 1_000;
const AT_ONCE = 1_000;
const WAKE_UPS = 3_000;
const ROUNDS = 5;
const IDLE_MS = 3_000;
const WAIT_MS = 3_600_000;
const ACCOUNT = { id: "acc_1", name: "Bench" };

export async function pending(): Promise<Figure[]> {
  const few = await world(FEW);
  const many = await world(MANY);
  await pause(1_000);
  const before = process.cpuUsage();
  await pause(IDLE_MS);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1_000 / IDLE_MS;
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1)
    ratios.push((1 / (await few.wakeUp_us())) * (await many.wakeUp_us()));
  const [, ...counted] = ratios;
  const ratio = percentile(counted, 0.5);
  await few.close();
  await many.close();
  return [
    {
      name: "CPU while a million deliveries wait",
      value: `${(share * 100).toFixed(2)} %`,
      goal: "< 0.5 %",
      reached: share < 0.005,
    },
    {
      name: "a delivery beside a million that wait, against beside a thousand",
      value: ratio.toFixed(2),
      goal: "<= 1.25",
      reached: ratio <= 1.25,
    },
  ];
}

/** An outbox with so many retries due in an hour, and what a delivery to one more webhook takes from commit to record. */
async function world(waiting: number) {
  const clock = new AdjustableClock();
  const store = memoryStore();
  await store.open(collections);
  const unit = new Unit({ store, clock, ids: new TimeOrderedIds(clock, systemRandom) });
  const draft = { url: "http://127.0.0.1/", events: ["data.processed"], secret: SECRET, active: true } as const;
  for (let n = 0; n < WEBHOOKS; n += 1) await unit.transact((w) => addWebhook(w, "acc_2", draft));
  for (let n = 0; n < waiting; n += AT_ONCE) await unit.transact((w) => addWaiting(w, AT_ONCE));
  const quick = await unit.transact((w) => addWebhook(w, ACCOUNT.id, { ...draft, events: ["app.created"] }));
  const failed = (error: unknown) => {
    throw error;
  };
  const background = new Background(failed);
  const outbox = new Outbox({
    background,
    store,
    clock,
    sender: { send: async () => ({ status: 200, body: "", error: null, retryAfter: null }), close() {} },
    retryWaits_ms: [],
    concurrency: 1,
    lease_ms: 40_000,
    onAttempt: () => undefined,
    onError: failed,
  });
  await outbox.start();
  await background.idle();
  return {
    async wakeUp_us() {
      const began = performance.now();
      for (let n = 0; n < WAKE_UPS; n += 1) {
        await unit.transact((w) => recordEvent(w, ACCOUNT, "app.created", {}));
        if ("id" in quick) outbox.notify(quick.id);
        await background.idle();
      }
      return ((performance.now() - began) / WAKE_UPS) * 1_000;
    },
    async close() {
      outbox.stop();
      clock.close();
    },
  };
}

/** As many rows as there are webhooks at a time, one for each, all of one event and failed once. */
async function addWaiting(w: Work, count: number): Promise<void> {
  const event = await recordEvent(w, { id: "acc_2", name: "Waiting" }, "app.deleted", {});
  const refused: Attempt = {
    number: 1,
    trigger: "schedule",
    at: w.at,
    duration_ms: 1,
    response_status: 500,
    response_body: "",
    error: "status",
  };
  for (let offset = 0; offset < count; offset += 100)
    for (const webhook of await w.tx.page(webhooks, "account", ["acc_2"], { offset, limit: 100 }))
      await w.tx.put(deliveries, afterAttempt(newDelivery(w, webhook, event), refused, iso(w.now + WAIT_MS)));
}
