// The error body and errors in request bodies (spec part 7 shows 401 and 403; all other statuses are the contract's).
// Also the text of an error for the person who reads it: the cause by its name, and how to fix it.
import assert from "node:assert/strict";
import { choice, MANUAL } from "../support/clauses.ts";
import { type Answer, type Client, type SentHeaders, str } from "../support/client.ts";
import { badHeader, badParameter, errorsOf, invalid, problem } from "../support/problem.ts";
import { printedOn } from "../support/process.ts";

const JSON_TYPE = { "content-type": "application/json" };
const APP = '{"title":"T"}';

/** POST /apps with these bytes. */
const send = (api: Client, body: string | Buffer, headers: SentHeaders = JSON_TYPE) =>
  api.send("POST", "/apps", { headers, body });

choice(
  "7.error-body",
  "an error has its code's title, a specific detail and each validation issue once",
  async ({ api, authUrl }) => {
    const body = problem(await api.get("/apps/unknown"), "not_found");
    assert.deepEqual(Object.keys(body).sort(), [
      "code",
      "detail",
      "instance",
      "status",
      "title",
      "type",
    ]);
    assert.ok(String(body.type).startsWith(`${authUrl}/docs`));
    assert.notEqual(body.title, body.detail);
    const refused = async (draft: object) =>
      problem(await api.post("/apps", draft), "validation_failed");
    const [first, second] = [
      await refused({ title: "" }),
      await refused({ title: "T", theme: "" }),
    ];
    assert.deepEqual([first.title, first.type], [second.title, second.type]);
    assert.notEqual(first.detail, second.detail);
    const [field, parameter] = [
      await api.post("/apps", { title: "T", theme: 5 }),
      await api.get("/apps?limit=x"),
    ];
    const header = badHeader(await api.get("/apps/x", { "if-match": "x" }), "If-Match");
    for (const body of [invalid(field, "#/theme"), badParameter(parameter, "limit"), header])
      for (const entry of errorsOf(body)) assert.equal(Object.keys(entry).length, 2);
  },
);

choice(
  "7.error-body",
  "an error lists at most 20 issues in 16 KiB and says how many more there are",
  async ({ api }) => {
    const posted = (count: number, end = "") => {
      const unknown = Array.from({ length: count }, (_, at) => [`m${at}${end}`, at]);
      return api.post("/apps", { title: "T", ...Object.fromEntries(unknown) });
    };
    const refused = async (count: number) => problem(await posted(count), "validation_failed");
    const [twenty, more] = [await refused(20), await refused(21)];
    assert.deepEqual([errorsOf(twenty).length, errorsOf(more).length], [20, 20]);
    assert.match(String(twenty.detail), /^#\/m0 is not a known member \(and 19 more\)\.$/);
    assert.match(String(more.detail), /\(and 20 more, 1 of them not listed\)\.$/);
    const parameters = Array.from({ length: 21 }, (_, at) => `name_${at}=1`);
    const unknown = problem(await api.get(`/apps?${parameters.join("&")}`), "invalid_parameter");
    assert.equal(errorsOf(unknown).length, 20);
    assert.match(
      String(unknown.detail),
      /^name_0 is not a parameter.* \(and 20 more, 1 of them not listed\)\.$/,
    );
    const [long, query] = [
      await posted(30, "ä".repeat(10_000)),
      await api.get(`/apps?${"q".repeat(7_000)}=1`),
    ];
    assert.deepEqual([long.status, query.status], [422, 400]);
    assert.ok(long.text.length < 16_384 && query.text.length < 2_048, `${long.text.length}`);
    const control = Array.from({ length: 20 }, (_, at) => `${"%01".repeat(133)}${at}`).join("&");
    assert.ok(
      (await api.get(`/apps?${control}`)).text.length < 16_384,
      "a character may take six in JSON",
    );
    assert.match(
      String(badParameter(await api.get("/apps?=1"), "").detail),
      /^"" is not a parameter/,
    );
  },
);

choice(
  "7.error-body.request-id",
  "every response has one request id, and none reveals a stack or product",
  async ({ api }) => {
    const path = `/apps/${(await api.create("/apps", { title: "T" })).id}`;
    const tag = (await api.get(path)).header("etag");
    const answers = [
      ...[
        await api.get("/apps"),
        await api.head("/apps"),
        await api.options("/apps"),
        await api.get("/apps/%zz"),
      ],
      ...[
        await api.get(path, { "if-none-match": tag }),
        await api.as("x").get("/apps"),
        await api.post("/apps", []),
      ],
      ...[await api.get("/nowhere"), await api.as(null).get("/apps"), await api.delete(path)],
      ...[await api.root.get("/openapi.json"), await api.root.get("/nowhere")],
    ];
    const ids = answers.map((answer) => answer.header("x-request-id"));
    assert.equal(new Set(ids).size, answers.length);
    for (const id of ids) assert.match(id, /^req_[0-9A-Za-z]{20,}$/);
    for (const { status, text, headers } of answers) {
      if (status >= 400)
        assert.doesNotMatch(text, /node_modules|\/src\/|\.ts:|node:internal|Error:/);
      assert.deepEqual([headers["x-powered-by"], headers.server], [undefined, undefined]);
    }
  },
);

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
  ],
  ...[
    "{'title':'T'}",
    '{"title":NaN}',
    '{"title":Infinity}',
    '{"title":undefined}',
    '{"title":01}',
    '{"title":+1}',
  ],
  ...[
    '{"title":"a\nb"}',
    '{"title":"a\tb"}',
    '{"title":"\\x41"}',
    '{"title":"\\u12"}',
    "// c\n{}",
    '{"title":"T"}\0',
  ],
  ...["title=T", "<app/>", "undefined", "nul", '"open', "\u00a0{}", "[1,]", "{title:1}"],
  Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), // UTF-16
  Buffer.from([0x7b, 0x22, 0x61, 0xff, 0x22, 0x3a, 0x31, 0x7d]), // a byte that UTF-8 never has
  Buffer.from([0x22, 0xc0, 0xaf, 0x22]), // an overlong form of "/"
  Buffer.from([0x22, 0xed, 0xa0, 0xbd, 0x22]), // half of a surrogate pair
  Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), // past the last code point
  Buffer.from([0x22, 0xe2, 0x82]), // cut off
];

