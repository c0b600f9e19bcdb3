// Reset to the seed, snapshot and restore (contract, part 10).
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { test } from "node:test";
import {
  OptionError,
  type ServiceOptions,
  type StoreData,
  startReceiver,
  startService,
} from "../../src/index.ts";
import { Client, freshAddress, str } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { type Embedded, embedded, FIXED, struck, titles } from "../support/embedded.ts";
import { printedOn } from "../support/process.ts";
import { hooked } from "../support/receivers.ts";

const ACCOUNT = {
  name: "Seeded",
  api_keys: [{ name: "First", key: "seeded-key-1" }],
  apps: [{ title: "From the seed" }],
  data_sources: [{ name: "Numbers", type: "json", data: [{ n: 1 }] }],
};
const SEED = { accounts: [ACCOUNT] };

const titlesOf = async ({ api }: Embedded) =>
  (await api.get("/apps")).items.map(({ title }) => title).join(", ");
const create = ({ api }: Embedded, title: string) => api.create("/apps", { title });

/** The service's snapshot, written to a file. */
const snapshotFile = async ({ service }: Embedded) =>
  freshFile("data.json", JSON.stringify(await service.snapshot()));

/** The data of another service, written to a file. */
async function otherData(options: ServiceOptions = {}): Promise<string> {
  await using it = await embedded(options);
  await create(it, "Old");
  return snapshotFile(it);
}

test("reset: the seed is back with the same ids, port and start-up key, and added records are gone", async () => {
  await using it = await embedded({ seed: SEED });
  const { service, api } = it;
  const same = () => ({ base: service.baseUrl, key: service.apiKey, account: service.account });
  const before = same();
  const seeded = (await api.get("/apps")).items;
  const sources = (await api.get("/data-sources")).items;
  assert.equal(sources[0]?.status, "ready");
  const key = str((await api.create("/api-keys", { name: "Later" })).key);
  await create(it, "Later");
  assert.equal((await api.delete(`/apps/${str(seeded[0]?.id)}`)).status, 204);
  const { access_token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
  const other = new Client({ baseUrl: service.baseUrl, key: service.apiKey });
  assert.equal((await other.get("/account")).status, 200);
  await service.setAccountState("suspended");
  assert.equal(service.account.state, "suspended");
  await service.reset();
  assert.deepEqual(same(), before);
  assert.deepEqual((await api.get("/apps")).items, seeded);
  assert.deepEqual(
    (await api.get("/data-sources")).items,
    sources,
    "processed, and not processed again",
  );
  assert.deepEqual(service.events, []);
  for (const dead of [key, access_token])
    assert.equal((await api.as(dead).get("/apps")).status, 401);
  const refresh = { grant_type: "refresh_token", refresh_token };
  assert.equal((await api.as(null).root.post("/oauth/token", refresh)).json.error, "invalid_grant");
  assert.equal((await other.get("/account")).json.state, "active", "a client keeps its connection");
});

test("reset: journals are empty, nothing is pending, faults and chaos are cleared, and a manual clock is set back", async () => {
  await using it = await embedded({ startAt: "2028-02-29T00:00:00Z", rateLimit: 3 });
  const { service, api } = it;
  const hook = await hooked(api, ["app.created"]);
  service.faults.add({ method: "GET", path: "/v1/apps", status: 500 });
  service.chaos.add({ effect: "drop", times: 9 });
  await service.clock.advance("1h");
  await create(it, "A");
  await service.reset();
  assert.deepEqual([service.requests, service.events, service.deliveries], [[], [], []]);
  assert.equal(service.clock.now(), Date.UTC(2028, 1, 29));
  for (let times = 0; times < 2; times += 1) {
    assert.match(
      (await api.get("/apps")).header("RateLimit"),
      /r=2;/,
      "also where no time has passed",
    );
    await service.reset();
  }
  const again = await hooked(api, ["app.created"]);
  await create(it, "After");
  await service.clock.advance("2d");
  assert.deepEqual([titles(hook), titles(again)], [[], ["After"]]);
});

test("seeding emits no events, at startup or after a reset", async () => {
  await using receiver = await startReceiver({ secret: "shared" });
  const webhooks = [{ url: receiver.url, events: ["data.processed"], secret: "shared" }];
  await using it = await embedded({ seed: { accounts: [{ ...ACCOUNT, webhooks }] } });
  const { service, api } = it;
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await service.settled(), { settled: true, pending: [] });
    assert.equal((await api.get("/events")).json.total, 0);
    assert.deepEqual([service.events, service.deliveries, receiver.received], [[], [], []]);
    await service.reset();
  }
  await api.create("/data-sources", { name: "Later", type: "json", data: [{ n: 1 }] });
  await service.settled();
  const names = receiver.received.map(({ event }) => event.data.object.name);
  assert.deepEqual(names, ["Later"]);
});

