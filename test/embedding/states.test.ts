// Back to the seed, and to snapshots (contract, part 10).
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { OptionError } from "../../src/index.ts";
import { members, str } from "../support/client.ts";
import { clientOf, embedded, subscribed, titles } from "../support/embedded.ts";
import { quickest } from "../support/quickest.ts";

const SEED = {
  accounts: [
    {
      name: "Seeded",
      api_keys: [{ name: "First", key: "seeded-key-1" }],
      apps: [{ title: "From the seed" }],
      data_sources: [{ name: "Numbers", type: "json", data: [{ n: 1 }] }],
    },
  ],
};

test("reset: the seed is back under the same ids, port and start-up key, and what was added is gone", async () => {
  await using it = await embedded({ seed: SEED });
  const { service, api } = it;
  const before = { base: service.baseUrl, key: service.apiKey, account: service.account };
  const seeded = (await api.get("/apps")).items;
  const key = str((await api.create("/api-keys", { name: "Later" })).key);
  await api.create("/apps", { title: "Later" });
  assert.equal((await api.delete(`/apps/${str(seeded[0]?.id)}`)).status, 204);
  const { access_token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
  const link = service.signInUrl;
  await service.reset();
  assert.deepEqual({ base: service.baseUrl, key: service.apiKey, account: service.account }, before);
  assert.deepEqual((await api.get("/apps")).items, seeded);
  assert.equal((await api.as(key).get("/apps")).status, 401);
  assert.equal((await api.as(access_token).get("/apps")).status, 401);
  const refresh = { grant_type: "refresh_token", refresh_token };
  assert.equal((await api.as(null).root.post("/oauth/token", refresh)).json.error, "invalid_grant");
  assert.notEqual(service.signInUrl, link);
});

test("reset: data that the seed brought is processed, not processed again", async () => {
  await using it = await embedded({ seed: SEED });
  const before = (await it.api.get("/data-sources")).items;
  assert.equal(before[0]?.status, "ready");
  await it.service.reset();
  assert.deepEqual((await it.api.get("/data-sources")).items, before);
  assert.deepEqual(it.service.events, []);
});

test("reset: journals are empty, faults and chaos are over, a manual clock is back at its start", async () => {
  await using it = await embedded({ startAt: "2028-02-29T00:00:00Z", rateLimit: 3 });
  const { service, api } = it;
  await api.create("/apps", { title: "A" });
  service.faults.add({ method: "GET", path: "/v1/apps", status: 500 });
  await service.clock.advance("1h");
  await api.get("/account");
  await service.reset();
  assert.deepEqual([service.requests, service.events, service.deliveries], [[], [], []]);
  assert.equal(service.clock.now(), Date.UTC(2028, 1, 29));
  const answer = await api.get("/apps");
  assert.equal(answer.status, 200);
  assert.match(answer.header("RateLimit"), /r=2;/);
});

test("reset: deliveries that waited are not sent any more, new ones are", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"], [500]);
  await it.api.create("/apps", { title: "Before" });
  await it.service.settled();
  await it.service.reset();
  await it.service.clock.advance("2d");
  assert.equal(hook.receiver.received[0]?.attempts.length, 1);
  await using again = await subscribed(it.api, ["app.created"]);
  await it.api.create("/apps", { title: "After" });
  await it.service.settled();
  assert.deepEqual(titles(again.receiver), ["After"]);
});

test("reset takes less than a millisecond on a small seed", async () => {
  await using it = await embedded({ seed: SEED });
  const median = await quickest(1, () => it.service.reset());
  assert.ok(median < 1, `${median} ms`);
});

test("reset of a service over other data plants the seed, with the key that it was started with", async () => {
  await using first = await embedded();
  await first.api.create("/apps", { title: "Old" });
  const snapshot = await first.service.snapshot();
  await withFile(JSON.stringify(snapshot), async (data) => {
    await using it = await embedded({ data, apiKey: "pinned-key-1", seed: SEED });
    assert.equal((await it.api.get("/apps")).items[0]?.title, "Old");
    await it.service.reset();
    assert.equal((await it.api.get("/apps")).items[0]?.title, "From the seed");
    assert.equal(it.service.account.name, "Seeded");
  });
});

test("snapshot: restore brings everything back, and the time", async () => {
  await using it = await embedded();
  const { service, api } = it;
  await api.create("/apps", { title: "Kept" });
  await service.clock.advance("3h");
  const snapshot = await service.snapshot();
  const apps = (await api.get("/apps")).items;
  await api.create("/apps", { title: "Not kept" });
  await service.clock.advance("3h");
  await service.restore(snapshot);
  assert.equal(service.clock.now(), Date.UTC(2026, 0, 1, 3));
  assert.deepEqual((await api.get("/apps")).items, apps);
  assert.deepEqual(service.events, []);
});