choice(
  "7.error-codes",
  "a body that is not JSON in strict UTF-8 gets invalid_json and has no effect",
  async ({ api }) => {
    const before = (await api.get("/apps")).json.total;
    for (const body of NO_JSON) {
      const wrong = problem(await send(api, body), "invalid_json");
      assert.doesNotMatch(String(wrong.detail), /node:|\.ts|\bat .*:\d+/);
      assert.deepEqual(errorsOf(wrong), [{ pointer: "#", detail: wrong.detail }]);
    }
    for (const json of ["{}", APP])
      assert.match(
        String(problem(await send(api, `\ufeff${json}`), "invalid_json").detail),
        /byte order mark/,
      );
    problem(await api.send("POST", "/apps", { headers: JSON_TYPE }), "invalid_json");
    assert.equal((await api.get("/apps")).json.total, before);
  },
);

const NOT_TAKEN = [
  ...[
    "text/plain",
    "text/json",
    "application/jsonx",
    "application/json+x",
    "application/problem+json",
    "*/*",
    "",
  ],
  ...[
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/merge-patch+json",
  ],
  ...[
    "application/json, text/plain",
    "application/json charset=utf-8",
    "application",
    "; charset=utf-8",
  ],
];
/** RFC 8259 11: a charset has no effect; the server ignores every other parameter, too. */
const TAKEN = [
  ...["Application/JSON", 'application/json;charset="UTF-8"', "application/json; charset=utf-8"],
  ...["utf8", "us-ascii", "iso-8859-1", "latin1", "utf-16", '"windows-1252"', '""', ""].map(
    (charset) => `application/json; charset=${charset}`,
  ),
  ...[
    "application/json;",
    "application/json ; charset",
    "application/json;=",
    "application/json; profile=x; charset=x",
  ],
];

choice(
  "7.error-codes",
  "the only media type is uncompressed JSON, with any parameters",
  async ({ api }) => {
    const two = [
      ["application/json", "text/plain"],
      ["application/json; a=b", "text/plain"],
      ["text/plain", "application/json"],
    ];
    for (const type of [...NOT_TAKEN, ...two])
      problem(await send(api, APP, { "content-type": type }), "unsupported_media_type");
    for (const coding of ["gzip", "br", "x"])
      problem(
        await send(api, APP, { ...JSON_TYPE, "content-encoding": coding }),
        "unsupported_media_type",
      );
    problem(await api.send("POST", "/apps"), "unsupported_media_type");
    for (const type of TAKEN) {
      const made = await send(api, '{"title":"Grün"}', { "content-type": type });
      assert.deepEqual([made.status, made.json.title], [201, "Grün"], type);
      const other = await send(api, Buffer.from('{"title":"Grün"}', "latin1"), {
        "content-type": type,
      });
      problem(other, "invalid_json");
    }
  },
);

