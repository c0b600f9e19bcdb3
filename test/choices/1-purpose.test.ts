// The addresses of the server beside the REST API (contract, part 1).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { assertPage } from "../support/dashboard.ts";

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