test("snapshot: it is plain JSON, and does not change with what happens later", async () => {
  await using it = await embedded();
  const snapshot = await it.service.snapshot();
  const text = JSON.stringify(snapshot);
  assert.deepEqual(JSON.parse(text), snapshot);
  await it.api.create("/apps", { title: "Later" });
  assert.equal(JSON.stringify(snapshot), text);
  await it.service.restore(JSON.parse(text));
  assert.equal((await it.api.get("/apps")).json.total, 0);
});

test("snapshot: pending deliveries are in it and are sent after the restore", async () => {
  await using it = await embedded();
  await using hook = await subscribed(it.api, ["app.created"], [500, 200]);
  await it.api.create("/apps", { title: "A" });
  await it.service.settled();
  const snapshot = await it.service.snapshot();
  await it.service.reset();
  await it.service.restore(snapshot);
  await it.service.clock.advance("10s");
  assert.equal(hook.receiver.received[0]?.attempts.length, 2);
});

test("snapshot: another service takes it, and its own start-up key opens it", async () => {
  await using one = await embedded();
  await one.api.create("/apps", { title: "Carried" });
  await using two = await embedded({ startAt: "2030-01-01T00:00:00Z" });
  await two.service.restore(one.service.snapshot());
  assert.equal((await two.api.get("/apps")).items[0]?.title, "Carried");
  assert.equal(two.service.account.id, one.service.account.id);
  assert.equal(two.service.clock.now(), one.service.clock.now());
});

test("snapshot: written to a file it opens with data", async () => {
  await using one = await embedded();
  await one.api.create("/apps", { title: "Carried" });
  await withFile(JSON.stringify(await one.service.snapshot()), async (data) => {
    await using two = await embedded({ data });
    assert.equal((await two.api.get("/apps")).items[0]?.title, "Carried");
    assert.equal((await two.api.as(one.service.apiKey).get("/apps")).status, 200);
  });
});

test("snapshot: what is none is refused by name, and nothing is changed", async () => {
  await using it = await embedded();
  await it.api.create("/apps", { title: "Still here" });
  const good = await it.service.snapshot();
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    ["text", /format must be 1; it is undefined/],
    [{ ...good, format: 2 }, /format must be 1; it is 2/],
    [{ format: 1, collections: [] }, /holds no account/],
    [{ format: 1, collections: { accounts: [] } }, /holds no account/],
    [{ format: 1, collections: { ...good.collections, apps: {} } }, /apps must be an array of records/],
  ];
  for (const [snapshot, says] of wrong)
    await assert.rejects(
      it.service.restore(JSON.parse(JSON.stringify(snapshot))),
      (error: Error) => error instanceof OptionError && says.test(error.message),
    );
  const unkept: readonly (readonly [object, RegExp])[] = [
    [{ apps: [{ title: "No id" }] }, /not a record with an id/],
    [{ apps: [{ id: "a" }, { id: "a" }] }, /a second record with the id "a" in apps/],
    [{ unheard_of: [] }, /unheard_of/],
  ];
  for (const [lists, says] of unkept)
    await assert.rejects(it.service.restore({ format: 1, collections: { ...good.collections, ...lists } }), says);
  assert.equal((await it.api.get("/apps")).json.total, 1);
  await using hook = await subscribed(it.api, ["app.created"]);
  await it.api.create("/apps", { title: "Sent" });
  await it.service.settled();
  assert.deepEqual(titles(hook.receiver), ["Sent"]);
});

test("the state of the account can be switched", async () => {
  await using it = await embedded();
  await it.service.setAccountState("suspended");
  assert.equal((await it.api.get("/apps")).json.code, "account_suspended");
  assert.equal(it.service.account.state, "suspended");
  await it.service.setAccountState("limited");
  assert.equal((await it.api.get("/apps")).status, 200);
  assert.equal((await it.api.post("/apps", { title: "A" })).json.code, "account_limited");
  await it.service.reset();
  assert.equal(it.service.account.state, "active");
  assert.equal((await it.api.post("/apps", { title: "A" })).status, 201);
});

test("a client keeps its connection through a reset", async () => {
  await using it = await embedded();
  const other = clientOf(it.service);
  assert.equal((await other.get("/account")).status, 200);
  await it.service.reset();
  assert.equal(members((await other.get("/account")).json).state, "active");
  other.close();
});

async function withFile(content: string, use: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "states-"));
  try {
    await writeFile(join(folder, "data.json"), content);
    await use(join(folder, "data.json"));
  } finally {
    await rm(folder, { recursive: true });
  }
}
