// Spec part 6, deliveries: their recipients, their signature, and which responses are a success. Success is visible at
// the webhook: if a delivery with a 500 response is retried, so is every failed one, and no successful one.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { clause, judged } from "../support/clause.ts";
import { members } from "../support/client.ts";
import { notTried, ofApp } from "../support/kit.ts";
import type { Outcome } from "../support/trial.ts";

clause("6.delivery.post", "a POST with a JSON body", async (kit) => {
  const hook = await kit.hook(["app.deployed"]);
  const { id } = await kit.newApp();
  await kit.deploy(id);
  const [arrival] = await hook.arrived(() => true);
  assert.equal(arrival?.method, "POST");
  assert.match(String(arrival?.headers["content-type"]), /^application\/([\w.+-]+\+)?json/);
  assert.equal(members(JSON.parse(String(arrival?.body))).type, "app.deployed");
});

clause(
  "6.delivery.subscribed",
  "to each active webhook that names the type, and to no other",
  async (kit) => {
    const [one, both, other, off] = [
      await kit.hook(["app.deployed"]),
      await kit.hook(["app.deployed", "app.deleted"]),
      await kit.hook(["app.deleted"]),
      await kit.hook(["app.deployed", "app.deleted"], { active: false }),
    ] as const;
    const { app } = await kit.deployNew(one);
    await both.arrived(ofApp(app.id));
    await kit.api.delete(`/apps/${app.id}`);
    for (const hook of [both, other])
      await hook.arrived(({ event }) => event.type === "app.deleted");
    return () => {
      const got = [one, both, other, off].map((hook) =>
        [...new Set(hook.got.map(({ event }) => event.type))].sort(),
      );
      assert.deepEqual(got, [
        ["app.deployed"],
        ["app.deleted", "app.deployed"],
        ["app.deleted"],
        [],
      ]);
    };
  },
);

clause(
  "6.signature",
  "X-Service-Signature: sha256= and the lower-case hexadecimal HMAC-SHA256 of the raw body",
  async (kit) => {
    const hook = await kit.hook(["app.deployed"]);
    const { arrival } = await kit.deployNew(hook, { title: "Ünïcödé 👋 </script> \u2028" });
    for (const { body, headers } of [arrival, ...hook.got]) {
      const hex = createHmac("sha256", hook.secret).update(body).digest("hex");
      assert.equal(headers["x-service-signature"], `sha256=${hex}`);
    }
  },
);

/** The outcome, if failed deliveries are retried; otherwise the clause is skipped. */
function known(outcome: Outcome): Outcome {
  if (outcome.retry_ms === undefined)
    notTried(
      "a success is recognised by the absence of a retry, and a 500 response was not retried within 8 s",
    );
  return outcome;
}

judged("6.success.2xx", "a 2xx is a success", (outcome) => {
  for (const { says, again } of known(outcome).succeeded)
    assert.ok(!again, `sent again after the response ${says}`);
});

judged("6.success.2xx-only", "no other status is, and no redirect is followed", (outcome) => {
  assert.equal(outcome.followed, 0, "a redirect was followed");
  for (const { says, again } of known(outcome).failed)
    assert.ok(
      again,
      `not sent again after the response ${says}, unlike after 500: it counts as a success`,
    );
});

judged("6.success.30-seconds", "within 30 seconds, and not later", (outcome) => {
  const [inTime, late] = known(outcome).held;
  assert.ok(inTime?.first?.wasConnected, `the sender was gone before the response ${inTime?.says}`);
  assert.ok(!inTime.again, `sent again after the response ${inTime.says}`);
  if (late)
    assert.ok(late.again, `not sent again after the response ${late.says}: it counts as a success`);
});
