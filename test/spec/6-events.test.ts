// Spec part 6, events: the six types, the envelope and data.object, as they arrive at a receiver. What modifies an app, takes
// an interaction or says what a data source is made of is not shown, so these need a server of ours.
import assert from "node:assert/strict";
import type { EventEnvelope } from "../../src/domain/model.ts";
import { clause } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { deploy, deployed, hooked, ISO_UTC, newApp } from "../support/shown.ts";

const CLICK = {
  user_id: "u1",
  interaction_type: "chart_click",
  chart_id: "c1",
  data_point: { x: "Jan", y: 5, category: "A" },
};

/** What causes an event of each type. */
const CAUSES: { readonly [T in EventEnvelope["type"]]: (api: Client, app: string) => Promise<unknown> } = {
  "app.created": (api) => newApp(api),
  "app.deployed": (api, app) => deploy(api, app),
  "app.deleted": (api, app) => api.delete(`/apps/${app}`),
  "app.updated": (api, app) => api.patch(`/apps/${app}`, { title: "New" }),
  "data.processed": (api) => api.create("/data-sources", { name: "N", type: "json", data: [{ a: 1 }] }),
  "user.interaction": (api, app) => api.post(`/apps/${app}/interactions`, CLICK),
};

/** A new app, and what arrives of the type: one event, caused by nothing before. */
async function caused(api: Client, type: EventEnvelope["type"]) {
  const { next, received } = await hooked(api, [type]);
  const app = type === "app.created" ? "" : (await newApp(api)).id;
  assert.deepEqual(received, []);
  await CAUSES[type](api, app);
  const { event } = await next(type);
  assert.equal(event.type, type);
  return { app, event };
}

for (const [id, says, type] of [
  ["6.types.app-created", "a new app", "app.created"],
  ["6.types.app-deployed", "a deployed app", "app.deployed"],
  ["6.types.app-deleted", "a deleted app", "app.deleted"],
] as const)
  clause(id, says, ({ api }) => caused(api, type));

for (const [id, says, type] of [
  ["6.types.app-updated", "a modified app", "app.updated"],
  ["6.types.data-processed", "processed data", "data.processed"],
  ["6.types.user-interaction", "an interaction with an app", "user.interaction"],
] as const)
  clause(id, says, "ours", ({ api }) => caused(api, type));

clause("6.envelope", "id evt_…, type, created, data.object", async ({ api }) => {
  const { event } = await caused(api, "app.created");
  assert.match(event.id, /^evt_[0-9A-Za-z]+$/);
  assert.match(event.created, ISO_UTC);
  assert.deepEqual(
    Object.keys(event)
      .filter((name) => name !== "account")
      .sort(),
    ["created", "data", "id", "type"],
  );
  assert.deepEqual(Object.keys(event.data), ["object"]);
});

clause("6.envelope.account", "in app.deployed", async ({ api }) => {
  const { account } = (await deployed(api)).event;
  assert.deepEqual(Object.keys(account ?? {}).sort(), ["id", "name"]);
});

clause("6.envelope.account-absent", "not in user.interaction", "ours", async ({ api }) => {
  assert.equal("account" in (await caused(api, "user.interaction")).event, false);
});

clause("6.data.app-deployed", "app id, title, deployment", async ({ api }) => {
  const { app, event, deployment } = await deployed(api);
  assert.deepEqual(event.data.object, { id: app.id, title: app.title, deployment });
  assert.deepEqual(Object.keys(deployment).sort(), ["deployed_at", "id", "status", "url"]);
  for (const value of Object.values(deployment)) assert.notEqual(str(value), "");
});

clause("6.data.user-interaction", "app, user, type, chart, data point", "ours", async ({ api }) => {
  const { app, event } = await caused(api, "user.interaction");
  assert.deepEqual(event.data.object, { app_id: app, ...CLICK });
});
