// Events as recorded with their change and read over GET /events, and their deliveries over the API and in the
// dashboard's live log (spec part 6 shows status, response codes and attempts there, and leaves retries and order open).
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import {
  assertPage,
  attempted,
  attemptsOf,
  badParameter,
  begins,
  breaches,
  type Client,
  choice,
  contains,
  delivery,
  EVENT_TYPES,
  FIXED,
  freshHost,
  hooked,
  ISO_TIME,
  idOf,
  invalid,
  logOf,
  MANUAL,
  type Members,
  members,
  owner,
  problem,
  resolve,
  SECRET,
  settled,
  str,
  textOf,
} from "../support/index.ts";

/** Runs `act` and returns the events that it caused, in order. */
async function caused(api: Client, act: () => Promise<unknown>) {
  const before = (await api.get("/events?limit=1")).total;
  await act();
  return (await api.get(`/events?limit=100&offset=${before}`)).items;
}

const objectOf = (event: Members) => members(members(event.data).object);
const HOOKS = "/dashboard/settings/webhooks";

const newApp = (api: Client) =>
  api.create("/apps", { title: "Watched", description: "D", theme: "dark", public: true });

choice(
  "6.events-without-account: each event contains the resource as returned, and every event except a visitor's names the account",
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
  "1.dashboard.events.list: events are listed in order, filtered by type on request, each equal to its own resource",
  async ({ api }) => {
    const app = await newApp(api);
    for (const title of ["One", "Two"]) await api.patch(`/apps/${app.id}`, { title });
    await newApp(api);
    const { items } = await api.get("/events?type=app.updated&limit=100");
    assert.ok(items.every(({ type }) => type === "app.updated"));
    assert.deepEqual(
      items.slice(-2).map((event) => objectOf(event).title),
      ["One", "Two"],
    );
    const last = members(items.at(-1));
    assert.deepEqual((await api.get(`/events/${last.id}`)).json, last);
    assert.match(str(last.id), idOf("evt"));
    assert.match(str(last.created), ISO_TIME);
    for (const type of ["app.renamed", "", "APP.CREATED"])
      badParameter(await api.get(`/events?type=${type}`), "type");
  },
);

choice(
  "6.emitted-by.same-commit: each change emits one event, and a rejected request none",
  async ({ api }) => {
    const custom_domain = freshHost();
    const [mine, other] = [await newApp(api), await newApp(api)];
    await api.deploy(mine.id, { custom_domain });
    const found = await caused(api, async () => {
      await api.post("/apps", { title: "" });
      await api.patch(`/apps/${mine.id}`, { title: mine.title });
      await api.patch(`/apps/${mine.id}`, { title: "T" }, { "if-match": '"old"' });
      await api.post(`/apps/${other.id}/deploy`, { name: "R", custom_domain });
      await api.delete("/apps/app_00000000000000000000000");
      await api.post(`/apps/${mine.id}/interactions`, {});
    });
    assert.deepEqual(found, []);
    const rename = (title: string) => api.patch(`/apps/${mine.id}`, { title });
    const updates = await caused(api, () => Promise.all(["A", "B", "C"].map(rename)));
    const renamed = updates.map(objectOf);
    assert.deepEqual(renamed.map(({ title }) => title).sort(), ["A", "B", "C"]);
    assert.deepEqual((await api.get(`/apps/${mine.id}`)).json, renamed.at(-1), "the final state");
  },
);

choice(
  "6.retry-schedule.headers: delivery headers carry the type, the delivery, the attempt and a standard signature",
  async ({ api }) => {
    const { next, webhook } = await hooked(api, ["app.created"]);
    await newApp(api);
    const { id, rawBody, attempts } = await next("app.created");
    const headers = attempts[0]?.headers ?? {};
    const time = headers["webhook-timestamp"];
    const hmac = createHmac("sha256", SECRET).update(`${id}.${time}.${rawBody}`).digest("base64");
    assert.match(String(headers["user-agent"]), /^AppHostingService\/\d/);
    for (const [name, value] of Object.entries({
      "x-service-event": "app.created",
      "x-service-delivery": (await settled(api, webhook)).id,
      "x-service-attempt": "1",
      "webhook-id": id,
      "webhook-signature": `v1,${hmac}`,
    }))
      assert.equal(headers[name], value, name);
  },
);

