// The journals: requests, events, deliveries, and the trace that connects them (contract, part 10).
import assert from "node:assert/strict";
import { test } from "node:test";
import { choice } from "../support/clauses.ts";
import type { Answer } from "../support/client.ts";
import { embedded, FIXED } from "../support/embedded.ts";
import { hooked } from "../support/receivers.ts";

test("requests: the journal lists requests in order with their responses", async () => {
  await using it = await embedded(FIXED);
  const created = await it.api.post("/apps", { title: "A" });
  await it.api.as(null).get("/apps?limit=1");
  await it.api.root.get("/healthz");
  const [first, ...others] = it.service.requests;
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
});

test("events and deliveries: the journals match the API, with every attempt", async () => {
  await using it = await embedded();
  const { webhook } = await hooked(it.api, ["app.created"], {}, [500, 200]);
  const { id } = await it.api.create("/apps", { title: "A" });
  await it.api.patch(`/apps/${id}`, { title: "B" });
  await it.service.settled();
  await it.service.clock.advance("10s");
  assert.deepEqual(it.service.events, (await it.api.get("/events")).items);
  assert.equal(it.service.events.map(({ type }) => type).join(), "app.created,app.updated");
  const deliveries = it.service.deliveries.map(({ attempts, ...delivery }) => ({
    ...delivery,
    attempts: attempts.map(({ chaos, ...attempt }) => {
      assert.equal(chaos, null);
      return attempt;
    }),
  }));
  assert.deepEqual(deliveries, (await it.api.get(`/webhooks/${webhook.id}/deliveries`)).items);
  assert.equal(deliveries[0]?.attempts.length, 2);
});

test("trace: it leads from a request to its events, their deliveries and attempts", async () => {
  await using it = await embedded();
  const hook = await hooked(it.api, ["app.created", "data.processed"]);
  const created = await it.api.post("/apps", { title: "A" });
  const source = await it.api.post("/data-sources", { name: "D", type: "json", data: [] });
  const sample = await it.api.post(`/webhooks/${hook.webhook.id}/test`, { type: "app.deleted" });
  await it.service.settled();
  const trace = (answer: Answer) => it.service.trace(answer.header("X-Request-Id"));
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
  assert.equal(it.service.events.length, 2, "without the sample");
  assert.equal(it.service.trace("req_never"), undefined);
});

choice("1.test-controls.journals", "each journal keeps its newest 10,000 entries", async () => {
  await using it = await embedded({ rateLimit: "off" });
  const { root } = it.api.as(null);
  const hundred = Array.from({ length: 100 }, () => "/healthz");
  for (let n = 0; n < 100; n += 1) await Promise.all(hundred.map((path) => root.get(path)));
  const before = it.service.requests;
  await it.api.get("/account");
  const { requests } = it.service;
  assert.deepEqual([before.length, requests.length], [10_000, 10_000]);
  assert.deepEqual([requests.at(-1)?.path, requests[0]?.id], ["/v1/account", before[1]?.id]);
});

/** Makes calls of every kind with a failing receiver, resets and repeats them; returns the journals of both runs. */
async function runTwice(): Promise<readonly string[]> {
  await using it = await embedded({ randomSeed: "repeat" });
  const { service, api } = it;
  const runs: string[] = [];
  for (let run = 0; run < 2; run += 1) {
    await hooked(api, ["app.created", "data.processed"], {}, [500, 200]);
    await hooked(api, ["app.created"], {}, [200, 503]);
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
