// What becomes of a deployment, of its domain and of an app's remains, and the states of an account (contract, part 3;
// the specification shows live, and that apps carry no state).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { freshHost } from "../support/fresh.ts";
import { problem } from "../support/problem.ts";

const newApp = async (api: Client) => (await api.create("/apps", { title: "State" })).id;
const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });
const deploymentsOf = async (api: Client, app: string) => (await api.get(`/apps/${app}/deployments`)).items;

choice("3.redeploy", "deploying again to an environment retires the one before, and only that", async ({ api }) => {
  const app = await newApp(api);
  const [first, staging] = [await deploy(api, app), await deploy(api, app, { environment: "staging" })];
  const second = await deploy(api, app);
  const all = (await deploymentsOf(api, app)).map(({ id, status }) => [id, status]);
  assert.deepEqual(all, [
    [first.id, "retired"],
    [staging.id, "live"],
    [second.id, "live"],
  ]);
  for (const [id, status] of all) assert.equal((await api.get(`/apps/${app}/deployments/${id}`)).json.status, status);
});

choice("3.redeploy", "one of many at once stays live", async ({ api }) => {
  const app = await newApp(api);
  await Promise.all(Array.from({ length: 8 }, () => deploy(api, app)));
  const statuses = (await deploymentsOf(api, app)).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), ["live", ...Array(7).fill("retired")]);
});

choice("3.custom-domain", "belongs to one app at a time, and is free when nothing live holds it", async ({ api }) => {
  const [mine, other] = [await newApp(api), await newApp(api)];
  const custom_domain = freshHost();
  const taken = async (domain = custom_domain) =>
    problem(await api.post(`/apps/${other}/deploy`, { name: "R", custom_domain: domain }), "domain_taken");
  await deploy(api, mine, { custom_domain });
  await taken();
  await taken(custom_domain.toUpperCase());
  assert.deepEqual(await deploymentsOf(api, other), [], "nothing was deployed");
  assert.equal((await deploy(api, mine, { custom_domain })).custom_domain, custom_domain, "its own app may keep it");
  await deploy(api, mine, { custom_domain, environment: "staging" });
  await deploy(api, mine);
  await taken();
  await deploy(api, mine, { environment: "staging" });
  assert.equal((await deploy(api, other, { custom_domain })).status, "live");
});

choice("3.custom-domain", "goes to one of many that ask at once", async ({ api }) => {
  const custom_domain = freshHost();
  const apps = await Promise.all(Array.from({ length: 6 }, () => newApp(api)));
  const answers = await Promise.all(apps.map((app) => api.post(`/apps/${app}/deploy`, { name: "R", custom_domain })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
});

choice("3.redeploy.app-deleted", "an app's deployments go with it, and its domain is free", async ({ api }) => {
  const [mine, other] = [await newApp(api), await newApp(api)];
  const custom_domain = freshHost();
  const { id } = await deploy(api, mine, { custom_domain });
  await api.delete(`/apps/${mine}`);
  for (const path of ["deployments", `deployments/${id}`]) problem(await api.get(`/apps/${mine}/${path}`), "not_found");
  assert.equal((await deploy(api, other, { custom_domain })).status, "live");
});

const held = (state: string) => ({ seed: { accounts: [{ name: "Held", state, apps: [{ title: "Kept" }] }] } });

choice("3.account-states.limited", "a limited account still reads", held("limited"), async ({ api }) => {
  assert.equal((await api.get("/apps")).json.total, 1);
  assert.deepEqual([(await api.head("/apps")).status, (await api.options("/apps")).status], [200, 204]);
  assert.equal((await api.get("/account")).json.state, "limited");
});
