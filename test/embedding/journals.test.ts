// The journals: requests, events, deliveries, and the trace that connects them (contract, part 10).
import assert from "node:assert/strict";
import { test } from "node:test";
import { choice } from "../support/clauses.ts";
import type { Answer } from "../support/client.ts";
import { embedded, FIXED } from "../support/embedded.ts";
import { rawAnswer } from "../support/raw.ts";
import { hooked } from "../support/receivers.ts";

test("requests: the journal lists requests in order with their responses, and its copies are read-only", async () => {
  await using it = await embedded(FIXED);
  const { service, api } = it;
  await service.clock.advance("1s");
  const created = await api.post("/apps", { title: "A" });
  Object.assign(service.requests[0] ?? {}, { status: 500 });
  await api.as(null).get("/apps?limit=1");
  await api.root.get("/healthz");
  const [first, ...others] = service.requests;
  const request = { at: "2026-01-01T00:00:01.000Z", method: "POST", path: "/v1/apps", query: "" };
  assert.deepEqual(first, {
    ...request,
    id: created.header("X-Request-Id"),
    status: 201,
    fault: null,
  });
  const rest = others.map(({ path, query, status }) => [path, query, status].join());
  assert.deepEqual(rest, ["/v1/apps,limit=1,401", "/healthz,,200"]);
});

test("requests: the journal includes requests rejected for their syntax or size", async () => {
  await using it = await embedded();
  for (const path of ["/healthz", `/${"x".repeat(8_192)}`])
    for (const lines of ["host: x", "no-host: x"])
      await rawAnswer(
        it.service.authUrl,
        `GET ${path} HTTP/1.1\r\n${lines}\r\nconnection: close\r\n\r\n`,
      );
  const recorded = it.service.requests.map(({ path, status }) => `${path.slice(0, 3)} ${status}`);
  assert.deepEqual(recorded, ["/he 200", "/he 400", "/xx 414", "/xx 414"]);
});

test("events and deliveries: the journals match the API, with every attempt, whatever is done to a copy", async () => {
  await using it = await embedded();
  const hook = await hooked(it.api, ["app.created"], {}, [500, 200]);
  const { id } = await it.api.create("/apps", { title: "A" });
  await it.api.patch(`/apps/${id}`, { title: "B" });
  await it.service.settled();
  await it.service.clock.advance("10s");
  Object.assign(it.service.events[0] ?? {}, { type: "app.deleted" });
  assert.deepEqual(it.service.events, (await it.api.get("/events")).items);
  assert.equal(it.service.events.map(({ type }) => type).join(), "app.created,app.updated");
  const [delivery, ...none] = it.service.deliveries;
  assert.deepEqual([delivery?.status, none], ["succeeded", []]);
  assert.equal(delivery?.event_id, hook.received[0]?.id);
  const attempts = delivery?.attempts.map((attempt) =>
    [attempt.number, attempt.response_status, attempt.error, attempt.chaos].join(),
  );
  assert.deepEqual(attempts, ["1,500,status,", "2,200,,"]);
  const listed = (await it.api.get(`/webhooks/${hook.webhook.id}/deliveries`)).items[0];
  assert.deepEqual({ ...delivery, attempts: [] }, { ...listed, attempts: [] });
});

test("deliveries: the journal is in order of creation after a restore, whichever is redelivered first", async () => {
  await using it = await embedded();
  const { webhook } = await hooked(it.api, ["app.created"], {}, [500]);
  for (const title of ["A", "B"]) await it.api.create("/apps", { title });
  const idsOf = async () =>
    (await it.service.settled()) && it.service.deliveries.map(({ id }) => id);
  const ids = await idsOf();
  await it.service.restore(it.service.snapshot());
  for (const id of ids.toReversed())
    await it.api.post(`/webhooks/${webhook.id}/deliveries/${id}/redeliver`);
  assert.deepEqual(await idsOf(), ids);
});

