// What goes on behind the answers, where a part that is loaded later cannot be loaded at once.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { recordEvent } from "../../src/domain/events.ts";
import { collections, deliveries } from "../../src/domain/model.ts";
import { addWebhook } from "../../src/domain/webhooks.ts";
import { Unit, type UnitParts } from "../../src/domain/work.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { readSettings } from "../../src/options.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { webhookOutbox } from "../../src/webhook-delivery.ts";
import { Workers } from "../../src/workers.ts";

test("workers: what waited while the outbox could not be loaded goes with the next delivery", async (t) => {
  const receiver = createServer((request, response) => request.resume().on("end", () => response.end()));
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const address = receiver.address();
  assert.ok(typeof address === "object" && address !== null);
  const url = `http://127.0.0.1:${address.port}/`;
  const clock = new AdjustableClock();
  const store = memoryStore();
  await store.open(collections);
  const ids = new TimeOrderedIds(clock, systemRandom);
  const parts: UnitParts = { store, clock, ids, onDue: (due) => workers.due(due) };
  const failures: unknown[] = [];
  const onError = (error: unknown) => failures.push(error);
  const makeOutbox = webhookOutbox(
    parts,
    readSettings({}, (name) => name),
    { onError },
  );
  let loads = 0;
  const workers = new Workers(
    parts,
    async () => {
      loads += 1;
      if (loads === 1) throw new Error("not there");
      return makeOutbox();
    },
    onError,
  );
  t.after(async () => {
    await workers.stop();
    clock.close();
    receiver.close();
  });
  await workers.start();
  const unit = new Unit(parts);
  const account = { id: "acc_1", name: "Example" };
  for (const type of ["app.created", "app.deleted"] as const)
    await unit.transact((w) => addWebhook(w, account.id, { url, events: [type], secret: "s", active: true }));
  const statuses = async () => {
    const queues = await store.groups(deliveries, "queue");
    return [failures.length, queues.length];
  };
  await unit.transact((w) => recordEvent(w, account, "app.created", {}));
  await workers.idle();
  assert.deepEqual(await statuses(), [1, 1], "one failure told, one delivery waits");
  await unit.transact((w) => recordEvent(w, account, "app.deleted", {}));
  await workers.idle();
  assert.deepEqual(await statuses(), [1, 0], "both are done");
});
