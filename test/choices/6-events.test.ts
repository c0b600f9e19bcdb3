// Events as recorded with their change and read over GET /events, and their deliveries over the API and in the
// dashboard's live log (spec part 6 shows status, response codes and attempts there, and leaves retries and order open;
// contract, parts 4 and 6).
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { Browser } from "../support/browser.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { type Client, freshHost, type Members, members, str } from "../support/client.ts";
import { assertPage, idIn, owner, secretIn, textOf } from "../support/dashboard.ts";
import { FIXED } from "../support/embedded.ts";
import { ISO_TIME, idOf } from "../support/fields.ts";
import { breaches, resolve } from "../support/json-schema.ts";
import { person } from "../support/oauth.ts";
import { badParameter, invalid, problem } from "../support/problem.ts";
import { hooked, httpReceiver, SECRET } from "../support/receivers.ts";
import { attempted, attemptsOf, delivery, eventually, logOf, settled } from "../support/wait.ts";

const TYPES = [
  "app.created",
  "app.updated",
  "app.deployed",
  "app.deleted",
  "data.processed",
  "user.interaction",
];

/** Runs `act` and returns the events that it caused, in order. */
async function caused(api: Client, act: () => Promise<unknown>): Promise<readonly Members[]> {
  const before = Number((await api.get("/events?limit=1")).json.total);
  await act();
  return (await api.get(`/events?limit=100&offset=${before}`)).items;
}

const objectOf = (event: Members): Members => members(members(event.data).object);
const HOOKS = "/dashboard/settings/webhooks";

/** A URL on which nothing listens. */
const HOOK = { url: "http://127.0.0.1:9/", events: ["app.created"] };
const newApp = (api: Client) =>
  api.create("/apps", { title: "Watched", description: "D", theme: "dark", public: true });

choice(
  "6.events-without-account",
  "each event contains the resource as returned, and every event except a visitor's names the account",
  async ({ api }) => {
    const { id, name } = (await api.get("/account")).json;
    let answered: Members = {};
    const reported = async (type: string, act: () => Promise<Members>) => {
      const [event = {}, ...more] = await caused(api, async () => (answered = await act()));
      assert.deepEqual([event.type, more], [type, []]);
      assert.deepEqual(event.account, type === "user.interaction" ? undefined : { id, name }, type);
      return objectOf(event);
    };
    assert.deepEqual(await reported("app.created", () => newApp(api)), answered);
    const app = `/apps/${answered.id}`;
    assert.deepEqual(
      await reported("app.updated", async () => (await api.patch(app, { title: "New" })).json),
      answered,
    );
    const changed = answered;
    const { deployment } = await reported("app.deployed", () =>
      api.create(`${app}/deploy`, { name: "R" }),
    );
    const { id: deployed, url, status, deployed_at } = answered;
    assert.deepEqual(deployment, { id: deployed, url, status, deployed_at });
    const click = { user_id: "u", interaction_type: "t" };
    await reported(
      "user.interaction",
      async () => (await api.post(`${app}/interactions`, click)).json,
    );
    assert.deepEqual(
      await reported("app.deleted", async () => ({ gone: (await api.delete(app)).status })),
      changed,
    );
  },
);

choice(
  "1.dashboard.events.list",
  "events are listed in order, filtered by type on request, each equal to its own resource",
  async ({ api }) => {
    const app = await newApp(api);
    for (const title of ["One", "Two", "Three"]) await api.patch(`/apps/${app.id}`, { title });
    await newApp(api);
    const { items } = await api.get("/events?type=app.updated&limit=100");
    assert.ok(items.every(({ type }) => type === "app.updated"));
    const titles = items.slice(-3).map((event) => objectOf(event).title);
    assert.deepEqual(titles, ["One", "Two", "Three"]);
    const last = members(items.at(-1));
    assert.deepEqual((await api.get(`/events/${last.id}`)).json, last);
    assert.match(
      `${last.id} ${last.created}`,
      /^evt_[0-9A-Za-z]{20,} \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    );
    for (const type of ["app.renamed", "", "APP.CREATED", "__proto__"])
      badParameter(await api.get(`/events?type=${type}`), "type");
  },
);

