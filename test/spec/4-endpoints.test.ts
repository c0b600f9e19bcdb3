// Spec part 4: the six operations shown, and the query parameters of GET /apps.
import assert from "node:assert/strict";
import { clause } from "../support/clause.ts";
import { freshHost, type Members } from "../support/client.ts";
import { EVENT_TYPES } from "../support/fields.ts";
import { done, ids, isNow, objectIn, succeeded } from "../support/shown.ts";

const APP = {
  title: "Sales of Ünïcödé 👋",
  description: 'By "region"\n2 %',
  public: true,
} as const;

clause("4.paths", "the six operations of the specification exist", async (kit) => {
  const { id } = await kit.newApp();
  for (const [method, path, body] of kit.operations(id)) {
    const { status } = await kit.api.call(method, path, body);
    assert.ok(
      status < 500 && ![401, 403, 404, 405].includes(status),
      `${method} ${path}: ${status}`,
    );
  }
});

clause(
  "4.create-app",
  "creating an app takes title, description, theme and public, and returns the seven fields",
  async (kit) => {
    for (const shared of [true, false]) {
      const sent = { ...kit.profile.app, ...APP, public: shared };
      const { id, created_at, updated_at, ...app } = await kit.newApp(sent);
      for (const [name, value] of Object.entries(sent)) assert.deepEqual(app[name], value, name);
      assert.notEqual(id, "");
      for (const time of [created_at, updated_at]) isNow(time);
    }
  },
);

const FIELDS = [
  "id",
  "title",
  "description",
  "theme",
  "public",
  "created_at",
  "updated_at",
] as const;
/** The fields shown for an app; additional fields of an implementation may change by themselves. */
const shown = (app: Members = {}) => FIELDS.map((name) => app[name]);

clause("4.list-apps", "listing apps returns each app once, as it was created", async (kit) => {
  const made = await kit.newApp(APP);
  const [listed, ...more] = (await kit.allApps()).filter(({ id }) => id === made.id);
  assert.deepEqual([shown(listed), more.length], [shown(made), 0]);
  const [first, again] = [await kit.appsIn("?limit=3"), await kit.appsIn("?limit=3")];
  assert.deepEqual(again.map(shown), first.map(shown), "asking changes nothing");
});

clause("4.list-apps.limit", "limit is the number of apps to return", async (kit) => {
  await kit.fillUp(25);
  for (const limit of [1, 2, 19, 20])
    assert.equal((await kit.appsIn(`?limit=${limit}`)).length, limit, `limit=${limit}`);
});

clause("4.list-apps.offset", "offset is the number of apps to skip", async (kit) => {
  const all = ids(await kit.fillUp(25));
  assert.equal(new Set(all).size, all.length, "page by page, each app comes once");
  for (const offset of [0, 1, 7, 24]) {
    const page = ids(await kit.appsIn(`?limit=5&offset=${offset}`));
    assert.deepEqual(page, all.slice(offset, offset + 5), `offset=${offset}`);
  }
  assert.deepEqual(ids(await kit.appsIn(`?offset=${all.length}`)), []);
});

clause(
  "4.list-apps.public",
  "public restricts the list to public or private apps; without it all are listed",
  async (kit) => {
    const made = [await kit.newApp({ public: true }), await kit.newApp({ public: false })];
    for (const [filter, expected] of [
      ["", [true, true]],
      ["&public=true", [true, false]],
      ["&public=false", [false, true]],
    ] as const) {
      const all = await kit.allApps(filter);
      const listed = made.map(({ id }) => ids(all).includes(id));
      assert.deepEqual(listed, expected, `public and private with "${filter}"`);
      const others = all.filter((app) => filter !== "" && !filter.endsWith(String(app.public)));
      assert.deepEqual(others, [], filter);
    }
  },
);

clause("4.delete-app", "deleting an app deletes that app and no other", async (kit) => {
  const [gone, kept] = [await kit.newApp(), await kit.newApp()];
  done(await kit.api.delete(`/apps/${gone.id}`));
  const left = ids(await kit.allApps());
  assert.deepEqual([left.includes(gone.id), left.includes(kept.id)], [false, true]);
});

clause(
  "4.app-id-segment",
  "the path segment of an app is the id of an existing app",
  async (kit) => {
    const [one, two] = [await kit.newApp(), await kit.newApp()];
    const before = (await kit.allApps()).length;
    await kit.api.delete("/apps/app_unknown0000000000000000");
    assert.equal((await kit.allApps()).length, before, "an unknown id deletes nothing");
    done(await kit.api.delete(`/apps/${one.id}`));
    await kit.deploy(two.id);
    for (const id of ["app_unknown0000000000000000", one.id])
      assert.ok(!succeeded(await kit.tryDeploy(id)), `${id} was deployed, which does not exist`);
  },
);

clause("4.deploy", "deploying takes name, custom_domain and environment", async (kit) => {
  const { id } = await kit.newApp();
  const { environment = "production" } = kit.profile.deployment;
  for (const name of ["R1", "R2"])
    await kit.deploy(id, { name, custom_domain: freshHost(), environment });
});

clause(
  "4.create-data-source",
  "POST /data-sources creates a data source",
  async ({ api, dataSource }) => {
    const { id } = objectIn(done(await api.post("/data-sources", dataSource)).text);
    const list = await api.get("/data-sources");
    if (typeof id !== "string" || !succeeded(list) || list.text.includes(id)) return;
    // A list may return only its first page.
    assert.ok(succeeded(await api.get(`/data-sources/${id}`)), "it is not among GET /data-sources");
  },
);

clause(
  "4.create-webhook",
  "creating a webhook takes url, events, secret and active",
  async ({ api }) => {
    const webhook = { url: "https://hooks.example.com/in", secret: "s3cret", active: false };
    for (const events of [EVENT_TYPES, ["app.deployed"]])
      done(await api.post("/webhooks", { ...webhook, events }));
  },
);