for (const [options, title] of [
  [MANUAL, "a delivery's timestamp is the real time of sending, whatever the clock says"],
  [
    { ...MANUAL, randomSeed: "repeat" },
    "with a random seed a delivery's timestamp is the service clock's, so that runs are reproducible",
  ],
] as const)
  choice(`6.retry-schedule.timestamp: ${title}`, options, async ({ api, service }) => {
    const { next } = await hooked(api, ["app.created"], {}, [500, 200]);
    await newApp(api);
    await service.settled();
    await service.clock.advance("7d");
    const { attempts } = await next("app.created");
    const times_s = attempts.map(({ headers }) => Number(headers["webhook-timestamp"]));
    const logged_s = service.deliveries.flatMap((each) =>
      each.attempts.map(({ at }) => Math.floor(Date.parse(at) / 1_000)),
    );
    assert.equal(times_s.length, 2);
    if ("randomSeed" in options) assert.deepEqual(times_s, logged_s);
    else for (const time_s of times_s) assert.ok(Math.abs(Date.now() / 1_000 - time_s) < 60);
  });

choice(
  "4.webhook-endpoints.delivery-log: a delivery has nine fields, and an attempt eight",
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
      error_detail: null,
    });
    assert.ok(Number.isInteger(duration_ms) && Number(duration_ms) >= 0);
    for (const time of [at, created_at, next_attempt_at]) assert.match(str(time), ISO_TIME);
    assert.ok(str(at) >= str(created_at) && str(next_attempt_at) > str(at));
    assert.equal(objectOf((await api.get(`/events/${event_id}`)).json).id, app.id);
    assert.deepEqual((await api.get(`/webhooks/${webhook.id}/deliveries/${id}`)).json, found);
    await api.delete(`/webhooks/${webhook.id}`);
    for (const end of ["", `/${id}`])
      problem(await api.get(`/webhooks/${webhook.id}/deliveries${end}`), "not_found");
  },
);

choice(
  "4.webhook-endpoints.deliveries: the delivery log is paged like every list and can be filtered by status",
  async ({ api }) => {
    const webhook = await api.newWebhook();
    const other = await api.newWebhook();
    const path = `/webhooks/${webhook.id}/deliveries`;
    await api.post(`/webhooks/${webhook.id}/test`, { type: "data.processed" });
    const found = await settled(api, webhook);
    assert.deepEqual([found.status, found.next_attempt_at], ["failed", null]);
    const [{ trigger, response_status, response_body, error, error_detail } = {}] =
      attemptsOf(found);
    assert.deepEqual(
      [trigger, response_status, response_body, error],
      ["manual", null, null, "refused"],
    );
    begins(error_detail, "ECONNREFUSED: … Start the receiver");
    const all = await api.get(path);
    assert.deepEqual([all.total, all.items], [1, [found]]);
    assert.deepEqual(await logOf(api, webhook, "?status=failed"), [found]);
    assert.deepEqual(await logOf(api, webhook, "?status=pending"), []);
    for (const status of ["", "FAILED", "lost"])
      badParameter(await api.get(`${path}?status=${status}`), "status");
    badParameter(await api.get(`${path}?limit=0&type=x`), "limit", "type");
    problem(await api.get(`/webhooks/${other.id}/deliveries/${found.id}`), "not_found");
    problem(await api.post(`${path}/dlv_00000000000000000000000/redeliver`), "not_found");
    (await api.post(`${path}/${found.id}/redeliver`)).is(202);
    await delivery(api, webhook, (each) => attemptsOf(each).length === 2);
  },
);

choice(
  "4.webhook-endpoints.delivery-request: a sample of each event type can be sent, even to a disabled webhook",
  async ({ api, document }) => {
    const { next, received, webhook } = await hooked(api, ["app.created"], { active: false });
    await newApp(api);
    const before = (await api.get("/events?limit=1")).total;
    for (const type of EVENT_TYPES) {
      const answer = await api.post(`/webhooks/${webhook.id}/test`, { type });
      assert.deepEqual([answer.status, answer.json.event_type], [202, type]);
      problem(await api.get(`/events/${answer.json.event_id}`), "not_found");
    }
    await next("user.interaction");
    assert.deepEqual(
      received.map(({ attempts }) => attempts[0]?.headers["x-service-event"]),
      EVENT_TYPES,
    );
    for (const { type, event } of received) {
      const pointer = `#/webhooks/${type}/post/requestBody/content/application~1json/schema`;
      const schema = resolve(document.document, pointer);
      assert.deepEqual(breaches(event, schema, document.document), [], `the schema of ${type}`);
    }
    assert.equal((await api.get("/events?limit=1")).total, before, "none is listed");
    assert.equal((await logOf(api, webhook)).length, EVENT_TYPES.length, "no real event is sent");
    for (const body of [{ type: "app.exploded" }, {}])
      invalid(await api.post(`/webhooks/${webhook.id}/test`, body), "#/type");
  },
);

