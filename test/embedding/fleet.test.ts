// Several services on one store, like processes on one database (the store's `now` marks it as shared): which one
// seeds, which one takes over, and whose time counts. test/stores/fleet.test.ts kills real processes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accounts } from "../../src/domain/model.ts";
import { type Store, startService, type Tx } from "../../src/index.ts";
import { str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { embedded } from "../support/embedded.ts";
import { sharedStore } from "../support/other-stores.ts";
import { hooked, httpReceiver } from "../support/receivers.ts";
import { eventually, processed, promised, turns } from "../support/wait.ts";

test("when services start together on an empty store, one seeds it and all share its account and key", async () => {
  const store = sharedStore();
  const { real } = store;
  /** Makes every service reach the seeding step before the first one seeds. */
  const { kept: allHave, keep: goOn } = promised();
  let sowing = 0;
  const transact = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    sowing += 1;
    if (sowing === 3) goOn();
    await allHave;
    return real.transact(work);
  };
  const start = async () => {
    const own = await embedded({
      store: store({ transact }),
      apiKey: "one-key-for-all",
      clock: "system",
    });
    closeLater(own[Symbol.asyncDispose]); // also if the setup below fails
    return own;
  };
  const started = await Promise.all([start(), start(), start()]);
  assert.equal(await real.count(accounts, "all", ["accounts"]), 1);
  for (const { api } of started) {
    assert.equal((await api.get("/account")).json.id, started[0]?.service.account.id);
    for (const list of ["/users", "/api-keys"])
      assert.equal((await api.get(list)).json.total, 1, list);
  }
});

test("a service with a slow first start does not overwrite what another has committed meanwhile", async () => {
  const store = sharedStore();
  const [begun, held] = [promised(), promised()];
  const transact = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    begun.keep();
    await held.kept;
    return store.real.transact(work);
  };
  const slow = startService({ store: store({ transact }) });
  await begun.kept;
  await using other = await embedded({ store: store(), apiKey: "one-key-for-all" });
  const app = await other.api.create("/apps", { title: "Acknowledged" });
  held.keep();
  await using service = await slow;
  assert.equal(service.account.id, other.service.account.id);
  assert.equal((await other.api.get(`/apps/${app.id}`)).json.title, "Acknowledged");
  const { apiKey } = service;
  await service.reset();
  assert.equal(service.apiKey, apiKey, "not that of the seed which came too late");
});

test("work left by one service is taken over by another within 10 s, even without a notification", async () => {
  const store = sharedStore();
  const { real } = store;
  const lease: typeof real.lease = async (name, for_ms) =>
    /^(delivery|data) /.test(name) ? undefined : real.lease(name, for_ms);
  await using first = await embedded({ store: store({ lease }), clock: "system" });
  await using _ = await embedded({ store: store({ subscribe: () => () => {} }), clock: "system" });
  const receiver = await hooked(first.api, ["app.created", "data.processed"]);
  await first.api.create("/apps", { title: "Left behind" });
  const source = await first.api.create("/data-sources", {
    name: "S",
    type: "csv",
    data: "a\n1\n",
  });
  await receiver.next("app.created", { timeoutMs: 10_000 });
  assert.equal((await processed(first.api, str(source.id))).status, "ready");
  await receiver.next("data.processed", { timeoutMs: 10_000 });
  await first.api.create("/apps", { title: "Left behind later" });
  await receiver.next("app.created", { timeoutMs: 10_000 });
  assert.ok(receiver.received.every(({ attempts }) => attempts.length === 1));
});

test("services use the store's time from the start and after a reset, even if the machine's clock is wrong", async () => {
  const now = async () => Date.now() + 3_600_000;
  await using ahead = await embedded({ store: sharedStore()({ now }), clock: "system" });
  const isRight = async () =>
    assert.ok(Math.abs(ahead.service.clock.now() - (await now())) < 60_000);
  await isRight();
  await ahead.service.reset().then(isRight);
  await using manual = await embedded({
    store: sharedStore()({ now }),
    startAt: "2030-01-01T00:00:00Z",
  });
  assert.equal(manual.service.clock.now(), Date.UTC(2030, 0, 1));
});

