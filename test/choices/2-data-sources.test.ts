// Data sources: the specification names them and shows no fields; all of this is ours (contract, parts 2 to 4).
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated } from "../support/clauses.ts";
import { type Client, members, str } from "../support/client.ts";
import { fieldRules, NOT_TEXT, textBounds, wide } from "../support/fields.ts";
import { badParameter, errorsOf, invalid, problem } from "../support/problem.ts";
import { processed, uploaded } from "../support/wait.ts";

type Type = "json" | "csv";

/** Creates a data source, with `data` as JSON text. */
const send = (api: Client, type: Type, data: string) =>
  api.text("POST", "/data-sources", `{"name":"N","type":"${type}","data":${data}}`);

/** Creates a data source and waits until it is processed. */
const upload = (api: Client, type: Type, data: unknown) => uploaded(api, { name: "N", type, data });

const rowsOf = (api: Client, id: string, query = "?limit=100") =>
  api.get(`/data-sources/${id}/rows${query}`);

async function assertFails(api: Client, type: Type, data: unknown, reason: string) {
  const source = await upload(api, type, data);
  const { status, columns, row_count, error } = source;
  assert.deepEqual([status, columns, row_count, error], ["failed", null, null, reason]);
  return source;
}

choice(
  "2.data-source-request",
  "the name and type of a data source are bounded, and its app belongs to the account",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Owner" });
    const deleted = await api.create("/apps", { title: "Deleted" });
    await api.delete(`/apps/${deleted.id}`);
    const badApps = [deleted.id, "app_00000000000000000000000", "", "ds_1", 5, true, [], {}];
    const badTypes = ["", "JSON", "xml", "json ", "__proto__", ...NOT_TEXT];
    await fieldRules(
      api,
      "POST /data-sources",
      { name: "N", type: "json", data: [] },
      { field: "name", ...textBounds(1, 200) },
      { field: "type", good: ["json"], bad: badTypes },
      { field: "app_id", good: [app.id, null], bad: badApps },
    );
  },
);

const NOT_ROWS = "#/data must be an array of flat objects";
const NOT_CSV = "#/data must be a string of CSV";

/** Data as JSON text that is rejected before anything is stored, with the expected issues. */
const INVALID_DATA: readonly (readonly [Type, string, ...string[]])[] = [
  ["csv", '"a\\n\\ud800"', "#/data must not contain a lone surrogate"],
  ["csv", '"a\\n\\u0000"', "#/data must not contain a NUL character"],
  ["json", '[{"a":1},[]]', "#/data/1 must be a flat object"],
  ["json", '["x",null]', "#/data/0 must be a flat object", "#/data/1 must be a flat object"],
  ["json", '[{"x/y~z":{}}]', "#/data/0/x~1y~0z must be a string, a number, true, false or null"],
  ["json", '[{"b":[1.50]}]', "#/data/0/b must be a string, a number, true, false or null"],
  [
    "json",
    '[{"a":1e999},{"__proto__":{}}]',
    "#/data/1/__proto__ must be a string, a number, true, false or null",
  ],
  ["json", '[1e400,{"a":1e400}]', "#/data/0 must be a flat object"],
  ["json", '[{"a":"\\ud800"}]', "#/data/0/a must not contain a lone surrogate"],
  [
    "json",
    '[{"b\\u0000":1},{"\\udc00":{}}]',
    "#/data/0 has a member whose name must not contain a NUL character",
    "#/data/1 has a member whose name must not contain a lone surrogate",
    "#/data/1/%EF%BF%BD must be a string, a number, true, false or null",
  ],
];

/** Asserts that the data are rejected with exactly these issues; returns the detail of the problem. */
async function assertInvalid(api: Client, type: Type, data: string, ...issues: string[]) {
  const body = problem(await send(api, type, data), "validation_failed");
  const found = errorsOf(body).map(({ pointer, detail }) => `${pointer} ${detail}`);
  assert.deepEqual(found, issues);
  return body.detail;
}

choice(
  "2.data-source-request.data",
  "JSON data is an array of flat objects, and CSV data is text",
  async ({ api }) => {
    for (const data of '"a,b" 5 null true {} 1.50 1e400 12345678901234567890'.split(" "))
      await assertInvalid(api, "json", data, NOT_ROWS);
    for (const data of '5 null true {} [] [{"a":1}] 1.50 1e400'.split(" "))
      await assertInvalid(api, "csv", data, NOT_CSV);
    for (const row of INVALID_DATA) await assertInvalid(api, ...row);
    const body = { name: "", type: "xml", app_id: 5, data: 1, more: 1 };
    invalid(await api.post("/data-sources", body), "#/more", "#/name", "#/app_id", "#/type");
    invalid(
      await api.post("/data-sources", { ...body, type: "csv" }),
      "#/more",
      "#/name",
      "#/app_id",
      "#/data",
    );
  },
);

