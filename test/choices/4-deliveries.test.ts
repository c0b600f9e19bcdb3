// The delivery log by API (the specification shows it in the dashboard only): what can be asked of it and how. What the
// attempts in it say is part 6. The webhooks here point at a loopback port that refuses at once.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client, Members } from "../support/client.ts";
import { ISO_TIME, idOf } from "../support/fields.ts";
import { badParameter, invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const HOOK = { url: "http://127.0.0.1:9/", events: ["app.created"], active: false };
const NO_DELIVERY = "dlv_00000000000000000000000";

/** A webhook with one test delivery that has been attempted. */
async function attempted(api: Client): Promise<{ path: string; delivery: Members }> {
  const path = `/webhooks/${(await api.create("/webhooks", HOOK)).id}/deliveries`;
  const { id } = await api.post(path.replace("deliveries", "test"), { type: "data.processed" });
  const delivery = await eventually(async () => {
    const { json } = await api.get(`${path}/${id}`);
    return json.status === "pending" ? undefined : json;
  });
  return { path, delivery };
}

choice("4.webhook-endpoints.delivery-log.fields", "a delivery has nine fields, an attempt seven", async ({ api }) => {
  const { path, delivery } = await attempted(api);
  const { id, webhook_id, event_id, created_at, attempts, ...rest } = delivery;
  assert.match(String(id), idOf("dlv"));
  assert.match(String(event_id), idOf("evt"));
  assert.equal(webhook_id, path.split("/")[2]);
  assert.match(String(created_at), ISO_TIME);
  assert.deepEqual(rest, { event_type: "data.processed", status: "failed", next_attempt_at: null });
  assert.ok(Array.isArray(attempts));
  const [{ at, duration_ms, ...attempt }] = attempts;
  assert.match(String(at), ISO_TIME);
  assert.ok(Number.isInteger(duration_ms) && duration_ms >= 0);
  const nothing = { response_status: null, response_body: null };
  assert.deepEqual(attempt, { number: 1, trigger: "manual", ...nothing, error: "refused" });
});

choice("3.delivery-cancelled.statuses", "are four, and no other can be asked for", async ({ api }) => {
  const { path } = await attempted(api);
  for (const status of ["pending", "succeeded", "failed", "cancelled"])
    assert.equal((await api.get(`${path}?status=${status}`)).status, 200);
  for (const status of ["", "lost", "Failed", "live"])
    badParameter(await api.get(`${path}?status=${status}`), "status");
});

choice(
  "4.webhook-endpoints.deliveries",
  "the log is a list like every other, by status if asked for",
  async ({ api }) => {
    const { path, delivery } = await attempted(api);
    const all = await api.get(path);
    assert.deepEqual([all.json.total, all.items], [1, [delivery]]);
    assert.equal((await api.get(`${path}?status=failed`)).json.total, 1);
    for (const status of ["pending", "succeeded", "cancelled"])
      assert.equal((await api.get(`${path}?status=${status}`)).json.total, 0, status);
    for (const status of ["", "FAILED", "done", "__proto__"])
      badParameter(await api.get(`${path}?status=${status}`), "status");
    badParameter(await api.get(`${path}?limit=0&type=x`), "limit", "type");
  },
);

choice("4.webhook-endpoints.deliveries", "a delivery is found under its own webhook only", async ({ api }) => {
  const [one, two] = [await attempted(api), await attempted(api)];
  problem(await api.get(`${two.path}/${one.delivery.id}`), 404, "not_found");
  problem(await api.get(`${one.path}/${NO_DELIVERY}`), 404, "not_found");
  problem(await api.get(`/webhooks/wh_00000000000000000000000/deliveries`), 404, "not_found");
});

choice("4.webhook-endpoints.delivery-request", "redeliver answers 202 and another attempt follows", async ({ api }) => {
  const { path, delivery } = await attempted(api);
  const answer = await api.post(`${path}/${delivery.id}/redeliver`);
  assert.deepEqual([answer.status, answer.id], [202, delivery.id]);
  const again = await eventually(async () => {
    const { attempts } = (await api.get(`${path}/${delivery.id}`)).json;
    return Array.isArray(attempts) && attempts.length === 2 ? attempts : undefined;
  });
  assert.deepEqual(
    again.map(({ number, trigger }) => [number, trigger]),
    [
      [1, "manual"],
      [2, "manual"],
    ],
  );
  problem(await api.post(`${path}/${NO_DELIVERY}/redeliver`), 404, "not_found");
});

choice(
  "4.webhook-endpoints.delivery-request",
  "a sample event of each type can be asked for, and is listed nowhere",
  async ({ api }) => {
    const { id } = await api.create("/webhooks", HOOK);
    const before = (await api.get("/events?limit=1")).json.total;
    for (const type of [
      "app.created",
      "app.updated",
      "app.deployed",
      "app.deleted",
      "data.processed",
      "user.interaction",
    ]) {
      const answer = await api.post(`/webhooks/${id}/test`, { type });
      assert.deepEqual([answer.status, answer.json.event_type], [202, type]);
      problem(await api.get(`/events/${answer.json.event_id}`), 404, "not_found");
    }
    assert.equal((await api.get("/events?limit=1")).json.total, before);
    invalid(await api.post(`/webhooks/${id}/test`, { type: "app.renamed" }), "#/type");
    invalid(await api.post(`/webhooks/${id}/test`, {}), "#/type");
  },
);
