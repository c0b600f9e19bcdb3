// Events as they are recorded and read over GET /events: what each holds where the specification does not show it, and
// that it comes with its change or not at all (contract, part 6).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Client, type Members, members } from "../support/client.ts";
import { freshHost } from "../support/fresh.ts";
import { badParameter, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const countOf = async (api: Client): Promise<number> => Number((await api.get("/events?limit=1")).json.total);

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

choice("6.event-objects", "each holds what was answered: app, deployment, app that was", async ({ api }) => {
  let answered: Members = {};
  const told = async (act: () => Promise<Members>) =>
    objectOf(await theEvent(api, async () => (answered = await act())));
  assert.deepEqual(await told(() => newApp(api)), answered);
  const app = `/apps/${answered.id}`;
  assert.deepEqual(await told(async () => (await api.patch(app, { title: "New" })).json), answered);
  const changed = answered;
  const { deployment } = await told(() => api.create(`${app}/deploy`, { name: "R" }));
  const { id, url, status, deployed_at } = answered;
  assert.deepEqual(deployment, { id, url, status, deployed_at });
  assert.deepEqual(objectOf(await theEvent(api, () => api.delete(app))), changed);
});

choice("6.emitted-by.outcome", "data.processed holds the data source, ready or failed", async ({ api }) => {
  for (const [data, status] of [
    ["a\n1\n", "ready"],
    ['a\n"open', "failed"],
  ] as const) {
    const { id } = await api.create("/data-sources", { name: "N", type: "csv", data });
    const object = await eventually(async () => {
      const { items } = await api.get("/events?type=data.processed&limit=100");
      return items.map(objectOf).find((each) => each.id === id);
    });
    assert.deepEqual(object, (await api.get(`/data-sources/${id}`)).json);
    assert.equal(object.status, status);
  }
});

choice("6.events-without-account", "only user.interaction lacks the account", async ({ api }) => {
  const { id, name } = (await api.get("/account")).json;
  const app = `/apps/${(await newApp(api)).id}`;
  const found = await caused(api, async () => {
    await newApp(api);
    await api.patch(app, { title: "New" });
    await api.create(`${app}/deploy`, { name: "R" });
    await api.post(`${app}/interactions`, { user_id: "u", interaction_type: "t" });
    await api.delete(app);
  });
  const types = ["app.created", "app.updated", "app.deployed", "user.interaction", "app.deleted"];
  const expected = types.map((type) => [type, type === "user.interaction" ? undefined : { id, name }]);
  const shown = found.map(({ type, account }) => [type, account]);
  assert.deepEqual(shown, expected);
});

choice("1.dashboard.events.list", "come as they happened, or of one type, each as it is alone", async ({ api }) => {
  const app = await newApp(api);
  for (const title of ["One", "Two", "Three"]) await api.patch(`/apps/${app.id}`, { title });
  await newApp(api);
  const { items } = await api.get("/events?type=app.updated&limit=100");
  assert.ok(items.every(({ type }) => type === "app.updated"));
  const titles = items.slice(-3).map((event) => objectOf(event).title);
  assert.deepEqual(titles, ["One", "Two", "Three"]);
  const last = members(items.at(-1));
  assert.deepEqual((await api.get(`/events/${last.id}`)).json, last);
  assert.match(`${last.id} ${last.created}`, /^evt_[0-9A-Za-z]{20,} \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  problem(await api.get("/events/evt_00000000000000000000000"), "not_found");
  for (const type of ["app.renamed", "", "APP.CREATED", "__proto__"])
    badParameter(await api.get(`/events?type=${type}`), "type");
});

choice("6.emitted-by.same-commit", "each change leaves one event, what is refused none", async ({ api }) => {
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
  const titles = Array.from({ length: 20 }, (_, at) => `Title ${at}`);
  const rename = (title: string) => api.patch(`/apps/${mine.id}`, { title });
  const renamed = await caused(api, () => Promise.all(titles.map(rename)));
  assert.deepEqual(renamed.map((event) => objectOf(event).title).sort(), [...titles].sort());
  const last = objectOf(members(renamed.at(-1)));
  assert.deepEqual((await api.get(`/apps/${mine.id}`)).json, last, "the last event tells the final state");
});
