// Idempotency-Key on POST: the specification has none of it, so all is ours (contract, part 4). Includes its behavior
// when a storage write fails or an unexpected error occurs (contract, part 7: 503 and 500).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { StorageUnavailable } from "../../src/index.ts";
import { Browser } from "../support/browser.ts";
import { choice, gated, MANUAL, withService } from "../support/clauses.ts";
import { type Answer, type Client, freshAddress } from "../support/client.ts";
import { freshFile } from "../support/closing.ts";
import { textOf } from "../support/dashboard.ts";
import { badHeader, errorsOf, invalid, problem } from "../support/problem.ts";
import { begun } from "../support/raw.ts";

const once = (api: Client, key: string, path = "/apps", body: object = { title: "Once" }) =>
  api.post(path, body, { "idempotency-key": key });
const total = async (api: Client, path = "/apps") =>
  Number((await api.get(`${path}?limit=1`)).json.total);
const replayed = (answer: Answer): boolean => answer.headers["idempotency-replayed"] === "true";
const reused = (answer: Answer) => problem(answer, "idempotency_key_reused");

/** The parts of a response that a replay repeats. */
const kept = ({ status, headers, text }: Answer) =>
  [status, text].concat(["content-type", "location", "etag"].map((name) => String(headers[name])));

choice(
  "4.idempotency",
  "repeating a request with its key replays the first response and has no further effect",
  async ({ api }) => {
    const key = randomUUID();
    const first = await once(api, key);
    const before = [await total(api), await total(api, "/events")];
    for (let again = 0; again < 3; again += 1) {
      const answer = await once(api, key);
      assert.ok(replayed(answer));
      assert.deepEqual(kept(answer), kept(first));
      assert.notEqual(answer.header("x-request-id"), first.header("x-request-id"));
    }
    assert.deepEqual([await total(api), await total(api, "/events")], before);
  },
);

choice(
  "4.idempotency",
  "of twelve concurrent requests with one key one creates, and the others get its response or idempotency_in_progress",
  async ({ api }) => {
    const key = randomUUID();
    const before = await total(api);
    const answers = await Promise.all(Array.from({ length: 12 }, () => once(api, key)));
    const made = answers.filter(({ status }) => status === 201);
    for (const answer of answers)
      if (!made.includes(answer)) problem(answer, "idempotency_in_progress");
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
    assert.equal(await total(api), before + 1);
  },
);

choice(
  "4.idempotency",
  "a key that is reused with another body or path is rejected",
  async ({ api }) => {
    const key = randomUUID();
    const first = await once(api, key);
    assert.equal(
      errorsOf(reused(await once(api, key, "/apps", { title: "Twice" })))[0]?.header,
      "Idempotency-Key",
    );
    assert.equal((await once(api, key)).text, first.text, "the first answer is still kept");
    const other = await api.create("/apps", { title: "Other" });
    const deployed = randomUUID();
    assert.equal(
      (await once(api, deployed, `/apps/${first.id}/deploy`, { name: "R" })).status,
      201,
    );
    reused(await once(api, deployed, `/apps/${other.id}/deploy`, { name: "R" }));
  },
);

choice(
  "4.idempotency",
  "the body distinguishes two requests even where the operation takes none",
  async ({ api }) => {
    const webhook = await api.create("/webhooks", {
      url: "http://127.0.0.1:9/",
      events: ["app.created"],
    });
    const { id } = (await api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" })).json;
    const path = `/webhooks/${webhook.id}/deliveries/${id}/redeliver`;
    const [key, none] = [randomUUID(), { "idempotency-key": randomUUID() }];
    assert.equal((await api.post(path, undefined, none)).status, 202);
    assert.equal(replayed(await api.post(path, undefined, none)), true);
    const first = await once(api, key, path, { a: 1 });
    assert.deepEqual([first.status, replayed(first)], [202, false]);
    assert.equal(replayed(await once(api, key, path, { a: 1 })), true);
    reused(await once(api, key, path, { a: 2 }));
    problem(await once(api, key, path, { a: "x".repeat(1_048_576) }), "payload_too_large");
  },
);

choice(
  "4.idempotency",
  "an idempotency key has 1 to 255 characters, is sent once, works on POST only and is scoped to its credential",
  async ({ api }) => {
    for (const key of ["k", "k".repeat(255)]) assert.equal((await once(api, key)).status, 201);
    for (const key of ["", "k".repeat(256), [randomUUID(), randomUUID()]])
      badHeader(
        await api.post("/apps", { title: "T" }, { "idempotency-key": key }),
        "Idempotency-Key",
      );
    const other = api.as(String((await api.create("/api-keys", { name: "Other" })).key));
    const key = randomUUID();
    const { id } = await once(api, key);
    assert.notEqual((await once(other, key)).id, id);
    const header = { "idempotency-key": randomUUID() };
    for (const title of ["A", "B"])
      assert.equal((await api.patch(`/apps/${id}`, { title }, header)).json.title, title);
    assert.equal((await api.delete(`/apps/${id}`, header)).status, 204);
  },
);

choice(
  "4.idempotency",
  "an error is not stored: the next request with the key is validated again and may have another body",
  async ({ api }) => {
    const key = randomUUID();
    assert.equal((await once(api.as(null), key)).status, 401);
    assert.equal((await once(api, key, "/apps?x=1")).status, 400);
    invalid(await once(api, key, "/apps", { title: "" }), "#/title");
    assert.equal((await once(api, key, "/apps", { title: "Mended" })).status, 201);
    const email = freshAddress();
    const { id } = await api.create("/users", { email });
    const taken = randomUUID();
    problem(await once(api, taken, "/users", { email }), "email_taken");
    await api.delete(`/users/${id}`);
    const made = await once(api, taken, "/users", { email });
    assert.deepEqual([made.status, replayed(made)], [201, false]);
    assert.ok(replayed(await once(api, taken, "/users", { email })));
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
      const key = randomUUID();
      const first = await once(api, key, path, body);
      assert.equal(typeof first.json[secret], "string", first.text);
      const again = await once(api, key, path, body);
      assert.ok(replayed(again));
      assert.deepEqual(again.json, { ...first.json, [secret]: null });
    }
  },
);

