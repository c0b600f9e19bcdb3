// Apps and deployments. Spec part 2 names their fields, and part 4 shows four operations. The bounds, reads, updates,
// interactions and the lifecycle of deployments and domains are the contract's, parts 2 to 4.
import assert from "node:assert/strict";
import { startService } from "../../src/index.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { Client, freshHost, str } from "../support/client.ts";
import {
  fieldRules,
  ISO_TIME,
  idOf,
  NOT_FLAG,
  NOT_TEXT,
  requiredFields,
  textBounds,
} from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";

const TITLES =
  "x| padded |日本語|<b>&amp;</b>|'; DROP TABLE apps; --|a\u2028b|\u{1F600}|e\u0301 \u00e9|\u0001\u001f \u007f \u200b \ufeff|\\ \" /";

choice(
  "8.field-lengths.app",
  "each field of an app has the same bounds on create and on update",
  async ({ api }) => {
    const { id } = await api.create("/apps", { title: "Bounds" });
    for (const request of ["POST /apps", `PATCH /apps/${id}`])
      await fieldRules(
        api,
        request,
        { title: "Bounds" },
        { field: "title", ...textBounds(1, 200) },
        { field: "title", good: TITLES.split("|"), bad: [" ", "\t\n", "\u3000"] },
        { field: "description", ...textBounds(0, 5_000) },
        { field: "description", good: [" ", "two\nlines"] },
        { field: "theme", ...textBounds(1, 64) },
        { field: "theme", good: ["dark", "my own"] },
        { field: "public", good: [true, false], bad: NOT_FLAG },
      );
  },
);

choice(
  "2.unknown-members",
  "unknown members are rejected by name, so that a typo never passes silently",
  async ({ api }) => {
    const app = `/apps/${await newId(api)}`;
    const create = { title: "T", publc: true, id: "app_1", created_at: "now", "a/b~c": 1 };
    const deployment = { name: "R", env: "x", status: "live" };
    invalid(await api.post("/apps", create), ..."#/publc #/id #/created_at #/a~1b~0c".split(" "));
    invalid(await api.patch(app, { Title: "T" }), "#/Title");
    invalid(await api.post(`${app}/deploy`, deployment), "#/env", "#/status");
    for (const name of "__proto__ constructor prototype toString hasOwnProperty length".split(
      " ",
    )) {
      const members = `"${name}":{"public":true}`;
      invalid(await api.text("POST", "/apps", `{"title":"T",${members}}`), `#/${name}`);
    }
    assert.equal((await api.create("/apps", { title: "T" })).public, false, "not polluted");
  },
);

choice("8.field-lengths.text", "lone surrogates and NUL are rejected", async ({ api }) => {
  for (const escaped of ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "a\\u0000b", "\\u0000"])
    for (const field of ["title", "description", "theme"]) {
      const body = `{"title":"T","${field}":"x${escaped}y"}`;
      invalid(await api.text("POST", "/apps", body), `#/${field}`);
    }
  const { json } = await api.text("POST", "/apps", '{"title":"\\ud83d\\ude00"}');
  assert.equal(json.title, "\u{1F600}");
});

choice(
  "7.error-body.all-faults",
  "a body must be an object, and the error lists every invalid field",
  async ({ api }) => {
    const app = `/apps/${await newId(api)}`;
    for (const body of [[], [{ title: "T" }], "text", 5, null, true]) {
      invalid(await api.post("/apps", body), "#");
      invalid(await api.patch(app, body), "#");
    }
    const wrong = { title: "", description: 5, theme: "", public: "yes", x: 1 };
    invalid(await api.post("/apps", wrong), ...Object.keys(wrong).map((name) => `#/${name}`));
  },
);

const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };
const newId = async (api: Client) => (await api.create("/apps", WHOLE)).id;
const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });

choice(
  "4.app-endpoints.change",
  "an update sets updated_at unless nothing changes",
  MANUAL,
  async ({ api, service }) => {
    const app = await api.create("/apps", WHOLE);
    await service.clock.advance("60000ms");
    for (const body of [{}, { title: WHOLE.title }, WHOLE])
      assert.deepEqual((await api.patch(`/apps/${app.id}`, body)).json, app);
    const { json } = await api.patch(`/apps/${app.id}`, { public: false });
    assert.equal(Date.parse(str(json.updated_at)) - Date.parse(str(app.updated_at)), 60_000);
  },
);

choice(
  "4.delete-response",
  "a delete responds with 204 without a body, and the app cannot be deployed any more",
  async ({ api }) => {
    const path = `/apps/${await newId(api)}`;
    const { status, text } = await api.delete(path);
    assert.deepEqual([status, text], [204, ""]);
    problem(await api.post(`${path}/deploy`, { name: "R" }), "not_found");
  },
);

