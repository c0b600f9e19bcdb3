// Spec part 3: live is the one deployment status shown, and apps carry no state. What becomes of a deployment, of its
// domain and of an app's remains is ours (contract, part 3).
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { choice, withService } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { freshHost } from "../support/fresh.ts";
import { problem } from "../support/problem.ts";

const newApp = async (api: Client) => (await api.create("/apps", { title: "State" })).id;
const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });
const statusOf = async (api: Client, app: string, id: string) =>
  (await api.get(`/apps/${app}/deployments/${id}`)).json.status;

choice("3.redeploy", "deploying again to an environment retires the one before, and only that", async ({ api }) => {
  const app = await newApp(api);
  const first = await deploy(api, app);
  const staging = await deploy(api, app, { environment: "staging" });
  const second = await deploy(api, app);
  assert.deepEqual(
    [await statusOf(api, app, first.id), await statusOf(api, app, second.id), await statusOf(api, app, staging.id)],
    ["retired", "live", "live"],
  );
  const all = (await api.get(`/apps/${app}/deployments`)).items;
  assert.deepEqual(
    all.map(({ id }) => id),
    [first.id, staging.id, second.id],
  );
});

choice("3.redeploy", "one of many at once stays live", async ({ api }) => {
  const app = await newApp(api);
  await Promise.all(Array.from({ length: 8 }, () => deploy(api, app)));
  const statuses = (await api.get(`/apps/${app}/deployments`)).items.map(({ status }) => status);
  assert.deepEqual(statuses.sort(), ["live", ...Array(7).fill("retired")]);
});

choice("3.custom-domain", "belongs to one app at a time", async ({ api }) => {
  const [mine, other] = [await newApp(api), await newApp(api)];
  const custom_domain = freshHost();
  await deploy(api, mine, { custom_domain });
  problem(await api.post(`/apps/${other}/deploy`, { name: "R", custom_domain }), 409, "domain_taken");
  const shouted = { name: "R", custom_domain: custom_domain.toUpperCase() };
  problem(await api.post(`/apps/${other}/deploy`, shouted), 409, "domain_taken");
  assert.equal((await api.get(`/apps/${other}/deployments`)).json.total, 0, "nothing was deployed");
  assert.equal((await deploy(api, mine, { custom_domain })).custom_domain, custom_domain, "its own app may keep it");
  assert.equal((await deploy(api, mine, { custom_domain, environment: "staging" })).custom_domain, custom_domain);
});

choice("3.custom-domain", "goes to one of two that ask at once", async ({ api }) => {
  const custom_domain = freshHost();
  const apps = await Promise.all(Array.from({ length: 6 }, () => newApp(api)));
  const answers = await Promise.all(apps.map((app) => api.post(`/apps/${app}/deploy`, { name: "R", custom_domain })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
});

choice("3.custom-domain", "is free when no live deployment holds it", async ({ api }) => {
  const [mine, other] = [await newApp(api), await newApp(api)];
  const custom_domain = freshHost();
  await deploy(api, mine, { custom_domain });
  await deploy(api, mine, { custom_domain, environment: "staging" });
  await deploy(api, mine);
  problem(await api.post(`/apps/${other}/deploy`, { name: "R", custom_domain }), 409, "domain_taken");
  await deploy(api, mine, { environment: "staging" });
  assert.equal((await deploy(api, other, { custom_domain })).status, "live");
});

choice("3.redeploy.app-deleted", "an app's deployments go with it, and its domain is free", async ({ api }) => {
  const [mine, other] = [await newApp(api), await newApp(api)];
  const custom_domain = freshHost();
  const { id } = await deploy(api, mine, { custom_domain });
  await api.delete(`/apps/${mine}`);
  problem(await api.get(`/apps/${mine}/deployments`), 404, "not_found");
  problem(await api.get(`/apps/${mine}/deployments/${id}`), 404, "not_found");
  assert.equal((await deploy(api, other, { custom_domain })).status, "live");
});

const seed = (state: string) => ({
  needs: "embedded" as const,
  options: {
    seed: {
      accounts: [
        { name: "Held", state, api_keys: [{ name: "k", key: "held-account-key" }], apps: [{ title: "Kept" }] },
      ],
    },
  },
});

choice("3.account-states", "are active, limited and suspended, and no other", { needs: "embedded" }, async () => {
  for (const state of ["active", "limited", "suspended"])
    await withService(seed(state).options, async ({ service }) => assert.equal(service.account.state, state));
  await assert.rejects(startService({ ...seed("frozen").options, log: "off" }), /state must be one of/);
});

choice("3.account-states.limited", "a limited account still reads", seed("limited"), async ({ api }) => {
  assert.equal((await api.get("/apps")).json.total, 1);
  assert.equal((await api.head("/apps")).status, 200);
  assert.equal((await api.options("/apps")).status, 204);
  assert.equal((await api.get("/account")).json.state, "limited");
});
