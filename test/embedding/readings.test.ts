// Variants selected with `--reading` or `readings`. Each changes only its own behaviour, and only for its own service.
// With all of them enabled, a client's usual calls work and each response matches the OpenAPI document.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_VARIANTS } from "../../src/index.ts";
import { dashboardRoutes } from "../../src/web/dashboard/dashboard.ts";
import { Browser } from "../support/browser.ts";
import { type Answer, Client, members } from "../support/client.ts";
import { assertPage, idIn, textOf } from "../support/dashboard.ts";
import { described, type Embedded, embedded, startRefused } from "../support/embedded.ts";
import { type ServerProcess, serving } from "../support/process.ts";
import { httpReceiver } from "../support/receivers.ts";
import { eventually, promised } from "../support/wait.ts";
import { fill, makeWorld } from "../support/world.ts";

const APP = { title: "T", description: "", theme: "light", public: false };
const FORM = { ...APP, public: "on" };
const POINT = { user_id: "u", interaction_type: "click", data_point: { x: 1, z: 1 } };
const SOURCE = { name: "S", type: "json", data: [], rows: 1 };

const ok = ({ status }: Answer) => status < 400;

/** Returns how many of three events are sent to one webhook before the first gets a response. */
async function atOnce({ api }: Embedded): Promise<number> {
  const { kept: answered, keep: answer } = promised();
  const receiver = await httpReceiver((_, response) => void answered.then(() => response.end()));
  await api.post("/webhooks", { url: receiver.url, events: ["app.updated"] });
  const { id } = await api.post("/apps", APP);
  for (const title of ["A", "B", "C"]) await api.patch(`/apps/${id}`, { title });
  await eventually(async () => receiver.got[0]);
  for (let turn = 0; turn < 5; turn += 1) await api.get("/account");
  const sent = receiver.got.length;
  answer();
  await eventually(async () => receiver.got[2]);
  return sent;
}

async function deleted({ api }: Embedded): Promise<Answer & { readonly gone: string }> {
  const { id } = await api.post("/apps", APP);
  return Object.assign(await api.delete(`/apps/${id}`), { gone: id });
}

type Shows = readonly [look: (own: Embedded) => Promise<unknown>, is: unknown, or: unknown];

/** For each reading: the check, its result without the reading, and its result with the reading. */
const SHOWN: { readonly [I in keyof typeof ALL_VARIANTS]: Shows } = {
  "2.app-fields": [async ({ api }) => ok(await api.post("/apps", { title: "T" })), true, false],
  "4.list-shape": [
    async ({ api }) => {
      const { value, headers } = await api.get("/apps");
      return [Array.isArray(value), "x-total-count" in headers];
    },
    [false, false],
    [true, true],
  ],
  "4.delete-response": [
    async (own) => {
      const { status, text, gone, headers } = await deleted(own);
      return [status, headers["content-type"], text !== "" && JSON.parse(text).id === gone];
    },
    [204, undefined, false],
    [200, "application/json", true],
  ],
  "4.create-status": [async ({ api }) => (await api.post("/apps", APP)).status, 201, 200],
  "6.event-objects": [
    async (own) => {
      await deleted(own);
      return Object.keys(own.service.events.at(-1)?.data.object ?? {}).length;
    },
    7,
    1,
  ],
  "6.webhook-concurrency": [atOnce, 1, 3],
  "7.error-body": [
    async ({ api }) => {
      const { headers, json } = await api.get("/apps/none");
      return [headers["content-type"], Object.keys(json), json.error];
    },
    [
      "application/problem+json",
      ["type", "title", "status", "detail", "instance", "code"],
      undefined,
    ],
    ["application/json", ["error"], { code: "not_found", message: "There is no such app." }],
  ],
  "7.validation-status": [
    async ({ api }) => {
      const { status, text } = await api.post("/apps", { ...APP, title: "" });
      return [status, text.includes("validation_failed")];
    },
    [422, true],
    [400, true],
  ],
  "8.rate-headers": [
    async ({ api }) =>
      Object.keys((await api.get("/none")).headers).filter((name) => name.includes("ratelimit")),
    ["ratelimit-policy", "ratelimit"],
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
  ],
  "8.max-limit": [
    async ({ api }) =>
      (await api.get(`/apps?limit=${"9".repeat(20)}&offset=1`)).headers.link?.includes(
        "limit=100&",
      ),
    undefined,
    true,
  ],
  "2.unknown-members": [
    async ({ api }) => {
      const made = await api.post("/apps", { ...APP, more: 1, id: "mine" });
      const { id } = await api.post("/apps", APP);
      const others = [
        await api.patch(`/apps/${id}`, { more: 1 }),
        await api.post(`/apps/${id}/interactions`, POINT),
        await api.post("/data-sources", SOURCE),
        await api.get("/apps?more=1&more=2&toString=1"),
        await api.get("/account?more=1"),
      ];
      return [made, ...others].map(
        (answer) => ok(answer) && !/"(more|z|rows|mine)"/.test(answer.text),
      );
    },
    Array(6).fill(false),
    Array(6).fill(true),
  ],
};

