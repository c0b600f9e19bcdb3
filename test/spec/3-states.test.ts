// Spec part 3: live is the one deployment status shown, and apps carry no state.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";

clause("3.deployment.live", "a deployment is live", async (kit) => {
  assert.equal((await kit.deployed()).deployment.status, "live");
});

clause("3.app-no-state", "an app carries no state", async (kit) => {
  const { id } = await kit.newApp();
  await kit.deploy(id);
  for (const app of [await kit.newApp(), ...(await kit.allApps())])
    for (const name of ["status", "state"]) assert.ok(!(name in app), `an app has the member ${name}`);
});
