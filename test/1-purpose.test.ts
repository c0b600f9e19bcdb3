// Spec part 1: what a client can do with the service, as one walk through it. The parts after it hold the details.
import assert from "node:assert/strict";
import { choice, clause } from "./support/clauses.ts";
import { assertPage } from "./support/dashboard.ts";
import { freshHost } from "./support/fresh.ts";

clause("1.apps", "apps can be created, listed and deleted", async ({ api }) => {
  const app = await api.create("/apps", { title: "Dashboard", description: "D", theme: "dark", public: true });
  assert.equal((await api.get("/apps")).status, 200);
  assert.ok((await api.delete(`/apps/${app.id}`)).status < 300);
});

clause(
  "1.deploy",
  "an app can be deployed to a named environment, under a custom domain if wanted",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Dashboard", description: "D", theme: "dark", public: true });
    for (const body of [
      { name: "R1", environment: "production" },
      { name: "R2", environment: "staging", custom_domain: freshHost() },
    ])
      assert.ok((await api.post(`/apps/${app.id}/deploy`, body)).status < 300);
  },
);

clause("1.data-sources", "data sources can be created", async ({ api }) => {
  const body = { name: "Orders", type: "csv", data: "region,revenue\nNorth,5\n" };
  assert.ok((await api.post("/data-sources", body)).status < 300);
});

clause("1.webhooks", "webhooks can be registered", async ({ api }) => {
  const body = { url: "https://hooks.example.com/in", events: ["app.deployed"], secret: "s", active: false };
  assert.ok((await api.post("/webhooks", body)).status < 300);
});

clause("1.json", "answers are JSON", async ({ api }) => {
  for (const path of ["/apps", "/apps/unknown"]) assert.match((await api.get(path)).header("content-type"), /json/);
});

const OWN = { needs: "embedded" } as const;

choice(
  "1.dashboard.addresses",
  "the base URL is the authorization server's with /v1 behind it",
  OWN,
  async ({ baseUrl, authUrl }) => {
    assert.equal(baseUrl, `${authUrl}/v1`);
  },
);

choice("1.dashboard.addresses", "/healthz answers without a credential", OWN, async ({ api }) => {
  const answer = await api.root.as(null).get("/healthz");
  assert.deepEqual([answer.status, answer.json.status], [200, "ok"]);
  assert.equal((await api.root.as(null).send("POST", "/healthz")).status, 405);
});

choice("1.dashboard.addresses", "where nothing is, a browser gets a page that leads on", OWN, async ({ api }) => {
  const anyone = api.root.as(null);
  const page = await anyone.get("/nowhere", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  assertPage(page, 404);
  assert.match(page.text, /href="\/dashboard"[\s\S]*href="\/docs"/);
  assert.match((await anyone.get("/nowhere")).header("content-type"), /problem\+json/, "a program does not");
  assert.match((await anyone.get("/v2/apps", { accept: "text/html" })).text, /\/v1/);
});

choice("1.dashboard.addresses", "/ leads to the dashboard", OWN, async ({ api }) => {
  const answer = await api.root.as(null).get("/");
  assert.equal(answer.header("location"), "/dashboard");
  assert.ok(answer.status > 300 && answer.status < 309);
});

choice("1.dashboard.addresses", "the test controls are off unless asked for", OWN, async ({ api }) => {
  for (const path of ["/_control/reset", "/_control/clock"]) assert.equal((await api.root.post(path, {})).status, 404);
});
