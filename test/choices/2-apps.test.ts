// Apps and deployments. Spec part 2 names their fields, and part 4 shows four operations. The bounds, reads, updates,
// interactions, the lifecycle of deployments and domains, the leftovers of deleted apps and the account states are the
// contract's, parts 2 to 4.
import assert from "node:assert/strict";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { mock } from "node:test";
import { startService } from "../../src/index.ts";
import { choice, MANUAL } from "../support/clauses.ts";
import { Client, freshHost } from "../support/client.ts";
import {
  fieldRules,
  ISO_TIME,
  idOf,
  NOT_FLAG,
  NOT_TEXT,
  requiredFields,
  wide,
} from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";

const RULES = [
  {
    field: "title",
    good: [
      "x",
      "a".repeat(200),
      wide(200),
      " padded ",
      "日本語",
      "<b>&amp;</b>",
      "'; DROP TABLE apps; --",
      "a\u2028b",
    ],
    bad: ["", "a".repeat(201), wide(201), " ", "\t\n", "\u3000", ...NOT_TEXT],
  },
  {
    field: "description",
    good: ["", " ", "d".repeat(5000), wide(5000), "two\nlines"],
    bad: ["d".repeat(5001), ...NOT_TEXT],
  },
  {
    field: "theme",
    good: ["t", "dark", "t".repeat(64), "my own"],
    bad: ["", "t".repeat(65), ...NOT_TEXT],
  },
  { field: "public", good: [true, false], bad: NOT_FLAG },
];

/** POSTs a body that JSON.stringify cannot produce. */
const raw = (api: Client, body: string) => api.text("POST", "/apps", body);

choice(
  "8.field-lengths.app",
  "each field of an app has the same bounds on create and on update",
  async ({ api }) => {
    const { id } = await api.create("/apps", { title: "Bounds" });
    for (const request of ["POST /apps", `PATCH /apps/${id}`])
      await fieldRules(api, request, { title: "Bounds" }, ...RULES);
  },
);

choice(
  "2.unknown-members",
  "unknown members are rejected by name, so that a typo never passes silently",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "T" });
    const more = { publc: true, id: "app_1", created_at: "now", "a/b~c": 1 };
    invalid(
      await api.post("/apps", { title: "T", ...more }),
      "#/publc",
      "#/id",
      "#/created_at",
      "#/a~1b~0c",
    );
    invalid(await api.patch(`/apps/${app.id}`, { Title: "T" }), "#/Title");
    invalid(
      await api.post(`/apps/${app.id}/deploy`, { name: "R", env: "x", status: "live" }),
      "#/env",
      "#/status",
    );
    for (const name of [
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "hasOwnProperty",
      "length",
    ])
      invalid(await raw(api, `{"title":"T","${name}":{"public":true}}`), `#/${name}`);
    assert.equal(
      (await api.create("/apps", { title: "Clean" })).public,
      false,
      "no prototype was polluted",
    );
  },
);

choice(
  "8.field-lengths.text",
  "lone surrogates and NUL are rejected, and all other text is returned as sent",
  async ({ api }) => {
    for (const escaped of ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "a\\u0000b", "\\u0000"])
      for (const field of ["title", "description", "theme"])
        invalid(await raw(api, `{"title":"T","${field}":"x${escaped}y"}`), `#/${field}`);
    assert.equal((await raw(api, '{"title":"\\ud83d\\ude00"}')).json.title, "\u{1F600}");
    // Precomposed and decomposed forms stay different; controls other than NUL are text.
    const title = 'e\u0301 \u00e9 \u0001\u001f \u007f \u200b \ufeff \u2028\u2029 \u{10FFFF} \\ " /';
    const app = await api.create("/apps", { title });
    assert.equal((await api.get(`/apps/${app.id}`)).json.title, title);
  },
);

choice(
  "7.error-body.all-faults",
  "a body must be an object, and the error lists every invalid field",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "T" });
    for (const body of [[], [{ title: "T" }], "text", 5, null, true]) {
      invalid(await api.post("/apps", body), "#");
      invalid(await api.patch(`/apps/${app.id}`, body), "#");
    }
    const faults = { title: "", description: 5, theme: "", public: "yes", x: 1 };
    invalid(await api.post("/apps", faults), ...Object.keys(faults).map((name) => `#/${name}`));
  },
);

const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };

const newId = async (api: Client) => (await api.create("/apps", WHOLE)).id;

choice(
  "4.create-status",
  "creating a deployment responds with 201 and its Location, and it exists only below its app",
  async ({ api, baseUrl }) => {
    const app = `/apps/${await newId(api)}`;
    const deployment = await api.post(`${app}/deploy`, { name: "R" });
    const path = `${app}/deployments/${deployment.id}`;
    assert.deepEqual([deployment.status, deployment.header("location")], [201, baseUrl + path]);
    assert.equal((await api.get(path)).text, deployment.text);
    problem(await api.get(`/apps/${await newId(api)}/deployments/${deployment.id}`), "not_found");
    problem(await api.get(`${app}/deployments/dep_00000000000000000000000`), "not_found");
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
    assert.equal(Date.parse(String(json.updated_at)) - Date.parse(String(app.updated_at)), 60_000);
  },
);

