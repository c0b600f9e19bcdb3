// Apps, deployments and data sources. Spec part 2 names the fields of apps and deployments, and part 4 shows four
// operations. Bounds, reads, updates, interactions, the lifecycle of deployments and domains, and everything about data
// sources are this project's.
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import {
  badParameter,
  type Client,
  choice,
  contains,
  fieldRules,
  freshHost,
  gated,
  ISO_TIME,
  idOf,
  invalid,
  MANUAL,
  members,
  NOT_FLAG,
  NOT_TEXT,
  problem,
  processed,
  requiredFields,
  served,
  str,
  textBounds,
  uploaded,
} from "../support/index.ts";

const WHOLE = { title: "Sales", description: "By region", theme: "dark", public: true };
const newId = async (api: Client) => (await api.create("/apps", WHOLE)).id;
const deploy = (api: Client, app: string, body: object = {}) =>
  api.create(`/apps/${app}/deploy`, { name: "R", ...body });

const TITLES = 'x| padded |日本語|<b>&amp;</b>|\u{1F600}|e\u0301 \u00e9|\u0001\u007f \u200b|\\ " /';

choice(
  "8.field-lengths.app: each field of an app has the same bounds on create and on update",
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
  "2.unknown-members: unknown members are rejected by name, so that a typo never passes silently",
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
  "7.error-body.all-faults: a body must be an object, and the error lists every invalid field",
  async ({ api }) => {
    for (const body of [[], "text", null]) invalid(await api.post("/apps", body), "#");
    const wrong = { title: "", description: 5, theme: "", public: "yes", x: 1 };
    invalid(await api.post("/apps", wrong), ...Object.keys(wrong).map((name) => `#/${name}`));
  },
);

choice(
  "4.app-endpoints.change: an update sets updated_at unless nothing changes",
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
  "4.app-endpoints.interaction: an interaction responds with 202 and its event; absent members are null, and all are bounded",
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
  "2.environments: a deployment responds with 201, its Location and eight fields, requires a name, and exists only below its app",
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
  ",a,localhost,a.b.1,a..b,.a.b,-a.example,a-.example,127.0.0.1,1.2.3,[::1],::1,0x7f.1,a.example:80,https://a.example," +
  "a.example/,u@a.example,a b.example,a_b.example,*.example.com,a.example?x,a.example#x,%61.example,a.example\n";

choice(
  "3.custom-domain.names: a custom domain has two labels or more and is stored in lower case and ASCII",
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

served(
  "3.custom-domain.names: a custom domain is never the server's own host",
  { publicUrl: "https://Apps.example.net:443/" },
  async ({ api }) => {
    const path = `/apps/${await newId(api)}/deploy`;
    const body = { name: "R", custom_domain: "APPS.Example.net" };
    invalid(await api.post(path, body), "#/custom_domain");
    invalid(await api.post(path, { ...body, name: "" }), "#/name", "#/custom_domain");
    await api.create(path, { name: "R", custom_domain: "www.apps.example.net" });
  },
);

choice(
  "3.redeploy: redeploying to an environment retires the previous deployment, and no other",
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
  "3.custom-domain: a custom domain belongs to one app at a time and is free once no live deployment holds it",
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

type Type = "json" | "csv";

/** Creates a data source, with `data` as JSON text. */
const send = (api: Client, type: Type, data: string) =>
  api.text("POST", "/data-sources", `{"name":"N","type":"${type}","data":${data}}`);

/** Creates a data source and waits until it is processed. */
const upload = (api: Client, type: Type, data: unknown) => uploaded(api, { name: "N", type, data });

const listRows = (api: Client, id: string, query = "?limit=100") =>
  api.get(`/data-sources/${id}/rows${query}`);

async function assertFails(api: Client, type: Type, data: unknown, reason: string) {
  const source = await upload(api, type, data);
  const { status, columns, row_count, error } = source;
  assert.deepEqual([status, columns, row_count, error], ["failed", null, null, reason]);
  return source;
}

choice(
  "2.data-source-request: the name and type of a data source are bounded, and its app belongs to the account",
  async ({ api }) => {
    const app = await api.newApp();
    const deleted = await api.newApp();
    await api.delete(`/apps/${deleted.id}`);
    await fieldRules(
      api,
      "POST /data-sources",
      { name: "N", type: "json", data: [] },
      { field: "name", ...textBounds(1, 200) },
      { field: "type", bad: ["", "JSON", "xml", "__proto__", ...NOT_TEXT] },
      { field: "app_id", good: [app.id, null], bad: [deleted.id, "", "ds_1", 5, {}] },
    );
  },
);

/** Data as JSON text that is rejected before anything is stored, with the places of the issues. */
const INVALID_DATA = [
  ["json", '"a,b"', "#/data"],
  ["json", "1e400", "#/data"],
  ["csv", "null", "#/data"],
  ["csv", "[]", "#/data"],
  ["csv", '"a\\n\\ud800"', "#/data"],
  ["csv", '"a\\n\\u0000"', "#/data"],
  ["json", '["x",null,[]]', "#/data/0", "#/data/1", "#/data/2"],
  ["json", '[{"x/y~z":{}}]', "#/data/0/x~1y~0z"],
  ["json", '[{"a":1e999},{"__proto__":{}}]', "#/data/1/__proto__"],
  ["json", '[{"a":"\\ud800"},{"\\udc00":1}]', "#/data/0/a", "#/data/1/%EF%BF%BD"],
] as const;

choice(
  "2.data-source-request.data: JSON data is an array of flat objects, and CSV data is text",
  async ({ api }) => {
    for (const [type, data, ...pointers] of INVALID_DATA)
      invalid(await send(api, type, data), ...pointers);
    const mismatch = { name: "", type: "csv", data: [] };
    invalid(await api.post("/data-sources", mismatch), "#/name", "#/data");
    const body = { name: "", type: "xml", app_id: 5, data: 1, more: 1 };
    invalid(await api.post("/data-sources", body), ...Object.keys(body).map((name) => `#/${name}`));
  },
);

choice(
  "6.emitted-by.data-processed: a data source with invalid rows becomes failed without rows, and data.processed says so",
  async ({ api }) => {
    const reason = "Line 2: the number of fields is 3, but the header has 2.";
    const failed = await assertFails(api, "csv", "a,b\n1,2,3\n", reason);
    assert.equal((await listRows(api, failed.id)).total, 0);
    const event = (await api.get("/events?type=data.processed&limit=100")).items.at(-1);
    assert.deepEqual(members(event?.data).object, failed);
  },
);

const row = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, 1]));