const LEAST = { user_id: "u", interaction_type: "t" };
const NO_POINT = { x: null, y: null, category: null };

choice(
  "4.app-endpoints.interaction",
  "an interaction responds with 202 and its event; absent members are null, and all are bounded",
  async ({ api }) => {
    const app_id = await newId(api);
    const path = `/apps/${app_id}/interactions`;
    const longest = {
      user_id: "visitor 17".padEnd(200, "x"),
      interaction_type: "x".repeat(64),
      chart_id: "c".repeat(200),
      data_point: { x: "2".repeat(1_000), y: 48.5, category: null },
    };
    for (const [body, defaults] of [
      [LEAST, { chart_id: null, data_point: null }],
      [
        { ...LEAST, data_point: {} },
        { chart_id: null, data_point: NO_POINT },
      ],
      [longest, {}],
    ]) {
      const answer = await api.post(path, body);
      assert.deepEqual([answer.status, answer.json.type], [202, "user.interaction"]);
      assert.deepEqual(answer.json.data, { object: { app_id, ...body, ...defaults } });
      assert.deepEqual((await api.get(`/events/${answer.id}`)).json, answer.json);
    }
    await requiredFields(api, path, LEAST);
    const badX = [true, [], {}, "2".repeat(1_001)].map((x) => ({ x }));
    await fieldRules(
      api,
      `POST ${path}`,
      LEAST,
      { field: "user_id", bad: textBounds(1, 200).bad },
      { field: "interaction_type", bad: textBounds(1, 64).bad },
      { field: "chart_id", bad: ["c".repeat(201), 5, true, [], {}] },
      { field: "data_point", bad: [5, "x", true, []] },
      { field: "data_point", at: "#/data_point/x", bad: badX },
      { field: "data_point", at: "#/data_point/z", bad: [{ z: 1 }] },
    );
  },
);

choice(
  "4.create-status.deployment",
  "a deployment responds with 201, its Location and eight fields, requires a name, and exists only below its app",
  async ({ api, authUrl, baseUrl }) => {
    const app_id = await newId(api);
    const path = `/apps/${app_id}/deploy`;
    const answer = await api.post(path, { name: "R" });
    const { id, url, deployed_at, ...others } = answer.json;
    assert.match(str(id), idOf("dep"));
    assert.equal(url, `${authUrl}/sites/${id}/`);
    assert.match(str(deployed_at), ISO_TIME);
    assert.deepEqual(others, {
      app_id,
      name: "R",
      environment: "production",
      custom_domain: null,
      status: "live",
    });
    const own = `/apps/${app_id}/deployments/${id}`;
    assert.deepEqual([answer.status, answer.header("location")], [201, baseUrl + own]);
    assert.equal((await api.get(own)).text, answer.text);
    for (const wrong of [
      `/apps/${await newId(api)}/deployments/${id}`,
      `/apps/${app_id}/deployments/dep_00000000000000000000000`,
    ])
      problem(await api.get(wrong), "not_found");
    invalid(await api.post(path, {}), "#/name");
    await fieldRules(api, `POST ${path}`, {}, { field: "name", ...textBounds(1, 100) });
  },
);

choice("2.environments", "an environment is a slug of up to 63 characters", async ({ api }) => {
  const good = ["a", "0", "a".repeat(63), "my-env-2", "a-", "0-0"];
  const bad = [...",-a,A,Prod,a_b,a.b,a b, a,a\n,ä".split(","), "a".repeat(64), ...NOT_TEXT];
  const request = `POST /apps/${await newId(api)}/deploy`;
  await fieldRules(api, request, { name: "R" }, { field: "environment", good, bad });
});

const LABEL = "a".repeat(63);
const LONGEST_HOST = `${LABEL}.${LABEL}.${LABEL}.${"b".repeat(57)}.com`;
const BAD_HOSTS =
  ",a,localhost,a..b,.a.b,-a.example,a-.example,127.0.0.1,10.0.0.1,1.2.3,[::1],::1,0x7f.1,a.1,a.example:80,https://a.example," +
  "a.example/,a.example/x,u@a.example,a b.example,a_b.example,*.example.com,a.example?x,a.example#x,%61.example,a.example\n";

