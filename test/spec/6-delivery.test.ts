// Spec part 6, deliveries: to whom, signed how, and which answer is a success. Whether a delivery succeeded stands in the
// delivery log, which is not shown as an operation, so that needs a server of ours.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { clause, MANUAL } from "../support/clauses.ts";
import { type Client, members } from "../support/client.ts";
import { answeredAfter, httpReceiver } from "../support/http-receiver.ts";
import { hooked, newApp, SECRET } from "../support/shown.ts";
import { attempted, attemptsOf } from "../support/wait.ts";

clause("6.delivery.post", "a POST with a JSON body", async ({ api }) => {
  const { next } = await hooked(api, ["app.created"]);
  await newApp(api);
  const { rawBody, attempts } = await next("app.created");
  assert.match(String(attempts[0]?.headers["content-type"]), /^application\/json/);
  assert.equal(members(JSON.parse(rawBody)).type, "app.created");
});

clause("6.delivery.subscribed", "to each active webhook that names the type", async ({ api }) => {
  const made = [
    await hooked(api, ["app.created"]),
    await hooked(api, ["app.created", "app.deleted"]),
    await hooked(api, ["app.deleted"]),
    await hooked(api, ["app.created", "app.deleted"], { active: false }),
  ] as const;
  const [one, two, other] = made;
  const { id } = await newApp(api);
  for (const { next } of [one, two]) await next("app.created");
  await api.delete(`/apps/${id}`);
  for (const { next } of [two, other]) await next("app.deleted");
  const got = made.map(({ received }) => received.map(({ type }) => type));
  assert.deepEqual(got, [["app.created"], ["app.created", "app.deleted"], ["app.deleted"], []]);
});

clause(
  "6.signature",
  "X-Service-Signature: sha256= and the lower-case hexadecimal HMAC-SHA256 of the raw body",
  async ({ api }) => {
    const { next } = await hooked(api, ["app.created"]);
    await newApp(api, { title: "Ünïcödé 👋", description: "\u2028 </script>" });
    const { rawBody, attempts } = await next("app.created");
    const hex = createHmac("sha256", Buffer.from(SECRET)).update(Buffer.from(rawBody)).digest("hex");
    assert.equal(attempts[0]?.headers["x-service-signature"], `sha256=${hex}`);
  },
);

/** What the log says of a delivery that is answered so, after its first attempt: its status, and the answer's. */
async function answered(api: Client, status: number, location = ""): Promise<readonly unknown[]> {
  const { url } = await httpReceiver((_, response) => void response.writeHead(status, { location }).end());
  const webhook = await api.create("/webhooks", { url, events: ["app.created"] });
  await newApp(api);
  const delivery = await attempted(api, webhook);
  await api.delete(`/webhooks/${webhook.id}`);
  return [delivery.status, attemptsOf(delivery)[0]?.response_status];
}

clause("6.success.2xx", "a 2xx is a success", "ours", async ({ api }) => {
  for (const status of [200, 202, 204, 299]) assert.deepEqual(await answered(api, status), ["succeeded", status]);
});

clause("6.success.2xx-only", "no other status is, and no redirect is followed", "ours", async ({ api }) => {
  const target = await httpReceiver();
  for (const status of [302, 304, 404]) assert.deepEqual(await answered(api, status, target.url), ["pending", status]);
  assert.deepEqual(target.got, []);
});

clause("6.success.30-seconds", "within 30 seconds, and not later", MANUAL, async ({ api }) => {
  const [inTime, late] = [await answeredAfter(api, 28_000), await answeredAfter(api, 32_000)];
  assert.deepEqual([inTime.status, late.status], ["succeeded", "pending"]);
});
