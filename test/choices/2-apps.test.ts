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

const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };
const newId = async (api: Client) => (await api.create("/apps", WHOLE)).id;
const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });

const TITLES = 'x| padded |日本語|<b>&amp;</b>|\u{1F600}|e\u0301 \u00e9|\u0001\u007f \u200b|\\ " /';

choice(
  "8.field-lengths.app",
  "each field of an app has the same bounds on create and on update",
  async ({ api }) => {
    for (const request of ["POST /apps", `PATCH /apps/${await newId(api)}`])
      await fieldRules(
        api,
        request,
        { title: "Bounds" },
        { field: "title", ...textBounds(1, 200) },
        {
          field: "title",
          good: TITLES.split("|"),
          bad: [" ", "\u3000", "x\ud83dy", "\ude00\ud83d", "a\0b"],
        },
        { field: "description", ...textBounds(0, 5_000) },
        { field: "theme", ...textBounds(1, 64) },
        { field: "public", good: [true, false], bad: NOT_FLAG },
      );
  },
);

choice(
  "2.unknown-members",
  "unknown members are rejected by name, so that a typo never passes silently",
  async ({ api }) => {
    const app = `/apps/${await newId(api)}`;
    const create = { title: "T", publc: true, id: "app_1", "a/b~c": 1 };
    invalid(await api.post("/apps", create), "#/publc", "#/id", "#/a~1b~0c");
    invalid(await api.patch(app, { Title: "T" }), "#/Title");
    invalid(await api.post(`${app}/deploy`, { name: "R", status: "live" }), "#/status");
    for (const name of ["__proto__", "constructor", "toString"]) {
      const body = `{"title":"T","${name}":{"public":true}}`;
      invalid(await api.text("POST", "/apps", body), `#/${name}`);
    }
  },
);

choice(
  "7.error-body.all-faults",
  "a body must be an object, and the error lists every invalid field",
  async ({ api }) => {
    for (const body of [[], "text", null]) invalid(await api.post("/apps", body), "#");
    const wrong = { title: "", description: 5, theme: "", public: "yes", x: 1 };
    invalid(await api.post("/apps", wrong), ...Object.keys(wrong).map((name) => `#/${name}`));
  },
);

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
    };
    const data_point = { x: "2".repeat(1_000), y: 48.5, category: null };
    for (const [body, defaults] of [
      [LEAST, { chart_id: null, data_point: null }],
      [{ ...longest, data_point: {} }, { data_point: NO_POINT }],
      [{ ...longest, data_point }, {}],
    ]) {
      const { status, json } = await api.post(path, body);
      const object = { app_id, ...body, ...defaults };
      assert.deepEqual([status, json.type, json.data], [202, "user.interaction", { object }]);
    }
    await requiredFields(api, path, LEAST);
    const badX = [true, [], {}, "2".repeat(1_001)].map((x) => ({ x }));
    await fieldRules(
      api,
      `POST ${path}`,
      LEAST,
      { field: "user_id", bad: textBounds(1, 200).bad },
      { field: "interaction_type", bad: textBounds(1, 64).bad },
      { field: "chart_id", bad: ["c".repeat(201), 5] },
      { field: "data_point", bad: [5, "x", []] },
      { field: "data_point", at: "#/data_point/x", bad: badX },
      { field: "data_point", at: "#/data_point/z", bad: [{ z: 1 }] },
    );
  },
);

choice(
  "2.environments",
  "a deployment responds with 201, its Location and eight fields, requires a name, and exists only below its app",
  async ({ api, authUrl, baseUrl }) => {
    const app_id = await newId(api);
    const path = `/apps/${app_id}/deploy`;
    const response = await api.post(path, { name: "R" });
    const { id, url, deployed_at, ...others } = response.json;
    assert.match(str(id), idOf("dep"));
    assert.equal(url, `${authUrl}/sites/${id}/`);
    assert.match(str(deployed_at), ISO_TIME);
    const defaults = { environment: "production", custom_domain: null };
    assert.deepEqual(others, { app_id, name: "R", ...defaults, status: "live" });
    const own = `/apps/${app_id}/deployments/${id}`;
    assert.deepEqual([response.status, response.header("location")], [201, baseUrl + own]);
    assert.equal((await api.get(own)).text, response.text);
    problem(await api.get(`/apps/${await newId(api)}/deployments/${id}`), "not_found");
    await requiredFields(api, path, { name: "R" });
    await fieldRules(
      api,
      `POST ${path}`,
      { name: "R" },
      { field: "name", ...textBounds(1, 100) },
      {
        field: "environment",
        good: ["a", "0", "a".repeat(63), "my-env-2", "a-"],
        bad: ["", "-a", "Prod", "a_b", "a b", "a\n", "a".repeat(64), ...NOT_TEXT],
      },
    );
  },
);

