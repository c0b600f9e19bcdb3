// Deployments (spec part 2 names the fields of the request and of the object; the bounds are the contract's), what becomes
// of one, of its domain and of an app's remains, and the states of an account (contract, part 3).
import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { mock } from "node:test";
import { startService } from "../../src/index.ts";
import { choice } from "../support/clauses.ts";
import { Client } from "../support/client.ts";
import { fieldRules, ISO_TIME, idOf, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { freshHost } from "../support/fresh.ts";
import { invalid, problem } from "../support/problem.ts";
import { closedPort } from "../support/receivers.ts";

/** The path that deploys a new app. */
const deployPath = async (api: Client) => `/apps/${(await api.create("/apps", { title: "Deployed" })).id}/deploy`;

choice("4.create-status.deployment", "has eight fields, all always present", async ({ api, authUrl }) => {
  const path = await deployPath(api);
  const { id, url, deployed_at, ...rest } = await api.create(path, { name: "R" });
  assert.match(id, idOf("dep"));
  assert.equal(url, `${authUrl}/sites/${id}/`);
  assert.match(String(deployed_at), ISO_TIME);
  const app_id = path.split("/")[2];
  assert.deepEqual(rest, { app_id, name: "R", environment: "production", custom_domain: null, status: "live" });
});

choice("4.create-status.deploy-name", "is required, 1 to 100 characters", async ({ api }) => {
  const path = await deployPath(api);
  await requiredFields(api, path, { name: "R" });
  const bad = ["", "n".repeat(101), wide(101), ...NOT_TEXT];
  await fieldRules(api, `POST ${path}`, {}, { field: "name", good: ["n", "n".repeat(100), wide(100)], bad });
});

choice("2.environments", "is a slug of up to 63 characters", async ({ api }) => {
  const good = ["a", "0", "a".repeat(63), "my-env-2", "a-", "0-0"];
  const bad = ["", "a".repeat(64), "-a", "A", "Prod", "a_b", "a.b", "a b", " a", "a\n", "ä", ...NOT_TEXT];
  await fieldRules(api, `POST ${await deployPath(api)}`, { name: "R" }, { field: "environment", good, bad });
});

choice("3.custom-domain.names", "are of two labels or more, kept in lower case and in ASCII", async ({ api }) => {
  const label = "a".repeat(63);
  const longest = `${label}.${label}.${label}.${"b".repeat(57)}.com`;
  assert.equal(longest.length, 253);
  const names = "a.b xn--bcher-kva.example 1.example a-b.c-d.example".split(" ");
  const good = [null, ...names, `${label}.com`, longest, freshHost()];
  const bad = [
    ...["", "a", "localhost", "a..b", ".a.b", "-a.example", "a-.example", `${"a".repeat(64)}.com`, `x${longest}`],
    ...["127.0.0.1", "10.0.0.1", "1.2.3", "[::1]", "::1", "0x7f.1", "a.1"],
    ...["a.example:80", "https://a.example", "a.example/", "a.example/x", "u@a.example", "a b.example", "a_b.example"],
    ...["*.example.com", "a.example?x", "a.example#x", "%61.example", "a.example\n"],
    ...NOT_TEXT.filter((value) => value !== null),
    // Within the length as it is written, beyond it in the ASCII form.
    `${`${"ü".repeat(45)}.`.repeat(5)}example`,
  ];
  const path = await deployPath(api);
  await fieldRules(api, `POST ${path}`, { name: "R" }, { field: "custom_domain", good, bad });
  for (const [sent, kept] of [
    ["Shop.EXAMPLE.org", "shop.example.org"],
    ["bücher.example.org", "xn--bcher-kva.example.org"],
    ["STRASSE.example.org", "strasse.example.org"],
  ])
    assert.equal((await api.create(path, { name: "R", custom_domain: sent })).custom_domain, kept);
});

choice("3.custom-domain.names", "is never the server's own host", async () => {
  const port = await closedPort();
  const service = await startService({ port, log: "off", publicUrl: "https://Apps.example.net:443/" });
  const api = new Client({ baseUrl: `http://127.0.0.1:${port}/v1`, key: service.apiKey });
  try {
    assert.equal(service.baseUrl, "https://apps.example.net/v1");
    const { headers } = await api.root.get("/healthz");
    assert.equal(headers["strict-transport-security"], "max-age=31536000", "browsers stay with https");
    const path = await deployPath(api);
    mock.method(os, "hostname", () => "Machine.example.net");
    syncBuiltinESMExports();
    for (const custom_domain of ["apps.example.net", "APPS.Example.net", "machine.example.net"])
      invalid(await api.post(path, { name: "R", custom_domain }), "#/custom_domain");
    const request = { name: "R", custom_domain: "lab.example.net" };
    for (const host of ["lab.example.net:4600", "LAB.example.net."])
      invalid(await api.post(path, request, { host }), "#/custom_domain");
    assert.equal((await api.post(path, request, { host: "other.example.net" })).status, 201);
    for (const custom_domain of ["www.apps.example.net", "example.net"])
      await api.create(path, { name: "R", custom_domain });
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
    api.close();
    await service.close();
  }
});

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
  await Promise.all(Array.from({ length: 8 }, () => deploy(api, app)));
  const live = (await deploymentsOf(api, app)).filter(({ status }) => status === "live");
  assert.deepEqual(live.map(({ environment }) => environment).sort(), ["production", "staging"], "one of many at once");
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
  const body = { name: "R", custom_domain: freshHost() };
  const apps = await Promise.all(Array.from({ length: 6 }, () => newApp(api)));
  const answers = await Promise.all(apps.map((app) => api.post(`/apps/${app}/deploy`, body)));
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409], "one of many at once");
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
