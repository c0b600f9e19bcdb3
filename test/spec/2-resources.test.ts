// Spec parts 2 and 3: the fields shown for apps, deployments, webhooks and accounts, and the one status. A deployment
// and an account appear embedded in app.deployed.
import assert from "node:assert/strict";
import { verifySignature } from "../../src/lib/signature.ts";
import { clause } from "../support/clause.ts";
import { freshHost, str } from "../support/client.ts";
import { ofApp } from "../support/kit.ts";
import { isNow, objectIn, succeeded } from "../support/shown.ts";

clause(
  "2.app.id",
  "the service assigns each app its own id, which begins with app_",
  async (kit) => {
    const made = [await kit.newApp(), await kit.newApp(), await kit.newApp()];
    for (const { id } of made) assert.match(id, /^app_./);
    assert.equal(new Set(made.map(({ id }) => id)).size, made.length, "one id for two apps");
    const given = await kit.createApp({ id: "app_ofTheClient0000000000" });
    if (succeeded(given)) assert.notEqual(given.id, "app_ofTheClient0000000000");
  },
);

/** The first value must be accepted; an implementation may reject the others. */
for (const [id, field, values] of [
  ["2.app.title", "title", ["Sales", "costs", "Ünïcödé 👋", '<b>"Costs"</b> & more', "0"]],
  [
    "2.app.description",
    "description",
    ["By region", "", "two\nlines\t\\ é 漢字 👋", '<b>"By"</b> & more'],
  ],
  ["2.app.theme", "theme", ["", "light", "dark"]],
  ["2.app.public", "public", [true, false]],
] as const)
  clause(id, `the ${field} of an app is stored and returned as sent`, async (kit) => {
    const sent = field === "theme" ? [kit.profile.app.theme, ...values.slice(1)] : values;
    for (const [at, value] of sent.entries()) {
      const answer = await kit.createApp({ [field]: value });
      if (!succeeded(answer) && at > 0 && field !== "public") continue;
      assert.equal(answer.json[field], value);
      const listed = (await kit.allApps()).find((app) => app.id === answer.id);
      assert.equal(listed?.[field], value, "as it is listed");
    }
  });

for (const id of ["2.app.created_at", "2.app.updated_at"])
  clause(id, `${id.slice(6)} of an app is an ISO 8601 time in UTC`, async (kit) => {
    const field = id.replace(/.*\./, "");
    const app = await kit.newApp();
    isNow(app[field]);
    const listed = (await kit.allApps()).find(({ id }) => id === app.id);
    isNow(listed?.[field]);
  });

/** The specification does not list the request members returned; a member in the response equals the request's. */
for (const [id, says, field, value] of [
  [
    "2.deployment-request.name",
    "a deployment takes any name",
    "name",
    () => `Ünïcödé 👋 ${Date.now()}`,
  ],
  [
    "2.deployment-request.custom_domain",
    "a deployment takes the host name to serve the app under",
    "custom_domain",
    freshHost,
  ],
  [
    "2.deployment-request.environment",
    "a deployment takes its target environment",
    "environment",
    undefined,
  ],
] as const)
  clause(id, says, async (kit) => {
    const app = await kit.newApp();
    for (let made = 0; made < 2; made += 1) {
      const sent = value?.() ?? kit.profile.deployment[field];
      const { [field]: returned } = objectIn((await kit.deploy(app.id, { [field]: sent })).text);
      assert.equal(returned ?? sent, sent);
    }
  });

clause("2.deployment.id", "each deployment has its own id, which begins with dep_", async (kit) => {
  const hook = await kit.hook(["app.deployed"]);
  const ids: string[] = [];
  for (let made = 0; made < 2; made += 1) ids.push(str((await kit.deployNew(hook)).deployment.id));
  for (const id of ids) assert.match(id, /^dep_./);
  assert.notEqual(ids[0], ids[1]);
});

clause(
  "2.deployment.url",
  "the url of a deployment is an absolute http or https address",
  async (kit) => {
    const url = str((await kit.deployed()).deployment.url);
    assert.match(url, /^https?:\/\/[^/\s]+/);
    assert.ok(URL.canParse(url), url);
  },
);

clause("2.deployment.status", "the status of a new deployment is live", async (kit) => {
  assert.equal((await kit.deployed()).deployment.status, "live");
});

clause("2.deployment.deployed_at", "deployed_at is an ISO 8601 time in UTC", async (kit) => {
  isNow((await kit.deployed()).deployment.deployed_at);
});

clause("2.webhook.url", "each webhook is delivered to its own url", async (kit) => {
  const [one, two] = [await kit.hook(["app.deployed"]), await kit.hook(["app.deployed"])];
  const { app } = await kit.deployNew(one);
  await two.arrived(ofApp(app.id));
});

clause("2.webhook.events", "a webhook receives the event types that it names", async (kit) => {
  const hook = await kit.hook(["app.deployed", "app.deleted"]);
  const { app } = await kit.deployNew(hook);
  await kit.api.delete(`/apps/${app.id}`);
  await hook.arrived(({ event }) => event.type === "app.deleted");
  const types = new Set(hook.got.map(({ event }) => event.type));
  assert.deepEqual([...types].sort(), ["app.deleted", "app.deployed"]);
});

clause("2.webhook.secret", "each webhook's secret signs its own deliveries", async (kit) => {
  const [one, two] = [await kit.hook(["app.deployed"]), await kit.hook(["app.deployed"])];
  const { app, arrival } = await kit.deployNew(one);
  const [other] = await two.arrived(ofApp(app.id));
  for (const [hook, { body, headers } = arrival, signs] of [
    [one, arrival, true],
    [two, other, true],
    [two, arrival, false],
  ] as const)
    assert.equal(verifySignature(body, String(headers["x-service-signature"]), hook.secret), signs);
});

clause("2.webhook.active", "an inactive webhook receives no deliveries", async (kit) => {
  const off = await kit.hook(["app.deployed"], { active: false });
  const on = await kit.hook(["app.deployed"]);
  for (let made = 0; made < 2; made += 1) await kit.deployNew(on);
  return () => assert.equal(off.got.length, 0, "deliveries to a webhook that is not active");
});

clause(
  "2.account",
  "an account in an event has a name and an id that begins with acc_",
  async (kit) => {
    const { id, name } = Object((await kit.deployed()).event.account);
    assert.match(str(id), /^acc_./);
    assert.equal(typeof name, "string");
  },
);

clause("3.deployment.live", "a new deployment is live", async (kit) => {
  assert.equal((await kit.deployed()).deployment.status, "live");
});

clause("3.app-no-state", "an app has no field for a state", async (kit) => {
  const { id } = await kit.newApp();
  await kit.deploy(id);
  for (const app of [await kit.newApp(), ...(await kit.allApps())])
    for (const name of ["status", "state"])
      assert.ok(!(name in app), `an app has the member ${name}`);
});
