// Spec part 6, events: the six types, the envelope and data.object, as a receiver gets them. The specification does not
// show which operations modify an app, accept an interaction or process data: known ones are tried, and no others.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { type Answer, members, str } from "../support/client.ts";
import type { Arrival } from "../support/hub.ts";
import { type Kit, notTried } from "../support/kit.ts";
import { done, isNow, succeeded } from "../support/shown.ts";

const CLICK = {
  user_id: "u1",
  interaction_type: "chart_click",
  chart_id: "c1",
  data_point: { x: "Jan", y: 5, category: "A" },
};

type Cause = (kit: Kit, app: string) => Promise<Answer>;

/** The first of the operations that the implementation has. */
const knownOf =
  (what: string, ...ways: readonly Cause[]): Cause =>
  async (kit, app) => {
    for (const way of ways) {
      const answer = await way(kit, app);
      if (succeeded(answer)) return answer;
    }
    return notTried(`no operation is known that ${what}; the specification shows none`);
  };

/** The operations that cause an event of each type. */
const CAUSES: Readonly<Record<string, Cause>> = {
  "app.created": (kit) => kit.createApp(),
  "app.deployed": (kit, app) => kit.deploy(app),
  "app.deleted": ({ api }, app) => api.delete(`/apps/${app}`),
  "app.updated": knownOf(
    "modifies an app",
    ({ api }, app) => api.patch(`/apps/${app}`, { title: "New" }),
    ({ api, profile }, app) => api.put(`/apps/${app}`, { ...profile.app, title: "New" }),
  ),
  "data.processed": knownOf("has data processed", ({ api, profile }) =>
    api.post("/data-sources", profile.dataSource ?? {}),
  ),
  "user.interaction": knownOf("takes an interaction", ({ api }, app) =>
    api.post(`/apps/${app}/interactions`, CLICK),
  ),
};

/** Creates an app and returns the one event of the type that follows, caused by nothing before. */
async function caused(kit: Kit, type: string) {
  const cause = CAUSES[type] ?? notTried(type);
  const hook = await kit.hook([type]);
  const app = type === "app.created" ? "" : (await kit.newApp()).id;
  const isIt = ({ event }: Arrival) => event.type === type;
  const before = hook.got.length;
  done(await cause(kit, app));
  const [arrival] = await hook.arrived(isIt);
  assert.equal(before, 0, `${type} came before its cause`);
  return { app, event: arrival?.event ?? {}, hook };
}

for (const [id, says, type] of [
  ["6.types.app-created", "a new app", "app.created"],
  ["6.types.app-updated", "a modified app", "app.updated"],
  ["6.types.app-deployed", "a deployed app", "app.deployed"],
  ["6.types.app-deleted", "a deleted app", "app.deleted"],
  ["6.types.user-interaction", "an interaction with an app", "user.interaction"],
] as const)
  clause(id, says, (kit) => caused(kit, type));

/** The specification does not show what processes data, and when. */
clause("6.types.data-processed", "processed data", async (kit) => {
  await caused(kit, "data.processed").catch(({ message }: Error) => notTried(message));
});

clause("6.envelope", "id evt_…, type, created, data.object", async (kit) => {
  const events = [(await caused(kit, "app.created")).event, (await kit.deployed()).event];
  for (const { id, type, created, data } of events) {
    assert.match(str(id), /^evt_./);
    assert.ok(["app.created", "app.deployed"].includes(str(type)));
    isNow(created);
    assert.deepEqual(Object.keys(members(data)), ["object"]);
    members(members(data).object);
  }
  assert.notEqual(events[0]?.id, events[1]?.id);
});

clause("6.envelope.account", "in app.deployed", async (kit) => {
  const { id, name } = members((await kit.deployed()).event.account);
  for (const value of [id, name]) assert.equal(typeof value, "string");
});

clause("6.envelope.account-absent", "not in user.interaction", async (kit) => {
  assert.ok(!("account" in (await caused(kit, "user.interaction")).event));
});

clause("6.data.app-deployed", "app id, title, deployment", async (kit) => {
  const { app, object, deployment } = await kit.deployed();
  assert.deepEqual([object.id, object.title], [app.id, app.title]);
  for (const name of ["id", "url", "status", "deployed_at"])
    assert.notEqual(str(deployment[name]), "", name);
});

clause("6.data.user-interaction", "app, user, type, chart, data point", async (kit) => {
  const { app, event } = await caused(kit, "user.interaction");
  const { app_id, user_id, interaction_type, chart_id, data_point } = members(
    members(event.data).object,
  );
  assert.deepEqual(
    { app_id, user_id, interaction_type, chart_id, data_point },
    { app_id: app, ...CLICK },
  );
});