choice(
  "4.delete-response",
  "a delete responds with 204 without a body, and every later operation gets 404",
  async ({ api }) => {
    const path = `/apps/${await newId(api)}`;
    const answer = await api.delete(path);
    assert.deepEqual(
      [answer.status, answer.bytes.length, answer.headers["content-type"]],
      [204, 0, undefined],
    );
    problem(await api.post(`${path}/deploy`, { name: "R" }), "not_found");
  },
);

const LEAST = { user_id: "u", interaction_type: "t" };

choice(
  "4.app-endpoints.interaction",
  "an interaction responds with 202 and its event; absent members are null, and all are bounded",
  async ({ api }) => {
    const app_id = await newId(api);
    const path = `/apps/${app_id}/interactions`;
    const [interaction_type, chart_id] = ["x".repeat(64), "c".repeat(200)];
    const longest = { user_id: "visitor 17".padEnd(200, "x"), interaction_type, chart_id };
    for (const [body, more] of [
      [LEAST, { chart_id: null, data_point: null }],
      [
        { ...LEAST, data_point: {} },
        { chart_id: null, data_point: { x: null, y: null, category: null } },
      ],
      [{ ...longest, data_point: { x: "2".repeat(1_000), y: 48.5, category: null } }, {}],
    ]) {
      const answer = await api.post(path, body);
      assert.deepEqual([answer.status, answer.json.type], [202, "user.interaction"]);
      assert.deepEqual(answer.json.data, { object: { app_id, ...body, ...more } });
      assert.deepEqual((await api.get(`/events/${answer.id}`)).json, answer.json);
    }
    await requiredFields(api, path, LEAST);
    await fieldRules(
      api,
      `POST ${path}`,
      LEAST,
      { field: "user_id", bad: ["", "x".repeat(201), ...NOT_TEXT] },
      { field: "interaction_type", bad: ["", "x".repeat(65), ...NOT_TEXT] },
      { field: "chart_id", bad: ["c".repeat(201), 5, true, [], {}] },
      { field: "data_point", bad: [5, "x", true, []] },
      {
        field: "data_point",
        at: "#/data_point/x",
        bad: [true, [], {}, "2".repeat(1_001)].map((x) => ({ x })),
      },
      { field: "data_point", at: "#/data_point/z", bad: [{ z: 1 }] },
    );
  },
);

/** Returns the path that deploys a new app. */
const deployPath = async (api: Client) => `/apps/${await newId(api)}/deploy`;

choice(
  "4.create-status.deployment",
  "a deployment has eight fields, and its name is required",
  async ({ api, authUrl }) => {
    const path = await deployPath(api);
    const { id, url, deployed_at, ...rest } = await api.create(path, { name: "R" });
    assert.match(id, idOf("dep"));
    assert.equal(url, `${authUrl}/sites/${id}/`);
    assert.match(String(deployed_at), ISO_TIME);
    const app_id = path.split("/")[2];
    assert.deepEqual(rest, {
      app_id,
      name: "R",
      environment: "production",
      custom_domain: null,
      status: "live",
    });
    invalid(await api.post(path, {}), "#/name");
    const bad = ["", "n".repeat(101), wide(101), ...NOT_TEXT];
    await fieldRules(
      api,
      `POST ${path}`,
      {},
      { field: "name", good: ["n", "n".repeat(100), wide(100)], bad },
    );
  },
);

choice("2.environments", "an environment is a slug of up to 63 characters", async ({ api }) => {
  const good = ["a", "0", "a".repeat(63), "my-env-2", "a-", "0-0"];
  const bad = [
    "",
    "a".repeat(64),
    "-a",
    "A",
    "Prod",
    "a_b",
    "a.b",
    "a b",
    " a",
    "a\n",
    "ä",
    ...NOT_TEXT,
  ];
  await fieldRules(
    api,
    `POST ${await deployPath(api)}`,
    { name: "R" },
    { field: "environment", good, bad },
  );
});

