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

const rowsOf = async (api: Client, id: string) => (await api.get(`/data-sources/${id}/rows?limit=100`)).items;

choice("2.data-source-fields", "are ten and come at once, the data is processed after the answer", async ({ api }) => {
  const { id, created_at, updated_at, ...rest } = await api.create("/data-sources", {
    name: "N",
    type: "csv",
    data: "a\n1\n",
  });
  assert.match(id, idOf("ds"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  const open = { status: "processing", columns: null, row_count: null, error: null };
  assert.deepEqual(rest, { name: "N", type: "csv", app_id: null, ...open });
  const { status, columns, row_count, error } = await processed(api, id);
  const ready = { status: "ready", columns: [{ name: "a", type: "number" }], row_count: 1, error: null };
  assert.deepEqual({ status, columns, row_count, error }, ready);
});

choice("2.data-source-request.required", "name, type and data are required", ({ api }) =>
  requiredFields(api, "/data-sources", { name: "N", type: "json", data: ROWS }),
);

choice("2.data-source-request.name", "has 1 to 200 characters", async ({ api }) => {
  const bad = ["", "n".repeat(201), wide(201), ...NOT_TEXT];
  const rest = { type: "json", data: ROWS };
  await fieldRule(api, "/data-sources", rest, { field: "name", good: ["n", "n".repeat(200), wide(200)], bad });
});

choice("2.data-source-request.type", "is json or csv", async ({ api }) => {
  const bad = ["", "JSON", "xml", "json ", "__proto__", ...NOT_TEXT];
  await fieldRule(api, "/data-sources", { name: "N", data: ROWS }, { field: "type", good: ["json"], bad });
  await fieldRule(api, "/data-sources", { name: "N", data: "a\n1" }, { field: "type", good: ["csv"], bad: [] });
});

choice("2.data-source-request.app", "is an app of this account or null", async ({ api }) => {
  const app = await api.create("/apps", { title: "Owner" });
  const gone = await api.create("/apps", { title: "Gone" });
  await api.delete(`/apps/${gone.id}`);
  const bad = [gone.id, "app_00000000000000000000000", "", "ds_1", 5, true, [], {}];
  const rest = { name: "N", type: "json", data: ROWS };
  await fieldRule(api, "/data-sources", rest, { field: "app_id", good: [app.id, null], bad });
});

choice("2.data-source-request.data", "JSON has to be an array of flat objects", async ({ api }) => {
  for (const data of ["text", 5, null, true, {}, [1], [null], [[]], ["a"], [{ a: {} }], [{ a: [] }], [{ a: 1 }, 2]]) {
    const answer = await api.post("/data-sources", { name: "N", type: "json", data });
    const body = problem(answer, 422, "validation_failed");
    assert.match(JSON.stringify(body.errors), /"pointer":"#\/data/, answer.text);
  }
});

choice("2.data-source-request.data", "CSV has to be text", async ({ api }) => {
  for (const data of [5, null, true, {}, [], ROWS])
    invalid(await api.post("/data-sources", { name: "N", type: "csv", data }), "#/data");
});

choice("2.data-reading.json", "columns are typed by what every value of a column is", async ({ api }) => {
  const data = [
    { t: "x", n: 1, b: true, d: "2026-01-02T03:04:05Z", e: null, m: 1 },
    { t: "y", n: -2.5, b: false, d: "2026-02-28T00:00:00.000Z", e: null, m: "one" },
  ];
  const source = await made(api, "json", data);
  assert.equal(source.status, "ready", String(source.error));
  assert.equal(source.row_count, 2);
  const types = Object.fromEntries(columnsOf(source).map(({ name, type }) => [name, type]));
  assert.deepEqual({ ...types, e: "" }, { t: "string", n: "number", b: "boolean", d: "datetime", e: "", m: "string" });
});

choice("2.data-reading.csv", "columns are typed from the text", async ({ api }) => {
  const source = await made(api, "csv", "t,n,b,d\nx,1,true,2026-01-02T03:04:05Z\ny,-2.5,false,2026-01-03T00:00:00Z\n");
  assert.deepEqual(source.columns, [
    { name: "t", type: "string" },
    { name: "n", type: "number" },
    { name: "b", type: "boolean" },
    { name: "d", type: "datetime" },
  ]);
  const [first] = await rowsOf(api, source.id);
  assert.deepEqual([first?.t, first?.n, first?.b], ["x", 1, true]);
});

choice(
  "2.data-source-request.data",
  "CSV follows RFC 4180: quotes, doubled quotes, commas and line breaks inside",
  async ({ api }) => {
    const source = await made(api, "csv", 'a,b\r\n"x, y","say ""hi"""\r\n"two\r\nlines",\r\n');
    assert.equal(source.status, "ready", String(source.error));
    const rows = await rowsOf(api, source.id);
    assert.equal(rows.length, 2);
    assert.deepEqual([rows[0]?.a, rows[0]?.b, rows[1]?.a], ["x, y", 'say "hi"', "two\r\nlines"]);
  },
);

choice(
  "6.emitted-by.data-processed",
  "what only processing can see makes it failed, with the reason",
  async ({ api }) => {
    for (const data of ['a,b\n"open,1\n', "a,b\n1,2,3\n", "a,a\n1,2\n", ""]) {
      const source = await made(api, "csv", data);
      assert.equal(source.status, "failed", JSON.stringify(data));
      assert.ok(typeof source.error === "string" && source.error.length > 5, "says why");
      assert.deepEqual([source.columns, source.row_count], [null, null]);
    }
  },
);

choice(
  "3.data-processing.rows",
  "there are none before the data is processed, nor where that failed",
  async ({ api }) => {
    const source = await made(api, "csv", 'a\n"open');
    const answer = await api.get(`/data-sources/${source.id}/rows`);
    assert.deepEqual([answer.status, answer.json.total, answer.items], [200, 0, []]);
  },
);

choice("8.bounds.columns", "a data source has 100 columns at most", async ({ api }) => {
  const header = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`).join(",");
  assert.equal((await made(api, "csv", `${header(100)}\n`)).status, "ready");
  const over = await made(api, "csv", `${header(101)}\n`);
  assert.equal(over.status, "failed");
  assert.match(String(over.error), /100/);
});

choice("2.data-reading.csv.names", "may be called like a member that every object has", async ({ api }) => {
  const source = await made(api, "csv", "__proto__,constructor,toString\n1,2,3\n");
  assert.equal(source.status, "ready", String(source.error));
  const answer = await api.get(`/data-sources/${source.id}/rows`);
  assert.match(answer.text, /"__proto__":1,"constructor":2,"toString":3/);
});

choice("2.data-source-fields.rows", "are paged like every list", async ({ api }) => {
  const source = await made(
    api,
    "json",
    Array.from({ length: 45 }, (_, at) => ({ at })),
  );
  const page = await api.get(`/data-sources/${source.id}/rows?limit=10&offset=40`);
  assert.deepEqual([page.json.total, page.json.limit, page.json.offset], [45, 10, 40]);
  assert.deepEqual(
    page.items,
    [40, 41, 42, 43, 44].map((at) => ({ at })),
  );
  assert.equal((await api.get(`/data-sources/${source.id}/rows`)).items.length, 20);
  badParameter(await api.get(`/data-sources/${source.id}/rows?limit=101`), "limit");
  assert.deepEqual((await api.get(`/data-sources/${source.id}/rows?offset=45`)).items, []);
});

choice("2.data-source-fields.app-deleted", "a data source stays and loses its app", async ({ api }) => {
  const app = await api.create("/apps", { title: "Short-lived" });
  const source = await api.create("/data-sources", { name: "N", type: "json", data: ROWS, app_id: app.id });
  await api.delete(`/apps/${app.id}`);
  assert.equal((await api.get(`/data-sources/${source.id}`)).json.app_id, null);
});

choice("2.data-source-fields.delete", "answers 204 once and 404 afterwards, for its rows too", async ({ api }) => {
  const source = await made(api, "json", ROWS);
  const answer = await api.delete(`/data-sources/${source.id}`);
  assert.deepEqual([answer.status, answer.text], [204, ""]);
  problem(await api.delete(`/data-sources/${source.id}`), 404, "not_found");
  problem(await api.get(`/data-sources/${source.id}`), 404, "not_found");
  problem(await api.get(`/data-sources/${source.id}/rows`), 404, "not_found");
});

function columnsOf(source: Members): readonly { readonly name: unknown; readonly type: unknown }[] {
  assert.ok(Array.isArray(source.columns), JSON.stringify(source));
  return source.columns;
}
