// Malformed HTTP/1.1 requests on the socket (RFC 9112), and valid ones that client libraries seldom send. They get the
// usual error format, never a 500 and never silence (contract, parts 7 and 8).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { took } from "../support/costs.ts";
import { problem } from "../support/problem.ts";
import { account, head, post, RawConnection, rawAnswer } from "../support/raw.ts";

const APP = '{"title":"Raw"}';
const LENGTH = `content-length: ${APP.length}`;

const NOT_HTTP = [
  "GARBAGE",
  "GET",
  "GET /",
  "GET / HTTP/1.1 x",
  "GET / FTP/1.1",
  "PRI * HTTP/2.0\r\n\r\nSM",
  ...[
    "GET / HTTP/2.0",
    "G€T / HTTP/1.1",
    " GET / HTTP/1.1",
    "GET / HTTP/9.9",
    "GET /a b HTTP/1.1",
  ].map((line) => `${line}\r\nhost: x`),
  ...[
    "host x",
    "host: x\r\nbad name: 1",
    "host: x\r\nname : 1",
    "host: x\r\na: \x00",
    "host: x\r\n: 1",
  ].map((lines) => `GET / HTTP/1.1\r\n${lines}`),
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not for TLS",
  "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443",
];

choice(
  "7.error-codes.not-http",
  "a malformed request gets 400 invalid_request, and the connection is closed",
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

/** Requests that two parsers may end at different bytes: the basis of request smuggling. */
const AMBIGUOUS = [
  ["content-length: 15", "content-length: 16"],
  ["content-length: 15", "transfer-encoding: chunked"],
  ...["-1", "1e1", "0x0f", "15, 15", ""].map((length) => [`content-length: ${length}`]),
  ...["gzip, chunked, identity", "xchunked"].map((coding) => [`transfer-encoding: ${coding}`]),
];

choice(
  "7.error-codes.not-http",
  "a request with an ambiguous length or host is rejected",
  async (context) => {
    const { authUrl, api } = context;
    for (const lines of AMBIGUOUS)
      problem(await rawAnswer(authUrl, post(context, ...lines) + APP), "invalid_request");
    const chunked = post(context, "transfer-encoding: chunked");
    problem(await rawAnswer(authUrl, `${chunked}zz\r\n${APP}\r\n0\r\n\r\n`), "invalid_request");
    for (const endless of [
      post(context, "transfer-encoding:"),
      chunked.replace("HTTP/1.1", "HTTP/1.0"),
    ]) {
      const connection = await RawConnection.open(authUrl);
      connection.write(endless.replace("\r\n", "\r\nconnection: keep-alive\r\n") + chunksOf(APP));
      problem(await connection.answer(), "invalid_request");
      assert.equal(await connection.untilClosed(), "end", "what follows is no request");
    }
    const ask = (version: string, ...lines: string[]) => {
      const all = [
        `GET /v1/account HTTP/${version}`,
        `authorization: Bearer ${api.key}`,
        ...lines,
        "",
        "",
      ];
      return rawAnswer(authUrl, all.join("\r\n"));
    };
    const none =
      'a/b a@b a?b a\\b [::1 [::1]x ::1 [::1%lo] [v1.a] [] a:b a:65536 a:99999 a:: :80 a:-1 a<b> \xe9 {a} a"b a`b a%41 <a> ' +
      "a|b a^b a,b a;b a=b a!b a$b a&b a'b a(b) a*b a+b a~b a..b .a . 300.1.1.1 1.2.3.4.5";
    const good =
      "a_b my_app_1:4600 a.example. a:65535 a: A-1.Example xn--bcher-kva.example 127.0.0.1 [::1]:80 [::1] [::ffff:127.0.0.1]";
    for (const hosts of [
      [],
      ["host: a", "host: a"],
      ["host: a", "Host: b"],
      ...["a b", ...none.split(" ")].map((host) => [`host: ${host}`]),
    ])
      problem(await ask("1.1", ...hosts), "invalid_request");
    for (const host of ["", ...good.split(" ")])
      assert.equal((await ask("1.1", `host: ${host}`)).status, 200, host);
    const targets = ["http://a@b/v1/account", "http:///v1/account", "ftp://a/v1/account"];
    const besideUrl = head("GET http://a/v1/account", context).replace(
      "host: localhost",
      "host: a b",
    );
    for (const request of [...targets.map((target) => head(`GET ${target}`, context)), besideUrl])
      problem(await rawAnswer(authUrl, request), "invalid_request");
    const uncoded = await rawAnswer(
      authUrl,
      post(context, "transfer-encoding: gzip, chunked") + chunksOf(APP),
    );
    problem(uncoded, "not_implemented");
    context.document.check("POST", "/v1/apps", uncoded);
    assert.equal((await ask("1.1", "host: localhost")).status, 200);
    assert.equal((await ask("1.0")).status, 200, "HTTP/1.0 has none");
  },
);

choice("1.rfcs.http", "unusual but valid requests are accepted", async (context) => {
  const { id } = await context.api.create("/apps", { title: "T" });
  for (const [status, request] of [
    [201, post(context, "transfer-encoding: chunked") + chunksOf(APP)],
    [200, head("GET http://localhost/v1/account", context)],
    [200, head("GET /%761/%61cc%6F%75nt", context)],
    [404, head("GET http://localhost/v1/../v1/account", context)],
    [404, head("GET /v1%2Faccount", context)],
    [404, head("OPTIONS *", context)],
    [200, account(context, "connection: upgrade", "upgrade: websocket", "sec-websocket-key: x")],
    [200, account(context, LENGTH) + APP], // the body of a GET means nothing
    [204, head(`DELETE /v1/apps/${id}`, context, LENGTH) + APP],
  ] as const)
    assert.equal((await rawAnswer(context.authUrl, request)).status, status, request);
  const bytewise = await RawConnection.open(context.authUrl);
  for (const byte of post(context, LENGTH) + APP) bytewise.write(byte);
  assert.equal((await bytewise.answer()).status, 201);
  bytewise.socket.end(post(context, LENGTH) + APP);
  assert.equal((await bytewise.answer()).status, 201, "though the client has stopped sending");
  await bytewise.untilClosed();
});

choice(
  "1.rfcs.expect",
  "100-continue is sent only after the request's headers are valid",
  async (context) => {
    const { authUrl } = context;
    const connection = (await RawConnection.open(authUrl)).write(
      post(context, LENGTH, "Expect: 100-Continue"),
    );
    assert.equal((await connection.answer()).status, 100);
    assert.equal((await connection.write(APP).answer()).status, 201);
    assert.equal(
      (await connection.write(account(context)).answer()).status,
      200,
      "the connection goes on",
    );
    connection.socket.destroy();
    const expect = "expect: 100-continue";
    const old = (post(context, LENGTH, expect) + APP).replace("HTTP/1.1", "HTTP/1.0");
    assert.equal(
      (await rawAnswer(authUrl, old)).status,
      201,
      "HTTP/1.0 knows no answer before the answer",
    );
    for (const [request, code] of [
      [`POST /v1/apps HTTP/1.1\r\nhost: x\r\n${expect}\r\n${LENGTH}\r\n\r\n`, "missing_credential"],
      [post(context, "content-length: 1048577", expect), "payload_too_large"],
      [head("POST /v1/nowhere", context, expect, LENGTH), "not_found"],
      [post(context, LENGTH, "expect: 200-ok") + APP, "invalid_request"],
    ] as const)
      problem(await rawAnswer(authUrl, request), code);
  },
);

choice(
  "1.rfcs.http.pipelining",
  "pipelined requests get their responses in order",
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
    connection.write([...requests, ...reads, "GARBAGE\r\n\r\n"].join(""));
    for (const title of titles) assert.equal((await connection.answer()).json.title, title);
    problem(await connection.answer(), "not_found");
    assert.equal((await connection.answer(true)).status, 200);
    assert.equal((await connection.answer()).json.state, "active");
    problem(await connection.answer(), "invalid_request");
    assert.equal(await connection.untilClosed(), "end");
  },
);

choice("1.rfcs.http.aborted", "aborted uploads leave no app and no socket", {}, async (context) => {
  const { authUrl, api, service } = context;
  const broken: RawConnection[] = [];
  for (const breakOff of ["resetAndDestroy", "destroy", "end"] as const)
    for (let made = 0; made < 10; made += 1) {
      const connection = await RawConnection.open(authUrl);
      connection.write(post(context, "content-length: 500000") + APP).socket[breakOff]();
      broken.push(connection);
    }
  await Promise.all(broken.map((connection) => connection.closed));
  assert.equal((await api.get("/apps")).json.total, 0);
  // An abandoned socket, or an idle one like the client's, would be waited for ten seconds.
  assert.ok((await took(service.close)) < 5_000);
});
