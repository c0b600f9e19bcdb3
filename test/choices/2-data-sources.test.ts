// Data sources: the specification names them and shows no fields; all of this is ours (contract, parts 2 to 4).
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated } from "../support/clauses.ts";
import { type Client, members } from "../support/client.ts";
import { fieldRules, NOT_TEXT, textBounds } from "../support/fields.ts";
import { badParameter, invalid, problem } from "../support/problem.ts";
import { processed, uploaded } from "../support/wait.ts";

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
  "2.data-source-request",
  "the name and type of a data source are bounded, and its app belongs to the account",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Owner" });
    const deleted = await api.create("/apps", { title: "Deleted" });
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
const INVALID_DATA: readonly (readonly [Type, data: string, ...pointers: string[]])[] = [
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
];

choice(
  "2.data-source-request.data",
  "JSON data is an array of flat objects, and CSV data is text",
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
  "6.emitted-by.data-processed",
  "a data source with invalid rows becomes failed without rows, and data.processed says so",
  async ({ api }) => {
    const reason = "Line 2: the number of fields is 3, but the header has 2.";
    const failed = await assertFails(api, "csv", "a,b\n1,2,3\n", reason);
    assert.equal((await listRows(api, failed.id)).json.total, 0);
    const event = (await api.get("/events?type=data.processed&limit=100")).items.at(-1);
    assert.deepEqual(members(event?.data).object, failed);
  },
);

const row = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, 1]));

choice(
  "8.bounds.columns",
  "a data source has at most 100 columns, with names of at most 1,000 characters",
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
  "2.data-source-fields.rows",
  "the rows of a data source are paged like every list",
  async ({ api }) => {
    const rows = Array.from({ length: 45 }, (_, at) => ({ at }));
    const { id } = await upload(api, "json", rows);
    const { total, limit, offset, data } = (await listRows(api, id, "?limit=10&offset=40")).json;
    assert.deepEqual([total, limit, offset, data], [45, 10, 40, rows.slice(40)]);
    badParameter(await listRows(api, id, "?limit=101"), "limit");
  },
);

choice(
  "2.data-source-fields.read",
  "a processed data source has its columns and the number of its rows",
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
      assert.ok(text.includes(json), text);
    }
  },
);

choice(
  "4.delete-response.data-source",
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
  const { text } = await listRows(api, id);
  const types = Array.from(columns as Iterable<object>, (each) => Object.values(each).join(":"));
  return [types.join(" "), text.slice('{"data":'.length, text.indexOf(',"total"'))];
}

const EXACT = {
  "9007199254740991": "9007199254740991",
  "1.0": "1",
  "-0": "0",
  "1E+2": "100",
  "90071992547409910e-1": "9007199254740991",
};
const INEXACT =
  '9007199254740992 -9007199254740992 1e21 -1E400 2.5e-324 0.1234567890123456789 9007199254740991.4 "x" true';

choice(
  "2.data-reading.exact",
  "one number that a double cannot represent makes its whole column text, as written, and no other column",
  async ({ api }) => {
    for (const [number, value] of Object.entries(EXACT))
      assert.deepEqual(await roundTrip(api, `[{"n":1.50},{"n":null},{"n":${number}}]`), [
        "n:number",
        `[{"n":1.5},{"n":null},{"n":${value}}]`,
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
  "2.data-reading.exact",
  "a number in place of text is rejected, and so is invalid JSON",
  async ({ api }) => {
    const source = '{"name":1.50,"type":"json","data":[{"n":1e400}]}';
    invalid(await api.text("POST", "/data-sources", source), "#/name");
    problem(await send(api, "json", '[{"n":1e400,"m":01}]'), "invalid_json");
    for (const row of ['"text"', "5.0", "null", "[1.0]"])
      invalid(await send(api, "json", `[{"length":"x","0":"x"},${row},{"n":1.0}]`), "#/data/1");
  },
);

choice(
  "2.data-reading.exact",
  "an inexact number in an interaction's data point becomes text, and exact ones stay numbers",
  async ({ api }) => {
    const { id } = await api.create("/apps", { title: "Used" });
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