choice(
  "7.error-body.data-faults",
  "an error lists twenty issues of rows and counts the rest",
  async ({ api }) => {
    const listed = Array.from({ length: 20 }, (_, at) => `#/data/${at} must be a flat object`);
    for (const [count, others] of [
      [20, "and 19 more"],
      [21, "and 20 more, 1 of them not listed"],
      [25, "and 24 more, 5 of them not listed"],
    ] as const) {
      const detail = await assertInvalid(api, "json", `[${Array(count).fill(1)}]`, ...listed);
      assert.equal(detail, `${listed[0]} (${others}).`);
    }
  },
);

choice(
  "6.emitted-by.data-processed",
  "a data source with invalid rows becomes failed without rows, and data.processed says so",
  async ({ api }) => {
    const reason = "Line 2: the number of fields is 3, but the header has 2.";
    const failed = await assertFails(api, "csv", "a,b\n1,2,3\n", reason);
    const { status, json } = await rowsOf(api, failed.id);
    assert.deepEqual([status, json.total, json.data], [200, 0, []]);
    const sources = [failed, await upload(api, "csv", "a\n1\n")];
    const events = (await api.get("/events?type=data.processed&limit=100")).items.slice(-2);
    assert.deepEqual(
      events.map((event) => members(event.data).object),
      sources,
    );
  },
);

const row = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, 1]));

choice(
  "8.bounds.columns",
  "a data source has at most 100 columns, and a JSON row at most 100 members",
  async ({ api }) => {
    const header = (count: number) => `${Object.keys(row(count))}\n`;
    assert.equal((await upload(api, "csv", header(100))).status, "ready");
    await assertFails(api, "csv", header(101), "Line 1: there are more than 100 columns.");
    assert.equal((await upload(api, "json", [row(100)])).status, "ready");
    const issues = [1, 2].map((at) => `#/data/${at} must have 100 members at most`);
    await assertInvalid(api, "json", JSON.stringify([{}, row(101), row(102)]), ...issues);
    const reason = "Row 2 adds column 101; at most 100 are allowed.";
    await assertFails(api, "json", [row(100), { more: 1 }], reason);
  },
);

choice(
  "8.bounds.columns",
  "a column name has at most 1,000 characters, because pages repeat it",
  async ({ api }) => {
    const longest = wide(1_000);
    const reason = "The name of column 2 has more than 1000 characters.";
    for (const [type, data] of [
      ["csv", (name: string) => `a,${name}\n1,2\n`],
      ["json", (name: string) => [{ a: 1 }, { [name]: 2 }]],
    ] as const) {
      assert.equal((await upload(api, type, data(longest))).status, "ready");
      await assertFails(api, type, data(`${longest}n`), reason);
    }
  },
);

choice(
  "2.data-source-fields.rows",
  "the rows of a data source are paged like every list",
  async ({ api }) => {
    const rows = Array.from({ length: 45 }, (_, at) => ({ at }));
    const { id } = await upload(api, "json", rows);
    const { total, limit, offset, data } = (await rowsOf(api, id, "?limit=10&offset=40")).json;
    assert.deepEqual([total, limit, offset, data], [45, 10, 40, rows.slice(40)]);
    assert.equal((await rowsOf(api, id, "")).items.length, 20);
    badParameter(await rowsOf(api, id, "?limit=101"), "limit");
    assert.deepEqual((await rowsOf(api, id, "?offset=45")).items, []);
  },
);

choice(
  "2.data-source-fields.read",
  "a processed data source has its columns and the number of its rows",
  async ({ api }) => {
    for (const [type, data, ...expected] of [
      ["csv", "a\n1\n", [{ name: "a", type: "number" }], 1],
      ["json", [], [], 0],
    ] as const) {
      const { status, columns, row_count, error } = await upload(api, type, data);
      assert.deepEqual([status, columns, row_count, error], ["ready", ...expected, null]);
    }
    const json = '[{"__proto__":1,"constructor":"\u2028"}]';
    for (const [type, data] of [
      ["csv", "__proto__,constructor\n1,\u2028\n"],
      ["json", JSON.parse(json)],
    ] as const) {
      const { text } = await rowsOf(api, (await upload(api, type, data)).id);
      assert.ok(text.includes(json), text);
    }
  },
);

choice(
  "2.data-source-fields.delete",
  "a data source outlives its app, and deleting the data source deletes its rows",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Short-lived" });
    const draft = { name: "N", type: "json", data: [], app_id: app.id };
    const path = `/data-sources/${(await api.create("/data-sources", draft)).id}`;
    await api.delete(`/apps/${app.id}`);
    assert.equal((await api.get(path)).json.app_id, null);
    await api.delete(path);
    problem(await api.get(`${path}/rows`), "not_found");
  },
);