choice(
  "3.custom-domain.names",
  "a custom domain has two labels or more and is stored in lower case and ASCII",
  async ({ api }) => {
    const path = `/apps/${await newId(api)}/deploy`;
    const names = "a.b xn--bcher-kva.example 1.example a-b.c-d.example".split(" ");
    const good = [null, ...names, `${LABEL}.com`, LONGEST_HOST, freshHost()];
    const bad = [
      ...BAD_HOSTS.split(","),
      `a${LABEL}.com`,
      `x${LONGEST_HOST}`,
      // The name fits within the length as written, but not in its ASCII form.
      `${`${"ü".repeat(45)}.`.repeat(5)}example`,
      ...NOT_TEXT.filter((value) => value !== null),
    ];
    await fieldRules(api, `POST ${path}`, { name: "R" }, { field: "custom_domain", good, bad });
    for (const [custom_domain, stored] of [
      ["Shop.EXAMPLE.org", "shop.example.org"],
      ["bücher.example.org", "xn--bcher-kva.example.org"],
      ["STRASSE.example.org", "strasse.example.org"],
      // A middle dot and a joiner are letters in these two (RFC 5892 A).
      ["paral\u00b7lel.example.org", "xn--parallel-koa.example.org"],
      ["\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example.org", "xn--mgba3gch31f060k.example.org"],
    ])
      assert.equal((await api.create(path, { name: "R", custom_domain })).custom_domain, stored);
  },
);

choice("3.custom-domain.names", "a custom domain is never the server's own host", async () => {
  await using service = await startService({ publicUrl: "https://Apps.example.net:443/" });
  const api = new Client({ baseUrl: `http://127.0.0.1:${service.port}/v1`, key: service.apiKey });
  assert.equal(service.baseUrl, "https://apps.example.net/v1");
  const path = `/apps/${await newId(api)}/deploy`;
  for (const [custom_domain, host, status] of [
    ["apps.example.net", undefined, 422],
    ["APPS.Example.net", undefined, 422],
    ["lab.example.net", "lab.example.net:4600", 422],
    ["lab.example.net", "LAB.example.net.", 422],
    ["lab.example.net", "other.example.net", 201],
    // A host that an app holds belongs to the app, although the API responds there, too.
    ["lab.example.net", "lab.example.net", 201],
    ["www.apps.example.net", undefined, 201],
    ["example.net", undefined, 201],
  ] as const) {
    const answer = await api.post(path, { name: "R", custom_domain }, host ? { host } : {});
    assert.equal(answer.status, status, `${custom_domain} ${host}`);
    if (status === 422) invalid(answer, "#/custom_domain");
  }
});

const deploymentsOf = async (api: Client, app: string) =>
  (await api.get(`/apps/${app}/deployments`)).items;

choice(
  "3.redeploy",
  "redeploying to an environment retires the previous deployment, and no other",
  async ({ api }) => {
    const app = await newId(api);
    const first = await deploy(api, app);
    const staging = await deploy(api, app, { environment: "staging" });
    const second = await deploy(api, app);
    const all = await deploymentsOf(api, app);
    const statuses = all.map(({ id, status }) => `${id} ${status}`);
    assert.deepEqual(statuses, [`${first.id} retired`, `${staging.id} live`, `${second.id} live`]);
    for (const { id, status } of all)
      assert.equal((await api.get(`/apps/${app}/deployments/${id}`)).json.status, status);
    await Promise.all(Array.from({ length: 8 }, () => deploy(api, app)));
    const live = (await deploymentsOf(api, app)).filter(({ status }) => status === "live");
    const environments = live.map(({ environment }) => environment).sort();
    assert.deepEqual(environments, ["production", "staging"], "one of many at once");
  },
);

choice(
  "3.custom-domain",
  "a custom domain belongs to one app at a time and is free once no live deployment holds it",
  async ({ api }) => {
    const [mine, other] = [await newId(api), await newId(api)];
    const custom_domain = freshHost();
    const assertTaken = async (domain = custom_domain) => {
      const body = { name: "R", custom_domain: domain };
      problem(await api.post(`/apps/${other}/deploy`, body), "domain_taken");
    };
    await deploy(api, mine, { custom_domain });
    await assertTaken();
    await assertTaken(custom_domain.toUpperCase());
    assert.deepEqual(await deploymentsOf(api, other), [], "nothing was deployed");
    const again = await deploy(api, mine, { custom_domain });
    assert.equal(again.custom_domain, custom_domain, "its own app may keep it");
    await deploy(api, mine, { custom_domain, environment: "staging" });
    await deploy(api, mine);
    await assertTaken();
    await deploy(api, mine, { environment: "staging" });
    const { id } = await deploy(api, other, { custom_domain });
    await api.delete(`/apps/${other}`);
    for (const path of ["deployments", `deployments/${id}`])
      problem(await api.get(`/apps/${other}/${path}`), "not_found");
    await deploy(api, mine, { custom_domain });
    const body = { name: "R", custom_domain: freshHost() };
    const apps = await Promise.all(Array.from({ length: 6 }, () => newId(api)));
    const answers = await Promise.all(apps.map((app) => api.post(`/apps/${app}/deploy`, body)));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409], "one of many at once");
  },
);