choice(
  "3.custom-domain.names",
  "a custom domain has two labels or more and is stored in lower case and ASCII",
  async ({ api }) => {
    const label = "a".repeat(63);
    const longest = `${label}.${label}.${label}.${"b".repeat(57)}.com`;
    assert.equal(longest.length, 253);
    const names = "a.b xn--bcher-kva.example 1.example a-b.c-d.example".split(" ");
    const good = [null, ...names, `${label}.com`, longest, freshHost()];
    const bad = [
      ...[
        "",
        "a",
        "localhost",
        "a..b",
        ".a.b",
        "-a.example",
        "a-.example",
        `${"a".repeat(64)}.com`,
        `x${longest}`,
      ],
      ...["127.0.0.1", "10.0.0.1", "1.2.3", "[::1]", "::1", "0x7f.1", "a.1"],
      ...[
        "a.example:80",
        "https://a.example",
        "a.example/",
        "a.example/x",
        "u@a.example",
        "a b.example",
        "a_b.example",
      ],
      ...["*.example.com", "a.example?x", "a.example#x", "%61.example", "a.example\n"],
      ...NOT_TEXT.filter((value) => value !== null),
      // The name fits within the length as written, but not in its ASCII form.
      `${`${"ü".repeat(45)}.`.repeat(5)}example`,
    ];
    const path = await deployPath(api);
    await fieldRules(api, `POST ${path}`, { name: "R" }, { field: "custom_domain", good, bad });
    for (const [sent, kept] of [
      ["Shop.EXAMPLE.org", "shop.example.org"],
      ["bücher.example.org", "xn--bcher-kva.example.org"],
      ["STRASSE.example.org", "strasse.example.org"],
      // A middle dot and a joiner are letters in these two (RFC 5892 A).
      ["paral\u00b7lel.example.org", "xn--parallel-koa.example.org"],
      ["\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example.org", "xn--mgba3gch31f060k.example.org"],
    ])
      assert.equal(
        (await api.create(path, { name: "R", custom_domain: sent })).custom_domain,
        kept,
      );
  },
);

choice("3.custom-domain.names", "a custom domain is never the server's own host", async () => {
  await using service = await startService({ publicUrl: "https://Apps.example.net:443/" });
  const api = new Client({ baseUrl: `http://127.0.0.1:${service.port}/v1`, key: service.apiKey });
  try {
    assert.equal(service.baseUrl, "https://apps.example.net/v1");
    const { headers } = await api.root.get("/healthz");
    assert.equal(
      headers["strict-transport-security"],
      "max-age=31536000",
      "browsers stay with https",
    );
    const path = await deployPath(api);
    mock.method(os, "hostname", () => "Machine.example.net");
    syncBuiltinESMExports();
    for (const custom_domain of ["apps.example.net", "APPS.Example.net", "machine.example.net"])
      invalid(await api.post(path, { name: "R", custom_domain }), "#/custom_domain");
    const request = { name: "R", custom_domain: "lab.example.net" };
    for (const host of ["lab.example.net:4600", "LAB.example.net."])
      invalid(await api.post(path, request, { host }), "#/custom_domain");
    // A host that an app holds belongs to the app, although the API responds there, too.
    for (const host of ["other.example.net", "lab.example.net"])
      assert.equal((await api.post(path, request, { host })).status, 201);
    for (const custom_domain of ["www.apps.example.net", "example.net"])
      await api.create(path, { name: "R", custom_domain });
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
});

const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });
const deploymentsOf = async (api: Client, app: string) =>
  (await api.get(`/apps/${app}/deployments`)).items;

choice(
  "3.redeploy",
  "redeploying to an environment retires the previous deployment, and no other",
  async ({ api }) => {
    const app = await newId(api);
    const [first, staging] = [
      await deploy(api, app),
      await deploy(api, app, { environment: "staging" }),
    ];
    const second = await deploy(api, app);
    const all = await deploymentsOf(api, app);
    const statuses = all.map(({ id, status }) => `${id} ${status}`);
    assert.deepEqual(statuses, [`${first.id} retired`, `${staging.id} live`, `${second.id} live`]);
    for (const { id, status } of all)
      assert.equal((await api.get(`/apps/${app}/deployments/${id}`)).json.status, status);
    await Promise.all(Array.from({ length: 8 }, () => deploy(api, app)));
    const live = (await deploymentsOf(api, app)).filter(({ status }) => status === "live");
    assert.deepEqual(
      live.map(({ environment }) => environment).sort(),
      ["production", "staging"],
      "one of many at once",
    );
  },
);

choice(
  "3.custom-domain",
  "a custom domain belongs to one app at a time and is free once no live deployment holds it",
  async ({ api }) => {
    const [mine, other] = [await newId(api), await newId(api)];
    const custom_domain = freshHost();
    const taken = async (domain = custom_domain) =>
      problem(
        await api.post(`/apps/${other}/deploy`, { name: "R", custom_domain: domain }),
        "domain_taken",
      );
    await deploy(api, mine, { custom_domain });
    await taken();
    await taken(custom_domain.toUpperCase());
    assert.deepEqual(await deploymentsOf(api, other), [], "nothing was deployed");
    assert.equal(
      (await deploy(api, mine, { custom_domain })).custom_domain,
      custom_domain,
      "its own app may keep it",
    );
    await deploy(api, mine, { custom_domain, environment: "staging" });
    await deploy(api, mine);
    await taken();
    await deploy(api, mine, { environment: "staging" });
    const { id } = await deploy(api, other, { custom_domain });
    await api.delete(`/apps/${other}`);
    for (const path of ["deployments", `deployments/${id}`])
      problem(await api.get(`/apps/${other}/${path}`), "not_found");
    assert.equal(
      (await deploy(api, mine, { custom_domain })).status,
      "live",
      "it went with its app",
    );
    const body = { name: "R", custom_domain: freshHost() };
    const apps = await Promise.all(Array.from({ length: 6 }, () => newId(api)));
    const answers = await Promise.all(apps.map((app) => api.post(`/apps/${app}/deploy`, body)));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409], "one of many at once");
  },
);
