// The addresses of the server beside the REST API (contract, part 1).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { assertPage } from "../support/dashboard.ts";

choice("1.dashboard.addresses", "/healthz answers anybody, / leads to the dashboard", "ours", async ({ api }) => {
  const anyone = api.root.as(null);
  const answer = await anyone.get("/healthz");
  assert.deepEqual([answer.status, answer.json.status], [200, "ok"]);
  assert.equal((await anyone.send("POST", "/healthz")).status, 405);
  const led = await anyone.get("/");
  assert.equal(led.header("location"), "/dashboard");
  assert.ok(led.status > 300 && led.status < 309);
});

choice("1.dashboard.addresses", "where nothing is, a browser gets a page that leads on", "ours", async ({ api }) => {
  const anyone = api.root.as(null);
  const page = await anyone.get("/nowhere", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
  assertPage(page, 404);
  assert.match(page.text, /href="\/dashboard"[\s\S]*href="\/docs"/);
  assert.match((await anyone.get("/nowhere")).header("content-type"), /problem\+json/, "a program does not");
  assert.match((await anyone.get("/v2/apps", { accept: "text/html" })).text, /\/v1/);
});
