// Spec part 7: 401 and 403. The shape of the error body and all other statuses are ours (contract, part 7).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { members } from "../support/client.ts";
import { badHeader, badParameter, errorsOf, invalid, problem } from "../support/problem.ts";

choice(
  "7.error-body",
  "is a problem document with type, title, status, detail, instance and code",
  async ({ api, authUrl }) => {
    const body = problem(await api.get("/apps/unknown"), "not_found");
    assert.deepEqual(Object.keys(body).sort(), ["code", "detail", "instance", "status", "title", "type"]);
    assert.ok(String(body.type).startsWith(`${authUrl}/docs`));
    assert.notEqual(body.title, body.detail);
  },
);

choice("7.error-body", "the title is the code's, the detail the case's", async ({ api }) => {
  const [one, two] = [
    problem(await api.post("/apps", { title: "" }), "validation_failed"),
    problem(await api.post("/apps", { title: "T", theme: "" }), "validation_failed"),
  ];
  assert.equal(one.title, two.title);
  assert.equal(one.type, two.type);
  assert.notEqual(one.detail, two.detail);
});

choice("7.error-body", "names every fault of a body, query or header once, in its own way", async ({ api }) => {
  const field = errorsOf(invalid(await api.post("/apps", { title: "T", theme: 5 }), "#/theme"));
  const parameter = errorsOf(badParameter(await api.get("/apps?limit=x"), "limit"));
  const header = errorsOf(badHeader(await api.get("/apps/x", { "if-match": "x" }), "If-Match"));
  for (const [entry] of [field, parameter, header]) assert.equal(Object.keys(members(entry)).length, 2);
});

choice("7.error-body", "lists 20 faults at most and says how many there are besides", async ({ api }) => {
  const body = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`member_${at}`, at]));
  const send = async (count: number) =>
    problem(await api.post("/apps", { title: "T", ...body(count) }), "validation_failed");
  const [twenty, more] = [await send(20), await send(21)];
  assert.deepEqual([errorsOf(twenty).length, errorsOf(more).length], [20, 20]);
  assert.match(String(twenty.detail), /^#\/member_0 is not a known member \(and 19 more\)\.$/);
  assert.match(String(more.detail), /\(and 20 more, 1 of them not listed\)\.$/);
});

choice("7.error-body", "is never larger than 16 KiB, however long a name is that was sent", async ({ api }) => {
  const names = Array.from({ length: 30 }, (_, at) => String(at).padStart(2, "0") + "ä".repeat(10_000));
  const long = await api.post("/apps", Object.fromEntries(names.map((name) => [name, 1])));
  assert.equal(long.status, 422);
  assert.ok(long.text.length < 16_384, `${long.text.length} bytes`);
  const query = await api.get(`/apps?${"q".repeat(7_000)}=1`);
  assert.equal(query.status, 400);
  assert.ok(query.text.length < 2_048, query.text);
});

choice("7.error-body.request-id", "is on every answer, and never the same twice", async ({ api }) => {
  const app = await api.create("/apps", { title: "T" });
  const tag = (await api.get(`/apps/${app.id}`)).header("etag");
  const answers = [
    await api.get("/apps"),
    await api.head("/apps"),
    await api.options("/apps"),
    await api.get(`/apps/${app.id}`, { "if-none-match": tag }),
    await api.get("/nowhere"),
    await api.as(null).get("/apps"),
    await api.root.get("/openapi.json"),
    await api.root.get("/nowhere"),
    await api.delete(`/apps/${app.id}`),
  ];
  const ids = answers.map((answer) => answer.header("x-request-id"));
  assert.equal(new Set(ids).size, answers.length);
  for (const id of ids) assert.match(id, /^req_[0-9A-Za-z]{20,}$/);
});

const JSON_TYPE = { "content-type": "application/json" };

