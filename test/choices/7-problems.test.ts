// The error body and errors in request bodies (spec part 7 shows 401 and 403; all other statuses are this project's).
// Also the text of an error for the person who reads it: the cause by its name, and how to fix it.
// Malformed HTTP/1.1 requests on the socket (RFC 9112), and valid ones that client libraries seldom send: never a 500 and
// never silence. The limits that spec part 8 leaves open, each tested on both sides, and the rate limit.
import assert from "node:assert/strict";
import {
  type Answer,
  account,
  B_KEY,
  type Client,
  choice,
  deployed,
  errorsOf,
  freshHost,
  head,
  invalid,
  MANUAL,
  post,
  problem,
  RawConnection,
  rawAnswer,
  type SentHeaders,
  str,
  TWO,
  took,
} from "../support/index.ts";

const typed = (type: string) => ({ "content-type": type });
const JSON_TYPE = typed("application/json");
const MERGE_PATCH = typed("application/merge-patch+json");
const APP = '{"title":"Raw"}';

/** POST /apps with these bytes. */
const send = (api: Client, body: string | Buffer, headers: SentHeaders = JSON_TYPE) =>
  api.send("POST", "/apps", { headers, body });

const detailOf = ({ json }: Answer) => str(json.detail);

choice(
  "7.error-body: an error has six members, and a detail beyond its code's title",
  async ({ api }) => {
    const body = problem(await api.get("/apps/unknown"), "not_found");
    assert.equal(Object.keys(body).sort().join(), "code,detail,instance,status,title,type");
    assert.notEqual(body.title, body.detail);
  },
);

