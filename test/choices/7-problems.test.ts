// The error body and errors in request bodies (spec part 7 shows 401 and 403; all other statuses are the contract's).
// Also the text of an error for the person who reads it: the cause by its name, and how to fix it.
import assert from "node:assert/strict";
import { choice, MANUAL } from "../support/clauses.ts";
import { type Answer, type Client, type SentHeaders, str } from "../support/client.ts";
import { badHeader, badParameter, errorsOf, invalid, problem } from "../support/problem.ts";

const typed = (type: string) => ({ "content-type": type });
const JSON_TYPE = typed("application/json");
const MERGE_PATCH = typed("application/merge-patch+json");
const APP = '{"title":"T"}';

/** POST /apps with these bytes. */
const send = (api: Client, body: string | Buffer, headers: SentHeaders = JSON_TYPE) =>
  api.send("POST", "/apps", { headers, body });

const detailOf = ({ json }: Answer): string => str(json.detail);

choice(
  "7.error-body",
  "an error has its code's title, a specific detail and each validation issue once",
  async ({ api, authUrl }) => {
    const body = problem(await api.get("/apps/unknown"), "not_found");
    assert.equal(Object.keys(body).sort().join(), "code,detail,instance,status,title,type");
    assert.ok(String(body.type).startsWith(`${authUrl}/docs`));
    assert.notEqual(body.title, body.detail);
    for (const { errors } of [
      invalid(await api.post("/apps", { title: "T", theme: 5 }), "#/theme"),
      badParameter(await api.get("/apps?limit=x"), "limit"),
      badHeader(
        await api.post("/apps", { title: "T" }, { "idempotency-key": "" }),
        "Idempotency-Key",
      ),
    ])
      assert.equal(Object.keys(Object(errors)[0]).length, 2);
  },
);