test("settled waits for deliveries of other processes, and the journals contain their events and deliveries", async () => {
  const store = sharedStore();
  let asked = 0;
  const get: Store["get"] = async (from, id) => {
    asked += 1;
    // The earlier call resolves later.
    await turns(7 - (asked % 7));
    return store.real.get(from, id);
  };
  await using one = await embedded({ store: store() });
  await using two = await embedded({ store: store({ get }) });
  const receiver = await hooked(one.api, ["app.created"]);
  for (let n = 0; n < 20; n += 1) await one.api.create("/apps", { title: "Told" });
  assert.deepEqual(await two.service.settled(), { settled: true, pending: [] });
  assert.deepEqual([two.service.events.length, two.service.requests.length], [20, 0]);
  assert.ok(two.service.deliveries.every(({ status }) => status === "succeeded"));
  assert.deepEqual([two.service.deliveries.length, receiver.received.length], [20, 20]);
  assert.ok(receiver.received.every(({ attempts }) => attempts.length === 1));
  assert.deepEqual(two.service.events, one.service.events, "in the order of their commits");
  const order = receiver.received.map(({ id }) => id);
  assert.deepEqual(
    order,
    order.toSorted(),
    "first attempts are in the order of what was acknowledged",
  );
});

test("settled waits for deliveries due by another service's clock but not yet by this one's", async () => {
  const store = sharedStore();
  await using one = await embedded({ store: store() });
  await using behind = await embedded({ store: store(), startAt: "2025-12-31T23:59:00Z" });
  await hooked(one.api, ["app.created"], {}, ["hang"]);
  await one.api.create("/apps", { title: "Under way" });
  const { settled, pending } = await behind.service.settled({ timeoutMs: 10 });
  assert.deepEqual([settled, pending.length], [false, 1]);
});

const oneAtATime = (switched: readonly boolean[], due: number) => async () => {
  const store = sharedStore();
  await using one = await embedded({ store: store() });
  await using two = await embedded({ store: store() });
  const { keep: answer, kept: answered } = promised();
  const { url, got } = await httpReceiver(
    (_, response) => void answered.then(() => response.end()),
  );
  const { id } = await one.api.create("/webhooks", { url, events: ["app.created"] });
  await one.api.create("/apps", { title: "Under way" });
  await eventually(async () => got[0]);
  for (const active of switched) await one.api.patch(`/webhooks/${id}`, { active });
  for (const { api } of [one, two]) await api.post(`/webhooks/${id}/test`, { type: "app.created" });
  assert.equal((await two.service.settled({ timeoutMs: 50 })).pending.length, due);
  assert.equal(got.length, 1);
  answer();
  await eventually(async () => got[2]);
};

test(
  "the limit of one attempt at a time per webhook holds across all services, even if later deliveries sort first",
  oneAtATime([], 3),
);
test("re-enabling a webhook keeps its limit of one attempt", oneAtATime([false, true], 2));

test("a delivery is sent once even if another service allows several concurrent attempts", async () => {
  const store = sharedStore();
  await using one = await embedded({ store: store() });
  await using _ = await embedded({ store: store(), webhookConcurrency: 2 });
  const { kept: answered, keep: answer } = promised();
  const receiver = await httpReceiver((_, response) => void answered.then(() => response.end()));
  await one.api.create("/webhooks", { url: receiver.url, events: ["app.created"] });
  await one.api.create("/apps", { title: "Once" });
  await eventually(async () => receiver.got[0]);
  await turns(50);
  answer();
  assert.equal((await one.service.settled()).settled, true);
  assert.equal(receiver.got.length, 1);
});
