// Spec parts 1 to 4: a client's use of the service as one walk through it; the fields shown for apps, deployments,
// webhooks and accounts, and the one status; the six operations shown, and the query parameters of GET /apps. A
// deployment and an account appear embedded in app.deployed.
import assert from "node:assert/strict";
import { verifySignature } from "../../src/lib/signature.ts";
import { clause } from "../support/clause.ts";
import { freshHost, type Members, str } from "../support/client.ts";
import { EVENT_TYPES } from "../support/fields.ts";
import { notTried, ofApp, WEBHOOK } from "../support/kit.ts";
import { done, ids, isNow, objectIn, succeeded } from "../support/shown.ts";

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

clause(
  "2.app.id",
  "the service assigns each app its own id, which begins with app_",
  async (kit) => {
    const made = [await kit.newApp(), await kit.newApp(), await kit.newApp()];
    for (const { id } of made) assert.match(id, /^app_./);
    assert.equal(new Set(made.map(({ id }) => id)).size, made.length, "one id for two apps");
    const given = await kit.createApp({ id: "app_ofTheClient0000000000" });
    if (succeeded(given)) assert.notEqual(given.id, "app_ofTheClient0000000000");
  },
);

/** The first value must be accepted; an implementation may reject the others. */
for (const [id, field, values] of [
  ["2.app.title", "title", ["Sales", "costs", "Ünïcödé 👋", '<b>"Costs"</b> & more', "0"]],
  [
    "2.app.description",
    "description",
    ["By region", "", "two\nlines\t\\ é 漢字 👋", '<b>"By"</b> & more'],
  ],
  ["2.app.theme", "theme", ["", "light", "dark"]],
  ["2.app.public", "public", [true, false]],
] as const)
  clause(id, `the ${field} of an app is stored and returned as sent`, async (kit) => {
    const sent = field === "theme" ? [kit.profile.app.theme, ...values.slice(1)] : values;
    for (const [at, value] of sent.entries()) {
      const answer = await kit.createApp({ [field]: value });
      if (!succeeded(answer) && at > 0 && field !== "public") continue;
      assert.equal(answer.json[field], value);
      const listed = (await kit.allApps()).find((app) => app.id === answer.id);
      assert.equal(listed?.[field], value, "as it is listed");
    }
  });

for (const id of ["2.app.created_at", "2.app.updated_at"])
  clause(id, `${id.slice(6)} of an app is an ISO 8601 time in UTC`, async (kit) => {
    const field = id.replace(/.*\./, "");
    const app = await kit.newApp();
    isNow(app[field]);
    const listed = (await kit.allApps()).find(({ id }) => id === app.id);
    isNow(listed?.[field]);
  });

/** The specification does not list the request members returned; a member in the response equals the request's. */
for (const [id, says, field, value] of [
  [
    "2.deployment-request.name",
    "a deployment takes any name",
    "name",
    () => `Ünïcödé 👋 ${Date.now()}`,
  ],
  [
    "2.deployment-request.custom_domain",
    "a deployment takes the host name to serve the app under",
    "custom_domain",
    freshHost,
  ],
  [
    "2.deployment-request.environment",
    "a deployment takes its target environment",
    "environment",
    undefined,
  ],
] as const)
  clause(id, says, async (kit) => {
    const app = await kit.newApp();
    for (let made = 0; made < 2; made += 1) {
      const sent = value?.() ?? kit.profile.deployment[field];
      const { [field]: returned } = objectIn((await kit.deploy(app.id, { [field]: sent })).text);
      assert.equal(returned ?? sent, sent);
    }
  });

clause("2.deployment.id", "each deployment has its own id, which begins with dep_", async (kit) => {
  const hook = await kit.hook(["app.deployed"]);
  const ids: string[] = [];
  for (let made = 0; made < 2; made += 1) ids.push(str((await kit.deployNew(hook)).deployment.id));
  for (const id of ids) assert.match(id, /^dep_./);
  assert.notEqual(ids[0], ids[1]);
});