choice(
  "7.error-body: an error lists at most 20 issues in 16 KiB and says how many more there are",
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
  "7.error-body.request-id: every response has one request id, and none reveals a stack or product",
  async ({ api }) => {
    const { path } = await api.newApp();
    const tag = (await api.get(path)).header("etag");
    const answers = [
      await api.get("/apps"),
      await api.head("/apps"),
      await api.send("OPTIONS", "/apps"),
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
  "7.error-codes: a body that is not JSON in strict UTF-8 gets invalid_json and has no effect",
  async ({ api }) => {
    const before = (await api.get("/apps")).total;
    const bytes = NO_UTF_8.map((hex) => Buffer.from(hex, "hex"));
    for (const body of [...NO_JSON, ...bytes, `\ufeff${APP}`]) {
      const { detail, ...others } = problem(await send(api, body), "invalid_json");
      assert.doesNotMatch(str(detail), /node:|\.ts|\bat .*:\d+/);
      assert.deepEqual(others.errors, [{ pointer: "#", detail }]);
    }
    problem(await api.send("POST", "/apps", { headers: JSON_TYPE }), "invalid_json");
    assert.equal((await api.get("/apps")).total, before);
  },
);

const OTHER_TYPES =
  "text/plain|application/jsonx|application/problem+json|*/*||application/x-www-form-urlencoded|application/merge-patch+json|application/json, text/plain";

choice(
  "7.error-codes: the only media type is JSON, and its charset has no effect",
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
  "4.app-endpoints: PATCH accepts a JSON merge patch, and no other method does",
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

const ADVICE = [
  ["POST /v1/apps", { titel: "T" }, "did you mean title? (and 1 more)."],
  ["POST /v1/apps", { title: "T", teme: "dark" }, "did you mean theme?"],
  ["GET /v1/apps?limt=5", undefined, "is not a parameter of this operation; did you mean limit?"],
  ["GET /v1/nothing", undefined, "There is no such path."],
  ["POST /v1/webhooks", { ...HOOK, events: [] }, "#/events must have 1 to 6 items."],
] as const;

choice(
  "7.error-codes: an error suggests the intended name, the token's scopes, or the next step",
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
      "This operation requires the scope write:apps. The token's current scopes: read:apps, read:data.",
    );
    await service.clock.advance("1h");
    assert.match(
      detailOf(await holder.get("/apps")),
      /expired; POST its refresh_token to \/oauth\/token\.$/,
    );
  },
);

const LENGTH = `content-length: ${APP.length}`;

const NOT_HTTP = [
  "GARBAGE",
  "GET / FTP/1.1",
  "G€T / HTTP/1.1\r\nhost: x",
  "GET /a b HTTP/1.1\r\nhost: x",
  "GET / HTTP/1.1\r\nhost x",
  "GET / HTTP/1.1\r\nhost: x\r\na: \x00",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not for TLS",
];

choice(
  "7.error-codes.not-http: a malformed request gets 400 invalid_request, and the connection is closed",
  async (own) => {
    for (const bytes of NOT_HTTP) {
      const connection = await RawConnection.open(own.authUrl);
      const answer = await connection.write(Buffer.from(`${bytes}\r\n\r\n`, "latin1")).answer();
      problem(answer, "invalid_request");
      assert.equal(answer.headers.connection, "close");
      assert.equal(await connection.untilClosed(), "end");
    }
  },
);

const chunksOf = (body: string) =>
  `5\r\n${body.slice(0, 5)}\r\na;ext=1\r\n${body.slice(5)}\r\n0\r\ntrailer: x\r\n\r\n`;

choice(
  "7.error-codes.not-http: an ambiguous length, and a missing, repeated or invalid host are rejected",
  async (context) => {
    for (const lines of [
      ["content-length: 15", "content-length: 16"],
      ["content-length: 15", "transfer-encoding: chunked"],
      ["content-length: -1"],
      ["transfer-encoding: xchunked"],
    ])
      problem(await rawAnswer(context.authUrl, post(context, ...lines) + APP), "invalid_request");
    const chunked = post(context, "transfer-encoding: chunked");
    problem(await rawAnswer(context.authUrl, `${chunked}zz\r\n`), "invalid_request");
    for (const host of ["", "host: x\r\nhost: x\r\n", "host: x y\r\n"])
      problem(await rawAnswer(context.authUrl, `GET / HTTP/1.1\r\n${host}\r\n`), "invalid_request");
  },
);

choice("1.rfcs.http: unusual but valid requests are accepted", async (context) => {
  const { id } = await context.api.newApp();
  const custom_domain = freshHost();
  await deployed(context.api, {}, { custom_domain });
  for (const [status, request] of [
    [201, post(context, "transfer-encoding: chunked") + chunksOf(APP)],
    [404, head("GET /v1%2Faccount", context)],
    [200, head("GET http://localhost/v1/account", context)],
    [302, head("GET HTTP://localhost?x=1", context)],
    [200, head(`GET http://${custom_domain}/`, context)],
    [302, head("GET /", context)],
    [302, "GET / HTTP/1.0\r\n\r\n"],
    [302, "GET / HTTP/1.1\r\nhost: \r\n\r\n"],
    [200, account(context, "connection: upgrade", "upgrade: websocket", "sec-websocket-key: x")],
    [200, account(context, LENGTH) + APP], // the body of a GET means nothing
    [204, head(`DELETE /v1/apps/${id}`, context, LENGTH) + APP],
  ] as const)
    (await rawAnswer(context.authUrl, request)).is(status, request);
  const bytewise = await RawConnection.open(context.authUrl);
  for (const byte of post(context, LENGTH) + APP) bytewise.write(byte);
  (await bytewise.answer()).is(201);
  bytewise.socket.end();
  await bytewise.untilClosed();
});

choice(
  "1.rfcs.http.pipelining: pipelined requests get their responses in order",
  async (context) => {
    const connection = await RawConnection.open(context.authUrl);
    const titles = ["one", "two", "three", "four"];
    const bodies = titles.map((title) => JSON.stringify({ title }));
    const requests = bodies.map((body) => post(context, `content-length: ${body.length}`) + body);
    const reads = [
      head("GET /v1/apps/unknown", context),
      head("HEAD /v1/account", context),
      account(context),
    ];
    connection.write([...requests, ...reads].join(""));
    for (const title of titles) assert.equal((await connection.answer()).json.title, title);
    problem(await connection.answer(), "not_found");
    (await connection.answer(true)).is(200);
    assert.equal((await connection.answer()).json.state, "active");
    connection.socket.destroy();
  },
);

choice("1.rfcs.http.aborted: aborted uploads leave no app and no socket", {}, async (context) => {
  const { authUrl, api, service } = context;
  const broken: RawConnection[] = [];
  for (const breakOff of ["resetAndDestroy", "destroy", "end"] as const)
    for (let made = 0; made < 10; made += 1) {
      const connection = await RawConnection.open(authUrl);
      connection.write(post(context, "content-length: 500000") + APP).socket[breakOff]();
      broken.push(connection);
    }
  await Promise.all(broken.map((connection) => connection.closed));
  assert.equal((await api.get("/apps")).total, 0);
  // An abandoned socket, or an idle one like the client's, would be waited for ten seconds.
  assert.ok((await took(service.close)) < 5_000);
});

const MIB = 1_048_576;

const sendSource = (api: Client, body: string | Buffer) => api.text("POST", "/data-sources", body);

/** A body of exactly `size` bytes, padded with spaces after the JSON. */
const padded = (value: unknown, size: number) =>
  Buffer.alloc(size, JSON.stringify(value).padEnd(size));

choice(
  "8.body-size: a body has at most 1 MiB, a data source's 10 MiB, and one byte more is rejected",
  async ({ api }) => {
    (await send(api, padded({ title: "T" }, MIB))).is(201);
    const large = padded({ title: "T" }, MIB + 1);
    problem(await send(api, large), "payload_too_large");
    const { id } = await api.newApp();
    problem(await api.text("PATCH", `/apps/${id}`, large), "payload_too_large");
    invalid(await api.post("/apps", { title: "x".repeat(1_000_000) }), "#/title");
    const source = { name: "Large", type: "csv", data: "a\n1\n" };
    (await sendSource(api, padded(source, 10 * MIB))).is(201);
    problem(await sendSource(api, padded(source, 10 * MIB + 1)), "payload_too_large");
  },
);

choice(
  "8.bounds.nesting: JSON may nest 64 levels deep, 65 are rejected, and brackets inside strings do not count",
  async ({ api }) => {
    const arrays = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
    invalid(await send(api, arrays(64)), "#");
    invalid(await send(api, objects(64)), "#/a", "#/title");
    for (const body of [arrays(65), objects(65), arrays(500_000)])
      assert.match(str(problem(await send(api, body), "invalid_json").detail), /64 levels/);
    problem(await send(api, "[".repeat(1_000_000)), "invalid_json");
    // Numbers that are not written as JavaScript writes them take another path.
    const inexact = arrays(20_000).replace("[]", "[1.0]");
    problem(await sendSource(api, inexact), "invalid_json");
    const title = `${"[{".repeat(40)}\\"${"[".repeat(70)}\\`;
    assert.equal((await api.create("/apps", { title })).title, title);
  },
);

choice("8.bounds.requests: a URL has at most 8 KiB and the headers 16 KiB", async (context) => {
  const { authUrl } = context;
  const getWithUrl = (length: number) =>
    rawAnswer(authUrl, head(`GET ${"/v1/apps?x=".padEnd(length, "y")}`, context));
  problem(await getWithUrl(8_192), "invalid_parameter");
  for (const length of [8_193, 20_000, 200_000]) problem(await getWithUrl(length), "uri_too_long");
  const getWithHeader = (length: number) =>
    rawAnswer(authUrl, account(context, `x: ${"y".repeat(length)}`));
  (await getWithHeader(16_000)).is(200);
  for (const length of [16_385, 20_000, 200_000])
    problem(await getWithHeader(length), "headers_too_large");
});

const FIVE = { rateLimit: 5, clock: "manual" } as const;

/** The values of RateLimit: requests left, and seconds to the end of the window. */
function left(answer: Answer) {
  const [, remaining, seconds] =
    /^"default";r=(\d+);t=(\d+)$/.exec(answer.header("ratelimit")) ?? [];
  return [Number(remaining), Number(seconds)];
}

choice(
  "8.rate-limit: the rate limit is 6,000 requests in 60 seconds by default",
  {},
  async ({ api }) => {
    const answer = await api.get("/account");
    assert.equal(answer.header("ratelimit-policy"), '"default";q=6000;w=60');
    assert.deepEqual(left(answer), [5999, 60]);
  },
);

choice(
  "8.rate-headers: the rate limit headers count down on every response for an account, whatever its status",
  FIVE,
  async ({ api }) => {
    const { status, headers } = await api.as("unknown-key").get("/account");
    assert.deepEqual([status, headers.ratelimit], [401, undefined]);
    const answers = [
      await api.get("/nowhere"),
      await api.send("PUT", "/apps"),
      await api.get("/apps?limit=0"),
    ];
    answers.push(await api.post("/apps", {}), await api.send("POST", "/apps", { body: "{" }));
    const reported = answers.map((answer) => [answer.status, ...left(answer)].join(" "));
    assert.deepEqual(reported, ["404 4 60", "405 3 60", "400 2 60", "422 1 60", "415 0 60"]);
    const over = await api.post("/apps", { title: "T" });
    problem(over, "rate_limit_exceeded");
    assert.deepEqual([over.header("retry-after"), ...left(over)], ["60", 0, 60]);
  },
);

choice(
  "8.rate-limit.window: the rate limit window is fixed and ends 60 s after it began",
  FIVE,
  async ({ api, service }) => {
    await api.get("/account");
    await service.clock.advance("30000ms");
    assert.deepEqual(
      left(await api.get("/account")),
      [3, 30],
      "what comes late in it is counted in it",
    );
    for (let used = 0; used < 3; used += 1) (await api.get("/account")).is(200);
    await service.clock.advance("29999ms");
    const over = await api.post("/apps", { title: "T" });
    problem(over, "rate_limit_exceeded");
    assert.equal(over.header("retry-after"), "1");
    await service.clock.advance("1ms");
    const anew = await api.get("/apps");
    assert.deepEqual([...left(anew), anew.total], [4, 60, 0], "a refused request did nothing");
  },
);

choice(
  "8.rate-limit: the rate limit is shared by all keys of the account",
  { ...TWO, rateLimit: 5 },
  async ({ api }) => {
    const second = api.as(str((await api.create("/api-keys", { name: "Second" })).key));
    for (let used = 0; used < 4; used += 1) (await second.get("/account")).is(200);
    for (const client of [api, second])
      problem(await client.get("/account"), "rate_limit_exceeded");
    assert.deepEqual(left(await api.as(B_KEY).get("/account"))[0], 4);
  },
);

choice("8.rate-limit: the rate limit can be disabled", { rateLimit: "off" }, async ({ api }) => {
  const { headers } = await api.get("/account");
  assert.deepEqual([headers.ratelimit, headers["ratelimit-policy"]], [undefined, undefined]);
});
