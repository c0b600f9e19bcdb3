// Operations on apps (spec part 4 shows four; reading and changing one, deployments and interactions are the contract's).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { NOT_TEXT } from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";

const NO_APP = "/apps/app_00000000000000000000000";
const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };

const newApp = (api: Client) => api.create("/apps", WHOLE);

choice("4.create-status", "201 with Location, where it then is, for app and deployment", async ({ api, baseUrl }) => {
  const app = await api.post("/apps", WHOLE);
  const deployment = await api.post(`/apps/${app.id}/deploy`, { name: "R" });
  for (const [answer, path] of [
    [app, `/apps/${app.id}`],
    [deployment, `/apps/${app.id}/deployments/${deployment.id}`],
  ] as const) {
    assert.deepEqual([answer.status, answer.header("location")], [201, baseUrl + path]);
    assert.equal((await api.get(path)).text, answer.text);
  }
  const other = await newApp(api);
  problem(await api.get(`/apps/${other.id}/deployments/${deployment.id}`), "not_found");
  problem(await api.get(`/apps/${app.id}/deployments/dep_00000000000000000000000`), "not_found");
});

choice("4.app-endpoints.change", "changes the fields that are sent and no others, or nothing", async ({ api }) => {
  const app = await newApp(api);
  const path = `/apps/${app.id}`;
  const answer = await api.patch(path, { title: "Costs" });
  assert.equal(answer.status, 200);
  const { updated_at, ...rest } = answer.json;
  assert.deepEqual({ ...rest, updated_at: app.updated_at }, { ...app, title: "Costs" });
  assert.ok(String(updated_at) >= String(app.updated_at));
  invalid(await api.patch(path, { title: "Lost", theme: 5 }), "#/theme");
  const read = await api.get(path);
  assert.deepEqual([read.status, read.json], [200, answer.json], "a faulty field leaves all as it was");
  for (const missing of [await api.patch(NO_APP, { title: "T" }), await api.get(NO_APP)]) problem(missing, "not_found");
});

choice("4.app-endpoints.change", "sets updated_at, but not where nothing changes", { clock: "manual" }, async (own) => {
  const { api, service } = own;
  const app = await newApp(api);
  await service.clock.advance("60000ms");
  for (const body of [{}, { title: WHOLE.title }, WHOLE])
    assert.deepEqual((await api.patch(`/apps/${app.id}`, body)).json, app);
  const { json } = await api.patch(`/apps/${app.id}`, { public: false });
  assert.equal(Date.parse(String(json.updated_at)) - Date.parse(String(app.updated_at)), 60_000);
  assert.equal(json.created_at, app.created_at);
});

choice("4.delete-response", "204 without a body, then 404", async ({ api }) => {
  const path = `/apps/${(await newApp(api)).id}`;
  const answer = await api.delete(path);
  assert.deepEqual([answer.status, answer.bytes.length, answer.headers["content-type"]], [204, 0, undefined]);
  for (const gone of [await api.delete(path), await api.get(path), await api.patch(path, { title: "T" })])
    problem(gone, "not_found");
  problem(await api.post(`${path}/deploy`, { name: "R" }), "not_found");
});

const LEAST = { user_id: "u", interaction_type: "t" };

choice("4.app-endpoints.interaction", "answers 202 with the event; null is what is not sent", async ({ api }) => {
  const { id } = await newApp(api);
  const nothing = { x: null, y: null, category: null };
  for (const [body, more] of [
    [LEAST, { chart_id: null, data_point: null }],
    [
      { ...LEAST, data_point: {} },
      { chart_id: null, data_point: nothing },
    ],
    [{ ...LEAST, user_id: "visitor 17", chart_id: "c1", data_point: { x: "2026-03", y: 48.5, category: null } }, {}],
  ]) {
    const answer = await api.post(`/apps/${id}/interactions`, body);
    assert.deepEqual([answer.status, answer.json.type], [202, "user.interaction"]);
    assert.deepEqual(answer.json.data, { object: { app_id: id, ...body, ...more } });
    assert.deepEqual((await api.get(`/events/${answer.id}`)).json, answer.json);
  }
  problem(await api.post(`${NO_APP}/interactions`, LEAST), "not_found");
});

choice("4.app-endpoints.interaction", "bounds its fields", async ({ api }) => {
  const path = `/apps/${(await newApp(api)).id}/interactions`;
  invalid(await api.post(path, {}), "#/user_id", "#/interaction_type");
  for (const [field, max] of [
    ["user_id", 200],
    ["interaction_type", 64],
  ] as const) {
    for (const value of ["x", "x".repeat(max)])
      assert.equal((await api.post(path, { ...LEAST, [field]: value })).status, 202);
    for (const value of ["", "x".repeat(max + 1), ...NOT_TEXT])
      invalid(await api.post(path, { ...LEAST, [field]: value }), `#/${field}`);
  }
  for (const [at, ...bodies] of [
    ["chart_id", ...[5, true, [], {}].map((chart_id) => ({ chart_id }))],
    ["data_point", ...[5, "x", true, []].map((data_point) => ({ data_point }))],
    ["data_point/x", ...[true, [], {}].map((x) => ({ data_point: { x } }))],
    ["data_point/z", { data_point: { z: 1 } }],
  ])
    for (const body of bodies) invalid(await api.post(path, { ...LEAST, ...Object(body) }), `#/${at}`);
});