choice(
  "6.emitted-by.same-commit",
  "each change emits one event, and a rejected request none",
  async ({ api }) => {
    const custom_domain = freshHost();
    const [mine, other] = [await newApp(api), await newApp(api)];
    await api.create(`/apps/${mine.id}/deploy`, { name: "R", custom_domain });
    const found = await caused(api, async () => {
      await api.post("/apps", { title: "" });
      await api.patch(`/apps/${mine.id}`, { title: mine.title });
      await api.patch(`/apps/${mine.id}`, { title: "T" }, { "if-match": '"old"' });
      await api.post(`/apps/${other.id}/deploy`, { name: "R", custom_domain });
      await api.delete("/apps/app_00000000000000000000000");
      await api.post(`/apps/${mine.id}/interactions`, {});
    });
    assert.deepEqual(found, []);
    const titles = Array.from({ length: 20 }, (_, at) => `Title ${at}`);
    const rename = (title: string) => api.patch(`/apps/${mine.id}`, { title });
    const renamed = await caused(api, () => Promise.all(titles.map(rename)));
    assert.deepEqual(renamed.map((event) => objectOf(event).title).sort(), [...titles].sort());
    const last = objectOf(members(renamed.at(-1)));
    assert.deepEqual(
      (await api.get(`/apps/${mine.id}`)).json,
      last,
      "the last event has the final state",
    );
  },
);

choice(
  "6.retry-schedule.headers",
  "delivery headers carry the type, the delivery, the attempt and a standard signature",
  async ({ api }) => {
    const { next, webhook } = await hooked(api, ["app.created"]);
    await newApp(api);
    const { id, rawBody, attempts } = await next("app.created");
    const sent = await settled(api, webhook);
    const headers = attempts[0]?.headers ?? {};
    assert.match(String(headers["user-agent"]), /^AppHostingService\/\d/);
    const time = String(headers["webhook-timestamp"]);
    const hmac = createHmac("sha256", Buffer.from(SECRET))
      .update(`${id}.${time}.${rawBody}`)
      .digest("base64");
    const expected = {
      "x-service-event": "app.created",
      "x-service-delivery": sent.id,
      "x-service-attempt": "1",
      "webhook-id": id,
      "webhook-signature": `v1,${hmac}`,
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value, name);
  },
);

for (const [options, title] of [
  [MANUAL, "a delivery's timestamp is the real time of sending, whatever the clock says"],
  [
    { ...MANUAL, randomSeed: "repeat" },
    "with a random seed a delivery's timestamp is the service clock's, so that runs are reproducible",
  ],
] as const)
  choice("6.retry-schedule.timestamp", title, options, async ({ api, service }) => {
    const { next, webhook } = await hooked(api, ["app.created"], {}, [500, 200]);
    await newApp(api);
    await service.settled();
    await service.clock.advance("7d");
    const { attempts } = await next("app.created");
    const sent_s = attempts.map(({ headers }) => Number(headers["webhook-timestamp"]));
    const logged = await settled(api, webhook);
    const serviceTimes_s = attemptsOf(logged).map(({ at }) =>
      Math.floor(Date.parse(str(at)) / 1_000),
    );
    assert.equal(sent_s.length, 2);
    if ("randomSeed" in options) assert.deepEqual(sent_s, serviceTimes_s);
    else for (const time_s of sent_s) assert.ok(Math.abs(Date.now() / 1_000 - time_s) < 60);
    assert.equal("timestamps_s" in logged, false);
  });

choice(
  "4.webhook-endpoints.delivery-log",
  "a delivery has nine fields, and an attempt eight",
  async ({ api }) => {
    const { webhook } = await hooked(api, ["app.created"], {}, [300]);
    const app = await newApp(api);
    const found = await attempted(api, webhook);
    const { id, created_at, next_attempt_at, attempts, event_id, ...rest } = found;
    assert.match(str(id), idOf("dlv"));
    assert.match(str(event_id), idOf("evt"));
    assert.deepEqual(rest, {
      webhook_id: webhook.id,
      event_type: "app.created",
      status: "pending",
    });
    const { at, duration_ms, ...shown } = members(attemptsOf(found)[0]);
    assert.deepEqual(shown, {
      number: 1,
      trigger: "schedule",
      response_status: 300,
      response_body: "",
      error: "status",
      error_detail: "Redirects are not followed. Use the final address as the webhook's URL.",
    });
    assert.ok(Number.isInteger(duration_ms) && Number(duration_ms) >= 0);
    for (const time of [at, created_at, next_attempt_at]) assert.match(str(time), ISO_TIME);
    assert.ok(str(at) >= str(created_at) && str(next_attempt_at) > str(at));
    assert.equal(
      members(members((await api.get(`/events/${event_id}`)).json.data).object).id,
      app.id,
    );
    assert.deepEqual((await api.get(`/webhooks/${webhook.id}/deliveries/${id}`)).json, found);
    await api.delete(`/webhooks/${webhook.id}`);
    for (const end of ["", `/${id}`])
      problem(await api.get(`/webhooks/${webhook.id}/deliveries${end}`), "not_found");
  },
);

