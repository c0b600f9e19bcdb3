// What arrives on the socket and is no proper HTTP/1.1 request (RFC 9112), and what a client may do there that libraries
// seldom do. Answered as every other error is, never with a 500, never by silence (contract, parts 7 and 8).
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import { problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";

/** The head of a request; `lines` are further headers. */
const head = (line: string, { api }: OwnContext, ...lines: string[]): string =>
  [`${line} HTTP/1.1`, "host: localhost", `authorization: Bearer ${api.key}`, ...lines, "", ""].join("\r\n");

/** The head of a POST /v1/apps. */
const post = (context: OwnContext, ...lines: string[]) =>
  head("POST /v1/apps", context, "content-type: application/json", ...lines);

const APP = '{"title":"Raw"}';
const LENGTH = `content-length: ${APP.length}`;

const NOT_HTTP = [
  ...[
    "GARBAGE\r\n\r\n",
    "GET\r\n\r\n",
    "GET /\r\n\r\n",
    "GET / HTTP/1.1 x\r\n\r\n",
    "GET / FTP/1.1\r\n\r\n",
    "GET / HTTP/2.0\r\nhost: x\r\n\r\n",
  ],
  ...["G€T / HTTP/1.1\r\nhost: x\r\n\r\n", " GET / HTTP/1.1\r\nhost: x\r\n\r\n", "GET / HTTP/9.9\r\nhost: x\r\n\r\n"],
  ...["GET / HTTP/1.1\r\nhost x\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\nbad name: 1\r\n\r\n"],
  ...["GET / HTTP/1.1\r\nhost: x\r\nname : 1\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\na: \x00\r\n\r\n"],
  ...["GET / HTTP/1.1\r\nhost: x\r\n: 1\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not for TLS\r\n\r\n"],
  "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n",
  ...["GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
];

choice(
  "7.error-codes.not-http",
  "is answered 400 invalid_request, and the connection closed",
  "ours",
  async ({ authUrl }) => {
    for (const bytes of NOT_HTTP) {
      const connection = await RawConnection.open(authUrl);
      const answer = await connection.write(Buffer.from(bytes, "latin1")).answer();
      assert.equal(answer.status, 400, JSON.stringify(bytes));
      problem(answer, "invalid_request");
      assert.equal(answer.headers.connection, "close");
      assert.equal(await connection.untilClosed(), "end");
    }
  },
);

/** Requests whose end one reader sees here and another there: what request smuggling is made of. */
const AMBIGUOUS = [
  ["content-length: 15", "content-length: 16"],
  ["content-length: 15", "transfer-encoding: chunked"],
  ["content-length: -1"],
  ["content-length: 1e1"],
  ["content-length: 0x0f"],
  ["content-length: 15, 15"],
  ["content-length: "],
  ["transfer-encoding: gzip, chunked, identity"],
  ["transfer-encoding: xchunked"],
];

choice("7.error-codes.not-http", "a body whose length is in doubt is refused", "ours", async (context) => {
  for (const lines of AMBIGUOUS) {
    const answer = await rawAnswer(context.authUrl, post(context, ...lines) + APP);
    assert.equal(answer.status, 400, lines.join());
    problem(answer, "invalid_request");
  }
  const size = await rawAnswer(
    context.authUrl,
    `${post(context, "transfer-encoding: chunked")}zz\r\n${APP}\r\n0\r\n\r\n`,
  );
  problem(size, "invalid_request");
});

choice("7.error-codes.host", "is needed once in HTTP/1.1", "ours", async (context) => {
  const { authUrl, api } = context;
  const credential = `authorization: Bearer ${api.key}`;
  const request = (version: string, ...lines: string[]) =>
    `GET /v1/account HTTP/${version}\r\n${[credential, ...lines].join("\r\n")}\r\n\r\n`;
  problem(await rawAnswer(authUrl, request("1.1")), "invalid_request");
  problem(await rawAnswer(authUrl, request("1.1", "host: a", "host: a")), "invalid_request");
  problem(await rawAnswer(authUrl, request("1.1", "host: a", "Host: b")), "invalid_request");
  assert.equal((await rawAnswer(authUrl, request("1.1", "host: localhost"))).status, 200);
  assert.equal((await rawAnswer(authUrl, request("1.0"))).status, 200, "HTTP/1.0 has none");
});

choice("1.rfcs.http", "a chunked body is read", "ours", async (context) => {
  const chunks = `5\r\n${APP.slice(0, 5)}\r\na;ext=1\r\n${APP.slice(5)}\r\n0\r\ntrailer: x\r\n\r\n`;
  const answer = await rawAnswer(context.authUrl, post(context, "transfer-encoding: chunked") + chunks);
  assert.equal(answer.status, 201, answer.text);
});

choice("1.rfcs.http", "a body may come byte by byte", "ours", async (context) => {
  const connection = await RawConnection.open(context.authUrl);
  for (const byte of post(context, LENGTH) + APP) connection.write(byte);
  assert.equal((await connection.answer()).status, 201);
  connection.destroy();
});

choice("1.rfcs.http", "a target may be a whole URL", "ours", async (context) => {
  assert.equal((await rawAnswer(context.authUrl, head("GET http://localhost/v1/account", context))).status, 200);
  assert.equal((await rawAnswer(context.authUrl, head("OPTIONS *", context))).status, 404);
});

choice("1.rfcs.http", "an upgrade that is not offered is passed over", "ours", async (context) => {
  const lines = ["connection: upgrade", "upgrade: websocket", "sec-websocket-key: x"];
  assert.equal((await rawAnswer(context.authUrl, head("GET /v1/account", context, ...lines))).status, 200);
});

choice("1.rfcs.http", "a GET or DELETE may come with a body, which means nothing", "ours", async (context) => {
  assert.equal((await rawAnswer(context.authUrl, head("GET /v1/account", context, LENGTH) + APP)).status, 200);
  const { id } = await context.api.create("/apps", { title: "T" });
  assert.equal((await rawAnswer(context.authUrl, head(`DELETE /v1/apps/${id}`, context, LENGTH) + APP)).status, 204);
});

choice("1.rfcs.expect", "100-continue is answered once the request is fit to go on", "ours", async (context) => {
  const connection = await RawConnection.open(context.authUrl);
  connection.write(post(context, LENGTH, "Expect: 100-Continue"));
  assert.equal((await connection.answer()).status, 100);
  assert.equal((await connection.write(APP).answer()).status, 201);
  connection.destroy();
});

choice("1.rfcs.expect", "a request that is refused anyway is not asked for its body", "ours", async (context) => {
  const expect = "expect: 100-continue";
  const anonymous = `POST /v1/apps HTTP/1.1\r\nhost: x\r\n${expect}\r\n${LENGTH}\r\n\r\n`;
  problem(await rawAnswer(context.authUrl, anonymous), "missing_credential");
  problem(await rawAnswer(context.authUrl, post(context, "content-length: 1048577", expect)), "payload_too_large");
  const nowhere = head("POST /v1/nowhere", context, expect, LENGTH);
  problem(await rawAnswer(context.authUrl, nowhere), "not_found");
});

choice("1.rfcs.expect", "another expectation is refused", "ours", async (context) => {
  const answer = await rawAnswer(context.authUrl, post(context, LENGTH, "expect: 200-ok") + APP);
  problem(answer, "invalid_request");
});

choice("1.rfcs.http.pipelining", "many requests sent at once are answered in their order", "ours", async (context) => {
  const connection = await RawConnection.open(context.authUrl);
  const titles = ["one", "two", "three", "four"];
  const bodies = titles.map((title) => JSON.stringify({ title }));
  const requests = bodies.map((body) => post(context, `content-length: ${body.length}`) + body);
  const reads = [
    head("GET /v1/apps/unknown", context),
    head("HEAD /v1/account", context),
    head("GET /v1/account", context),
  ];
  connection.write([...requests, ...reads].join(""));
  for (const title of titles) assert.equal((await connection.answer()).json.title, title);
  problem(await connection.answer(), "not_found");
  assert.equal((await connection.answer(true)).status, 200);
  assert.equal((await connection.answer()).json.state, "active");
  connection.destroy();
});

choice(
  "1.rfcs.http.pipelining",
  "what follows a good request and is none does not spoil its answer",
  "ours",
  async (context) => {
    const connection = await RawConnection.open(context.authUrl);
    connection.write(`${post(context, LENGTH) + APP}GARBAGE\r\n\r\n`);
    assert.equal((await connection.answer()).status, 201);
    problem(await connection.answer(), "invalid_request");
    assert.equal(await connection.untilClosed(), "end");
  },
);

choice(
  "1.rfcs.http.connections",
  "are kept where the client lets them, closed where it asks",
  "ours",
  async (context) => {
    const kept = await RawConnection.open(context.authUrl);
    for (let used = 0; used < 3; used += 1)
      assert.equal((await kept.write(head("GET /v1/account", context)).answer()).status, 200);
    const answer = await kept.write(head("GET /v1/account", context, "connection: close")).answer();
    assert.equal(answer.headers.connection, "close");
    assert.equal(await kept.untilClosed(), "end");
  },
);

choice("1.rfcs.http.connections", "a client that stops sending still gets its answer", "ours", async (context) => {
  const connection = await RawConnection.open(context.authUrl);
  assert.equal(
    (
      await connection
        .write(post(context, LENGTH) + APP)
        .end()
        .answer()
    ).status,
    201,
  );
  await connection.untilClosed();
});

choice(
  "1.rfcs.http.aborted",
  "uploads that break off leave no app, no socket and nothing that keeps the server from closing",
  {},
  async (context) => {
    const { authUrl, api, service } = context;
    const broken: RawConnection[] = [];
    for (let made = 0; made < 30; made += 1) {
      const connection = await RawConnection.open(authUrl);
      connection.write(post(context, "content-length: 500000") + APP);
      if (made % 3 === 0) connection.abort();
      if (made % 3 === 1) connection.destroy();
      if (made % 3 === 2) connection.end();
      broken.push(connection);
    }
    await Promise.all(broken.map((connection) => connection.closed));
    assert.equal((await api.get("/apps")).json.total, 0);
    const began = performance.now();
    await service.close();
    assert.ok(performance.now() - began < 5_000, "a socket that is left would be waited for ten seconds");
  },
);
