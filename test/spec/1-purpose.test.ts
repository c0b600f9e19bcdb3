// Spec part 1: what a client can do with the service, as one walk through it. The parts after it hold the details.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";
import { freshAddress } from "../support/fresh.ts";
import { allApps, deploy, done, hooked, newApp } from "../support/shown.ts";

clause("1.apps", "apps can be created, listed and deleted", async ({ api }) => {
  const { id } = await newApp(api);
  assert.ok((await allApps(api)).includes(id));
  done(await api.delete(`/apps/${id}`));
});

clause(
  "1.deploy",
  "an app can be deployed to a named environment, under a custom domain if wanted",
  async ({ api }) => {
    const { id } = await newApp(api);
    done(await api.post(`/apps/${id}/deploy`, { name: "R1", environment: "production" }));
    await deploy(api, id, { environment: "staging" });
  },
);

clause("1.data-sources", "data sources can be created", "ours", async ({ api }) => {
  done(await api.post("/data-sources", { name: "Orders", type: "csv", data: "region,revenue\nNorth,5\n" }));
});

clause("1.manage-users", "users and their permissions can be managed", "ours", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress(), permissions: ["read:apps"] });
  const path = `/users/${user.id}`;
  assert.deepEqual((await api.get(path)).json.permissions, ["read:apps"]);
  assert.deepEqual((await api.patch(path, { permissions: ["read:data"] })).json.permissions, ["read:data"]);
  assert.equal((await api.delete(path)).status, 204);
  assert.equal((await api.get(path)).status, 404);
});

clause("1.webhooks", "webhooks can be registered", async ({ api }) => {
  await hooked(api, ["app.deployed"]);
});

clause("1.json", "the API speaks JSON", async ({ api }) => {
  for (const answer of [
    await api.get("/apps"),
    await api.post("/apps", { title: "Sales" }),
    await api.get("/apps/unknown"),
  ])
    assert.match(answer.header("content-type"), /^application\/(problem\+)?json/);
});