test("reset: a service started over other data loads the seed and keeps its start-up key", async () => {
  await using it = await embedded({ data: await otherData(), apiKey: "pinned-key-1", seed: SEED });
  assert.equal(await titlesOf(it), "Old");
  await it.service.reset();
  assert.equal(await titlesOf(it), "From the seed");
  assert.equal(it.service.account.name, "Seeded");
});

test("a start over existing data warns that the seed is not used; a fresh store is seeded without a warning", async () => {
  const startOver = async (data: string) => {
    const starting = async () => (await startService({ data, seed: SEED, log: "json" })).close();
    return (await printedOn(process.stderr, starting)).join("");
  };
  const data = await otherData();
  assert.match(
    await startOver(data),
    /^[^\n]*"event":"warning"[^\n]*The seed was not used[^\n]*\n$/,
  );
  assert.equal(await startOver(`${data}.fresh`), "");
});

test("a random seed never repeats secrets over its own data, and gives the same secrets for the same data", async () => {
  const [data, copy] = [freshFile("data.json"), freshFile("copy.json")];
  const secret = async (file: string) => {
    await using it = await embedded({ data: file, apiKey: "pinned-key-1", randomSeed: "repeat" });
    const { account, apiKey } = it.service;
    assert.deepEqual([account.name, apiKey], ["Example account", "pinned-key-1"]);
    return (
      await it.api.create("/webhooks", { url: "http://localhost:9/", events: ["app.created"] })
    ).secret;
  };
  const before = [await secret(data), await secret(data)];
  copyFileSync(data, copy);
  const next = await secret(data);
  assert.equal(new Set([...before, next]).size, 3);
  assert.equal(await secret(copy), next);
});

test("restore: records created afterwards get new ids even with a random seed", async () => {
  await using it = await embedded({ randomSeed: "repeat" });
  let snapshot = await it.service.snapshot();
  const ids = new Set<string>();
  for (let times = 1; times < 4; times += 1) {
    await it.service.reset();
    await it.service.restore(snapshot);
    ids.add((await it.api.create("/apps", { title: `App ${times}` })).id);
    assert.equal((await titlesOf(it)).split(",").length, times);
    snapshot = await it.service.snapshot();
  }
  assert.equal(ids.size, 3);
});

test("reset: a delayed request is applied to the state before the reset and leaves nothing in the new state", async () => {
  await using it = await embedded();
  it.service.faults.add({ method: "POST", path: "/v1/apps", delayMs: 60_000 });
  const held = it.api.post("/apps", { title: "Held" });
  await struck(it);
  await it.service.reset();
  await held;
  assert.equal(await titlesOf(it), "");
  assert.deepEqual([it.service.events, it.service.requests.length], [[], 1]);
});

test("snapshot: it is plain JSON that later changes do not affect; restore brings back all data and the time", async () => {
  await using it = await embedded(FIXED);
  const { service } = it;
  await create(it, "Kept");
  await service.clock.advance("3h");
  const snapshot = await service.snapshot();
  const text = JSON.stringify(snapshot);
  assert.deepEqual(JSON.parse(text), snapshot);
  await create(it, "Not kept");
  await service.clock.advance("3h");
  assert.equal(JSON.stringify(snapshot), text);
  await service.restore(JSON.parse(text));
  assert.equal(service.clock.now(), Date.UTC(2026, 0, 1, 3));
  assert.equal(await titlesOf(it), "Kept");
  assert.deepEqual(service.events, []);
});

