// Reset to the seed, snapshot and restore. A seed is validated before it is loaded: misspelt, invalid and duplicate
// entries are rejected with their path. The journals: requests, events, deliveries, and the trace that connects them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNotifications } from "../../src/domain/unit-of-work.ts";
import { emptyResponse, type HttpRequest } from "../../src/http/message.ts";
import { memoryStore, OptionError, type StoreData, startService } from "../../src/index.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { TaskTracker } from "../../src/lib/tasks.ts";
import { createRecorder } from "../../src/testing/recorder.ts";
import {
  type Answer,
  begun,
  choice,
  contains,
  type Embedded,
  embedded,
  FIXED,
  freshAddress,
  freshFile,
  Gate,
  hooked,
  printedOn,
  problem,
  served,
  startRefused,
  str,
  struck,
  titles,
  turns,
} from "../support/index.ts";

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

served(
  "reset: the seed is back with the same ids, port and start-up key, and later keys and tokens are invalid",
  { seed: SEED },
  async (it) => {
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
    assert.equal(
      (await api.as(null).root.post("/oauth/token", refresh)).json.error,
      "invalid_grant",
    );
  },
);

served(
  "reset: nothing is pending, faults, chaos and rate windows are cleared, and a manual clock is set back",
  { startAt: "2028-02-29T00:00:00Z", rateLimit: 3 },
  async (it) => {
    const { service, api } = it;
    const before = await hooked(api, ["app.created"]);
    service.faults.add({ method: "GET", path: "/v1/apps", status: 500 });
    service.chaos.add({ effect: "drop", times: 9 });
    await create(it, "A");
    await service.clock.advance("1s");
    await service.reset();
    assert.equal(service.clock.now(), Date.UTC(2028, 1, 29));
    contains((await api.get("/apps")).header("RateLimit"), "r=2;");
    const after = await hooked(api, ["app.created"]);
    await create(it, "After");
    await service.settled();
    assert.deepEqual(titles(after), ["After"]);
    await service.clock.advance("2d");
    assert.equal(before.received.length, 0);
  },
);

