// Reset to the seed, snapshot and restore (contract, part 10).
import assert from "node:assert/strict";
import { test } from "node:test";
import { OptionError, type StoreData } from "../../src/index.ts";
import { freshAddress, str } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { type Embedded, embedded, struck, titles } from "../support/embedded.ts";
import { printedOn } from "../support/process.ts";
import { hooked } from "../support/receivers.ts";

const ACCOUNT = {
  name: "Seeded",
  api_keys: [{ name: "First", key: "seeded-key-1" }],
  apps: [{ title: "From the seed" }],
  data_sources: [{ name: "Numbers", type: "json", data: [{ n: 1 }] }],
};
const SEED = { accounts: [ACCOUNT] };

const appTitles = async ({ api }: Embedded) =>
  (await api.get("/apps")).items.map(({ title }) => title).join(", ");
const create = ({ api }: Embedded, title: string) => api.create("/apps", { title });

/** The service's snapshot, written to a file. */
const snapshotFile = async ({ service }: Embedded) =>
  freshFile("data.json", JSON.stringify(await service.snapshot()));

test("reset: the seed is back with the same ids, port and start-up key, and later keys and tokens are invalid", async () => {
  await using it = await embedded({ seed: SEED });
  const { service, api } = it;
  const state = async () => [
    service.baseUrl,
    service.apiKey,
    service.account,
    (await api.get("/apps")).items,
    (await api.get("/data-sources")).items,
  ];
  const before = await state();
  const key = str((await api.create("/api-keys", { name: "Later" })).key);
  const { id } = await create(it, "Later");
  await api.patch(`/apps/${id}`, { title: "Changed" });
  const { access_token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
  await service.setAccountState("suspended");
  assert.equal(service.account.state, "suspended");
  await service.reset();
  assert.deepEqual([service.requests, service.events, service.deliveries], [[], [], []]);
  assert.deepEqual(await state(), before);
  for (const invalid of [key, access_token]) (await api.as(invalid).get("/apps")).is(401);
  const refresh = { grant_type: "refresh_token", refresh_token };
  assert.equal((await api.as(null).root.post("/oauth/token", refresh)).json.error, "invalid_grant");
});

test("reset: nothing is pending, faults, chaos and rate windows are cleared, and a manual clock is set back", async () => {
  await using it = await embedded({ startAt: "2028-02-29T00:00:00Z", rateLimit: 3 });
  const { service, api } = it;
  const before = await hooked(api, ["app.created"]);
  service.faults.add({ method: "GET", path: "/v1/apps", status: 500 });
  service.chaos.add({ effect: "drop", times: 9 });
  await create(it, "A");
  await service.clock.advance("1s");
  await service.reset();
  assert.equal(service.clock.now(), Date.UTC(2028, 1, 29));
  assert.match((await api.get("/apps")).header("RateLimit"), /r=2;/);
  const after = await hooked(api, ["app.created"]);
  await create(it, "After");
  await service.settled();
  assert.deepEqual(titles(after), ["After"]);
  await service.clock.advance("2d");
  assert.equal(before.received.length, 0);
});

test("seeding emits no events, at start-up or after a reset", async () => {
  const webhooks = [{ url: "http://localhost:9/", events: ["data.processed"] }];
  await using it = await embedded({ seed: { accounts: [{ ...ACCOUNT, webhooks }] } });
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await it.service.settled({ timeoutMs: 50 }), { settled: true, pending: [] });
    assert.equal((await it.api.get("/data-sources")).items[0]?.status, "ready");
    assert.equal((await it.api.get("/events")).json.total, 0);
    assert.deepEqual(it.service.events, []);
    await it.service.reset();
  }
});

test("a start over existing data warns that the seed is not used, and a reset loads it with the same start-up key", async () => {
  await using other = await embedded();
  await create(other, "Old");
  const data = await snapshotFile(other);
  const output = await printedOn(process.stderr, async () => {
    await using it = await embedded({ data, seed: SEED, log: "json" });
    assert.equal(await appTitles(it), "Old");
    await it.service.reset();
    assert.equal(await appTitles(it), "From the seed");
    assert.equal(it.service.account.name, "Seeded");
  });
  assert.match(output.join(""), /^[^\n]*"event":"warning"[^\n]*The seed was not used[^\n]*\n$/);
});