const shown = Object.entries(SHOWN);

for (const [id, name] of Object.entries(ALL_VARIANTS))
  test(`${id}=${name}: only the service that selects the reading changes, and only in that behaviour`, async () => {
    await using plain = await embedded();
    await using other = await embedded({ readings: { [id]: name } });
    for (const [each, [look, is, or]] of shown) {
      assert.deepEqual(await look(other), each === id ? or : is, each);
      if (each === id) assert.deepEqual(await look(plain), is);
    }
  });

test("all readings can be enabled together, and every response matches the OpenAPI document", async () => {
  await using all = await described({ readings: ALL_VARIANTS, control: true });
  for (const [id, [look, , or]] of shown) assert.deepEqual(await look(all), or, id);
});

test("all readings at once: create, replay, list, page, read, change and delete work, and their events are delivered", async () => {
  await using all = await described({ readings: ALL_VARIANTS, control: true });
  const { api, service } = all;
  const receiver = await httpReceiver();
  const webhook = await api.post("/webhooks", {
    url: receiver.url,
    events: ["app.deleted"],
    secret: "s",
  });
  assert.deepEqual([webhook.status, webhook.json.secret], [200, "s"]);
  const key = { "idempotency-key": "once" };
  const [first, again] = [await api.post("/apps", APP, key), await api.post("/apps", APP, key)];
  assert.deepEqual(
    [again.status, again.text, again.header("idempotency-replayed")],
    [200, first.text, "true"],
  );
  assert.equal(first.header("location"), `${api.baseUrl}/apps/${first.id}`);
  const second = await api.post("/apps", { ...APP, more: 1 });

  const page = await api.get("/apps?limit=1");
  assert.deepEqual([page.value, page.header("x-total-count")], [[first.json], "2"]);
  const [, next = ""] = /^<([^>]+)>; rel="next"$/.exec(page.header("link")) ?? [];
  assert.deepEqual((await api.get(next.slice(api.baseUrl.length))).value, [second.json]);
  const head = await api.head("/apps?limit=1000");
  assert.deepEqual([head.status, head.text, head.header("x-total-count")], [200, "", "2"]);

  const path = `/apps/${first.id}`;
  const etag = (await api.get(path)).header("etag");
  assert.equal((await api.get(path, { "if-none-match": etag })).status, 304);
  const stale = await api.patch(path, { title: "U" }, { "if-match": '"old"' });
  assert.deepEqual([stale.status, members(stale.json.error).code], [412, "precondition_failed"]);
  const gone = await api.delete(path, { "if-match": etag });
  assert.deepEqual([gone.status, gone.json, gone.headers.etag], [200, first.json, undefined]);
  assert.equal((await api.delete(path)).status, 404);

  await api.post(`/webhooks/${webhook.id}/test`, { type: "app.deleted" });
  const refused = await api.post("/webhooks", { url: "ftp://x", events: [] });
  assert.deepEqual(
    [refused.status, Object.keys(members(refused.json.error))],
    [400, ["code", "message"]],
  );
  await service.settled();
  const objects = receiver.got.map(({ body }) => members(members(JSON.parse(body)).data).object);
  assert.deepEqual(objects, [{ id: first.id }, { id: members(objects[1]).id }]);
  const control = await api.root.post("/_control/clock", { advance: "soon" });
  assert.deepEqual(
    [control.status, control.json.code],
    [422, "validation_failed"],
    "no reading is about the controls",
  );
});

