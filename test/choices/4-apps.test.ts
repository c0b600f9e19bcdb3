// Spec part 4, the operations on apps. Lists have their own file.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { NOT_TEXT } from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";

const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };
const NO_APP = "/apps/app_00000000000000000000000";

const newApp = (api: Client) => api.create("/apps", WHOLE);

choice("4.create-status", "201 with Location, where the app then is", async ({ api, baseUrl }) => {
  const answer = await api.post("/apps", WHOLE);
  assert.equal(answer.status, 201);
  assert.equal(answer.header("location"), `${baseUrl}/apps/${answer.id}`);
  assert.equal((await api.get(`/apps/${answer.id}`)).text, answer.text);
});

choice("4.app-endpoints.read", "answers the app", async ({ api }) => {
  const app = await newApp(api);
  const answer = await api.get(`/apps/${app.id}`);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, app);
  problem(await api.get(NO_APP), 404, "not_found");
});

choice("4.app-endpoints.change", "changes the fields that are sent and no others", async ({ api }) => {
  const app = await newApp(api);
  const answer = await api.patch(`/apps/${app.id}`, { title: "Costs" });
  assert.equal(answer.status, 200);
  const { updated_at, ...rest } = answer.json;
  assert.deepEqual({ ...rest, updated_at: app.updated_at }, { ...app, title: "Costs" });
  assert.ok(String(updated_at) >= String(app.updated_at));
  assert.deepEqual((await api.get(`/apps/${app.id}`)).json, answer.json);
  problem(await api.patch(NO_APP, { title: "T" }), 404, "not_found");
});

choice("4.app-endpoints.change", "a faulty field leaves all as it was", async ({ api }) => {
  const app = await newApp(api);
  invalid(await api.patch(`/apps/${app.id}`, { title: "Costs", theme: 5 }), "#/theme");
  assert.deepEqual((await api.get(`/apps/${app.id}`)).json, app);
});

choice(
  "4.app-endpoints.change",
  "a change sets updated_at, one that changes nothing does not",
  { needs: "embedded", options: { clock: "manual" } },
  async ({ api, service }) => {
    const app = await newApp(api);
    await service.clock.advance("60000ms");
    for (const body of [{}, { title: WHOLE.title }, WHOLE])
      assert.deepEqual((await api.patch(`/apps/${app.id}`, body)).json, app);
    const { json } = await api.patch(`/apps/${app.id}`, { public: false });
    assert.equal(Date.parse(String(json.updated_at)) - Date.parse(String(app.updated_at)), 60_000);
    assert.equal(json.created_at, app.created_at);
  },
);

choice("4.delete-response", "204 without a body, then 404", async ({ api }) => {
  const app = await newApp(api);
  const answer = await api.delete(`/apps/${app.id}`);
  assert.deepEqual([answer.status, answer.bytes.length, answer.headers["content-type"]], [204, 0, undefined]);
  for (const method of ["DELETE", "GET"]) problem(await api.send(method, `/apps/${app.id}`), 404, "not_found");
  problem(await api.patch(`/apps/${app.id}`, { title: "T" }), 404, "not_found");
  problem(await api.post(`/apps/${app.id}/deploy`, { name: "R" }), 404, "not_found");
  assert.equal((await api.get("/apps?limit=100")).text.includes(app.id), false);
});

choice("4.create-status", "a deploy answers 201 with the deployment and its Location", async ({ api, baseUrl }) => {
  const app = await newApp(api);
  const answer = await api.post(`/apps/${app.id}/deploy`, { name: "R" });
  assert.equal(answer.status, 201);
  const path = `/apps/${app.id}/deployments/${answer.id}`;
  assert.equal(answer.header("location"), baseUrl + path);
  assert.deepEqual((await api.get(path)).json, answer.json);
});

choice("4.app-endpoints.deployments", "is found under its own app only", async ({ api }) => {
  const [one, two] = [await newApp(api), await newApp(api)];
  const deployment = await api.create(`/apps/${one.id}/deploy`, { name: "R" });
  assert.equal((await api.get(`/apps/${one.id}/deployments/${deployment.id}`)).status, 200);
  problem(await api.get(`/apps/${two.id}/deployments/${deployment.id}`), 404, "not_found");
  problem(await api.get(`/apps/${one.id}/deployments/dep_00000000000000000000000`), 404, "not_found");
});

choice("4.app-endpoints.interaction-response", "answers 202 with the event", async ({ api }) => {
  const app = await newApp(api);
  const point = { x: "2026-03", y: 48.5, category: null };
  const body = { user_id: "visitor 17", interaction_type: "chart_click", chart_id: "c1", data_point: point };
  const answer = await api.post(`/apps/${app.id}/interactions`, body);
  assert.equal(answer.status, 202);
  assert.equal(answer.json.type, "user.interaction");
  assert.deepEqual(answer.json.data, { object: { app_id: app.id, ...body } });
  assert.deepEqual((await api.get(`/events/${answer.id}`)).json, answer.json);
  problem(await api.post(`${NO_APP}/interactions`, body), 404, "not_found");
});

choice("4.app-endpoints.interaction", "leaves out what is not sent as null", async ({ api }) => {
  const app = await newApp(api);
  const send = async (body: object) => (await api.post(`/apps/${app.id}/interactions`, body)).json.data;
  const least = { user_id: "u", interaction_type: "t" };
  assert.deepEqual(await send(least), { object: { app_id: app.id, ...least, chart_id: null, data_point: null } });
  const data_point = { x: null, y: null, category: null };
  const open = { app_id: app.id, ...least, chart_id: null, data_point };
  assert.deepEqual(await send({ ...least, data_point: {} }), { object: open });
});

choice("4.app-endpoints.interaction", "bounds its fields", async ({ api }) => {
  const app = await newApp(api);
  const path = `/apps/${app.id}/interactions`;
  const least = { user_id: "u", interaction_type: "t" };
  for (const [field, max] of [
    ["user_id", 200],
    ["interaction_type", 64],
  ] as const) {
    for (const value of ["x", "x".repeat(max)])
      assert.equal((await api.post(path, { ...least, [field]: value })).status, 202);
    for (const value of ["", "x".repeat(max + 1), ...NOT_TEXT])
      invalid(await api.post(path, { ...least, [field]: value }), `#/${field}`);
  }
  invalid(await api.post(path, {}), "#/user_id", "#/interaction_type");
  for (const chart_id of [5, true, [], {}]) invalid(await api.post(path, { ...least, chart_id }), "#/chart_id");
  for (const data_point of [5, "x", true, []]) invalid(await api.post(path, { ...least, data_point }), "#/data_point");
  for (const x of [true, [], {}]) invalid(await api.post(path, { ...least, data_point: { x } }), "#/data_point/x");
  invalid(await api.post(path, { ...least, data_point: { z: 1 } }), "#/data_point/z");
});