test("snapshot: pending deliveries are included and are sent after the restore", async () => {
  await using it = await embedded();
  const hook = await hooked(it.api, ["app.created"], {}, [500, 200]);
  await create(it, "A");
  await it.service.settled();
  const snapshot = await it.service.snapshot();
  await it.service.reset();
  await it.service.restore(snapshot);
  await it.service.clock.advance("10s");
  assert.equal(hook.received[0]?.attempts.length, 2);
});

test("snapshot: another service can restore it with its own start-up key, or open it as a data file", async () => {
  await using one = await embedded();
  await create(one, "Carried");
  await using two = await embedded({ startAt: "2030-01-01T00:00:00Z" });
  await two.service.restore(one.service.snapshot());
  assert.equal(await titlesOf(two), "Carried");
  assert.equal(two.service.account.id, one.service.account.id);
  assert.equal(two.service.clock.now(), one.service.clock.now());
  const data = await snapshotFile(one);
  await using three = await embedded({ data });
  assert.equal(await titlesOf(three), "Carried");
  assert.notEqual(
    three.service.apiKey,
    one.service.apiKey,
    "a start-up key is made over data that was there before",
  );
  assert.equal((await three.api.as(one.service.apiKey).get("/apps")).status, 200);
});

test("a service over existing data uses the account of its start-up key", async () => {
  const accounts = ["One", "Two"].map((name) => ({
    name,
    api_keys: [{ name, key: `key-of-${name}` }],
  }));
  await using second = await embedded({
    data: await otherData({ seed: { accounts } }),
    apiKey: "key-of-Two",
  });
  assert.equal(second.service.account.name, "Two");
  assert.equal((await second.api.get("/account")).json.name, "Two");
});

test("snapshot: an invalid snapshot is rejected by name and changes nothing", async () => {
  await using it = await embedded();
  await create(it, "Still here");
  const { collections } = await it.service.snapshot();
  for (const [snapshot, message] of [
    ["text", /format must be 2; it is undefined/],
    [{ format: 1, collections }, /format must be 2; it is 1/],
    [{ format: 2, collections: [] }, /holds no account/],
    [{ format: 2, collections: { accounts: [] } }, /holds no account/],
    [{ format: 2, collections: { accounts: [{ id: "acc_x" }] } }, /holds no account/],
    [{ format: 2, collections: { ...collections, apps: {} } }, /apps must be an array of records/],
  ] as const)
    await assert.rejects(it.service.restore(snapshot as unknown as StoreData), (error: Error) => {
      assert.match(error.message, message);
      return error instanceof OptionError;
    });
  assert.equal(await titlesOf(it), "Still here");
  const hook = await hooked(it.api, ["app.created"]);
  await create(it, "Sent");
  await it.service.settled();
  assert.deepEqual(titles(hook), ["Sent"]);
});

const isNow = (at: string | number | null | undefined, by_ms = 0) => {
  const off_ms = new Date(at ?? "").getTime() - Date.now() - by_ms;
  assert.ok(Math.abs(off_ms) < 1_000, `${at} is off by ${off_ms} ms`);
};

test("a manual clock starts at the real time, and a reset sets it to that time again", async () => {
  await using it = await embedded();
  const { clock } = it.service;
  const start = clock.now();
  isNow(start);
  isNow(str((await create(it, "Now")).created_at));
  await clock.advance("1h");
  assert.equal(clock.now(), start + 3_600_000);
  await it.service.reset();
  assert.equal(clock.now(), start);
});

test("with a random seed a manual clock starts at a fixed time unless startAt is set", async () => {
  await using fixed = await embedded({ randomSeed: "repeat" });
  assert.equal(fixed.service.clock.now(), Date.UTC(2026, 0, 1));
  await using other = await embedded({ randomSeed: "repeat", startAt: "2030-01-01T00:00:00Z" });
  assert.equal(other.service.clock.now(), Date.UTC(2030, 0, 1));
});