test("all readings at once: a long URL and an invalid token get API errors, and OAuth errors keep the OAuth format", async () => {
  await using all = await embedded({ readings: ALL_VARIANTS });
  const { api } = all;
  const long = await api.get(`/apps?${"x".repeat(9_000)}`);
  assert.deepEqual([long.status, Object.keys(long.json)], [414, ["error"]]);
  const stranger = await api.as("nobody").get("/apps");
  assert.deepEqual([stranger.status, Object.keys(stranger.json)], [401, ["error"]]);
  assert.match(stranger.header("www-authenticate"), /^Bearer /);
  all.service.faults.add({ method: "GET", path: "/v1/apps", status: 502 });
  const failure = {
    error: { code: "failure_on_command", message: "A test asked for this answer." },
  };
  assert.deepEqual((await api.get("/apps")).json, failure);
  all.service.faults.add({ method: "GET", path: "/v1/apps", status: 422 });
  assert.equal(
    (await api.get("/apps")).status,
    422,
    "whatever a body that breaks a rule is answered",
  );
  const token = await api.root.as(null).post("/oauth/token", { grant_type: "none", more: 1 });
  assert.deepEqual([token.status, token.json.error], [400, "unsupported_grant_type"]);
  assert.equal(
    (await api.root.get("/v2/apps")).headers["content-type"],
    "application/problem+json",
  );
});

test("all readings at once: every dashboard page is complete, and its forms work", async () => {
  await using plain = await embedded();
  const ids = await makeWorld(plain.api);
  await using all = await embedded({ readings: ALL_VARIANTS });
  await all.service.restore(plain.service.snapshot());
  const browser = new Browser(all.api);
  await browser.signIn();
  for (const { path } of dashboardRoutes.filter(({ method }) => method === "GET"))
    assertPage(await browser.open(fill(path, ids)));
  const made = await browser.fillIn("/dashboard/apps/new", FORM);
  const app = `/dashboard/apps/${idIn(made, "app")}`;
  assert.equal((await all.api.get(app.replace("/dashboard", ""))).json.public, true);
  assert.match(
    textOf(await browser.fillIn(`${app}/edit`, { ...FORM, title: "Renamed" })),
    /Renamed/,
  );
  assertPage(await browser.fillIn(`${app}/edit`, { ...FORM, title: "" }), 422);
  await browser.fillIn(`${app}/delete`);
  assert.equal((await browser.open(app)).status, 404);
});

test("the documentation follows the selected readings", async () => {
  const docs = async ({ api }: Embedded, page: string) =>
    textOf(await api.root.as(null).get(`/docs${page}`));
  await using plain = await embedded();
  await using all = await embedded({ readings: ALL_VARIANTS });
  for (const [page, is, or] of [
    [
      "",
      /-d '{"title":"My first app"}' .* answer {"data":<items>,/,
      /"My first app","description":"".* answer <items> ,/,
    ],
    [
      "/endpoints",
      /Create an app\..*Answers 201/,
      /Create an app\..*Answers 200 .*Delete an app.* Answers 200 /,
    ],
    [
      "/events",
      /"type": "app.deleted",[^}]*"description"/,
      /"type": "app.deleted",[^}]*"id": "app_\w+" }/,
    ],
    [
      "/errors",
      /application\/problem\+json .*422 validation_failed/,
      /application\/json .*"message": .*400 /,
    ],
    [
      "/register",
      /4\.list-shape .* {"data":<items>,.* bare, .*: <items> , with --reading 4\.list-shape=bare/,
      /total <items> a wrapper can grow/,
    ],
  ] as const) {
    assert.match(await docs(plain, page), is);
    assert.match(await docs(all, page), or);
  }
});

