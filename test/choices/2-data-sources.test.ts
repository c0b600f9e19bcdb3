// Data sources: the specification names them and shows no fields; all of this is ours (contract, parts 2 to 4).
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, gated } from "../support/clauses.ts";
import { type Client, type Members, members, str } from "../support/client.ts";
import { fieldRules, NOT_TEXT, wide } from "../support/fields.ts";
import { badParameter, errorsOf, invalid, problem } from "../support/problem.ts";
import { processed, uploaded } from "../support/wait.ts";

const ROWS = [{ a: 1 }];

const made = (api: Client, type: "json" | "csv", data: unknown) =>
  uploaded(api, { name: "Made", type, data });

/** Data that cannot be parsed, and the reason. */
async function failed(api: Client, type: "json" | "csv", data: unknown, why: string) {
  const source = await made(api, type, data);
  const { status, columns, row_count, error } = source;
  assert.deepEqual([status, columns, row_count, error], ["failed", null, null, why]);
  return source;
}

const rowsOf = (api: Client, { id }: { readonly id: string }, query = "?limit=100") =>
  api.get(`/data-sources/${id}/rows${query}`);

choice(
  "2.data-source-request",
  "the name and type of a data source are bounded, and its app belongs to the account",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Owner" });
    const gone = await api.create("/apps", { title: "Gone" });
    await api.delete(`/apps/${gone.id}`);
    const noApp = [gone.id, "app_00000000000000000000000", "", "ds_1", 5, true, [], {}];
    await fieldRules(
      api,
      "POST /data-sources",
      { name: "N", type: "json", data: ROWS },
      {
        field: "name",
        good: ["n", "n".repeat(200), wide(200)],
        bad: ["", "n".repeat(201), wide(201), ...NOT_TEXT],
      },
      {
        field: "type",
        good: ["json"],
        bad: ["", "JSON", "xml", "json ", "__proto__", ...NOT_TEXT],
      },
      { field: "app_id", good: [app.id, null], bad: noApp },
    );
  },
);

const NOT_ROWS = "#/data must be an array of flat objects";
const NOT_CSV = "#/data must be a string of CSV";
const SCALAR = "must be a string, a number, true, false or null";

/** JSON data that is rejected before anything is stored, with the expected validation issues. */
const NO_DATA = [
  ...['"a,b"', "5", "null", "true", "{}"].map((data) => ["json", data, NOT_ROWS]),
  ...["5", "null", "true", "{}", "[]", '[{"a":1}]'].map((data) => ["csv", data, NOT_CSV]),
  ["csv", '"a\\n\\ud800"', "#/data must not contain a lone surrogate"],
  ["csv", '"a\\n\\u0000"', "#/data must not contain a NUL character"],
  [
    ...["json", '[{"a":1},[],null,"x",1,{"x/y~z":{}},{"a":[],"b":1}]'],
    ...[1, 2, 3, 4].map((at) => `#/data/${at} must be a flat object`),
    ...[`#/data/5/x~1y~0z ${SCALAR}`, `#/data/6/a ${SCALAR}`],
  ],
  ["json", '[{"a":1e999},{"__proto__":{}}]', `#/data/1/__proto__ ${SCALAR}`],
  [
    ...[
      "json",
      '[{"a":"\\ud800"},{"b\\u0000":1},{"\\udc00":{}}]',
      "#/data/0/a must not contain a lone surrogate",
    ],
    "#/data/1 has a member whose name must not contain a NUL character",
    ...[
      "#/data/2 has a member whose name must not contain a lone surrogate",
      `#/data/2/%EF%BF%BD ${SCALAR}`,
    ],
  ],
];

/** Returns the error for data sent as this JSON text. */
async function refusalOf(api: Client, type: string, data: string) {
  const body = `{"name":"N","type":"${type}","data":${data}}`;
  const answer = await api.text("POST", "/data-sources", body);
  const error = problem(answer, "validation_failed");
  return {
    told: error.detail,
    faults: errorsOf(error).map(({ pointer, detail }) => `${pointer} ${detail}`),
  };
}

const faultsOf = async (...sent: Parameters<typeof refusalOf>) => (await refusalOf(...sent)).faults;