test("seeding emits no events, at start-up or after a reset", async () => {
  const webhooks = [{ url: "http://localhost:9/", events: ["data.processed"] }];
  await using it = await embedded({ seed: { accounts: [{ ...ACCOUNT, webhooks }] } });
  for (let times = 0; times < 2; times += 1) {
    assert.deepEqual(await it.service.settled({ timeoutMs: 50 }), { settled: true, pending: [] });
    assert.equal((await it.api.get("/data-sources")).items[0]?.status, "ready");
    assert.equal((await it.api.get("/events")).total, 0);
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

served("reset: a delayed request is applied to the state before the reset", async (it) => {
  it.service.faults.add({ method: "POST", path: "/v1/apps", delayMs: 60_000 });
  const delayed = it.api.post("/apps", { title: "Delayed" });
  await struck(it);
  await it.service.reset();
  (await delayed).is(201);
  assert.equal(await appTitles(it), "");
  assert.deepEqual([it.service.events, it.service.requests.length], [[], 1]);
});

served(
  "reset: it waits for requests in progress, holds later ones back, and ends one whose client stalls",
  async (it) => {
    const body = '{"title":"Before"}';
    const sending = await begun(it.authUrl, it, body.length);
    const stalled = await begun(it.authUrl, it, body.length);
    const reset = it.service.reset();
    await turns(50);
    const later = it.api.post("/apps", { title: "Later" });
    (await sending.write(body).answer()).is(201);
    problem(await stalled.answer(), "request_timeout");
    await reset;
    (await later).is(201);
    assert.equal(await appTitles(it), "Later");
    assert.equal(it.service.requests.map(({ method }) => method).join(), "POST,GET");
    for (const { socket } of [sending, stalled]) socket.destroy();
  },
);

served(
  "a snapshot is plain JSON that later changes do not affect, and a restore brings back its data, time and pending deliveries",
  { startAt: "2026-01-01T00:00:00Z" },
  async (it) => {
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
  },
);

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

served("an invalid snapshot is rejected and changes nothing", async (it) => {
  const hook = await hooked(it.api, ["app.created"]);
  await create(it, "Old");
  const { collections } = await it.service.snapshot();
  const { restore } = it.service;
  for (const snapshot of [null, "text", { format: 1, collections }, { format: 2, collections: {} }])
    await assert.rejects(restore(snapshot as StoreData), OptionError);
  for (const changed of [
    { clock: [{ id: "now", at: "garbage" }] },
    { accounts: [{ id: "acc_1" }] },
  ])
    await assert.rejects(
      restore({ format: 2, collections: { ...collections, ...changed } }),
      OptionError,
    );
  const unknown = { format: 2, collections: { ...collections, unknown: [] } } as const;
  await assert.rejects(restore(unknown), { name: "StoreOpenError" });
  assert.equal(await appTitles(it), "Old");
  await it.service.setAccountState("suspended");
  assert.equal((await it.api.get("/apps")).json.code, "account_suspended");
  await it.service.setAccountState("active");
  await create(it, "New");
  await it.service.settled();
  assert.deepEqual(titles(hook), ["Old", "New"]);
});

test("a start stores the seed and the start-up key in one commit", async () => {
  const gate = new Gate();
  gate.fault = new Error("a second commit");
  await using it = await embedded({ store: gate.store });
  gate.fault = undefined;
  (await it.api.get("/apps")).is(200);
});

test("the state of an account that is no longer stored cannot be set", async () => {
  const store = memoryStore();
  await using it = await embedded({ store });
  const empty = { format: 2, collections: {} } as const;
  await store.restore(empty);
  const before = await store.snapshot();
  await assert.rejects(it.service.setAccountState("limited"), OptionError);
  assert.deepEqual(await store.snapshot(), before);
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

const source = { id: "ds_1", name: "A", type: "json", data: [] };
const client = { name: "C", redirect_uris: ["com.example.app:/cb"], scopes: ["read:apps"] };
const users = [{ email: "A@example.com" }, { email: "a@EXAMPLE.com" }];
const withKey = (key: string) => ({ api_keys: [{ name: "Key", key }] });
const withApps = (...ids: readonly string[]) => ({ apps: ids.map((id) => ({ id, title: "T" })) });

/** The accounts of a seed, and its error without the common prefix `#/accounts/`. */
const INVALID = [
  [[withApps("app_1", "app_2", "app_1")], "0/apps/2/id is the same as an earlier one"],
  [[{ data_sources: [source] }, { data_sources: [source] }], "1/data_sources/0/id is the same"],
  [[{ id: "acc_1" }, { id: "acc_1" }], "1/id is the same"],
  [[withKey("secret-1"), withKey("secret-1")], "1/api_keys/0/key is the same"],
  [[{}, withKey("secret-2")], "1/api_keys has the start-up key of the first account"],
  [[{ users }], "0/users/1 a@EXAMPLE.com is already a user"],
  [
    [withApps("app_1"), { data_sources: [{ ...source, app_id: "app_1" }] }],
    "1/data_sources/0/app_id must",
  ],
  [[{ oauth_clients: [client] }], "0/oauth_clients/0/redirect_uris/0 must be https"],
  [[{ aps: [] }], "0/aps is not a known member"],
  [[{ apps: [{ title: "" }] }], "0/apps/0/title must"],
  [[{ state: "asleep" }], "0/state must be one of"],
  [[withKey("short")], "0/api_keys/0/key must"],
  [[{ webhooks: [{ url: "ftp://x", events: ["app.created"] }] }], "0/webhooks/0/url must"],
  [[{ data_sources: [{ ...source, data: "a" }] }], "0/data_sources/0/data must"],
  [[{ id: "first" }], "0/id must"],
] as const;

choice(
  "1.test-controls.seed: an invalid seed is rejected with the path of its error, without showing a secret",
  async () => {
    for (const [members, error] of INVALID) {
      const accounts = members.map((account) => ({ name: "One", ...account }));
      const options = { seed: { accounts }, apiKey: "secret-2" };
      const message = await startRefused(options, "seed: ");
      contains(message, `#/accounts/${error}`);
      assert.doesNotMatch(message, /secret-/);
    }
    // Also if stored data takes precedence, because a reset will need the seed.
    const data = freshFile("kept.json");
    await (await startService({ data })).close();
    await startRefused({ data, seed: [] }, "seed must be an object");
    await startRefused(
      { seed: freshFile("broken.json", "{ not json") },
      "seed must be … JSON object",
    );
  },
);

/** Returns the first data source of a seed as the API does: "name:type" of its columns, and its rows. */
async function load(seed: string | object) {
  await using service = await embedded({ seed });
  const [{ id, columns } = {}] = (await service.api.get("/data-sources")).items;
  const types = Array.from(columns as Iterable<object>, (each) => Object.values(each).join(":"));
  return [types, (await service.api.get(`/data-sources/${id}/rows`)).items];
}

const ROWS = '[{"n":1.50,"m":1.50},{"n":9007199254740993,"m":2}]';

choice(
  "2.data-reading.exact: numbers of a seed are not rounded, in a file or in an object",
  async () => {
    const seed = { accounts: [{ name: "A", data_sources: [source] }] };
    const file = freshFile("seed.json", JSON.stringify(seed).replace("[]", ROWS));
    const rows = [
      { n: "1.50", m: 1.5 },
      { n: "9007199254740993", m: 2 },
    ];
    assert.deepEqual(await load(file), [["n:string", "m:number"], rows]);
    const data = [{ n: 2 ** 53 }];
    const accounts = [{ name: "A", data_sources: [{ ...source, data }] }];
    assert.deepEqual(await load({ accounts }), [["n:string"], [{ n: "9007199254740992" }]]);
    await startRefused({ seed: freshFile("wrong.json", "[null,1.50]") }, "…seed");
  },
);

choice(
  "1.test-controls.seed: the pinned key may be listed in the first account, and an email address in each account",
  async () => {
    const accounts = ["secret-1", "secret-2"].map((key, at) => ({
      ...withKey(key),
      name: `Account ${at}`,
      users: [users[at]],
    }));
    await using service = await startService({ seed: { accounts }, apiKey: "secret-1" });
    assert.deepEqual([service.apiKey, service.account.name], ["secret-1", "Account 0"]);
  },
);

served(
  "requests: the journal lists requests in order with their responses",
  FIXED,
  async ({ api, service }) => {
    const created = await api.post("/apps", { title: "A" });
    await api.as(null).get("/apps?limit=1");
    await api.root.get("/healthz");
    const [first, ...others] = service.requests;
    assert.deepEqual(first, {
      id: created.header("X-Request-Id"),
      at: FIXED.startAt,
      method: "POST",
      path: "/v1/apps",
      query: "",
      status: 201,
      fault: null,
    });
    const rest = others.map(({ path, query, status }) => [path, query, status].join());
    assert.deepEqual(rest, ["/v1/apps,limit=1,401", "/healthz,,200"]);
  },
);

served(
  "events and deliveries: the journals match the API, with every attempt",
  async ({ api, service }) => {
    const { webhook } = await hooked(api, ["app.created"], {}, [500, 200]);
    const { id } = await api.newApp();
    await api.patch(`/apps/${id}`, { title: "B" });
    await service.settled();
    await service.clock.advance("10s");
    assert.deepEqual(service.events, (await api.get("/events")).items);
    assert.equal(service.events.map(({ type }) => type).join(), "app.created,app.updated");
    const deliveries = service.deliveries.map(({ attempts, ...delivery }) => ({
      ...delivery,
      attempts: attempts.map(({ chaos, ...attempt }) => {
        assert.equal(chaos, null);
        return attempt;
      }),
    }));
    assert.deepEqual(deliveries, (await api.get(`/webhooks/${webhook.id}/deliveries`)).items);
    assert.equal(deliveries[0]?.attempts.length, 2);
  },
);

served(
  "trace: it leads from a request to its events, their deliveries and attempts",
  async ({ api, service }) => {
    const hook = await hooked(api, ["app.created", "data.processed"]);
    const created = await api.post("/apps", { title: "A" });
    const source = await api.post("/data-sources", { name: "D", type: "json", data: [] });
    const sample = await api.post(`/webhooks/${hook.webhook.id}/test`, { type: "app.deleted" });
    await service.settled();
    const trace = (answer: Answer) => service.trace(answer.header("X-Request-Id"));
    assert.equal(trace(created)?.request.status, 201);
    for (const [answer, type] of [
      [created, "app.created"],
      [source, "data.processed"],
      [sample, "app.deleted"],
    ] as const) {
      const [caused, ...others] = trace(answer)?.events ?? [];
      assert.deepEqual([caused?.event.type, others], [type, []]);
      assert.equal(caused?.deliveries[0]?.attempts[0]?.response_status, 200);
    }
    assert.equal(service.events.length, 2, "without the sample");
    assert.equal(service.trace("req_never"), undefined);
  },
);

test("1.test-controls.journals: each journal keeps its newest 10,000 entries", async () => {
  const recorder = createRecorder({
    clock: new AdjustableClock(0),
    store: memoryStore(),
    notifications: createNotifications(),
    tasks: new TaskTracker(assert.fail),
    onError: assert.fail,
  });
  const handle = recorder.wrap(async () => emptyResponse(204));
  const request = { method: "GET", path: "/healthz", query: "" } as HttpRequest;
  for (let n = 0; n <= 10_000; n += 1) await handle({ ...request, id: `${n}` });
  const { requests } = recorder;
  assert.deepEqual([requests.length, requests[0]?.id, requests.at(-1)?.id], [10_000, "1", "10000"]);
});

/** Makes calls of every kind with a failing receiver, resets and repeats them; returns the journals of both runs. */
async function runTwice() {
  await using it = await embedded({ randomSeed: "repeat" });
  const { service, api } = it;
  const runs: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    await hooked(api, ["app.created", "data.processed"], {}, [500, 200]);
    await hooked(api, ["app.created"], {}, [200, 503]);
    await service.signIn({ scopes: ["admin"] });
    await service.restore(service.snapshot());
    const app = await api.newApp();
    await api.create("/data-sources", { name: "D", type: "csv", data: "a,b\n1,2\n" });
    await service.settled();
    service.chaos.add({ effect: "drop" });
    service.faults.add({ method: "POST", path: "/v1/apps", status: 503 });
    for (let times = 0; times < 2; times += 1) await api.post("/apps", { title: "B" });
    await api.delete(`/apps/${app.id}`);
    await service.clock.advance("1h");
    const { requests, events, deliveries } = service;
    assert.ok(deliveries.flatMap(({ attempts }) => attempts).length > 4);
    runs.push(JSON.stringify({ requests, events, deliveries }));
    await service.reset();
  }
  return runs;
}

test("with a random seed and a manual clock, two runs of the same calls give the same bytes, even after a reset", async () => {
  const [first, afterReset] = await runTwice();
  const [second] = await runTwice();
  assert.deepEqual([second, afterReset], [first, first]);
});
