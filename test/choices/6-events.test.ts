// Spec part 6, events as they are recorded: the six types, the envelope, data.object. How they are delivered has files of
// its own. They are read over GET /events, which is ours, so most of this can only run where that exists.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Client, type Members, members } from "../support/client.ts";
import { ISO_TIME, idOf } from "../support/fields.ts";
import { freshHost } from "../support/fresh.ts";
import { badParameter, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const countOf = async (api: Client, type = ""): Promise<number> =>
  Number((await api.get(`/events?limit=1${type && `&type=${type}`}`)).json.total);

/** The events, in order, that `act` caused. */
async function caused(api: Client, act: () => Promise<unknown>): Promise<readonly Members[]> {
  const before = await countOf(api);
  await act();
  return (await api.get(`/events?limit=100&offset=${before}`)).items;
}

/** The one event that `act` caused. */
async function theEvent(api: Client, act: () => Promise<unknown>): Promise<Members> {
  const found = await caused(api, act);
  assert.equal(found.length, 1, JSON.stringify(found));
  return members(found[0]);
}

const objectOf = (event: Members): Members => members(members(event.data).object);
const newApp = (api: Client) =>
  api.create("/apps", { title: "Watched", description: "D", theme: "dark", public: true });

const CLICK = {
  user_id: "u1",
  interaction_type: "chart_click",
  chart_id: "c1",
  data_point: { x: "Jan", y: 5, category: "A" },
};

choice("6.event-objects", "an app's events hold the app as it then was", async ({ api }) => {
  const app = await newApp(api);
  const [created] = (
    await api.get(`/events?type=app.created&limit=1&offset=${(await countOf(api, "app.created")) - 1}`)
  ).items;
  assert.deepEqual(objectOf(members(created)), app);
  let changed: Members = {};
  const updated = await theEvent(
    api,
    async () => (changed = (await api.patch(`/apps/${app.id}`, { title: "New" })).json),
  );
  assert.deepEqual(objectOf(updated), changed);
  assert.deepEqual(objectOf(await theEvent(api, () => api.delete(`/apps/${app.id}`))), changed);
});

choice("6.event-objects", "app.deployed holds the deployment as it was answered", async ({ api }) => {
  const app = await newApp(api);
  let made: Members = {};
  const event = await theEvent(api, async () => (made = await api.create(`/apps/${app.id}/deploy`, { name: "R" })));
  const { id, url, status, deployed_at } = made;
  assert.deepEqual(objectOf(event).deployment, { id, url, status, deployed_at });
});

choice("6.event-objects", "data.processed holds the data source, ready or failed", async ({ api }) => {
  for (const [data, status] of [
    ["a\n1\n", "ready"],
    ['a\n"open', "failed"],
  ] as const) {
    const before = await countOf(api, "data.processed");
    const { id } = await api.create("/data-sources", { name: "N", type: "csv", data });
    await eventually(async () => ((await countOf(api, "data.processed")) > before ? true : undefined));
    const [event] = (await api.get(`/events?type=data.processed&limit=1&offset=${before}`)).items;
    assert.deepEqual(objectOf(members(event)), (await api.get(`/data-sources/${id}`)).json);
    assert.equal(objectOf(members(event)).status, status);
  }
});

choice("6.events-without-account", "only user.interaction lacks the account", async ({ api }) => {
  const { json: account } = await api.get("/account");
  const app = await newApp(api);
  const found = await caused(api, async () => {
    await newApp(api);
    await api.patch(`/apps/${app.id}`, { title: "New" });
    await api.create(`/apps/${app.id}/deploy`, { name: "R" });
    await api.post(`/apps/${app.id}/interactions`, CLICK);
    await api.delete(`/apps/${app.id}`);
  });
  const shown = found.map((event) => [event.type, event.account]);
  const owner = { id: account.id, name: account.name };
  assert.deepEqual(shown, [
    ["app.created", owner],
    ["app.updated", owner],
    ["app.deployed", owner],
    ["user.interaction", undefined],
    ["app.deleted", owner],
  ]);
});

choice("8.bounds.ids.events", "are ids of their kind, and times carry milliseconds", async ({ api }) => {
  const event = await theEvent(api, () => newApp(api));
  assert.match(String(event.id), idOf("evt"));
  assert.match(String(event.created), ISO_TIME);
});

choice("1.dashboard.events.read", "one event is the envelope as it stands in the list", async ({ api }) => {
  const event = await theEvent(api, () => newApp(api));
  assert.deepEqual((await api.get(`/events/${event.id}`)).json, event);
  problem(await api.get("/events/evt_00000000000000000000000"), "not_found");
});

choice(
  "1.dashboard.events.list",
  "come in the order in which they happened, of one type if asked for",
  async ({ api }) => {
    const app = await newApp(api);
    for (const title of ["One", "Two", "Three"]) await api.patch(`/apps/${app.id}`, { title });
    const all = (await api.get(`/events?type=app.updated&limit=3&offset=${(await countOf(api, "app.updated")) - 3}`))
      .items;
    assert.deepEqual(
      all.map((event) => objectOf(event).title),
      ["One", "Two", "Three"],
    );
    for (const type of ["app.renamed", "", "APP.CREATED", "__proto__"])
      badParameter(await api.get(`/events?type=${type}`), "type");
  },
);

choice("6.emitted-by.same-commit", "what is refused or changes nothing leaves no event", async ({ api }) => {
  const custom_domain = freshHost();
  const [mine, other] = [await newApp(api), await newApp(api)];
  await api.create(`/apps/${mine.id}/deploy`, { name: "R", custom_domain });
  const found = await caused(api, async () => {
    await api.post("/apps", { title: "" });
    await api.patch(`/apps/${mine.id}`, { title: mine.title });
    await api.patch(`/apps/${mine.id}`, { title: "T" }, { "if-match": '"old"' });
    await api.post(`/apps/${other.id}/deploy`, { name: "R", custom_domain });
    await api.delete("/apps/app_00000000000000000000000");
    await api.post(`/apps/${mine.id}/interactions`, {});
  });
  assert.deepEqual(found, []);
});

choice("6.emitted-by.same-commit", "many changes at once leave exactly one event each", async ({ api }) => {
  const app = await newApp(api);
  const titles = Array.from({ length: 20 }, (_, at) => `Title ${at}`);
  const found = await caused(api, () => Promise.all(titles.map((title) => api.patch(`/apps/${app.id}`, { title }))));
  assert.deepEqual(found.map((event) => objectOf(event).title).sort(), [...titles].sort());
  const last = objectOf(members(found.at(-1)));
  assert.deepEqual((await api.get(`/apps/${app.id}`)).json, last, "the last event tells the final state");
});