const LABEL = "a".repeat(63);
const LONGEST_HOST = `${LABEL}.${LABEL}.${LABEL}.${"b".repeat(57)}.com`;
const BAD_HOSTS =
  ",a,localhost,a..b,.a.b,-a.example,a-.example,127.0.0.1,1.2.3,[::1],::1,0x7f.1,a.example:80,https://a.example," +
  "a.example/,u@a.example,a b.example,a_b.example,*.example.com,a.example?x,a.example#x,%61.example,a.example\n";

choice(
  "3.custom-domain.names",
  "a custom domain has two labels or more and is stored in lower case and ASCII",
  async ({ api }) => {
    const path = `/apps/${await newId(api)}/deploy`;
    const names = "a.b xn--bcher-kva.example 1.example a-b.c-d.example".split(" ");
    const good = [null, ...names, `${LABEL}.com`, LONGEST_HOST];
    const bad = [...BAD_HOSTS.split(","), `a${LABEL}.com`, `x${LONGEST_HOST}`, 5, []];
    await fieldRules(api, `POST ${path}`, { name: "R" }, { field: "custom_domain", good, bad });
    for (const [custom_domain, stored] of [
      ["Shop.EXAMPLE.org", "shop.example.org"],
      ["bücher.example.org", "xn--bcher-kva.example.org"],
      ["STRASSE.example.org", "strasse.example.org"],
    ])
      assert.equal((await api.create(path, { name: "R", custom_domain })).custom_domain, stored);
  },
);

choice("3.custom-domain.names", "a custom domain is never the server's own host", async () => {
  await using service = await startService({ publicUrl: "https://Apps.example.net:443/" });
  const api = new Client({ baseUrl: `http://127.0.0.1:${service.port}/v1`, key: service.apiKey });
  const path = `/apps/${await newId(api)}/deploy`;
  const body = { name: "R", custom_domain: "APPS.Example.net" };
  invalid(await api.post(path, body), "#/custom_domain");
  await api.create(path, { name: "R", custom_domain: "www.apps.example.net" });
});

choice(
  "3.redeploy",
  "redeploying to an environment retires the previous deployment, and no other",
  async ({ api }) => {
    const app = await newId(api);
    const first = await deploy(api, app);
    const staging = await deploy(api, app, { environment: "staging" });
    const second = await deploy(api, app);
    const all = (await api.get(`/apps/${app}/deployments`)).items;
    const statuses = all.map(({ id, status }) => `${id} ${status}`);
    assert.deepEqual(statuses, [`${first.id} retired`, `${staging.id} live`, `${second.id} live`]);
  },
);

choice(
  "3.custom-domain",
  "a custom domain belongs to one app at a time and is free once no live deployment holds it",
  async ({ api }) => {
    const [mine, other] = [await newId(api), await newId(api)];
    const custom_domain = freshHost();
    const assertTaken = async () => {
      const body = { name: "R", custom_domain: custom_domain.toUpperCase() };
      problem(await api.post(`/apps/${other}/deploy`, body), "domain_taken");
    };
    await deploy(api, mine, { custom_domain });
    await assertTaken();
    await deploy(api, mine, { custom_domain, environment: "staging" });
    await deploy(api, mine);
    await assertTaken();
    await deploy(api, mine, { environment: "staging" });
    const { id } = await deploy(api, other, { custom_domain });
    await api.delete(`/apps/${other}`);
    problem(await api.get(`/apps/${other}/deployments/${id}`), "not_found");
    await deploy(api, mine, { custom_domain });
  },
);