test("a random seed never repeats ids or secrets over its own data", async () => {
  const data = freshFile("data.json");
  const drawn: unknown[] = [];
  for (let start = 0; start < 3; start += 1) {
    await using it = await embedded({ data, apiKey: "pinned-key-1", randomSeed: "repeat" });
    const { id, key } = await it.api.create("/api-keys", { name: "A" });
    await it.service.restore(await it.service.snapshot());
    const restored = await it.api.create("/api-keys", { name: "B" });
    drawn.push(id, key, restored.id, restored.key);
  }
  assert.equal(new Set(drawn).size, drawn.length);
});

test("reset: a delayed request is applied to the state before the reset", async () => {
  await using it = await embedded();
  it.service.faults.add({ method: "POST", path: "/v1/apps", delayMs: 60_000 });
  const delayed = it.api.post("/apps", { title: "Delayed" });
  await struck(it);
  await it.service.reset();
  (await delayed).is(201);
  assert.equal(await appTitles(it), "");
  assert.deepEqual([it.service.events, it.service.requests.length], [[], 1]);
});

test("a snapshot is plain JSON that later changes do not affect, and a restore brings back its data, time and pending deliveries", async () => {
  await using it = await embedded({ startAt: "2026-01-01T00:00:00Z" });
  const { service } = it;
  const hook = await hooked(it.api, ["app.created"], {}, [500, 200]);
  await create(it, "Old");
  await service.settled();
  const snapshot = await service.snapshot();
  const text = JSON.stringify(snapshot);
  assert.deepEqual(JSON.parse(text), snapshot);
  await service.clock.advance("1s");
  await create(it, "New");
  assert.equal(JSON.stringify(snapshot), text);
  await service.reset();
  await service.restore(JSON.parse(text));
  assert.equal(service.clock.now(), Date.UTC(2026, 0, 1));
  assert.equal(await appTitles(it), "Old");
  assert.deepEqual(service.events, []);
  await service.clock.advance("10s");
  assert.equal(hook.received[0]?.attempts.length, 2);
});

test("another service can restore a snapshot with its own start-up key, or open it as a data file", async () => {
  await using one = await embedded();
  await create(one, "Old");
  await using two = await embedded({ startAt: "2030-01-01T00:00:00Z" });
  await two.service.restore(one.service.snapshot());
  assert.equal(await appTitles(two), "Old");
  assert.equal(two.service.account.id, one.service.account.id);
  assert.equal(two.service.clock.now(), one.service.clock.now());
  await using three = await embedded({ data: await snapshotFile(one) });
  assert.equal(await appTitles(three), "Old");
  assert.notEqual(three.service.apiKey, one.service.apiKey);
  (await three.api.as(one.service.apiKey).get("/apps")).is(200);
});

test("an invalid snapshot is rejected and changes nothing", async () => {
  await using it = await embedded();
  const hook = await hooked(it.api, ["app.created"]);
  await create(it, "Old");
  const { collections } = await it.service.snapshot();
  const { restore } = it.service;
  for (const snapshot of [null, "text", { format: 1, collections }, { format: 2, collections: {} }])
    await assert.rejects(restore(snapshot as StoreData), OptionError);
  const unknown = { format: 2, collections: { ...collections, unknown: [] } } as const;
  await assert.rejects(restore(unknown), { name: "StoreOpenError" });
  assert.equal(await appTitles(it), "Old");
  await create(it, "New");
  await it.service.settled();
  assert.deepEqual(titles(hook), ["Old", "New"]);
});

const assertNow = (time_ms: number) => {
  const off_ms = time_ms - Date.now();
  assert.ok(Math.abs(off_ms) < 1_000, `off by ${off_ms} ms`);
};

test("a manual clock starts at the real time, and with a random seed at a fixed time", async () => {
  await using real = await embedded();
  assertNow(real.service.clock.now());
  await using fixed = await embedded({ randomSeed: "repeat" });
  assert.equal(fixed.service.clock.now(), Date.UTC(2026, 0, 1));
});

test("new ids sort after all stored ids, even if these are from a later time; a restore leaves a system clock as it is", async () => {
  async function enrol({ api }: Embedded) {
    await api.create("/users", { email: freshAddress() });
    const ids = (await api.get("/users")).items.map(({ id }) => str(id));
    assert.deepEqual(ids, ids.toSorted());
  }
  await using first = await embedded({ startAt: "2036-01-01T00:00:00.000Z" });
  await enrol(first);
  await using other = await embedded({ clock: "system" });
  await other.service.restore(first.service.snapshot());
  assertNow(other.service.clock.now());
  await enrol(other);
  await using restarted = await embedded({ data: await snapshotFile(other) });
  await enrol(restarted);
});
