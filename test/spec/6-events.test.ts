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

/** A new app, and what arrives of the type that `act` has to cause: one event, caused by nothing before. */
async function caused(api: Client, type: EventEnvelope["type"], act: (app: string) => Promise<unknown>) {
  const { next, received } = await hooked(api, [type]);
  const app = type === "app.created" ? "" : (await newApp(api)).id;
  assert.deepEqual(received, []);
  await act(app);
  const { event } = await next(type);
  assert.equal(event.type, type);
  return { app, event };
}

const click = (api: Client) => caused(api, "user.interaction", (app) => api.post(`/apps/${app}/interactions`, CLICK));

clause("6.types.app-created", async ({ api }) => void (await caused(api, "app.created", () => newApp(api))));
clause("6.types.app-deployed", async ({ api }) => void (await caused(api, "app.deployed", (app) => deploy(api, app))));
clause(
  "6.types.app-deleted",
  async ({ api }) => void (await caused(api, "app.deleted", (app) => api.delete(`/apps/${app}`))),
);
clause(
  "6.types.app-updated",
  "ours",
  async ({ api }) => void (await caused(api, "app.updated", (app) => api.patch(`/apps/${app}`, { title: "New" }))),
);
clause(
  "6.types.data-processed",
  "ours",
  async ({ api }) =>
    void (await caused(api, "data.processed", () =>
      api.create("/data-sources", { name: "N", type: "json", data: [{ a: 1 }] }),
    )),
);
clause("6.types.user-interaction", "ours", async ({ api }) => void (await click(api)));

clause("6.envelope", async ({ api }) => {
  const { event } = await caused(api, "app.created", () => newApp(api));
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

clause("6.envelope.account", async ({ api }) => {
  const { account } = (await deployed(api)).event;
  assert.deepEqual(Object.keys(account ?? {}).sort(), ["id", "name"]);
});

clause("6.envelope.account-absent", "ours", async ({ api }) => {
  assert.equal("account" in (await click(api)).event, false);
});

clause("6.data.app-deployed", async ({ api }) => {
  const { app, event, deployment } = await deployed(api);
  assert.deepEqual(event.data.object, { id: app.id, title: app.title, deployment });
  assert.deepEqual(Object.keys(deployment).sort(), ["deployed_at", "id", "status", "url"]);
  for (const value of Object.values(deployment)) assert.notEqual(str(value), "");
});

clause("6.data.user-interaction", "ours", async ({ api }) => {
  const { app, event } = await click(api);
  assert.deepEqual(event.data.object, { app_id: app, ...CLICK });
});