choice(
  "4.app-endpoints",
  "PATCH accepts a JSON merge patch, and no other method does",
  MANUAL,
  async ({ api }) => {
    const path = `/apps/${(await api.create("/apps", { title: "T", description: "D" })).id}`;
    const headers = (type: string) => ({ "content-type": type });
    for (const [at, type] of [
      "application/merge-patch+json",
      "Application/Merge-Patch+JSON ; charset=utf-8",
    ].entries()) {
      const patched = await api.patch(path, { title: `T${at}` }, headers(type));
      assert.deepEqual(
        [patched.status, patched.json.title, patched.json.description],
        [200, `T${at}`, "D"],
      );
    }
    for (const [to, body] of [
      ["/apps", { title: "T" }],
      [`${path}/deploy`, { name: "R" }],
    ] as const)
      problem(
        await api.post(to, body, headers("application/merge-patch+json")),
        "unsupported_media_type",
      );
    for (const type of [
      "application/json-patch+json",
      "text/plain",
      "application/merge-patch",
      "application/x+json",
    ]) {
      const refused = problem(
        await api.patch(path, { title: "X" }, headers(type)),
        "unsupported_media_type",
      );
      assert.equal(
        refused.detail,
        "The Content-Type must be application/json or application/merge-patch+json.",
      );
    }
    const coded = { ...headers("application/merge-patch+json"), "content-encoding": "gzip" };
    problem(await api.patch(path, { title: "X" }, coded), "unsupported_media_type");
    invalid(
      await api.patch(path, { title: null }, headers("application/merge-patch+json")),
      "#/title",
    );
    assert.equal((await api.get(path)).json.title, "T1");
  },
);

const detailOf = ({ json }: Answer): string => str(json.detail);
const HOOK = { url: "https://a.example/", events: ["app.created"] };

const ADVICE: readonly (readonly [request: string, body: object | undefined, says: string])[] = [
  ["POST /v1/apps", { titel: "T" }, "did you mean title? (and 1 more)."],
  ["POST /v1/apps", { title: "T", teme: "dark" }, "did you mean theme?"],
  [
    "GET /v1/apps?limt=5",
    undefined,
    "limt is not a parameter of this operation; did you mean limit?",
  ],
  ["GET /apps", undefined, "There is no such path; did you mean /v1/apps?"],
  ["GET /v1/apps/", undefined, "There is no such path; did you mean /v1/apps?"],
  ["GET /v1/nothing", undefined, "There is no such path."],
  ["POST /v1/webhooks", { ...HOOK, events: [] }, "#/events must have at least one item."],
];

choice(
  "7.error-codes",
  "an error suggests the intended name, the token's scopes, or the next step",
  MANUAL,
  async (own) => {
    const { api, service } = own;
    for (const [request, body, says] of ADVICE) {
      const [method = "", path = ""] = request.split(" ");
      const detail = detailOf(await api.root.call(method, path, body));
      assert.ok(detail.endsWith(says), `${request}: ${detail}`);
    }
    const { access_token } = await service.signIn({ scopes: ["read:apps", "read:data"] });
    const holder = api.as(access_token);
    const refused = await holder.post("/apps", { title: "T" });
    assert.equal(
      detailOf(refused),
      "This needs the scope write:apps; the token has read:apps, read:data.",
    );
    await service.clock.advance("1h");
    assert.match(
      detailOf(await holder.get("/apps")),
      /expired; POST its refresh_token to \/oauth\/token\.$/,
    );
  },
);

choice(
  "1.test-controls",
  "the response and the console explain how to enable the test controls",
  { log: "pretty" },
  async (own) => {
    let answer: Answer | undefined;
    const lines = await printedOn(process.stderr, async () => {
      answer = await own.api.root.post("/_control/reset");
    });
    const reported = "The test controls are off; start the server with --control.";
    assert.deepEqual(
      [answer?.status, answer?.json.code, answer?.json.detail],
      [404, "not_found", reported],
    );
    assert.deepEqual([lines.length, lines[0]?.includes(reported)], [1, true]);
    assert.doesNotMatch((await own.api.root.get("/openapi.json")).text, /_control/);
    problem(await own.api.root.as(null).get("/_control/openapi.json"), "not_found");
  },
);
