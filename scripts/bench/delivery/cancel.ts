// A webhook with very many pending deliveries is switched off or deleted: how long another request waits at most until
// the last of them is cancelled, and how long that takes.

import { collections } from "../../../src/domain/collections.ts";
import { afterAttempt, newDelivery } from "../../../src/domain/deliveries.ts";
import { recordEvent } from "../../../src/domain/events.ts";
import { type Attempt, deliveries, type WebhookRecord } from "../../../src/domain/model.ts";
import { addWebhook, changeWebhook, removeWebhook } from "../../../src/domain/webhooks.ts";
import { Unit } from "../../../src/domain/work.ts";
import { AdjustableClock, iso } from "../../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../../src/kit/ids.ts";
import { readSettings } from "../../../src/options.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { webhookOutbox } from "../../../src/webhook-delivery.ts";
import { Workers } from "../../../src/workers.ts";
import type { Figure } from "./world.ts";

const PENDING = [30_000, 100_000];
const EACH_TRANSACTION = 500;
const WAIT_MS = 3_600_000;
const HOLD_MS_MAX = 50;
const ACCOUNT = { id: "acc_1", name: "Bench", state: "active" } as const;
const CALLER = { account: ACCOUNT, scopes: new Set(["admin"] as const), credential: "bench" };

const WAYS: Readonly<Record<string, (unit: Unit, id: string) => Promise<unknown>>> = {
  "switched off": (unit, id) => changeWebhook(unit, CALLER, id, { active: false }, () => undefined),
  deleted: (unit, id) => removeWebhook(unit, CALLER, id, () => undefined),
};

export async function cancel(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const pending of PENDING)
    for (const [how, end] of Object.entries(WAYS)) {
      const { longest_ms, took_ms } = await held(pending, end);
      figures.push({
        name: `a webhook with ${pending.toLocaleString("en")} pending is ${how}: longest wait of another request`,
        value: `${longest_ms.toFixed(1)} ms (all cancelled after ${(took_ms / 1_000).toFixed(1)} s)`,
        goal: `<= ${HOLD_MS_MAX} ms`,
        reached: longest_ms <= HOLD_MS_MAX,
      });
    }
  return figures;
}

async function held(pending: number, end: (unit: Unit, id: string) => Promise<unknown>) {
  const clock = new AdjustableClock();
  const store = memoryStore();
  await store.open(collections);
  const unit = new Unit({ store, clock, ids: new TimeOrderedIds(clock, systemRandom) });
  const onError = (error: unknown) => {
    throw error;
  };
  const settings = readSettings({}, (name) => name);
  const workers = new Workers(
    unit,
    webhookOutbox(unit, settings, { delivery: () => undefined, error: onError }),
    onError,
  );
  const draft = { url: "http://127.0.0.1/", events: ["app.deleted"], secret: "bench", active: true } as const;
  const webhook = await unit.transact((w) => addWebhook(w, ACCOUNT.id, draft));
  if (!("url" in webhook)) throw new Error("refused");
  for (let n = 0; n < pending; n += EACH_TRANSACTION) await wait(unit, webhook, EACH_TRANSACTION);
  await workers.start();
  await workers.idle();
  const began = performance.now();
  let longest_ms = 0;
  const ended = end(unit, webhook.id);
  while ((await store.count(deliveries, "waiting", ["pending"])) > 0) {
    const asked = performance.now();
    await new Promise(setImmediate);
    await unit.transact((w) => recordEvent(w, { id: "acc_3", name: "Other" }, "app.created", {}));
    longest_ms = Math.max(longest_ms, performance.now() - asked);
  }
  await ended;
  const took_ms = performance.now() - began;
  await workers.stop();
  clock.close();
  return { longest_ms, took_ms };
}

/** Puts so many more that have failed once, each of an event of its own. */
const wait = (unit: Unit, webhook: WebhookRecord, count: number) =>
  unit.transact(async (w) => {
    const refused: Attempt = {
      number: 1,
      trigger: "schedule",
      at: w.at,
      duration_ms: 1,
      response_status: 500,
      response_body: "",
      error: "status",
    };
    for (let n = 0; n < count; n += 1) {
      const event = await recordEvent(w, { id: "acc_2", name: "Waiting" }, "app.updated", {});
      await w.tx.put(deliveries, afterAttempt(newDelivery(w, webhook, event), refused, iso(w.now + WAIT_MS)));
    }
    return null;
  });
