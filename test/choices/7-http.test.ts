// Malformed HTTP/1.1 requests on the socket (RFC 9112), and valid ones that client libraries seldom send. They get the
// usual error format, never a 500 and never silence (contract, parts 7 and 8).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { freshHost } from "../support/client.ts";
import { took } from "../support/costs.ts";
import { problem } from "../support/problem.ts";
import { account, head, post, RawConnection, rawAnswer } from "../support/raw.ts";
import { deployed } from "../support/sites.ts";

const APP = '{"title":"Raw"}';
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

choice(
  "7.error-codes.not-http",
  "an ambiguous length and a missing host are rejected",
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
    problem(await rawAnswer(context.authUrl, "GET / HTTP/1.1\r\n\r\n"), "invalid_request");
  },
);

choice("1.rfcs.http", "unusual but valid requests are accepted", async (context) => {
  const { id } = await context.api.create("/apps", { title: "T" });
  const custom_domain = freshHost();
  await deployed(context.api, {}, { custom_domain });
  for (const [status, request] of [
    [201, post(context, "transfer-encoding: chunked") + chunksOf(APP)],
    [404, head("GET /v1%2Faccount", context)],
    [200, head("GET http://localhost/v1/account", context)],
    [302, head("GET HTTP://localhost?x=1", context)],
    [200, head(`GET http://${custom_domain}/`, context)],
    [302, head("GET /", context)],
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
    connection.write([...requests, ...reads].join(""));
    for (const title of titles) assert.equal((await connection.answer()).json.title, title);
    problem(await connection.answer(), "not_found");
    (await connection.answer(true)).is(200);
    assert.equal((await connection.answer()).json.state, "active");
    connection.socket.destroy();
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
