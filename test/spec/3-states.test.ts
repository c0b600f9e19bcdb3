// Spec part 3: live is the one deployment status shown, and apps carry no state.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";
import { appsIn, deployed } from "../support/shown.ts";

clause("3.deployment.live", "a deployment is live", async ({ api }) => {
  for (let times = 0; times < 2; times += 1) assert.equal((await deployed(api)).deployment.status, "live");
});

clause("3.app-no-state", "an app carries no state", async ({ api }) => {
  const { app } = await deployed(api);
  for (const each of [app, ...(await appsIn(api))])
    for (const name of ["status", "state"]) assert.equal(name in each, false);
});
