// Idempotency-Key on POST: the specification has none of it, so all is ours (contract, part 4). Includes its behavior
// when a storage write fails or an unexpected error occurs (contract, part 7: 503 and 500).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated, MANUAL, withService } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { badHeader, errorsOf, invalid, problem } from "../support/problem.ts";

const newKey = () => ({ "idempotency-key": randomUUID() });
type Key = ReturnType<typeof newKey>;

const createApp = (api: Client, key: Key, title = "Once") => api.post("/apps", { title }, key);
const total = async (api: Client, path = "/apps") =>
  Number((await api.get(`${path}?limit=1`)).json.total);
const isReplay = ({ headers }: Answer) => headers["idempotency-replayed"] === "true";
const reused = (answer: Answer) => problem(answer, "idempotency_key_reused");

/** Asserts that `again` replays `first`. */
function replays(again: Answer, first: Answer): void {
  const repeated = ({ status, headers, text }: Answer) => [
    status,
    text,
    ...["content-type", "location", "etag"].map((name) => headers[name]),
  ];
  assert.deepEqual([isReplay(first), isReplay(again)], [false, true]);
  assert.deepEqual(repeated(again), repeated(first));
  assert.notEqual(again.header("x-request-id"), first.header("x-request-id"));
}

choice(
  "4.idempotency",
  "repeating a request with its key replays the first response and has no further effect",
  async ({ api }) => {
    const key = newKey();
    const first = await createApp(api, key);
    const before = [await total(api), await total(api, "/events")];
    for (let count = 0; count < 3; count += 1) replays(await createApp(api, key), first);
    assert.deepEqual([await total(api), await total(api, "/events")], before);
  },
);

choice(
  "4.idempotency",
  "a key that is reused with another body or path is rejected",
  async ({ api }) => {
    const [key, deployKey] = [newKey(), newKey()];
    const first = await createApp(api, key);
    const error = reused(await createApp(api, key, "Twice"));
    assert.equal(errorsOf(error)[0]?.header, "Idempotency-Key");
    replays(await createApp(api, key), first);
    const other = await api.create("/apps", { title: "Other" });
    const deploy = (id: unknown) => api.post(`/apps/${id}/deploy`, { name: "R" }, deployKey);
    (await deploy(first.id)).is(201);
    reused(await deploy(other.id));
  },
);

choice(
  "4.idempotency",
  "an idempotency key has 1 to 255 characters, works on POST only and is scoped to its credential",
  async ({ api }) => {
    const withKey = (key: string) => api.post("/apps", { title: "T" }, { "idempotency-key": key });
    for (const key of ["k", "k".repeat(255)]) (await withKey(key)).is(201);
    for (const key of ["", "k".repeat(256)]) badHeader(await withKey(key), "Idempotency-Key");
    const other = api.as(String((await api.create("/api-keys", { name: "Other" })).key));
    const key = newKey();
    const { id } = await createApp(api, key);
    assert.notEqual((await createApp(other, key)).id, id);
    for (const title of ["A", "B"])
      assert.equal((await api.patch(`/apps/${id}`, { title }, key)).json.title, title);
    (await api.delete(`/apps/${id}`, key)).is(204);
  },
);

choice(
  "4.idempotency",
  "an error is not stored: the next request with the key is validated again and may have another body",
  async ({ api }) => {
    const key = newKey();
    (await createApp(api.as(null), key)).is(401);
    (await api.post("/apps?x=1", { title: "T" }, key)).is(400);
    invalid(await createApp(api, key, ""), "#/title");
    (await createApp(api, key)).is(201);
  },
);

choice(
  "4.idempotency.secrets",
  "a replay shows null in place of one-time values",
  async ({ api }) => {
    const url = "https://h.example.com/";
    for (const [path, body, secret] of [
      ["/api-keys", { name: "K" }, "key"],
      ["/webhooks", { url, events: ["app.created"], active: false, secret: "given" }, "secret"],
      ["/oauth-clients", { name: "C", redirect_uris: [url], scopes: ["admin"] }, "client_secret"],
    ] as const) {
      const key = newKey();
      const first = await api.post(path, body, key);
      assert.equal(typeof first.json[secret], "string", first.text);
      const again = await api.post(path, body, key);
      assert.ok(isReplay(again));
      assert.deepEqual(again.json, { ...first.json, [secret]: null });
    }
  },
);

choice(
  "4.idempotency.window",
  "a response is stored for 24 hours and no longer",
  MANUAL,
  async ({ api, service }) => {
    const key = newKey();
    const first = await createApp(api, key);
    await service.clock.advance(`${24 * 3_600_000 - 1}ms`);
    replays(await createApp(api, key), first);
    await service.clock.advance("1ms");
    assert.notEqual((await createApp(api, key)).id, first.id);
    reused(await createApp(api, key, "Other"));
  },
);

choice("4.idempotency.window", "a stored response survives a restart", async () => {
  const options = { data: freshFile("data.json"), apiKey: "idempotent-key" };
  const key = newKey();
  let text = "";
  await withService(options, async ({ api }) => {
    text = (await createApp(api, key)).text;
  });
  await withService(options, async ({ api }) => {
    const answer = await createApp(api, key);
    assert.deepEqual([isReplay(answer), answer.text], [true, text]);
    reused(await createApp(api, key, "Other"));
  });
});

gated(
  "7.error-codes.storage",
  "a failed storage write responds with 503 and leaves nothing visible",
  async ({ api }, gate) => {
    const app = `/apps/${(await api.create("/apps", { title: "Before" })).id}`;
    const lists = async () => [(await api.get("/apps")).text, (await api.get("/events")).text];
    const before = await lists();
    gate.fault = new StorageUnavailable("disk full");
    for (const answer of [
      await api.post("/apps", { title: "Lost" }),
      await api.patch(app, { title: "Lost" }),
      await api.delete(app),
      await api.post(`${app}/deploy`, { name: "Lost" }),
    ]) {
      problem(answer, "storage_unavailable");
      assert.match(answer.header("RateLimit"), /^"default";r=\d+;t=\d+$/);
    }
    assert.deepEqual(await lists(), before, "reads go on, and show what was");
  },
);

gated(
  "7.error-codes.internal",
  "an unexpected error responds with a bare 500, and no 5xx response is stored",
  async ({ api }, gate) => {
    for (const [fault, code] of [
      [new TypeError("secret cause in /some/path.ts"), "internal_error"],
      [new StorageUnavailable("disk full"), "storage_unavailable"],
    ] as const) {
      const key = newKey();
      gate.fault = fault;
      const answer = await createApp(api, key);
      problem(answer, code);
      assert.doesNotMatch(answer.text, /secret|path\.ts|TypeError/);
      gate.fault = undefined;
      const again = await createApp(api, key);
      assert.deepEqual([again.status, isReplay(again)], [201, false]);
    }
  },
);

gated(
  "4.idempotency.in-progress",
  "a second request gets 409 while the first is in progress, then a replay",
  async ({ api }, gate) => {
    const key = newKey();
    const held = gate.hold();
    const first = createApp(api, key);
    await held.begun;
    for (const title of ["Once", "Other"])
      problem(await createApp(api, key, title), "idempotency_in_progress");
    held.release();
    const response = await first;
    replays(await createApp(api, key), response);
    assert.equal(await total(api), 1);
  },
);
