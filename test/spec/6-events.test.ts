// Spec part 6: deliveries, their recipients, their signature, and which responses are a success; the six event types, the
// envelope and data.object. Success is visible at the webhook: if a delivery with a 500 response is retried, so is every
// failed one, and no successful one. The specification does not show which operations modify an app, accept an
// interaction or process data: known ones are tried, and no others.
// Parts 8 and 9: the defaults of a list, the time limit for a webhook's response, a rate limit, and the version.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { clause, judged } from "../support/clause.ts";
import { type Answer, members, str } from "../support/client.ts";
import type { Arrival } from "../support/hub.ts";
import { type Kit, notTried, ofApp } from "../support/kit.ts";
import { done, ids, isNow, succeeded } from "../support/shown.ts";
import type { Outcome } from "../support/trial.ts";

clause("6.delivery.post", "a POST with a JSON body", async (kit) => {
  const hook = await kit.hook(["app.deployed"]);
  const { id } = await kit.newApp();
  await kit.deploy(id);
  const [arrival] = await hook.arrived(() => true);
  assert.equal(arrival?.method, "POST");
  assert.match(String(arrival?.headers["content-type"]), /^application\/([\w.+-]+\+)?json/);
  assert.equal(members(JSON.parse(String(arrival?.body))).type, "app.deployed");
});

clause(
  "6.delivery.subscribed",
  "to each active webhook that names the type, and to no other",
  async (kit) => {
    const [one, both, other, off] = [
      await kit.hook(["app.deployed"]),
      await kit.hook(["app.deployed", "app.deleted"]),
      await kit.hook(["app.deleted"]),
      await kit.hook(["app.deployed", "app.deleted"], { active: false }),
    ] as const;
    const { app } = await kit.deployNew(one);
    await both.arrived(ofApp(app.id));
    await kit.api.delete(`/apps/${app.id}`);
    for (const hook of [both, other])
      await hook.arrived(({ event }) => event.type === "app.deleted");
    return () => {
      const got = [one, both, other, off].map((hook) =>
        [...new Set(hook.got.map(({ event }) => event.type))].sort(),
      );
      assert.deepEqual(got, [
        ["app.deployed"],
        ["app.deleted", "app.deployed"],
        ["app.deleted"],
        [],
      ]);
    };
  },
);

clause(
  "6.signature",
  "X-Service-Signature: sha256= and the lower-case hexadecimal HMAC-SHA256 of the raw body",
  async (kit) => {
    const hook = await kit.hook(["app.deployed"]);
    const { arrival } = await kit.deployNew(hook, { title: "Ünïcödé 👋 </script> \u2028" });
    for (const { body, headers } of [arrival, ...hook.got]) {
      const hex = createHmac("sha256", hook.secret).update(body).digest("hex");
      assert.equal(headers["x-service-signature"], `sha256=${hex}`);
    }
  },
);

/** The outcome, if failed deliveries are retried; otherwise the clause is skipped. */
function known(outcome: Outcome) {
  if (outcome.retry_ms === undefined)
    notTried(
      "success differs from failure by what is sent again, and what was answered 500 was not within 8 s",
    );
  return outcome;
}

judged("6.success.2xx", "a 2xx is a success", (outcome) => {
  for (const { says, again } of known(outcome).succeeded)
    assert.ok(!again, `sent again after it was answered ${says}`);
});

judged("6.success.2xx-only", "no other status is, and no redirect is followed", (outcome) => {
  assert.equal(outcome.followed, 0, "a redirect was followed");
  for (const { says, again } of known(outcome).failed)
    assert.ok(
      again,
      `answered ${says} and not sent again, as what was answered 500 is: it counts as a success`,
    );
});

judged("6.success.30-seconds", "within 30 seconds, and not later", (outcome) => {
  const [inTime, late] = known(outcome).held;
  assert.ok(inTime?.first?.wasRead, `the sender was gone when it was answered ${inTime?.says}`);
  assert.ok(!inTime.again, `sent again after it was answered ${inTime.says}`);
  if (late)
    assert.ok(late.again, `answered ${late.says} and not sent again: it counts as a success`);
});

const CLICK = {
  user_id: "u1",
  interaction_type: "chart_click",
  chart_id: "c1",
  data_point: { x: "Jan", y: 5, category: "A" },
};

type Cause = (kit: Kit, app: string) => Promise<Answer>;

/** The first of the operations that the implementation has. */
const knownOf =
  (what: string, ...ways: readonly Cause[]): Cause =>
  async (kit, app) => {
    for (const way of ways) {
      const answer = await way(kit, app);
      if (succeeded(answer)) return answer;
    }
    return notTried(`no operation is known that ${what}; the specification shows none`);
  };

