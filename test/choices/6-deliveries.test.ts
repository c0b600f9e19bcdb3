// Spec part 6, receiving endpoint and signature, and how deliveries behave over the API (contract, part 6). The receivers
// are this file's own, on loopback. What needs the clock moved runs on a server of ours.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { judgeAddress } from "../../src/delivery/address-policy.ts";
import { type ReceiverOptions, startReceiver } from "../../src/receiver.ts";
import { choice, type OwnContext } from "../support/clauses.ts";
import { type Client, type Members, members, str } from "../support/client.ts";
import { closeLater } from "../support/closing.ts";
import { invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const SECRET = "geheim-ü-🔑";
const MANUAL = { needs: "embedded", options: { clock: "manual" } } as const;
const TYPES = ["app.created", "app.updated", "app.deployed", "app.deleted", "data.processed", "user.interaction"];

async function receiver(answers: ReceiverOptions["answers"] = [200]) {
  const made = await startReceiver({ secret: SECRET, answers });
  closeLater(() => made.close());
  return made;
}

const subscribe = (api: Client, url: string, body: Members = {}) =>
  api.create("/webhooks", { url, events: ["app.created"], secret: SECRET, ...body });
const newApp = (api: Client) => api.create("/apps", { title: "Delivered" });

const logOf = async (api: Client, webhook: Members, query = "") =>
  (await api.get(`/webhooks/${webhook.id}/deliveries${query}`)).items;
const attemptsOf = (delivery: Members | undefined): readonly Members[] => {
  assert.ok(Array.isArray(delivery?.attempts));
  return delivery.attempts.map(members);
};

/** The webhook's first delivery once it is no longer pending. */
const settled = (api: Client, webhook: Members): Promise<Members> =>
  eventually(async () => (await logOf(api, webhook)).find(({ status }) => status !== "pending"));
/** The webhook's first delivery once an attempt was made. */
const attempted = (api: Client, webhook: Members): Promise<Members> =>
  eventually(async () => (await logOf(api, webhook)).find((each) => attemptsOf(each).length > 0));

choice(
  "6.retry-schedule.headers",
  "tell type, delivery and attempt, and carry a Standard Webhooks signature",
  async ({ api }) => {
    const { url, next } = await receiver();
    const webhook = await subscribe(api, url);
    await newApp(api);
    const { id, rawBody, attempts } = await next("app.created");
    const delivery = await settled(api, webhook);
    const headers = attempts[0]?.headers ?? {};
    assert.match(String(headers["user-agent"]), /^AppHostingService\/\d/);
    assert.equal(headers["x-service-event"], "app.created");
    assert.equal(headers["x-service-delivery"], delivery.id);
    assert.equal(headers["x-service-attempt"], "1");
    assert.equal(headers["webhook-id"], id);
    const sent_s = Date.parse(str(members(attemptsOf(delivery)[0]).at)) / 1_000;
    assert.equal(headers["webhook-timestamp"], String(Math.floor(sent_s)));
    const signed = `${id}.${headers["webhook-timestamp"]}.${rawBody}`;
    const expected = createHmac("sha256", Buffer.from(SECRET)).update(signed).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${expected}`);
    await api.delete(`/webhooks/${webhook.id}`);
  },
);

choice(
  "4.webhook-endpoints.delivery-log",
  "a delivery shows its attempts, and is listed by status",
  async ({ api }) => {
    const webhook = await subscribe(api, (await receiver([500])).url);
    const app = await newApp(api);
    const delivery = await attempted(api, webhook);
    const { id, created_at, next_attempt_at, attempts, event_id, ...rest } = delivery;
    assert.match(str(id), /^dlv_[0-9A-Za-z]{20,}$/);
    assert.deepEqual(rest, { webhook_id: webhook.id, event_type: "app.created", status: "pending" });
    const [attempt] = attemptsOf(delivery);
    const { at, duration_ms, ...shown } = members(attempt);
    assert.deepEqual(shown, {
      number: 1,
      trigger: "schedule",
      response_status: 500,
      response_body: "",
      error: "status",
    });
    assert.ok(Number(duration_ms) >= 0 && str(at) >= str(created_at) && str(next_attempt_at) > str(at));
    assert.equal(members(members((await api.get(`/events/${event_id}`)).json.data).object).id, app.id);
    const one = `/webhooks/${webhook.id}/deliveries/${id}`;
    assert.deepEqual((await api.get(one)).json, delivery);
    assert.deepEqual(await logOf(api, webhook, "?status=pending"), [delivery]);
    assert.deepEqual(await logOf(api, webhook, "?status=succeeded"), []);
    problem(await api.get(`/webhooks/${webhook.id}/deliveries?status=lost`), 400, "invalid_parameter");
    await api.delete(`/webhooks/${webhook.id}`);
    problem(await api.get(one), 404, "not_found");
  },
);

choice(
  "4.webhook-endpoints.delivery-request.test",
  "a sample of each type is sent, though the webhook asks for another and is off",
  async ({ api }) => {
    const { url, next, received } = await receiver();
    const webhook = await subscribe(api, url, { active: false });
    for (const type of TYPES) {
      const answer = await api.post(`/webhooks/${webhook.id}/test`, { type });
      assert.equal(answer.status, 202);
      assert.equal(answer.json.event_type, type);
      problem(await api.get(`/events/${answer.json.event_id}`), 404, "not_found");
    }
    for (const type of ["user.interaction", "app.deployed"] as const) await next(type);
    assert.deepEqual(
      received.map(({ type }) => type),
      TYPES,
    );
    invalid(await api.post(`/webhooks/${webhook.id}/test`, { type: "app.exploded" }), "#/type");
    await api.delete(`/webhooks/${webhook.id}`);
  },
);

choice("6.webhook-policy", "a refused URL is 422 and names the rule", async ({ api }) => {
  const rules: Record<string, RegExp> = {
    "http://example.com/": /https/,
    "https://10.0.0.1/": /private/,
    "https://0xa9fea9fe/": /link-local/,
    "https://[::ffff:127.0.0.1]/": /IPv4-mapped/,
    "https://[64:ff9b::1]/": /NAT64/,
    "https://user:pass@example.com/": /user name/,
    "ftp://example.com/": /https:\/\//,
  };
  for (const [url, rule] of Object.entries(rules)) {
    const answer = await api.post("/webhooks", { url, events: ["app.created"] });
    invalid(answer, "#/url");
    assert.match(answer.text, rule);
  }
});

choice(
  "6.webhook-policy",
  "strict refuses loopback too",
  { needs: "embedded", options: { webhookPolicy: "strict" } },
  async ({ api }) => {
    for (const url of ["http://localhost:4000/", "https://127.0.0.1/", "https://[::1]/"])
      assert.match((await api.post("/webhooks", { url, events: ["app.created"] })).text, /loopback.*strict/);
  },
);

choice(
  "6.webhook-policy",
  "a name that only DNS shows to lie inside is blocked at the attempt",
  MANUAL,
  async ({ api }) => {
    // What the machine calls itself is the one name that may lie inside without a network.
    const inside = await lookup(hostname()).then(
      ({ address }) => address,
      () => "",
    );
    const expected = judgeAddress(inside, "local", true) === undefined ? /^(refused|tls)$/ : /^(blocked_address|dns)$/;
    const webhook = await subscribe(api, `https://${hostname()}:9/`);
    await newApp(api);
    const [attempt] = attemptsOf(await attempted(api, webhook));
    assert.match(String(attempt?.error), expected);
  },
);

const retries = async ({ api, service }: OwnContext, answers: ReceiverOptions["answers"]) => {
  const made = await receiver(answers);
  const webhook = await subscribe(api, made.url);
  await newApp(api);
  await attempted(api, webhook);
  return { ...made, webhook, advance: (by_ms: number) => service.clock.advance(`${by_ms}ms`) };
};

choice(
  "6.retry-schedule",
  "a failed delivery is sent again with the same bytes until it succeeds",
  MANUAL,
  async (context) => {
    const { received, webhook, advance } = await retries(context, [500, 404, 200]);
    await advance(7_200_000);
    const [event] = received;
    assert.equal(event?.attempts.length, 3);
    assert.equal(new Set(event.attempts.map(({ rawBody }) => rawBody)).size, 1);
    assert.deepEqual(
      event.attempts.map(({ headers }) => headers["x-service-attempt"]),
      ["1", "2", "3"],
    );
    const [delivery] = await logOf(context.api, webhook);
    assert.equal(delivery?.status, "succeeded");
  },
);

choice(
  "3.delivery-cancelled.gone",
  "410 switches the webhook off, and it can be switched on again",
  MANUAL,
  async (context) => {
    const { api } = context;
    const { webhook } = await retries(context, [410]);
    const path = `/webhooks/${webhook.id}`;
    const { active, disabled_reason } = (await api.get(path)).json;
    assert.deepEqual([active, disabled_reason], [false, "gone"]);
    assert.deepEqual(
      (await logOf(api, webhook)).map(({ status }) => status),
      ["failed"],
    );
    const on = (await api.patch(path, { active: true })).json;
    assert.deepEqual([on.active, on.disabled_reason], [true, null]);
  },
);

choice(
  "4.webhook-endpoints.delivery-request.redelivery",
  "is one attempt by hand whose success settles the delivery",
  MANUAL,
  async (context) => {
    const { api } = context;
    const { webhook, received, advance } = await retries(context, [500, 500, 200]);
    const [first] = await logOf(api, webhook);
    const path = `/webhooks/${webhook.id}/deliveries/${first?.id}`;
    const again = async () => {
      const answer = await api.post(`${path}/redeliver`);
      assert.equal(answer.status, 202);
      assert.equal(answer.json.id, first?.id);
      return eventually(async () => {
        const now = (await api.get(path)).json;
        return attemptsOf(now).length > attemptsOf(answer.json).length ? now : undefined;
      });
    };
    const failed = await again();
    assert.deepEqual([failed.status, failed.next_attempt_at], ["pending", first?.next_attempt_at]);
    const done = await again();
    assert.deepEqual([done.status, done.next_attempt_at], ["succeeded", null]);
    assert.deepEqual(
      attemptsOf(done).map(({ trigger }) => trigger),
      ["schedule", "manual", "manual"],
    );
    await advance(360_000_000);
    assert.equal(received[0]?.attempts.length, 3);
  },
);

choice(
  "4.webhook-endpoints.delivery-request.redelivery",
  "asked for of a webhook that is off, it leaves a success a success",
  async ({ api }) => {
    const { url, received } = await receiver();
    const webhook = await subscribe(api, url);
    await newApp(api);
    const delivery = await settled(api, webhook);
    await api.patch(`/webhooks/${webhook.id}`, { active: false });
    const path = `/webhooks/${webhook.id}/deliveries/${delivery.id}`;
    assert.equal((await api.post(`${path}/redeliver`)).status, 202);
    assert.deepEqual(await settled(api, webhook), delivery);
    assert.equal(received[0]?.attempts.length, 1);
  },
);

choice(
  "3.delivery-cancelled",
  "switching the webhook off cancels what waits, behind the answer",
  MANUAL,
  async (context) => {
    const { api } = context;
    const { webhook, received, advance } = await retries(context, [500]);
    await api.patch(`/webhooks/${webhook.id}`, { active: false });
    await context.service.settled();
    const [delivery] = await logOf(api, webhook);
    assert.deepEqual([delivery?.status, delivery?.next_attempt_at], ["cancelled", null]);
    await newApp(api);
    assert.equal((await logOf(api, webhook)).length, 1);
    await advance(360_000_000);
    assert.equal(received[0]?.attempts.length, 1);
  },
);

choice(
  "4.webhook-endpoints.rotation",
  "both secrets sign for a day after a change",
  MANUAL,
  async ({ api, service }) => {
    const made = await startReceiver({ secret: "second" });
    closeLater(() => made.close());
    const webhook = await subscribe(api, made.url);
    await api.patch(`/webhooks/${webhook.id}`, { secret: "second" });
    const signatures = async () => {
      await newApp(api);
      const { attempts } = await made.next("app.created");
      return String(attempts[0]?.headers["webhook-signature"]).split(" ").length;
    };
    assert.equal(await signatures(), 2);
    await service.clock.advance(`${24 * 3_600_000 - 1}ms`);
    assert.equal(await signatures(), 2);
    await service.clock.advance("1ms");
    assert.equal(await signatures(), 1);
  },
);