choice(
  "8.bounds.columns: a data source has at most 100 columns, with names of at most 1,000 characters",
  async ({ api }) => {
    for (const [type, data, reason] of [
      ["csv", `${Object.keys(row(101))}\n`, "Line 1: there are more than 100 columns."],
      ["json", [row(100), { c: 1 }], "There are 101 columns; at most 100 are allowed."],
      ["json", [{ ["n".repeat(1_001)]: 1 }], "A column name has more than 1000 characters."],
    ] as const)
      await assertFails(api, type, data, reason);
    assert.equal((await upload(api, "csv", `${Object.keys(row(100))}\n`)).status, "ready");
    invalid(await send(api, "json", JSON.stringify([row(100), row(101)])), "#/data/1");
  },
);

choice(
  "2.data-source-fields.rows: the rows of a data source are paged like every list",
  async ({ api }) => {
    const rows = Array.from({ length: 45 }, (_, at) => ({ at }));
    const { id } = await upload(api, "json", rows);
    const { total, limit, offset, data } = (await listRows(api, id, "?limit=10&offset=40")).json;
    assert.deepEqual([total, limit, offset, data], [45, 10, 40, rows.slice(40)]);
    badParameter(await listRows(api, id, "?limit=101"), "limit");
  },
);

choice(
  "2.data-source-fields.read: a processed data source has its columns and the number of its rows",
  async ({ api }) => {
    const { status, columns, row_count, error } = await upload(api, "csv", "\ufeffa\r\n1\r\n\r\n");
    const expected = ["ready", [{ name: "a", type: "number" }], 1, null];
    assert.deepEqual([status, columns, row_count, error], expected);
    const json = '[{"__proto__":1,"constructor":"\u2028"}]';
    for (const [type, data] of [
      ["csv", "__proto__,constructor\n1,\u2028\n"],
      ["json", JSON.parse(json)],
    ] as const) {
      const { text } = await listRows(api, (await upload(api, type, data)).id);
      contains(text, json);
    }
  },
);

choice(
  "4.delete-response.data-source: a data source outlives its app, and deleting the data source deletes its rows",
  async ({ api }) => {
    const app = await api.newApp();
    const draft = { name: "N", type: "json", data: [], app_id: app.id };
    const path = `/data-sources/${(await api.create("/data-sources", draft)).id}`;
    await api.delete(`/apps/${app.id}`);
    assert.equal((await api.get(path)).json.app_id, null);
    await api.delete(path);
    problem(await api.get(`${path}/rows`), "not_found");
  },
);