/** The operations that cause an event of each type. */
const CAUSES: Readonly<Record<string, Cause>> = {
  "app.created": (kit) => kit.createApp(),
  "app.deployed": (kit, app) => kit.deploy(app),
  "app.deleted": ({ api }, app) => api.delete(`/apps/${app}`),
  "app.updated": knownOf(
    "modifies an app",
    ({ api }, app) => api.patch(`/apps/${app}`, { title: "New" }),
    ({ api, profile }, app) => api.put(`/apps/${app}`, { ...profile.app, title: "New" }),
  ),
  "data.processed": knownOf("has data processed", ({ api, profile }) =>
    api.post("/data-sources", profile.dataSource ?? {}),
  ),
  "user.interaction": knownOf("takes an interaction", ({ api }, app) =>
    api.post(`/apps/${app}/interactions`, CLICK),
  ),
};

/** Creates an app and returns the one event of the type that follows, caused by nothing before. */
async function caused(kit: Kit, type: string) {
  const cause = CAUSES[type] ?? notTried(type);
  const hook = await kit.hook([type]);
  const app = type === "app.created" ? "" : (await kit.newApp()).id;
  const isIt = ({ event }: Arrival) => event.type === type;
  const before = hook.got.length;
  done(await cause(kit, app));
  const [arrival] = await hook.arrived(isIt);
  assert.equal(before, 0, `${type} came before its cause`);
  return { app, event: arrival?.event ?? {}, hook };
}

for (const [id, says, type] of [
  ["6.types.app-created", "a new app", "app.created"],
  ["6.types.app-updated", "a modified app", "app.updated"],
  ["6.types.app-deployed", "a deployed app", "app.deployed"],
  ["6.types.app-deleted", "a deleted app", "app.deleted"],
  ["6.types.user-interaction", "an interaction with an app", "user.interaction"],
] as const)
  clause(id, says, (kit) => caused(kit, type));

/** The specification does not show what processes data, and when. */
clause("6.types.data-processed", "processed data", async (kit) => {
  await caused(kit, "data.processed").catch(({ message }: Error) => notTried(message));
});

clause("6.envelope", "id evt_…, type, created, data.object", async (kit) => {
  const events = [(await caused(kit, "app.created")).event, (await kit.deployed()).event];
  for (const { id, type, created, data } of events) {
    assert.match(str(id), /^evt_./);
    assert.ok(["app.created", "app.deployed"].includes(str(type)));
    isNow(created);
    assert.deepEqual(Object.keys(members(data)), ["object"]);
    members(members(data).object);
  }
  assert.notEqual(events[0]?.id, events[1]?.id);
});

clause("6.envelope.account", "in app.deployed", async (kit) => {
  const { id, name } = members((await kit.deployed()).event.account);
  for (const value of [id, name]) assert.equal(typeof value, "string");
});

clause("6.envelope.account-absent", "not in user.interaction", async (kit) => {
  assert.ok(!("account" in (await caused(kit, "user.interaction")).event));
});

clause("6.data.app-deployed", "app id, title, deployment", async (kit) => {
  const { app, object, deployment } = await kit.deployed();
  assert.deepEqual([object.id, object.title], [app.id, app.title]);
  for (const name of ["id", "url", "status", "deployed_at"])
    assert.notEqual(str(deployment[name]), "", name);
});

clause("6.data.user-interaction", "app, user, type, chart, data point", async (kit) => {
  const { app, event } = await caused(kit, "user.interaction");
  const { app_id, user_id, interaction_type, chart_id, data_point } = members(
    members(event.data).object,
  );
  assert.deepEqual(
    { app_id, user_id, interaction_type, chart_id, data_point },
    { app_id: app, ...CLICK },
  );
});

clause("8.default-limit", "a list returns 20 apps by default", async (kit) => {
  const all = ids(await kit.fillUp(25));
  assert.deepEqual(ids(await kit.appsIn()), all.slice(0, 20));
});

clause("8.default-offset", "a list begins with the first app by default", async (kit) => {
  await kit.fillUp(5);
  const [page, first] = [await kit.appsIn("?limit=5"), await kit.appsIn("?limit=5&offset=0")];
  assert.deepEqual(ids(page), ids(first));
});

const AT_ONCE = 20;
const REQUESTS_MAX = 20_000;

clause("8.rate-limit-403", "a request over the rate limit gets 403", async (kit) => {
  const api = kit.api.as(kit.given("rate-limited-key"));
  for (let asked = 0; asked < REQUESTS_MAX; asked += AT_ONCE) {
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () => api.get("/apps?limit=1")),
    );
    const refused = answers.find(({ status }) => status >= 300);
    if (refused) return refused.is(403);
  }
  assert.fail(`${REQUESTS_MAX} requests were all accepted`);
});

judged(
  "8.answer-time",
  "a webhook endpoint has 30 seconds to respond to a delivery",
  ({ held: [inTime] }) => {
    assert.ok(inTime?.first?.wasRead, `the sender was gone when it was answered ${inTime?.says}`);
  },
);

clause(
  "9.path-segment",
  "the base URL ends with the version segment /v1",
  async ({ api, target }) => {
    assert.match(target["base-url"], /\/v1$/);
    done(await api.get("/apps"));
  },
);
