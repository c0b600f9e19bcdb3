// Spec part 4: the six operations that are shown, and the query parameters of GET /apps.
import assert from "node:assert/strict";
import { clause } from "../support/clauses.ts";
import { freshHost } from "../support/fresh.ts";
import { APP, allApps, appsIn, deploy, deployed, done, fillUp, newApp } from "../support/shown.ts";

clause("4.paths", "the six operations that are shown", async ({ api }) => {
  const { id } = await newApp(api);
  for (const [method, path] of [
    ["POST", "/apps"],
    ["GET", "/apps"],
    ["POST", `/apps/${id}/deploy`],
    ["POST", "/data-sources"],
    ["POST", "/webhooks"],
    ["DELETE", `/apps/${id}`],
  ] as const) {
    const { status } = await api.call(method, path, method === "POST" ? {} : undefined);
    assert.ok(![404, 405, 501].includes(status), `${method} ${path}: ${status}`);
  }
});

clause("4.create-app", "title, description, theme and public; answers the seven fields", async ({ api }) => {
  const { id, created_at, updated_at, ...sent } = await newApp(api);
  assert.deepEqual(sent, APP);
  for (const field of [id, created_at, updated_at]) assert.equal(typeof field, "string");
});

clause("4.list-apps", "answers the apps that match", async ({ api }) => {
  const app = await newApp(api);
  const all = await allApps(api);
  assert.equal(all.filter((id) => id === app.id).length, 1);
  assert.deepEqual(await appsIn(api, `?limit=1&offset=${all.indexOf(app.id)}`), [app]);
});

clause("4.list-apps.limit", "how many to return", async ({ api }) => {
  await fillUp(api, 25);
  for (const limit of [1, 2, 25]) assert.equal((await appsIn(api, `?limit=${limit}`)).length, limit);
});

clause("4.list-apps.offset", "how many to skip", async ({ api }) => {
  await fillUp(api, 25);
  const all = await appsIn(api, "?limit=25");
  for (const offset of [0, 1, 7, 24])
    assert.deepEqual((await appsIn(api, `?limit=25&offset=${offset}`))[0], all[offset]);
});

clause("4.list-apps.public", "public or private ones only; all where it is absent", async ({ api }) => {
  const [shared, own] = [await newApp(api), await newApp(api, { public: false })];
  const [all, ofAll, ofNone] = [
    await allApps(api),
    await allApps(api, "&public=true"),
    await allApps(api, "&public=false"),
  ];
  const found = [shared, own].map(({ id }) => [all, ofAll, ofNone].map((ids) => ids.includes(id)));
  assert.deepEqual(found, [
    [true, true, false],
    [true, false, true],
  ]);
});

clause("4.delete-app", "removes the app", async ({ api }) => {
  const { id } = await newApp(api);
  done(await api.delete(`/apps/${id}`));
  assert.equal((await allApps(api)).includes(id), false);
});

clause("4.app-id-segment", "the segment is the app's id", async ({ api }) => {
  const [one, two] = [await newApp(api), await newApp(api)];
  done(await api.delete(`/apps/${one.id}`));
  assert.ok((await allApps(api)).includes(two.id));
  await deploy(api, two.id);
});

clause("4.deploy", "name, custom_domain and environment", async ({ api }) => {
  const { app, event } = await deployed(api);
  assert.equal(event.data.object.id, app.id);
  done(await api.post(`/apps/${app.id}/deploy`, { name: "R2", custom_domain: freshHost(), environment: "staging" }));
});

clause("4.create-data-source", "creates a data source", "ours", async ({ api }) => {
  const source = await api.create("/data-sources", { name: "Orders", type: "json", data: [{ a: 1 }] });
  assert.equal((await api.get(`/data-sources/${source.id}`)).status, 200);
});

clause("4.create-webhook", "url, events, secret and active", async ({ api }) => {
  const webhook = { url: "https://hooks.example.com/in", secret: "s3cret", active: false };
  done(await api.post("/webhooks", { ...webhook, events: ["app.deployed", "user.interaction"] }));
});