choice(
  "4.webhook-endpoints.deliveries",
  "the delivery log is paged like every list and can be filtered by status",
  async ({ api }) => {
    const [webhook, other] = [
      await api.create("/webhooks", HOOK),
      await api.create("/webhooks", HOOK),
    ];
    const path = `/webhooks/${webhook.id}/deliveries`;
    await api.post(path.replace("deliveries", "test"), { type: "data.processed" });
    const found = await settled(api, webhook);
    assert.deepEqual([found.status, found.next_attempt_at], ["failed", null]);
    const [{ trigger, response_status, response_body, error } = {}] = attemptsOf(found);
    assert.deepEqual(
      [trigger, response_status, response_body, error],
      ["manual", null, null, "refused"],
    );
    const page = await (await owner(api)).open(`${HOOKS}/${webhook.id}/deliveries/${found.id}`);
    assert.match(
      textOf(page),
      /Response refused Nothing listens at the host and port of the URL\. Start the receiver/,
    );
    const all = await api.get(path);
    assert.deepEqual([all.json.total, all.items], [1, [found]]);
    for (const status of ["pending", "succeeded", "cancelled", "failed"])
      assert.deepEqual(
        await logOf(api, webhook, `?status=${status}`),
        status === "failed" ? [found] : [],
        status,
      );
    for (const status of ["", "FAILED", "Failed", "done", "lost", "live", "__proto__"])
      badParameter(await api.get(`${path}?status=${status}`), "status");
    badParameter(await api.get(`${path}?limit=0&type=x`), "limit", "type");
    const missing = `${path}/dlv_00000000000000000000000`;
    for (const at of [`/webhooks/${other.id}/deliveries/${found.id}`, missing])
      problem(await api.get(at), "not_found");
    problem(await api.post(`${missing}/redeliver`), "not_found");
    assert.equal(
      (await api.post(`${path}/${found.id}/redeliver`)).status,
      202,
      "one that is over goes once more",
    );
    await delivery(api, webhook, (each) => attemptsOf(each).length === 2);
  },
);

