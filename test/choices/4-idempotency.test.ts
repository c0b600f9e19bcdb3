// Idempotency-Key on POST: the specification has none of it, so all is ours (contract, part 4).
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choice, type Needs, withService } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { fresh } from "../support/fresh.ts";
import { badHeader, errorsOf, invalid, problem } from "../support/problem.ts";
import { RawConnection } from "../support/raw.ts";

const once = (api: Client, key: string, path = "/apps", body: object = { title: "Once" }) =>
  api.post(path, body, { "idempotency-key": key });
const total = async (api: Client, path = "/apps") => Number((await api.get(`${path}?limit=1`)).json.total);
const REPLAYED = "idempotency-replayed";
const DAY_MS = 24 * 3_600_000;
const OWN = { needs: "embedded" } as const;
const MANUAL: Needs = { needs: "embedded", options: { clock: "manual" } };

/** The parts of an answer that a replay repeats. */
const kept = ({ status, headers, text }: Answer) => [
  status,
  headers["content-type"],
  headers.location,
  headers.etag,
  text,
];

choice("4.idempotency", "the same request again replays the first answer and does nothing", async ({ api }) => {
  const key = fresh();
  const first = await once(api, key);
  assert.equal(first.headers[REPLAYED], undefined);
  const before = [await total(api), await total(api, "/events")];
  for (let again = 0; again < 3; again += 1) {
    const answer = await once(api, key);
    assert.equal(answer.header(REPLAYED), "true");
    assert.deepEqual(kept(answer), kept(first));
    assert.notEqual(answer.header("x-request-id"), first.header("x-request-id"));
  }
  assert.deepEqual([await total(api), await total(api, "/events")], before);
});

choice("4.idempotency", "the first answer comes even when the resource has changed or gone", async ({ api }) => {
  const key = fresh();
  const first = await once(api, key);
  await api.delete(`/apps/${first.id}`);
  assert.equal((await once(api, key)).text, first.text);
});

choice("4.idempotency", "with another body or path it is refused", async ({ api }) => {
  const key = fresh();
  const first = await once(api, key);
  const reused = problem(await once(api, key, "/apps", { title: "Twice" }), 422, "idempotency_key_reused");
  assert.deepEqual(
    errorsOf(reused).map(({ header }) => header),
    ["Idempotency-Key"],
  );
  problem(await once(api, key, "/api-keys", { name: "Once" }), 422, "idempotency_key_reused");
  problem(await once(api, key, `/apps/${first.id}/deploy`, { name: "R" }), 422, "idempotency_key_reused");
  assert.equal((await once(api, key)).text, first.text, "the first answer is still kept");
  const [body, other] = [{ name: "R" }, await api.create("/apps", { title: "Other" })];
  const deployed = fresh();
  assert.equal((await once(api, deployed, `/apps/${first.id}/deploy`, body)).status, 201);
  problem(await once(api, deployed, `/apps/${other.id}/deploy`, body), 422, "idempotency_key_reused");
});

choice("4.idempotency", "belongs to the credential that sent it", async ({ api }) => {
  const other = api.as(String((await api.create("/api-keys", { name: "Other" })).key));
  const key = fresh();
  const [mine, theirs] = [await once(api, key), await once(other, key)];
  assert.notEqual(mine.id, theirs.id);
  assert.equal(theirs.headers[REPLAYED], undefined);
});

choice("4.idempotency", "counts only on POST", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "T" });
  const header = { "idempotency-key": fresh() };
  assert.equal((await api.patch(`/apps/${id}`, { title: "A" }, header)).status, 200);
  assert.equal((await api.patch(`/apps/${id}`, { title: "B" }, header)).json.title, "B");
  assert.equal((await api.delete(`/apps/${id}`, header)).status, 204);
});

choice("4.idempotency", "has 1 to 255 characters and comes once", async ({ api }) => {
  for (const key of ["k", "k".repeat(255)]) assert.equal((await once(api, key)).status, 201);
  for (const key of ["", "k".repeat(256)]) badHeader(await once(api, key), "Idempotency-Key");
  const repeated = { "idempotency-key": [fresh(), fresh()] };
  badHeader(await api.post("/apps", { title: "T" }, repeated), "Idempotency-Key");
});