choice(
  "2.data-source-request.data",
  "JSON data is an array of flat objects, and CSV data is text",
  async ({ api }) => {
    for (const [type = "", data = "", ...faults] of NO_DATA)
      assert.deepEqual(await faultsOf(api, type, data), faults);
    const body = { name: "", type: "xml", app_id: 5, data: 1, more: 1 };
    invalid(await api.post("/data-sources", body), "#/more", "#/name", "#/app_id", "#/type");
  },
);

choice(
  "7.error-body.data-faults",
  "an error lists twenty issues of rows and counts the rest",
  async ({ api }) => {
    const first = Array.from({ length: 20 }, (_, at) => `#/data/${at} must be a flat object`);
    for (const [count, others] of [
      [20, "and 19 more"],
      [21, "and 20 more, 1 of them not listed"],
      [25, "and 24 more, 5 of them not listed"],
    ] as const) {
      const reported = `#/data/0 must be a flat object (${others}).`;
      assert.deepEqual(await refusalOf(api, "json", JSON.stringify(Array(count).fill(1))), {
        told: reported,
        faults: first,
      });
    }
  },
);

choice(
  "6.emitted-by.data-processed",
  "a data source with invalid rows becomes failed without rows, and data.processed says so",
  async ({ api }) => {
    const why = "Line 2: the number of fields is 3, but the header has 2.";
    const source = await failed(api, "csv", "a,b\n1,2,3\n", why);
    const rows = await rowsOf(api, source);
    assert.deepEqual([rows.status, rows.json.total, rows.items], [200, 0, []]);
    const reported = [source, await made(api, "csv", "a\n1\n")];
    const events = (await api.get("/events?type=data.processed&limit=100")).items.slice(-2);
    const objects = events.map((event) => members(event.data).object);
    assert.deepEqual(objects, reported, "and so is what is ready");
  },
);

choice(
  "8.bounds.columns",
  "a data source has at most 100 columns, and a JSON row at most 100 members",
  async ({ api }) => {
    const header = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`);
    assert.equal((await made(api, "csv", `${header(100)}\n`)).status, "ready");
    await failed(api, "csv", `${header(101)}\n`, "Line 1: there are more than 100 columns.");
    const row = (count: number) => Object.fromEntries(header(count).map((name) => [name, 1]));
    assert.equal((await made(api, "json", [row(100)])).status, "ready");
    const faults = [1, 2].map((at) => `#/data/${at} must have 100 members at most`);
    assert.deepEqual(await faultsOf(api, "json", JSON.stringify([{}, row(101), row(102)])), faults);
    await failed(
      api,
      "json",
      [row(100), { more: 1 }],
      "Row 2 adds column 101; at most 100 are allowed.",
    );
  },
);

choice(
  "8.bounds.columns",
  "a column name has at most 1,000 characters, because pages repeat it",
  async ({ api }) => {
    const named = (length: number) => "\u{1f469}".repeat(length); // two units, one character
    for (const [type, of] of [
      ["csv", (name: string) => `a,${name}\n1,2\n`],
      ["json", (name: string) => [{ a: 1 }, { [name]: 2 }]],
    ] as const) {
      assert.equal((await made(api, type, of(named(1_000)))).status, "ready");
      await failed(
        api,
        type,
        of(named(1_001)),
        "The name of column 2 has more than 1000 characters.",
      );
    }
  },
);

choice(
  "2.data-source-fields.rows",
  "the rows of a data source are paged like every list",
  async ({ api }) => {
    const rows = Array.from({ length: 45 }, (_, at) => ({ at }));
    const source = await made(api, "json", rows);
    const page = await rowsOf(api, source, "?limit=10&offset=40");
    assert.deepEqual([page.json.total, page.json.limit, page.json.offset], [45, 10, 40]);
    assert.deepEqual(page.items, rows.slice(40));
    assert.equal((await rowsOf(api, source, "")).items.length, 20);
    badParameter(await rowsOf(api, source, "?limit=101"), "limit");
    assert.deepEqual((await rowsOf(api, source, "?offset=45")).items, []);
    for (const [type, data] of [
      ["csv", "__proto__,constructor\n1,\u2028\n"],
      ["json", JSON.parse('[{"__proto__":1,"constructor":"\\u2028"}]')],
    ] as const) {
      const named = await rowsOf(api, await made(api, type, data));
      assert.ok(named.text.includes('[{"__proto__":1,"constructor":"\u2028"}]'), named.text);
    }
    const read = ({ status, columns, row_count, error }: Members) => [
      status,
      columns,
      row_count,
      error,
    ];
    const one = await made(api, "csv", "a\n1\n");
    assert.deepEqual(read(one), ["ready", [{ name: "a", type: "number" }], 1, null]);
    assert.deepEqual(read(await made(api, "json", [])), ["ready", [], 0, null]);
  },
);