choice(
  "4.webhook-endpoints.delivery-request",
  "a sample of each event type can be sent, even to a disabled webhook",
  async (own) => {
    const { api, document } = own;
    const { next, received, webhook } = await hooked(api, ["app.created"], { active: false });
    await newApp(api);
    const before = (await api.get("/events?limit=1")).json.total;
    for (const type of TYPES) {
      const answer = await api.post(`/webhooks/${webhook.id}/test`, { type });
      assert.deepEqual([answer.status, answer.json.event_type], [202, type]);
      problem(await api.get(`/events/${answer.json.event_id}`), "not_found");
    }
    await next("user.interaction");
    const sent = received.map(({ type, attempts }) => [
      type,
      attempts[0]?.headers["x-service-event"],
    ]);
    const twice = TYPES.map((type) => [type, type]);
    assert.deepEqual(sent, twice);
    for (const { type, event } of received) {
      const schema = resolve(
        document.document,
        `#/webhooks/${type}/post/requestBody/content/application~1json/schema`,
      );
      assert.deepEqual(
        breaches(event, schema, document.document),
        [],
        `${type} is what the description says of it`,
      );
    }
    const bodies = received.map(({ rawBody }) => rawBody).join("\n");
    assert.match(bodies, /"deployment":\{"id":"dep_\w{20,}","url":"https:/);
    assert.doesNotMatch(bodies, /""/, "they say something everywhere");
    assert.equal((await api.get("/events?limit=1")).json.total, before, "they are listed nowhere");
    assert.equal(
      (await logOf(api, webhook)).length,
      TYPES.length,
      "of what happens while it is off there is none",
    );
    for (const body of [{ type: "app.exploded" }, {}])
      invalid(await api.post(`/webhooks/${webhook.id}/test`, body), "#/type");
  },
);

choice(
  "4.webhook-endpoints.redelivery",
  "a redelivery is one manual attempt, and its success settles the delivery",
  MANUAL,
  async (own) => {
    const { api, service } = own;
    const { webhook, received } = await hooked(api, ["app.created"], {}, [500, 200]);
    await newApp(api);
    const { id } = await attempted(api, webhook);
    const asked = await api.post(`/webhooks/${webhook.id}/deliveries/${id}/redeliver`);
    assert.deepEqual([asked.status, asked.id], [202, id]);
    const done = await settled(api, webhook);
    assert.deepEqual([done.status, done.next_attempt_at], ["succeeded", null]);
    const triggers = attemptsOf(done).map(({ number, trigger }) => `${number} ${trigger}`);
    assert.deepEqual(triggers, ["1 schedule", "2 manual"]);
    for (const { what } of await service.clock.advance("5d"))
      assert.doesNotMatch(what, /deliveries/);
    assert.equal(received[0]?.attempts.length, 2);
  },
);

choice(
  "4.webhook-endpoints.redelivery",
  "a redelivery to a disabled webhook changes nothing",
  async ({ api, service }) => {
    for (const [answer, status] of [
      [200, "succeeded"],
      [410, "failed"], // which disables the webhook
    ] as const) {
      const { received, webhook } = await hooked(api, ["app.created"], {}, [answer]);
      await newApp(api);
      const sent = await settled(api, webhook);
      assert.equal(sent.status, status);
      await api.patch(`/webhooks/${webhook.id}`, { active: false });
      const asked = await api.post(`/webhooks/${webhook.id}/deliveries/${sent.id}/redeliver`);
      assert.deepEqual(
        [asked.status, asked.json],
        [202, sent],
        "nothing is promised that will not be",
      );
      await service.settled();
      assert.deepEqual(await settled(api, webhook), sent);
      assert.equal(received[0]?.attempts.length, 1);
    }
  },
);

/** Returns the page as soon as it contains this text. */
const until = (browser: Browser, path: string, says: RegExp) =>
  eventually(async () => {
    const page = await browser.open(path);
    return says.test(textOf(page)) && page;
  });

const SIGNED = [
  "X-Service-Signature",
  "X-Service-Attempt",
  "webhook-signature",
  "webhook-timestamp",
];

choice(
  "1.dashboard.live-log",
  "the delivery log shows status, response code and attempts, and can redeliver",
  FIXED,
  async ({ api, service }) => {
    const receiver = await httpReceiver((count, response) => {
      if (count === 1) response.writeHead(503);
      return void response.end(count === 1 ? "<down>" : "thanks");
    });
    const browser = await owner(api);
    const created = await browser.fillIn(`${HOOKS}/new`, {
      url: receiver.url,
      "events.app.created": "on",
      active: "on",
    });
    assertPage(created, 201);
    assert.match(secretIn(created), /^whsec_\w{40}$/);
    const path = `${HOOKS}/${idIn(created, "wh")}`;
    const shows = async (pattern: RegExp, query = "") =>
      assert.match(textOf(await browser.open(path + query)), pattern);
    await shows(/Deliveries: none yet/);
    await api.create("/apps", { title: "Watched app" });
    const pending =
      /app\.created Status: pending Response: 503 Attempts: 1 Next attempt: 2026-01-01 00:00:0[456] UTC/;
    const one = `${path}/deliveries/${idIn(await until(browser, path, pending), "dlv")}`;
    await service.clock.advance("10s");
    const page = await browser.open(one);
    const text = assertPage(page);
    assert.match(text, /Attempt 2 .* 200 thanks .*Attempt 1 .* 503 <down>/);
    assert.ok(page.text.includes(`/events/${receiver.got[0]?.headers["webhook-id"]}`));
    for (const { body, headers } of receiver.got)
      for (const part of [body, ...SIGNED.map((name) => `${name}: ${headers[name.toLowerCase()]}`)])
        assert.ok(text.includes(part), `${part} of ${text}`);
    await browser.submit(page, `${one}/redeliver`, {});
    await until(browser, path, /Status: succeeded Response: 200 Attempts: 3/);
    assert.match(textOf(await browser.open(one)), /Attempt 3 \(manual\) .* 200 thanks/);
    await shows(/Deliveries: none yet/, "?status=failed");
    await shows(/app\.created Status/, "?status=succeeded");
    await browser.fillIn(`${path}/test`, { type: "app.deleted" });
    await until(browser, path, /app\.deleted Status: succeeded Response: 200/);
    const { browser: reader } = await person(api, ["read:apps"]);
    assertPage(await reader.open(path), 403);
  },
);

choice(
  "1.dashboard.live-log",
  "a webhook can be updated and deleted by forms",
  MANUAL,
  async ({ api }) => {
    const { id } = await api.create("/webhooks", HOOK);
    const browser = await owner(api);
    const path = `${HOOKS}/${id}`;
    const edit = await browser.open(`${path}/edit`);
    await browser.submit(edit, `${path}/edit`, { url: HOOK.url, "events.app.deleted": "on" });
    assert.match(textOf(await browser.open(path)), /Events app\.deleted Active no/);
    assertPage(await browser.submit(edit, `${path}/edit`, { url: "http://10.0.0.1/" }), 422);
    await browser.fillIn(`${path}/delete`);
    assert.equal((await browser.open(path)).status, 404);
  },
);