choice(
  "4.idempotency",
  "a refusal is not kept: it is judged anew, and another body is free to follow",
  async ({ api }) => {
    const key = fresh();
    for (let again = 0; again < 2; again += 1) {
      const answer = await once(api, key, "/apps", { title: "" });
      invalid(answer, "#/title");
      assert.equal(answer.headers[REPLAYED], undefined);
    }
    assert.equal((await once(api, key, "/apps", { title: "Mended" })).status, 201);
    const email = `${fresh().toLowerCase()}@example.com`;
    const { id } = await api.create("/users", { email });
    const taken = fresh();
    problem(await once(api, taken, "/users", { email }), 409, "email_taken");
    await api.delete(`/users/${id}`);
    const made = await once(api, taken, "/users", { email });
    assert.deepEqual([made.status, made.headers[REPLAYED]], [201, undefined]);
    assert.equal((await once(api, taken, "/users", { email })).header(REPLAYED), "true");
  },
);

choice("4.idempotency", "what was refused before the body was read is not kept", async ({ api }) => {
  const key = fresh();
  assert.equal((await api.as(null).post("/apps", { title: "Once" }, { "idempotency-key": key })).status, 401);
  assert.equal((await api.post("/apps?x=1", { title: "Once" }, { "idempotency-key": key })).status, 400);
  assert.equal((await once(api, key)).status, 201);
});

choice("4.idempotency.secrets", "what is shown once is null in a replay", async ({ api }) => {
  const webhook = { url: "https://h.example.com/", events: ["app.created"], active: false, secret: "given" };
  const client = { name: "C", redirect_uris: ["https://c.example.com/"], scopes: ["admin"] };
  const cases: readonly (readonly [path: string, body: object, secret: string])[] = [
    ["/api-keys", { name: "K" }, "key"],
    ["/webhooks", webhook, "secret"],
    ["/oauth-clients", client, "client_secret"],
    ["/users", { email: `once-${Date.now()}@example.com` }, "sign_in_url"],
  ];
  for (const [path, body, secret] of cases) {
    const key = fresh();
    const first = await once(api, key, path, body);
    assert.equal(typeof first.json[secret], "string", first.text);
    const again = await once(api, key, path, body);
    assert.equal(again.header(REPLAYED), "true");
    assert.deepEqual(again.json, { ...first.json, [secret]: null });
  }
});

choice(
  "4.idempotency.window",
  "the answer is kept for 24 hours and not a moment longer",
  MANUAL,
  async ({ api, service }) => {
    const key = fresh();
    const first = await once(api, key);
    await service.clock.advance(`${DAY_MS - 1}ms`);
    assert.equal((await once(api, key)).text, first.text);
    await service.clock.advance("1ms");
    const anew = await once(api, key);
    assert.equal(anew.headers[REPLAYED], undefined);
    assert.notEqual(anew.id, first.id);
    problem(await once(api, key, "/apps", { title: "Other" }), 422, "idempotency_key_reused");
  },
);

choice(
  "4.idempotency.in-progress",
  "while the first is running a second is told so",
  { needs: "embedded" },
  async ({ api, authUrl }) => {
    // The keys of many requests at once: the first creates, the others either wait for its answer in vain or replay it.
    const key = fresh();
    const before = await total(api);
    const answers = await Promise.all(Array.from({ length: 12 }, () => once(api, key)));
    const statuses = new Set(answers.map(({ status }) => status));
    assert.ok(statuses.has(201));
    for (const answer of answers) if (answer.status !== 201) problem(answer, 409, "idempotency_in_progress");
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ id }) => id));
    assert.equal(ids.size, 1);
    assert.equal(await total(api), before + 1);
    assert.ok(authUrl);
  },
);

choice(
  "4.idempotency",
  "a request that broke off half-way leaves the key free",
  { needs: "embedded" },
  async ({ api, authUrl }) => {
    const key = fresh();
    const raw = await RawConnection.open(authUrl);
    raw.write(
      `POST /v1/apps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${api.key}\r\nidempotency-key: ${key}\r\n` +
        'content-type: application/json\r\ncontent-length: 40\r\n\r\n{"title":',
    );
    raw.abort();
    assert.equal((await once(api, key)).status, 201);
  },
);

choice("4.idempotency.window", "a restart does not end it", OWN, async () => {
  const folder = mkdtempSync(join(tmpdir(), "apphost-"));
  const options = { data: join(folder, "data.json"), apiKey: "idempotent-key" };
  const key = fresh();
  let first = "";
  try {
    await withService(options, async ({ api }) => {
      first = (await once(api, key)).text;
    });
    await withService(options, async ({ api }) => {
      const answer = await once(api, key);
      assert.deepEqual([answer.header(REPLAYED), answer.text], ["true", first]);
      problem(await once(api, key, "/apps", { title: "Other" }), 422, "idempotency_key_reused");
      assert.equal(await total(api), 1);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