choice(
  "4.webhook-endpoints.redelivery: a redelivery is one manual attempt, and its success settles the delivery",
  MANUAL,
  async ({ api, service }) => {
    const { webhook, received } = await hooked(api, ["app.created"], {}, [500, 200]);
    await newApp(api);
    const { id } = await attempted(api, webhook);
    const redelivery = await api.post(`/webhooks/${webhook.id}/deliveries/${id}/redeliver`);
    assert.deepEqual([redelivery.status, redelivery.id], [202, id]);
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
  "4.webhook-endpoints.redelivery: a redelivery to a disabled webhook changes nothing",
  async ({ api, service }) => {
    const { received, webhook } = await hooked(api, ["app.created"], {}, [410]);
    await newApp(api);
    const sent = await settled(api, webhook);
    assert.equal(sent.status, "failed");
    const redelivery = await api.post(`/webhooks/${webhook.id}/deliveries/${sent.id}/redeliver`);
    assert.deepEqual([redelivery.status, redelivery.json], [202, sent]);
    await service.settled();
    assert.deepEqual(await settled(api, webhook), sent);
    assert.equal(received[0]?.attempts.length, 1);
  },
);

choice(
  "1.dashboard.live-log: the delivery log shows each attempt with its request, its response and the next one due, and can redeliver",
  FIXED,
  async ({ api, service }) => {
    const { webhook, received } = await hooked(api, ["app.created"], {}, [503, 200]);
    const browser = await owner(api);
    const path = `${HOOKS}/${webhook.id}`;
    const read = async (at: string) => textOf(await browser.open(at));
    await newApp(api);
    await service.settled();
    const { id } = await attempted(api, webhook);
    const page = `${path}/deliveries/${id}`;
    contains(await read(path), "Delivery … app.created … Retrying 503 1 2026-01-01");
    const failed = await browser.open(page);
    assertPage(failed);
    contains(textOf(failed), "Not delivered yet: 503 …Attempt 1: 503 …Request …Response ");
    assert.match(textOf(failed), /The next attempt is due 2026-01-01 00:00:0[456] UTC/);
    assertPage(await browser.submit(failed, `${page}/redeliver`, {}));
    await service.settled();
    const shown = await read(page);
    contains(shown, "Delivered on attempt 2: 200 …Attempt 2 (manual): 200 …Attempt 1: 503 ");
    contains(shown, "Succeeded …What happens next Nothing, because it has arrived");
    const attempts = received[0]?.attempts ?? [];
    assert.equal(attempts.length, 2);
    for (const { rawBody, headers } of attempts)
      for (const part of [rawBody, headers["x-service-signature"], headers["webhook-timestamp"]])
        contains(shown, String(part));
    const isListed = async (status: string) =>
      (await browser.open(`${path}?status=${status}`)).text.includes(page);
    assert.deepEqual([await isListed("failed"), await isListed("succeeded")], [false, true]);
  },
);

choice(
  "1.dashboard.live-log: the page of a delivery says why it did not arrive and what happens next",
  FIXED,
  async ({ api, service }) => {
    const browser = await owner(api);
    const { webhook } = await hooked(api, ["app.updated"], {}, [410]);
    const refused = await api.newWebhook();
    const sendTest = async (id: string) =>
      str((await api.post(`/webhooks/${id}/test`, { type: "app.created" })).json.id);
    const read = async (hookId: string, id: string) => {
      await service.settled();
      return assertPage(await browser.open(`${HOOKS}/${hookId}/deliveries/${id}`));
    };
    assert.match(
      await read(refused.id, await sendTest(refused.id)),
      /Failed Not delivered: No response \(refused\)\. \S+ The connection was refused.*next Nothing: a test is sent once\. Correct the receiver/,
    );
    const app = await newApp(api);
    await service.settled();
    const id = str((await logOf(api, refused)).at(-1)?.id);
    await api.patch(`/webhooks/${refused.id}`, { active: false });
    contains(await read(refused.id, id), "Cancelled Not delivered: …the webhook is disabled");
    await api.patch(`/apps/${app.id}`, { title: "It’s 'quoted'" });
    const gone = await attempted(api, webhook);
    const page = await read(str(webhook.id), str(gone.id));
    contains(page, "Not delivered: 410 Gone.…the webhook is disabled");
    contains(page, String.raw`"title":"It’s '\''quoted'\''"`);
  },
);
