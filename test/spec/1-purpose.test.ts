// Spec part 1: a client's use of the service, as one walk through it. The later parts cover the details.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { notTried } from "../support/kit.ts";
import { done, ids, objectIn, succeeded } from "../support/shown.ts";

clause("1.apps", "apps can be created, listed and deleted", async (kit) => {
  const { id } = await kit.newApp();
  assert.ok(ids(await kit.allApps()).includes(id), "what was created is not listed");
  done(await kit.api.delete(`/apps/${id}`));
  assert.ok(!ids(await kit.allApps()).includes(id), "what was deleted is still listed");
});

clause(
  "1.deploy",
  "an app can be deployed to a named environment, with or without a custom domain",
  async (kit) => {
    const { id } = await kit.newApp();
    for (const name of ["R1", "R2"]) await kit.deploy(id, { name });
  },
);

clause("1.data-sources", "data sources can be created", async ({ api, dataSource }) => {
  done(await api.post("/data-sources", dataSource));
});

clause("1.manage-users", "users and their permissions can be managed", async ({ api }) => {
  const made = await api.post("/users", {
    email: `user-${Date.now()}@example.com`,
    permissions: ["read:apps"],
  });
  if (!succeeded(made))
    notTried(
      "the operations are not shown, and there is no POST /users that takes an address and permissions",
    );
  const path = `/users/${objectIn(made.text).id}`;
  const read = await api.get(path);
  if (!succeeded(read) || !succeeded(await api.patch(path, { permissions: ["read:data"] })))
    notTried("POST /users created a user, but GET or PATCH /users/{id} does not succeed");
  assert.deepEqual(read.json.permissions, ["read:apps"]);
  assert.deepEqual((await api.get(path)).json.permissions, ["read:data"]);
  done(await api.delete(path));
  assert.ok(!succeeded(await api.get(path)), "a removed user is still there");
});

clause("1.webhooks", "webhooks can be registered and receive events", async (kit) => {
  await kit.deployed();
});

clause("1.json", "every response of the API is JSON, errors included", async (kit) => {
  const refused = await kit.api.as(null).get("/apps");
  for (const answer of [await kit.api.get("/apps"), await kit.createApp(), refused])
    assert.match(
      answer.headers["content-type"] ?? "",
      /^application\/([\w.+-]+\+)?json/,
      answer.text.slice(0, 200),
    );
});