choice(
  "2.data-source-fields.delete",
  "a data source outlives its app, and deleting the data source deletes its rows",
  async ({ api }) => {
    const app = await api.create("/apps", { title: "Short-lived" });
    const draft = { name: "N", type: "json", data: ROWS, app_id: app.id };
    const path = `/data-sources/${(await api.create("/data-sources", draft)).id}`;
    await api.delete(`/apps/${app.id}`);
    assert.equal((await api.get(path)).json.app_id, null);
    assert.equal((await api.delete(path)).status, 204);
    problem(await api.get(`${path}/rows`), "not_found");
  },
);

gated(
  "3.data-processing",
  "a data source that storage had no room for is processed once there is room",
  async ({ api, service }, gate) => {
    Object.assign(gate, { fault: new StorageUnavailable("full"), spared: 1 });
    const { id } = await api.create("/data-sources", { name: "N", type: "json", data: ROWS });
    for (const [minutes, status] of ["processing", "processing", "ready"].entries()) {
      if (minutes === 2) gate.fault = undefined;
      await service.clock.advance("60s");
      assert.equal((await api.get(`/data-sources/${id}`)).json.status, status);
    }
  },
);

/** Creates a data source from this JSON text; returns it, its first column and the values. */
async function sentAs(api: Client, data: string) {
  const body = `{"name":"N","type":"json","data":${data}}`;
  const { id } = await api.text("POST", "/data-sources", body);
  const source = await processed(api, id);
  const { text } = await rowsOf(api, { id });
  return { source, rows: text.slice('{"data":'.length, text.indexOf(',"total"')) };
}

const COLUMN = '[{"n":1.50},{"n":null},{"n":N},{"n":-2e0}]';

choice(
  "2.data-reading.exact",
  "numbers that a double represents exactly are numbers, in any notation",
  async ({ api }) => {
    for (const [number, shown] of Object.entries({
      ...{
        "9007199254740991": "9007199254740991",
        "-9007199254740991": "-9007199254740991",
        "1.0": "1",
        "-0": "0",
      },
      ...{
        "0.1": "0.1",
        "1e2": "100",
        "1E+2": "100",
        "5e-324": "5e-324",
        "90071992547409910e-1": "9007199254740991",
      },
    })) {
      const { source, rows } = await sentAs(api, COLUMN.replace("N", number));
      assert.deepEqual(source.columns, [{ name: "n", type: "number" }], number);
      assert.equal(rows, `[{"n":1.5},{"n":null},{"n":${shown}},{"n":-2}]`);
    }
  },
);

choice(
  "2.data-reading.exact",
  "one number that a double cannot represent makes its whole column text, as written, and no other column",
  async ({ api }) => {
    const others = [
      "9007199254740992",
      "-9007199254740992",
      "9007199254740993",
      "1e21",
      "1e400",
      "-1E400",
      "2.5e-324",
    ];
    const long = [
      "0.1234567890123456789",
      "123456789012345678901234567890",
      "9007199254740991.4",
      "1e-400",
      '"x"',
      "true",
    ];
    for (const number of [...others, ...long]) {
      const { source, rows } = await sentAs(
        api,
        COLUMN.replaceAll("}", ',"m":1.50}').replace("N", number),
      );
      const columns = ["n:string", "m:number"]
        .map((each) => each.split(":"))
        .map(([name, type]) => ({ name, type }));
      assert.deepEqual(source.columns, columns, number);
      const text = `"${number.replaceAll('"', "")}"`;
      assert.equal(
        rows,
        `[{"n":"1.50","m":1.5},{"n":null,"m":1.5},{"n":${text},"m":1.5},{"n":"-2e0","m":1.5}]`,
      );
    }
  },
);