/** A delivery that waits an hour for its retry, in data of the year 2036. */
async function waitingIn2036() {
  await using first = await embedded({
    startAt: "2036-01-01T00:00:00.000Z",
    retrySchedule: "1h,1h",
  });
  await hooked(first.api, ["app.created"], {}, [500]);
  const { id } = await create(first, "Old");
  await first.service.settled();
  const [{ next_attempt_at, attempts } = assert.fail()] = first.service.deliveries;
  const wait_ms = Date.parse(str(next_attempt_at)) - Date.parse(attempts[0]?.at ?? "");
  return { id, wait_ms, data: await snapshotFile(first), snapshot: await first.service.snapshot() };
}

const nextAttempt = async ({ api }: Embedded) => {
  const [hook] = (await api.get("/webhooks")).items;
  return str((await api.get(`/webhooks/${str(hook?.id)}/deliveries`)).items[0]?.next_attempt_at);
};

test("a system clock over data from a later time shows the machine's time, and waits keep their length", async () => {
  const { id, wait_ms, data } = await waitingIn2036();
  await using it = await embedded({ data, clock: "system" });
  const young = await create(it, "New");
  assert.ok(young.id > id, "ids are in the order of creation");
  isNow(str(young.created_at));
  isNow(await nextAttempt(it), wait_ms);
});

test("a restore sets a manual clock to the snapshot's time and leaves a system clock at the machine's time", async () => {
  const { wait_ms, snapshot } = await waitingIn2036();
  await using manual = await embedded();
  await manual.service.restore(snapshot);
  assert.equal(manual.service.clock.now(), Date.UTC(2036, 0, 1));
  await using system = await embedded({ clock: "system" });
  await system.service.clock.advance("1d");
  await system.service.restore(snapshot);
  isNow(system.service.clock.now());
  isNow(await nextAttempt(system), wait_ms);
});

test("a manual clock over existing data continues from the snapshot's time or the last event unless startAt is set", async () => {
  const at = async (
    options: ServiceOptions,
    hour: number,
    actions: (it: Embedded) => Promise<unknown>,
  ) => {
    await using it = await embedded(options);
    assert.equal(it.service.clock.now(), Date.UTC(2036, 0, 1, hour));
    await actions(it);
  };
  const later = async (it: Embedded) => {
    await it.service.clock.advance("1h");
    ids.push((await create(it, "Later")).id);
  };
  const ids: string[] = [];
  let data = "";
  await at({ startAt: "2036-01-01T00:00:00.000Z" }, 0, async (it) => {
    ids.push((await create(it, "Old")).id);
    await it.service.clock.advance("1h");
    data = await snapshotFile(it);
  });
  await at({ data }, 1, later);
  await at({ data }, 2, later);
  assert.deepEqual(ids, ids.toSorted());
  await at({ data, startAt: "2036-01-01T00:00:00.000Z" }, 0, async () => {});
});

test("new ids sort after all stored ids: of records without events, of the current millisecond, of a later time, of another service", async () => {
  const inOrder = async (of: Embedded, what: string) => {
    const all = (await of.api.get("/users")).items.map(({ id }) => str(id));
    assert.deepEqual(all, all.toSorted(), what);
  };
  const enrol = (of: Embedded) => of.api.create("/users", { email: freshAddress() });
  await using first = await embedded({ randomSeed: "order" });
  await first.service.clock.advance("1d");
  for (let times = 0; times < 5; times += 1) await enrol(first);
  await first.service.restore(await first.service.snapshot());
  await enrol(first);
  await inOrder(first, "restored");
  await using other = await embedded({ startAt: "2025-01-01T00:00:00.000Z" });
  await other.service.restore(await first.service.snapshot());
  await enrol(other);
  await inOrder(other, "another service's");
  const data = await snapshotFile(other);
  for (const options of [{ data }, { data }, { data, startAt: "2025-01-01T00:00:00.000Z" }]) {
    await using again = await embedded(options);
    await enrol(again);
    await inOrder(again, "after a restart");
  }
});

test("setAccountState: an unknown state is rejected by name", async () => {
  await using it = await embedded();
  const change = it.service.setAccountState("supended" as "suspended");
  await assert.rejects(change, /^OptionError: setAccountState must be one of .*"suspended"/);
  assert.equal((await it.api.get("/account")).json.state, "active");
});