test("trace: it leads from a request to its events, their deliveries and attempts", async () => {
  await using it = await embedded();
  const hook = await hooked(it.api, ["app.created", "data.processed"]);
  const first = await it.api.post("/apps", { title: "A" });
  const data = await it.api.post("/data-sources", { name: "D", type: "json", data: [] });
  const sample = await it.api.post(`/webhooks/${hook.webhook.id}/test`, { type: "app.deleted" });
  await it.service.settled();
  const traceOf = (answer: Answer) => it.service.trace(answer.header("X-Request-Id"));
  const typesOf = (answer: Answer) => traceOf(answer)?.events.map(({ event }) => event.type);
  assert.equal(traceOf(first)?.request.status, 201);
  const [entry] = traceOf(first)?.events ?? [];
  assert.deepEqual(entry?.event.data.object, first.json);
  assert.equal(entry?.deliveries[0]?.attempts[0]?.response_status, 200);
  assert.deepEqual([typesOf(data), typesOf(sample)], [["data.processed"], ["app.deleted"]]);
  assert.equal(traceOf(sample)?.events[0]?.deliveries.length, 1);
  assert.doesNotMatch(it.service.events.map(({ type }) => type).join(), /app\.deleted/);
  assert.equal(it.service.trace("req_never"), undefined);
});

choice("1.test-controls.journals", "each journal keeps its newest 10,000 entries", async () => {
  await using it = await embedded({ rateLimit: "off" });
  for (let n = 0; n < 10_001; n += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, 10_001 - n) }, () => it.api.root.as(null).get("/healthz")),
    );
  const before = it.service.requests;
  await it.api.get("/account");
  const { requests } = it.service;
  assert.deepEqual([before.length, requests.length], [10_000, 10_000]);
  assert.deepEqual([requests.at(-1)?.path, requests[0]?.id], ["/v1/account", before[1]?.id]);
});

/** Makes calls of every kind with a failing receiver, resets and repeats them; returns the journals of both runs. */
async function runTwice(randomSeed = "repeat"): Promise<readonly string[]> {
  await using it = await embedded({ randomSeed });
  const { service, api } = it;
  const runs: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    await service.signIn({ scopes: ["admin"] });
    await service.restore(service.snapshot());
    const one = await hooked(api, ["app.created", "data.processed"], {}, [500, 200]);
    const two = await hooked(api, ["app.created"], {}, [200, 503]);
    await service.signIn({ scopes: ["admin"] });
    await service.restore(service.snapshot());
    const app = await api.create("/apps", { title: "A" });
    await api.create("/data-sources", { name: "D", type: "csv", data: "a,b\n1,2\n" });
    await service.settled();
    service.chaos.add({ effect: "drop" });
    service.faults.add({ method: "POST", path: "/v1/apps", status: 503 });
    for (let times = 0; times < 2; times += 1) await api.post("/apps", { title: "B" });
    await api.delete(`/apps/${app.id}`);
    await service.clock.advance("1h");
    const { requests, events, deliveries } = service;
    runs.push(JSON.stringify({ requests, events, deliveries }));
    assert.ok(one.received.length + two.received.length > 4);
    await service.reset();
  }
  return runs;
}

test("with a random seed and a manual clock, two runs of the same calls give the same bytes, even after a reset", async () => {
  const [first, afterReset] = await runTwice();
  const [second] = await runTwice();
  assert.deepEqual([second, afterReset], [first, first]);
  assert.notEqual((await runTwice("another"))[0], first);
});

test("with a random seed the retry jitter repeats whatever the time", async () => {
  const waits: number[] = [];
  for (const startAt of ["2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]) {
    await using it = await embedded({ randomSeed: "repeat", startAt });
    await hooked(it.api, ["app.created"], {}, [500]);
    await it.api.create("/apps", { title: "A" });
    await it.service.settled();
    waits.push(Date.parse(it.service.deliveries[0]?.next_attempt_at ?? "") - Date.parse(startAt));
  }
  assert.equal(waits[0], waits[1]);
  assert.ok(Number(waits[0]) >= 4_000 && Number(waits[0]) <= 6_000);
});