choice(
  "4.idempotency.window",
  "a response is stored for 24 hours and no longer",
  MANUAL,
  async ({ api, service }) => {
    const key = randomUUID();
    const first = await once(api, key);
    await service.clock.advance(`${24 * 3_600_000 - 1}ms`);
    assert.equal((await once(api, key)).text, first.text);
    await service.clock.advance("1ms");
    assert.notEqual((await once(api, key)).id, first.id);
    reused(await once(api, key, "/apps", { title: "Other" }));
  },
);

choice("4.idempotency", "an aborted upload leaves the key free", async (own) => {
  const key = randomUUID();
  const raw = await begun(own.authUrl, own, 40, `idempotency-key: ${key}`);
  raw.write('{"title":').socket.resetAndDestroy();
  assert.equal((await once(own.api, key)).status, 201);
});

choice("4.idempotency.window", "a stored response survives a restart", async () => {
  const options = { data: freshFile("data.json"), apiKey: "idempotent-key" };
  const key = randomUUID();
  let first = "";
  await withService(options, async ({ api }) => {
    first = (await once(api, key)).text;
  });
  await withService(options, async ({ api }) => {
    const answer = await once(api, key);
    assert.deepEqual([replayed(answer), answer.text], [true, first]);
    reused(await once(api, key, "/apps", { title: "Other" }));
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
      assert.match(
        answer.header("RateLimit"),
        /^"default";r=\d+;t=\d+$/,
        "it was counted like any other",
      );
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
      const key = randomUUID();
      gate.fault = fault;
      const answer = await once(api, key);
      problem(answer, code);
      assert.doesNotMatch(answer.text, /secret|path\.ts|TypeError/);
      const page = await new Browser(api).signIn();
      assert.equal(
        textOf(page).includes(page.header("x-request-id")),
        code === "internal_error",
        "told to people",
      );
      gate.fault = undefined;
      const again = await once(api, key);
      assert.deepEqual([again.status, replayed(again)], [201, false]);
    }
  },
);

gated(
  "4.idempotency.in-progress",
  "a second request gets 409 while the first is in progress, then a replay",
  async ({ api }, gate) => {
    const send = (title: string) => once(api, "in-progress", "/apps", { title });
    const held = gate.hold();
    const first = send("Once");
    await held.begun;
    for (const title of ["Once", "Other"]) problem(await send(title), "idempotency_in_progress");
    held.release();
    const [answer, again] = [await first, await send("Once")];
    assert.deepEqual([answer.status, replayed(again), again.text], [201, true, answer.text]);
    assert.equal(await total(api), 1);
  },
);

gated(
  "1.dashboard.api-keys.last-used",
  "a slow or failing write of last_used_at neither delays nor fails a read",
  async ({ api, service }, gate) => {
    const reads = async () => assert.equal((await api.get("/account")).status, 200);
    await service.clock.advance("60000ms");
    const held = gate.hold();
    await reads(); // while the write of last_used_at waits
    gate.fault = new StorageUnavailable("disk full");
    held.release();
    await reads(); // after the write of last_used_at failed
    gate.fault = undefined;
    await service.clock.advance("60000ms");
    await reads();
  },
);
