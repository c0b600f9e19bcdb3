// Spec part 2: the fields that are shown of apps, deployments, webhooks and accounts. A deployment and an account are seen
// embedded in app.deployed.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";
import { str } from "../support/client.ts";
import { freshHost } from "../support/fresh.ts";
import { deploy, deployed, hooked, ISO_UTC, newApp } from "../support/shown.ts";

clause("2.app.id", "the service assigns it, app_…", async ({ api }) => {
  const [one, two] = [await newApp(api), await newApp(api)];
  for (const { id } of [one, two]) assert.match(id, /^app_[0-9A-Za-z]+$/);
  assert.notEqual(one.id, two.id);
});

for (const [id, field, values] of [
  ["2.app.title", "title", ["Sales", "Costs"]],
  ["2.app.description", "description", ["By region", "By month"]],
  ["2.app.theme", "theme", ["light", "dark"]],
  ["2.app.public", "public", [true, false]],
] as const)
  clause(id, "sent on create and returned", async ({ api }) => {
    for (const value of values) assert.equal((await newApp(api, { [field]: value }))[field], value);
  });

for (const [id, field] of [
  ["2.app.created_at", "created_at"],
  ["2.app.updated_at", "updated_at"],
] as const)
  clause(id, "an ISO 8601 time in UTC", async ({ api }) => {
    const time = str((await newApp(api))[field]);
    assert.match(time, ISO_UTC);
    assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000, "near the present");
  });

for (const [id, says, field, values] of [
  ["2.deployment-request.name", "names the deployment", "name", ["Release 1", "Release 2"]],
  ["2.deployment-request.custom_domain", "the host name to serve under", "custom_domain", [freshHost(), freshHost()]],
  ["2.deployment-request.environment", "the target environment", "environment", ["production", "staging"]],
] as const)
  clause(id, says, "ours", async ({ api }) => {
    const app = await newApp(api);
    for (const value of values) assert.equal((await deploy(api, app.id, { [field]: value })).json[field], value);
  });

for (const [id, says, field, form] of [
  ["2.deployment.id", "dep_…", "id", /^dep_[0-9A-Za-z]+$/],
  ["2.deployment.url", "where the deployed app is reached", "url", /^https?:\/\/[^/\s]+/],
  ["2.deployment.status", "live", "status", /^live$/],
  ["2.deployment.deployed_at", "an ISO 8601 time in UTC", "deployed_at", ISO_UTC],
] as const)
  clause(id, says, async ({ api }) => assert.match(str((await deployed(api)).deployment[field]), form));

clause("2.webhook.url", "the https address of the receiver", async ({ api }) => {
  const made = [await hooked(api, ["app.created"]), await hooked(api, ["app.created"])];
  await newApp(api);
  for (const { next } of made) await next("app.created");
});

clause("2.webhook.events", "the types of event", async ({ api }) => {
  const some = await hooked(api, ["app.deployed", "app.deleted"]);
  const { id } = await newApp(api);
  await deploy(api, id);
  await some.next("app.deployed");
  await api.delete(`/apps/${id}`);
  await some.next("app.deleted");
  assert.equal(some.received.length, 2);
});

/** Each receiver refuses what is not signed with its own secret. */
clause("2.webhook.secret", "the secret that signs", async ({ api }) => {
  const made = [
    await hooked(api, ["app.created"], { secret: "one" }),
    await hooked(api, ["app.created"], { secret: "two" }),
  ];
  await newApp(api);
  for (const { next } of made) await next("app.created");
});

clause("2.webhook.active", "whether deliveries are sent", async ({ api }) => {
  const [on, off] = [await hooked(api, ["app.created"]), await hooked(api, ["app.created"], { active: false })];
  for (let made = 0; made < 2; made += 1) {
    await newApp(api);
    await on.next("app.created");
  }
  assert.deepEqual(off.received, []);
});

clause("2.account", "id acc_… and name", async ({ api }) => {
  const { account } = (await deployed(api)).event;
  assert.match(str(account?.id), /^acc_[0-9A-Za-z]+$/);
  assert.notEqual(str(account?.name), "");
});
