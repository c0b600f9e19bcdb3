// Data sources: the specification names them and shows no field; all of this is ours (contract, parts 2 to 4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client, Members } from "../support/client.ts";
import { fieldRule, ISO_TIME, idOf, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { badParameter, invalid, problem } from "../support/problem.ts";
import { eventually } from "../support/wait.ts";

const ROWS = [{ a: 1 }];

/** The data source once it is processed. */
const processed = (api: Client, id: string): Promise<Members> =>
  eventually(async () => {
    const { json } = await api.get(`/data-sources/${id}`);
    return json.status === "processing" ? undefined : json;
  });

/** Creates a data source and waits for its end. */
async function made(api: Client, type: "json" | "csv", data: unknown): Promise<Members & { readonly id: string }> {
  const { id } = await api.create("/data-sources", { name: "Made", type, data });
  return { ...(await processed(api, id)), id };
}

const rowsOf = (api: Client, { id }: { readonly id: string }, query = "?limit=100") =>
  api.get(`/data-sources/${id}/rows${query}`);

/** Column by column: its name and its type. */
const typesOf = ({ columns }: Members): readonly unknown[] =>
  Array.isArray(columns) ? columns.map(({ name, type }) => `${name} ${type}`) : assert.fail("no columns");

choice("2.data-source-fields", "are ten and come at once, the data is processed after the answer", async ({ api }) => {
  const draft = { name: "N", type: "csv", data: "a\n1\n" };
  const { id, created_at, updated_at, ...rest } = await api.create("/data-sources", draft);
  assert.match(id, idOf("ds"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  const open = { status: "processing", columns: null, row_count: null, error: null };
  assert.deepEqual(rest, { name: "N", type: "csv", app_id: null, ...open });
  const { status, columns, row_count, error } = await processed(api, id);
  assert.deepEqual([status, columns, row_count, error], ["ready", [{ name: "a", type: "number" }], 1, null]);
});

choice("2.data-source-request", "name, type and data are required and bounded", async ({ api }) => {
  await requiredFields(api, "/data-sources", { name: "N", type: "json", data: ROWS });
  const app = await api.create("/apps", { title: "Owner" });
  const gone = await api.create("/apps", { title: "Gone" });
  await api.delete(`/apps/${gone.id}`);
  const noApp = [gone.id, "app_00000000000000000000000", "", "ds_1", 5, true, [], {}];
  for (const [field, good, bad] of [
    ["name", ["n", "n".repeat(200), wide(200)], ["", "n".repeat(201), wide(201), ...NOT_TEXT]],
    ["type", ["json"], ["", "JSON", "xml", "json ", "__proto__", ...NOT_TEXT]],
    ["app_id", [app.id, null], noApp],
  ] as const)
    await fieldRule(api, "/data-sources", { name: "N", type: "json", data: ROWS }, { field, good, bad });
  await fieldRule(api, "/data-sources", { name: "N", data: "a\n1" }, { field: "type", good: ["csv"], bad: [] });
});

choice("2.data-source-request.data", "JSON is an array of flat objects, CSV is text", async ({ api }) => {
  for (const data of ["text", 5, null, true, {}, [1], [null], [[]], ["a"], [{ a: {} }], [{ a: [] }], [{ a: 1 }, 2]]) {
    const body = problem(await api.post("/data-sources", { name: "N", type: "json", data }), "validation_failed");
    assert.match(JSON.stringify(body.errors), /"pointer":"#\/data/);
  }
  for (const data of [5, null, true, {}, [], ROWS])
    invalid(await api.post("/data-sources", { name: "N", type: "csv", data }), "#/data");
});

choice("2.data-reading.json", "columns are typed by what every value of a column is", async ({ api }) => {
  const source = await made(api, "json", [
    { t: "x", n: 1, b: true, d: "2026-01-02T03:04:05Z", e: null, m: 1 },
    { t: "y", n: -2.5, b: false, d: "2026-02-28T00:00:00.000Z", e: null, m: "one" },
  ]);
  assert.deepEqual([source.status, source.row_count], ["ready", 2], String(source.error));
  const types = typesOf(source).filter((column) => !/^e /.test(String(column)));
  assert.deepEqual(types, ["t string", "n number", "b boolean", "d datetime", "m string"]);
});

choice("2.data-reading.csv", "columns are typed from the text", async ({ api }) => {
  const source = await made(api, "csv", "t,n,b,d\nx,1,true,2026-01-02T03:04:05Z\ny,-2.5,false,2026-01-03T00:00:00Z\n");
  assert.deepEqual(typesOf(source), ["t string", "n number", "b boolean", "d datetime"]);
  const [first] = (await rowsOf(api, source)).items;
  assert.deepEqual([first?.t, first?.n, first?.b], ["x", 1, true]);
});

choice("2.data-source-request.data", "CSV follows RFC 4180, and its names may be any", async ({ api }) => {
  const source = await made(api, "csv", 'a,b\r\n"x, y","say ""hi"""\r\n"two\r\nlines",\r\n');
  const [first, second, ...more] = (await rowsOf(api, source)).items;
  assert.deepEqual([first?.a, first?.b, second?.a, more], ["x, y", 'say "hi"', "two\r\nlines", []]);
  const named = await made(api, "csv", "__proto__,constructor,toString\n1,2,3\n");
  assert.match((await rowsOf(api, named)).text, /"__proto__":1,"constructor":2,"toString":3/);
});

choice("6.emitted-by.data-processed", "what only processing can see makes it failed, without rows", async ({ api }) => {
  for (const data of ['a,b\n"open,1\n', "a,b\n1,2,3\n", "a,a\n1,2\n", ""]) {
    const source = await made(api, "csv", data);
    assert.ok(typeof source.error === "string" && source.error.length > 5, "says why");
    assert.deepEqual([source.status, source.columns, source.row_count], ["failed", null, null]);
    const rows = await rowsOf(api, source);
    assert.deepEqual([rows.status, rows.json.total, rows.items], [200, 0, []]);
  }
});

choice("8.bounds.columns", "a data source has 100 columns at most", async ({ api }) => {
  const header = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`).join(",");
  assert.equal((await made(api, "csv", `${header(100)}\n`)).status, "ready");
  const over = await made(api, "csv", `${header(101)}\n`);
  assert.equal(over.status, "failed");
  assert.match(String(over.error), /100/);
});

choice("2.data-source-fields.rows", "are paged like every list", async ({ api }) => {
  const rows = Array.from({ length: 45 }, (_, at) => ({ at }));
  const source = await made(api, "json", rows);
  const page = await rowsOf(api, source, "?limit=10&offset=40");
  assert.deepEqual([page.json.total, page.json.limit, page.json.offset], [45, 10, 40]);
  assert.deepEqual(page.items, rows.slice(40));
  assert.equal((await rowsOf(api, source, "")).items.length, 20);
  badParameter(await rowsOf(api, source, "?limit=101"), "limit");
  assert.deepEqual((await rowsOf(api, source, "?offset=45")).items, []);
});

choice("2.data-source-fields.delete", "it outlives its app; deleted, it is gone with its rows", async ({ api }) => {
  const app = await api.create("/apps", { title: "Short-lived" });
  const draft = { name: "N", type: "json", data: ROWS, app_id: app.id };
  const path = `/data-sources/${(await api.create("/data-sources", draft)).id}`;
  await api.delete(`/apps/${app.id}`);
  assert.equal((await api.get(path)).json.app_id, null);
  const answer = await api.delete(path);
  assert.deepEqual([answer.status, answer.text], [204, ""]);
  for (const gone of [await api.delete(path), await api.get(path), await api.get(`${path}/rows`)])
    problem(gone, "not_found");
});