gated(
  "3.data-processing",
  "a data source that storage had no room for is processed once there is room",
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

/** Uploads JSON rows as text; returns "name:type" of each column, and the rows as text. */
async function roundTrip(api: Client, data: string) {
  const { id } = await send(api, "json", data);
  const { columns } = await processed(api, id);
  const { text } = await rowsOf(api, id);
  const types = Array.from(columns as Iterable<object>, (each) => Object.values(each).join(":"));
  return [types.join(" "), text.slice('{"data":'.length, text.indexOf(',"total"'))];
}

const EXACT = {
  "9007199254740991": "9007199254740991",
  "-9007199254740991": "-9007199254740991",
  "1.0": "1",
  "-0": "0",
  "0.1": "0.1",
  "1e2": "100",
  "1E+2": "100",
  "5e-324": "5e-324",
  "90071992547409910e-1": "9007199254740991",
};

choice(
  "2.data-reading.exact",
  "numbers that a double represents exactly are numbers, in any notation",
  async ({ api }) => {
    const [sent, read] = ['[{"n":1.50},{"n":null},{"n":N}]', '[{"n":1.5},{"n":null},{"n":N}]'];
    for (const [number, value] of Object.entries(EXACT))
      assert.deepEqual(await roundTrip(api, sent.replace("N", number)), [
        "n:number",
        read.replace("N", value),
      ]);
  },
);

const INEXACT =
  '9007199254740992 -9007199254740992 9007199254740993 1e21 1e400 -1E400 2.5e-324 0.1234567890123456789 123456789012345678901234567890 9007199254740991.4 1e-400 "x" true';

choice(
  "2.data-reading.exact",
  "one number that a double cannot represent makes its whole column text, as written, and no other column",
  async ({ api }) => {
    const sent = '[{"n":1.50,"m":1.50},{"n":null,"m":-2e0},{"n":N,"m":1}]';
    const read = '[{"n":"1.50","m":1.5},{"n":null,"m":-2},{"n":"N","m":1}]';
    for (const number of INEXACT.split(" "))
      assert.deepEqual(await roundTrip(api, sent.replace("N", number)), [
        "n:string m:number",
        read.replace("N", number.replaceAll('"', "")),
      ]);
  },
);

choice(
  "2.data-reading.exact",
  "texts and names that contain numbers, quotes or brackets stay unchanged",
  async ({ api }) => {
    const texts = String.raw`"a\"1.50,":"[1.50,\\","\\":"9007199254740993","}1.0":"{\"n\":1e400}"`;
    const [, rows] = await roundTrip(api, `[{${texts},"__proto__":1e400,"2":1.50}]`);
    assert.equal(rows, `[{"2":1.5,${texts},"__proto__":"1e400"}]`);
    const [, last] = await roundTrip(api, '[{"n":1e400,"n":1}],"data":[{"n":1.50,"n":1e400}]');
    assert.equal(last, '[{"n":"1e400"}]', "of members of one name the last counts");
  },
);

choice(
  "2.data-reading.exact",
  "a number in place of text is rejected, and so is invalid JSON",
  async ({ api }) => {
    for (const number of ["12345678901234567890", "1.50", "1e400"]) {
      const source = '{"name":N,"type":"json","data":[{"n":1e400}]}'.replace("N", number);
      invalid(await api.text("POST", "/data-sources", source), "#/name");
      invalid(await api.text("POST", "/apps", '{"title":N}'.replace("N", number)), "#/title");
    }
    const answer = await api.text("POST", "/data-sources", '{"data":[{"n":1e400,"m":01}]}');
    assert.match(str(problem(answer, "invalid_json").detail), /at position 25/);
  },
);

choice(
  "2.data-reading.exact",
  "an inexact number in an interaction's data point becomes text, and exact ones stay numbers",
  async ({ api }) => {
    const { id } = await api.create("/apps", { title: "Used" });
    const report = (members: string) =>
      api.text(
        "POST",
        `/apps/${id}/interactions`,
        '{"user_id":"u","interaction_type":"t",M}'.replace("M", members),
      );
    const digits = "1".repeat(1_000);
    const ofDigits = (x: string) => '"data_point":{"x":N}'.replace("N", x);
    for (const [point, expected] of [
      [
        '"data_point":{"x":9007199254740993,"y":1.50,"category":9007199254740992}',
        { x: "9007199254740993", y: 1.5, category: "9007199254740992" },
      ],
      [
        '"data_point":{"x":1e400,"y":9007199254740991}',
        { x: "1e400", y: 2 ** 53 - 1, category: null },
      ],
      [ofDigits(digits), { x: digits, y: null, category: null }],
      ['"data_point":null', null],
    ] as const) {
      const { json } = await report(point);
      assert.deepEqual((await api.get(`/events/${json.id}`)).json, json);
      assert.deepEqual(members(members(json.data).object).data_point, expected);
    }
    for (const [wrong, at] of [
      ['"data_point":9007199254740993', "#/data_point"],
      ['"data_point":1.50', "#/data_point"],
      ['"chart_id":9007199254740993', "#/chart_id"],
      ['"chart_id":1.50', "#/chart_id"],
      ['"data_point":{"x":{"x":1.50}}', "#/data_point/x"],
      [ofDigits(`1${digits}`), "#/data_point/x"],
    ] as const)
      invalid(await report(wrong), at);
  },
);

choice("2.data-reading.csv-lines", "blank lines at the end of CSV are ignored", async ({ api }) => {
  const { row_count } = await upload(api, "csv", "\ufeffname,price\r\nTea,1.50\r\n\r\n\r\n");
  assert.equal(row_count, 1);
});