gated(
  "3.data-processing: a data source that storage had no room for is processed once there is room",
  async ({ api, service }, gate) => {
    Object.assign(gate, { fault: new StorageUnavailable("full"), spared: 1 });
    const { id } = (await send(api, "json", "[]")).json;
    for (const [minutes, status] of ["processing", "processing", "ready"].entries()) {
      if (minutes === 2) gate.fault = undefined;
      await service.clock.advance("60s");
      assert.equal((await api.get(`/data-sources/${id}`)).json.status, status);
    }
  },
);

gated(
  "3.data-processing: a reset ends the retries of data sources that could not be processed",
  async ({ api, service }, gate) => {
    Object.assign(gate, { fault: new StorageUnavailable("full"), spared: 1 });
    await send(api, "json", "[]");
    await service.settled();
    gate.fault = undefined;
    await service.reset();
    assert.deepEqual(await service.clock.advance("2m"), []);
  },
);

/** Uploads JSON rows as text; returns "name:type" of each column, and the rows as text. */
async function roundTrip(api: Client, data: string) {
  const { id } = await send(api, "json", data);
  const { columns } = await processed(api, id);
  const { text } = await listRows(api, id);
  const types = Array.from(columns as Iterable<object>, (each) => Object.values(each).join(":"));
  return [types.join(" "), text.slice('{"data":'.length, text.indexOf(',"total"'))];
}

/** Numbers that a double represents exactly. */
const EXACT =
  "0 -0 0.0 0e999 1.0 -1 100 1E+2 100e-2 0.1 0.30000000000000004 9007199254740991 -9007199254740991.0 90071992547409910e-1 " +
  "0.0000001 5e-324";
/** Other values, which make their column text. */
const INEXACT =
  "9007199254740992 -9007199254740992 9007199254740990.6 1e16 1e21 1.7976931348623157e308 1e309 -1E400 2.5e-324 1e-400 " +
  '0.1234567890123456789 0.30000000000000005 123456789012345678901234567890 1e99999999999999999999 "x" true';

choice(
  "2.data-reading.exact: one number that a double cannot represent makes its whole column text, as written, and no other column",
  async ({ api }) => {
    for (const number of EXACT.split(" "))
      assert.deepEqual(await roundTrip(api, `[{"n":1.50},{"n":null},{"n":${number}}]`), [
        "n:number",
        `[{"n":1.5},{"n":null},{"n":${JSON.parse(number)}}]`,
      ]);
    for (const number of INEXACT.split(" "))
      assert.deepEqual(await roundTrip(api, `[{"n":1.50,"m":1.50},{"n":${number},"m":-2e0}]`), [
        "n:string m:number",
        `[{"n":"1.50","m":1.5},{"n":"${number.replaceAll('"', "")}","m":-2}]`,
      ]);
    const texts = String.raw`"a\"1.50,":"[1.50,\\","\\":"9007199254740993","}1.0":"{\"n\":1e400}"`;
    const [, rows] = await roundTrip(api, `[{${texts},"__proto__":1e400,"2":1.50}]`);
    assert.equal(rows, `[{"2":1.5,${texts},"__proto__":"1e400"}]`);
  },
);

choice(
  "2.data-reading.exact: a number in place of text is rejected, and so is invalid JSON",
  async ({ api }) => {
    const source = '{"name":1.50,"type":"json","data":[{"n":1e400}]}';
    invalid(await api.text("POST", "/data-sources", source), "#/name");
    problem(await send(api, "json", '[{"n":1e400,"m":01}]'), "invalid_json");
    for (const row of ['"text"', "5.0", "null", "[1.0]"])
      invalid(await send(api, "json", `[{"length":"x","0":"x"},${row},{"n":1.0}]`), "#/data/1");
  },
);

choice(
  "2.data-reading.exact: an inexact number in an interaction's data point becomes text, and exact ones stay numbers",
  async ({ api }) => {
    const { id } = await api.newApp();
    const report = (fields: string) =>
      api.text(
        "POST",
        `/apps/${id}/interactions`,
        `{"user_id":"u","interaction_type":"t",${fields}}`,
      );
    const { json } = await report('"data_point":{"x":9007199254740993,"y":1.50,"category":1e400}');
    const { object } = members(json.data);
    const expected = { x: "9007199254740993", y: 1.5, category: "1e400" };
    assert.deepEqual(members(object).data_point, expected);
    invalid(await report('"data_point":9007199254740993'), "#/data_point");
    invalid(await report('"chart_id":1.50'), "#/chart_id");
  },
);