test("the OpenAPI document follows the readings in its required and additional members, headers and responses", async () => {
  const saidOf = async ({ api }: Embedded) => {
    const { paths, components, webhooks } = (await api.root.as(null).get("/openapi.json")).json;
    const { get, post } = Object(paths)["/apps"];
    const { schemas, responses: problems } = Object(components);
    const named = ({ $ref }: { $ref: string }) =>
      schemas[$ref.replace("#/components/schemas/", "")];
    const body = named(post.requestBody.content["application/json"].schema);
    const gone = JSON.stringify(
      named(Object(webhooks)["app.deleted"].post.requestBody.content["application/json"].schema),
    );
    const { headers } = Object.values(get.responses).map(Object)[0];
    const { responses } = Object(paths)["/apps/{app_id}"].patch;
    const type = Object.keys(problems.Problem404.content)[0];
    const kinds = [422 in responses, type, schemas.Problem404.required.includes("error")];
    const control = (await api.root.as(null).get("/_control/openapi.json")).json;
    const [fixed] = Object.keys(Object(control.components).responses.Problem404.content);
    const rate = Object.keys(headers).filter((name) => name.includes("RateLimit"));
    return [
      ...[
        body.required,
        body.additionalProperties,
        get.parameters[0].schema.maximum,
        "X-Total-Count" in headers,
      ],
      ...[/"object":(\{.*?\})/.exec(gone)?.[1], schemas.AppList.type, kinds, fixed, rate],
    ];
  };
  await using plain = await embedded({ control: true });
  await using all = await embedded({ readings: ALL_VARIANTS, control: true });
  const problem = "application/problem+json";
  const rate = ["RateLimit-Policy", "RateLimit"];
  const whole = '{"$ref":"#/components/schemas/App"}';
  assert.deepEqual(await saidOf(plain), [
    ["title"],
    false,
    100,
    false,
    whole,
    "object",
    [true, problem, false],
    problem,
    rate,
  ]);
  const id = '{"type":"object","properties":{"id":{"type":"string"}';
  assert.deepEqual(await saidOf(all), [
    ...[
      Object.keys(APP),
      true,
      undefined,
      true,
      id,
      "array",
      [false, "application/json", true],
      problem,
    ],
    ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
  ]);
});

test("a seed ignores the readings: an app needs only a title, and an unknown member is rejected", async () => {
  const seed = (app: object) => ({ accounts: [{ name: "A", apps: [app] }] });
  await using own = await embedded({ readings: ALL_VARIANTS, seed: seed({ title: "Seeded" }) });
  assert.equal((await own.api.get("/apps")).header("x-total-count"), "1");
  await startRefused({ readings: ALL_VARIANTS, seed: seed({ title: "Seeded", more: 1 }) }, /more/);
});

test("an unknown reading is rejected in one line that names the valid ones", async () => {
  const all = Object.entries(ALL_VARIANTS).map((each) => each.join("="));
  for (const [readings, says] of [
    [{ "4.list-shap": "bare" }, /there is no 4\.list-shap=bare; did you mean 4\.list-shape=bare\?/],
    [{ "4.create-status": 201 }, /did you mean 4\.create-status=200/],
    [{ "5.pkce": "plain" }, /there is no 5\.pkce=plain/],
    ["4.list-shape=bare,", /there is no \)/],
    [[], /there is no/],
    [7, /there is no/],
  ] as const) {
    const line = await startRefused({ readings }, says);
    for (const each of all) assert.ok(line.includes(each), each);
  }
});

test("readings can be given in command-line form, and webhookConcurrency overrides the reading for several at once", async () => {
  await using own = await embedded({
    readings: "4.create-status=200,6.webhook-concurrency=several",
  });
  assert.equal((await own.api.post("/apps", APP)).status, 200);
  assert.equal(await atOnce(own), 3);
  await using slow = await embedded({ readings: ALL_VARIANTS, webhookConcurrency: 1 });
  assert.equal(await atOnce(slow), 1);
});

test("the flag can be repeated, its environment variable is comma-separated, and the printed first request succeeds", async () => {
  const [first, second] = ["2.app-fields=all", "4.create-status=200"];
  const succeeds = async ({ said }: ServerProcess) => {
    const [, baseUrl = "", key = "", body = ""] =
      /curl (\S+)\/apps .*Bearer (\S+)" .*-d '(.*)'/.exec(said.stdout) ?? [];
    const api = new Client({ baseUrl, key });
    assert.equal((await api.post("/apps", JSON.parse(body))).status, 200);
    assert.equal((await api.post("/apps", { title: "T" })).status, 422);
  };
  await serving(["--reading", first, "--reading", second], "'\n", succeeds);
  await serving([], "'\n", succeeds, { APPHOST_READING: `${first},${second}` });
});