choice(
  "2.data-reading.exact",
  "texts and names that contain numbers, quotes or brackets stay unchanged",
  async ({ api }) => {
    const row = String.raw`{"a\"1.50,":"[1.50,\\","\\":"9007199254740993","__proto__":1e400,"}1.0":"{\"n\":1e400}","2":1.50}`;
    const { rows } = await sentAs(api, `[${row}]`);
    assert.equal(
      rows,
      `[${row.replace(',"2":1.50', "").replace("{", '{"2":1.5,').replace("1e400,", '"1e400",')}]`,
    );
    const twice = await sentAs(api, '[{"n":1e400,"n":1}],"data":[{"n":1.50,"n":1e400}]');
    assert.equal(twice.rows, '[{"n":"1e400"}]', "of members of one name the last counts");
  },
);

choice(
  "2.data-reading.exact",
  "a number in place of text is rejected, and so is invalid JSON",
  async ({ api }) => {
    for (const number of ["12345678901234567890", "1.50", "1e400"]) {
      const wrong = `{"name":${number},"type":"json","data":[{"n":1e400}]}`;
      invalid(await api.text("POST", "/data-sources", wrong), "#/name");
      invalid(await api.text("POST", "/apps", `{"title":${number}}`), "#/title");
      assert.deepEqual(await faultsOf(api, "json", number), [NOT_ROWS]);
      assert.deepEqual(await faultsOf(api, "csv", number), [NOT_CSV]);
      const rows = `[${number},{"n":[${number}]},[${number}]]`;
      const faults = [
        "#/data/0 must be a flat object",
        `#/data/1/n ${SCALAR}`,
        "#/data/2 must be a flat object",
      ];
      assert.deepEqual(await faultsOf(api, "json", rows), faults);
    }
    const invalidJson = await api.text("POST", "/data-sources", '{"data":[{"n":1e400,"m":01}]}');
    assert.match(str(problem(invalidJson, "invalid_json").detail), /at position 25/);
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
        `{"user_id":"u","interaction_type":"t"${members}}`,
      );
    const reported = async (point: string) => {
      const event = (await report(`,"data_point":${point}`)).json;
      assert.deepEqual((await api.get(`/events/${event.id}`)).json, event);
      return members(members(event.data).object).data_point;
    };
    assert.deepEqual(
      await reported('{"x":9007199254740993,"y":1.50,"category":9007199254740992}'),
      {
        ...{ x: "9007199254740993", y: 1.5, category: "9007199254740992" },
      },
    );
    assert.deepEqual(await reported('{"x":1e400,"y":9007199254740991}'), {
      x: "1e400",
      y: 2 ** 53 - 1,
      category: null,
    });
    assert.equal(await reported("null"), null);
    for (const number of ["9007199254740993", "1.50"]) {
      invalid(await report(`,"data_point":${number}`), "#/data_point");
      invalid(await report(`,"chart_id":${number}`), "#/chart_id");
      invalid(await report(`,"data_point":{"x":{"x":${number}}}`), "#/data_point/x");
    }
    const digits = (count: number) => `{"x":${"1".repeat(count)}}`;
    assert.deepEqual(await reported(digits(1_000)), {
      x: "1".repeat(1_000),
      y: null,
      category: null,
    });
    invalid(await report(`,"data_point":${digits(1_001)}`), "#/data_point/x");
  },
);

choice(
  "2.data-reading.csv-lines",
  "the error explains a wrong CSV separator, and blank lines are ignored",
  async ({ api }) => {
    const why =
      "Line 1: the columns seem to be separated by semicolons (;); separate them with commas.";
    await failed(api, "csv", "\ufeffname;price\r\nTea;1,50\r\n", why);
    assert.equal((await made(api, "csv", "\ufeffname,price\r\nTea,1.50\r\n\r\n\r\n")).row_count, 1);
  },
);