/** Bytes that are no JSON text (RFC 8259). */
const NO_JSON: readonly (string | Buffer)[] = [
  ...[
    "",
    " ",
    "{",
    "}",
    "[",
    '{"title":',
    '{"title":"T"',
    '{"title":"T"}}',
    '{"title":"T"} x',
    '{"title":"T",}',
    "{title:1}",
  ],
  ...["{'title':'T'}", '{"title":NaN}', '{"title":Infinity}', '{"title":undefined}', '{"title":01}', '{"title":+1}'],
  ...['{"title":"a\nb"}', '{"title":"a\tb"}', '{"title":"\\x41"}', '{"title":"\\u12"}', "// c\n{}", '{"title":"T"}\0'],
  ...["title=T", "<app/>", "undefined", "nul", '"open', "\u00a0{}", "[1,]"],
  Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]), // a byte order mark before {}
  Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), // UTF-16
  Buffer.from([0x7b, 0x22, 0x61, 0xff, 0x22, 0x3a, 0x31, 0x7d]), // a byte that UTF-8 never has
  Buffer.from([0x22, 0xc0, 0xaf, 0x22]), // an overlong form of "/"
  Buffer.from([0x22, 0xed, 0xa0, 0xbd, 0x22]), // half of a surrogate pair
  Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), // past the last code point
  Buffer.from([0x22, 0xe2, 0x82]), // cut off
];

choice(
  "7.error-codes",
  "what is not JSON in strict UTF-8 is invalid_json, and nothing comes of it",
  async ({ api }) => {
    const before = (await api.get("/apps")).json.total;
    for (const body of NO_JSON) {
      const wrong = problem(await api.send("POST", "/apps", { headers: JSON_TYPE, body }), "invalid_json");
      assert.doesNotMatch(String(wrong.detail), /node:|\.ts|\bat .*:\d+/);
      assert.deepEqual(errorsOf(wrong), [{ pointer: "#", detail: wrong.detail }]);
    }
    assert.equal((await api.get("/apps")).json.total, before);
  },
);

choice("7.error-codes", "a byte order mark is called by its name", async ({ api }) => {
  const body = Buffer.from('\ufeff{"title":"T"}');
  const { detail } = problem(await api.send("POST", "/apps", { headers: JSON_TYPE, body }), "invalid_json");
  assert.match(String(detail), /byte order mark/);
});

choice("7.error-codes", "a request that needs a body and has none is refused", async ({ api }) => {
  problem(await api.send("POST", "/apps", { headers: JSON_TYPE }), "invalid_json");
  problem(await api.send("POST", "/apps"), "unsupported_media_type");
});

choice("7.error-codes", "another media type is 415", async ({ api }) => {
  const types = [
    "text/plain",
    "text/json",
    "application/jsonx",
    "application/json+x",
    "application/problem+json",
    "*/*",
    "",
  ];
  const forms = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/merge-patch+json",
  ];
  const charsets = [
    "application/json; charset=latin1",
    "application/json;charset=utf-16",
    "application/json, text/plain",
  ];
  for (const type of [...types, ...forms, ...charsets])
    problem(
      await api.send("POST", "/apps", { headers: { "content-type": type }, body: '{"title":"T"}' }),
      "unsupported_media_type",
    );
  for (const coding of ["gzip", "br", "x"])
    problem(
      await api.send("POST", "/apps", { headers: { ...JSON_TYPE, "content-encoding": coding }, body: '{"title":"T"}' }),
      "unsupported_media_type",
    );
});

choice("7.error-codes", "application/json may be written in any case and name UTF-8", async ({ api }) => {
  for (const type of [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ])
    assert.equal(
      (await api.send("POST", "/apps", { headers: { "content-type": type }, body: '{"title":"T"}' })).status,
      201,
      type,
    );
});

choice("7.error-codes.no-internals", "an answer shows no stack, no path and no product", async ({ api }) => {
  const answers = [
    await api.get("/apps/%zz"),
    await api.post("/apps", []),
    await api.as("x").get("/apps"),
    await api.get("/nowhere"),
  ];
  for (const answer of answers) {
    assert.doesNotMatch(answer.text, /node_modules|\/src\/|\.ts:|node:internal|Error:/);
    assert.deepEqual([answer.headers["x-powered-by"], answer.headers.server], [undefined, undefined]);
  }
});