choice(
  "7.error-body",
  "an error lists at most 20 issues in 16 KiB and says how many more there are",
  async ({ api }) => {
    const unknown = (count: number, end = "") =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}${end}`, "1"]));
    const post = (members: object) => api.post("/apps", { title: "T", ...members });
    const get = (parameters: Record<string, string>) =>
      api.get(`/apps?${new URLSearchParams(parameters)}`);
    for (const [answer, code, detail] of [
      [
        await post(unknown(21)),
        "validation_failed",
        /^#\/m0 is not a known .* \(and 20 more, 1 of them not listed\)\.$/,
      ],
      [
        await get(unknown(21)),
        "invalid_parameter",
        /^m0 is not a parameter.* \(and 20 more, 1 of them not listed\)\.$/,
      ],
    ] as const) {
      assert.equal(errorsOf(problem(answer, code)).length, 20);
      assert.match(detailOf(answer), detail);
    }
    for (const [answer, status] of [
      [await post(unknown(30, "ä".repeat(10_000))), 422],
      // A control character may take six in JSON.
      [await get(unknown(20, "\x01".repeat(130))), 400],
    ] as const)
      assert.deepEqual([answer.status, answer.text.length < 16_384], [status, true]);
  },
);

choice(
  "7.error-body.request-id",
  "every response has one request id, and none reveals a stack or product",
  async ({ api }) => {
    const path = `/apps/${(await api.create("/apps", { title: "T" })).id}`;
    const tag = (await api.get(path)).header("etag");
    const answers = [
      await api.get("/apps"),
      await api.head("/apps"),
      await api.options("/apps"),
      await api.get(path, { "if-none-match": tag }),
      await api.as("x").get("/apps"),
      await api.delete(path),
      await api.root.get("/nowhere"),
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

/** Bytes that are no JSON text (RFC 8259), one a line. */
const NO_JSON = String.raw`
{
{"title":"T"}}
{"title":"T",}
{'title':'T'}
{"title":NaN}
{"title":01}
{"title":"\x41"}
title=T
"open
{title:1}`.split("\n");
/** In hexadecimal: UTF-16, a byte that UTF-8 never has, an overlong form, half a surrogate pair, too large, cut off. */
const NO_UTF_8 = "fffe7b007d00 7b2261ff223a317d 22c0af22 22eda0bd22 22f490808022 22e282".split(" ");

choice(
  "7.error-codes",
  "a body that is not JSON in strict UTF-8 gets invalid_json and has no effect",
  async ({ api }) => {
    const before = (await api.get("/apps")).json.total;
    const bytes = NO_UTF_8.map((hex) => Buffer.from(hex, "hex"));
    for (const body of [...NO_JSON, ...bytes, `\ufeff${APP}`]) {
      const { detail, ...others } = problem(await send(api, body), "invalid_json");
      assert.doesNotMatch(str(detail), /node:|\.ts|\bat .*:\d+/);
      assert.deepEqual(others.errors, [{ pointer: "#", detail }]);
    }
    problem(await api.send("POST", "/apps", { headers: JSON_TYPE }), "invalid_json");
    assert.equal((await api.get("/apps")).json.total, before);
  },
);

const OTHER_TYPES =
  "text/plain|application/jsonx|application/problem+json|*/*||application/x-www-form-urlencoded|application/merge-patch+json|application/json, text/plain";

choice(
  "7.error-codes",
  "the only media type is JSON, and its charset has no effect",
  async ({ api }) => {
    for (const headers of [...OTHER_TYPES.split("|").map(typed), {}])
      problem(await send(api, APP, headers), "unsupported_media_type");
    for (const parameters of ["", "; charset=iso-8859-1", '; charset="utf-16"', "; profile=x"]) {
      const headers = typed(`Application/JSON${parameters}`);
      const created = await send(api, '{"title":"Grün"}', headers);
      assert.deepEqual([created.status, created.json.title], [201, "Grün"], parameters);
      problem(await send(api, Buffer.from('{"title":"Grün"}', "latin1"), headers), "invalid_json");
    }
  },
);

choice(
  "4.app-endpoints",
  "PATCH accepts a JSON merge patch, and no other method does",
  MANUAL,
  async ({ api }) => {
    const path = `/apps/${(await api.create("/apps", { title: "T", description: "D" })).id}`;
    for (const [title, headers] of [
      ["A", MERGE_PATCH],
      ["B", typed("Application/Merge-Patch+JSON ; charset=utf-8")],
    ] as const) {
      const { status, json } = await api.patch(path, { title }, headers);
      assert.deepEqual([status, json.title, json.description], [200, title, "D"]);
    }
    for (const answer of [
      await api.post("/apps", { title: "T" }, MERGE_PATCH),
      await api.post(`${path}/deploy`, { name: "R" }, MERGE_PATCH),
    ])
      problem(answer, "unsupported_media_type");
    for (const type of ["json-patch+json", "x+json"]) {
      const answer = await api.patch(path, { title: "X" }, typed(`application/${type}`));
      assert.equal(
        problem(answer, "unsupported_media_type").detail,
        "The Content-Type must be application/json or application/merge-patch+json.",
      );
    }
    invalid(await api.patch(path, { title: null }, MERGE_PATCH), "#/title");
    assert.equal((await api.get(path)).json.title, "B");
  },
);

const HOOK = { url: "https://a.example/", events: ["app.created"] };

const ADVICE: readonly (readonly [request: string, body: object | undefined, advice: string])[] = [
  ["POST /v1/apps", { titel: "T" }, "did you mean title? (and 1 more)."],
  ["POST /v1/apps", { title: "T", teme: "dark" }, "did you mean theme?"],
  ["GET /v1/apps?limt=5", undefined, "is not a parameter of this operation; did you mean limit?"],
  ["GET /v1/nothing", undefined, "There is no such path."],
  ["POST /v1/webhooks", { ...HOOK, events: [] }, "#/events must have 1 to 6 items."],
];

choice(
  "7.error-codes",
  "an error suggests the intended name, the token's scopes, or the next step",
  MANUAL,
  async ({ api, service }) => {
    for (const [request, body, advice] of ADVICE) {
      const [method = "", path = ""] = request.split(" ");
      const detail = detailOf(await api.root.call(method, path, body));
      assert.ok(detail.endsWith(advice), `${request}: ${detail}`);
    }
    const { access_token } = await service.signIn({ scopes: ["read:apps", "read:data"] });
    const holder = api.as(access_token);
    assert.equal(
      detailOf(await holder.post("/apps", { title: "T" })),
      "This needs the scope write:apps; the token has read:apps, read:data.",
    );
    await service.clock.advance("1h");
    assert.match(
      detailOf(await holder.get("/apps")),
      /expired; POST its refresh_token to \/oauth\/token\.$/,
    );
  },
);