clause(
  "2.deployment.url",
  "the url of a deployment is an absolute http or https address",
  async (kit) => {
    const url = str((await kit.deployed()).deployment.url);
    assert.match(url, /^https?:\/\/[^/\s]+/);
    assert.ok(URL.canParse(url), url);
  },
);

for (const id of ["2.deployment.status", "3.deployment.live"])
  clause(id, "the status of a new deployment is live", async (kit) => {
    assert.equal((await kit.deployed()).deployment.status, "live");
  });

clause("2.deployment.deployed_at", "deployed_at is an ISO 8601 time in UTC", async (kit) => {
  isNow((await kit.deployed()).deployment.deployed_at);
});

clause("2.webhook.url", "each webhook is delivered to its own url", async (kit) => {
  const [one, two] = [await kit.hook(["app.deployed"]), await kit.hook(["app.deployed"])];
  const { app } = await kit.deployNew(one);
  await two.arrived(ofApp(app.id));
});

clause("2.webhook.events", "a webhook receives the event types that it names", async (kit) => {
  const hook = await kit.hook(["app.deployed", "app.deleted"]);
  const { app } = await kit.deployNew(hook);
  await kit.api.delete(`/apps/${app.id}`);
  await hook.arrived(({ event }) => event.type === "app.deleted");
  const types = new Set(hook.got.map(({ event }) => event.type));
  assert.deepEqual([...types].sort(), ["app.deleted", "app.deployed"]);
});

clause("2.webhook.secret", "each webhook's secret signs its own deliveries", async (kit) => {
  const [one, two] = [await kit.hook(["app.deployed"]), await kit.hook(["app.deployed"])];
  const { app, arrival } = await kit.deployNew(one);
  const [other] = await two.arrived(ofApp(app.id));
  for (const [hook, { body, headers } = arrival, signs] of [
    [one, arrival, true],
    [two, other, true],
    [two, arrival, false],
  ] as const)
    assert.equal(verifySignature(body, String(headers["x-service-signature"]), hook.secret), signs);
});

clause("2.webhook.active", "an inactive webhook receives no deliveries", async (kit) => {
  const off = await kit.hook(["app.deployed"], { active: false });
  const on = await kit.hook(["app.deployed"]);
  for (let made = 0; made < 2; made += 1) await kit.deployNew(on);
  return () => assert.equal(off.got.length, 0, "deliveries to a webhook that is not active");
});

clause(
  "2.account",
  "an account in an event has a name and an id that begins with acc_",
  async (kit) => {
    const { id, name } = Object((await kit.deployed()).event.account);
    assert.match(str(id), /^acc_./);
    assert.equal(typeof name, "string");
  },
);

clause("3.app-no-state", "an app has no field for a state", async (kit) => {
  const { id } = await kit.newApp();
  await kit.deploy(id);
  for (const app of [await kit.newApp(), ...(await kit.allApps())])
    for (const name of ["status", "state"])
      assert.ok(!(name in app), `an app has the member ${name}`);
});

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

const FIELDS = "id title description theme public created_at updated_at".split(" ");
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

for (const id of ["1.data-sources", "4.create-data-source"])
  clause(id, "POST /data-sources creates a data source", async ({ api, dataSource }) => {
    const { id } = objectIn(done(await api.post("/data-sources", dataSource)).text);
    const list = await api.get("/data-sources");
    if (typeof id !== "string" || !succeeded(list) || list.text.includes(id)) return;
    // A list may return only its first page.
    assert.ok(succeeded(await api.get(`/data-sources/${id}`)), "it is not among GET /data-sources");
  });

clause(
  "4.create-webhook",
  "creating a webhook takes url, events, secret and active",
  async ({ api }) => {
    for (const events of [EVENT_TYPES, ["app.deployed"]])
      done(await api.post("/webhooks", { ...WEBHOOK, events }));
  },
);
