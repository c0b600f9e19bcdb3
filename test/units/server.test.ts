// The HTTP server's limits on time and number, tested with short limits: each is enforced
// with the right response.
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { AppError } from "../../src/domain/errors.ts";
import { createUrls, emptyResponse, type HttpRequest } from "../../src/http/message.ts";
import { LIMITS, type Limits } from "../../src/http/request.ts";
import { createHttpServer, type HttpServerDeps, type Tls } from "../../src/http/server.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/lib/ids.ts";
import {
  eventually,
  problem,
  promised,
  RawConnection,
  rawAnswer,
  TLS,
  took,
  turns,
} from "../support/index.ts";

const SHORT = { headers_ms: 60, request_ms: 120 };
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const GET_LARGE = GET.replace("/", "/large");
const GET_SLOW = GET.replace("/", "/slow");
const postHead = (bytes: number) =>
  `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;
/** Larger than the socket buffers of two processes together. */
const LARGE = "x".repeat(10_000_000);

/** Reads each body; sends a large body for /large and 204 otherwise, late for /slow. Expects no error. */
async function listening(
  limits: Partial<Limits> = {},
  deps: Partial<HttpServerDeps> = {},
  tls?: Tls,
) {
  const server = createHttpServer(tls, { ...LIMITS, ...limits });
  const address = `http://127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
  server.setHandler({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    urls: createUrls("http://localhost"),
    onError: (error) => assert.fail(String(error)),
    async handle(request) {
      if (request.path === "/large") return { ...emptyResponse(200), body: LARGE };
      if (request.path === "/slow") await once(AbortSignal.timeout(150), "abort");
      await request.readBody(1_000);
      return emptyResponse(204);
    },
    ...deps,
  });
  /** Sends one request on its own connection and returns the response. */
  const ask = (request = GET) => rawAnswer(address, request);
  return {
    address,
    ask,
    stop: server.stop,
    [Symbol.asyncDispose]: server.stop,
    /** Sends this text on a new connection. */
    send: async (data: string) => (await RawConnection.open(address)).write(data),
    /** Retries until the server accepts another connection. */
    async freed() {
      const began = performance.now();
      while ((await ask().catch(() => undefined))?.status !== 204)
        assert.ok(performance.now() - began < 10_000, "no connection was ever freed");
    },
  };
}

for (const [what, limits, ...parts] of [
  ["headers", { headers_ms: 60 }, "GET / HTTP/1.1\r\nhost: x\r\nname: va"],
  ["a body", SHORT, `${postHead(10)}12345`],
] as const)
  test(`${what} not there in time: 408, and the connection is closed`, async () => {
    await using it = await listening(limits);
    for (const part of parts) {
      const connection = await it.send(part);
      const answer = await connection.answer();
      problem(answer, "request_timeout");
      assert.equal(answer.headers.connection, "close");
      assert.equal(await connection.untilClosed(), "end");
    }
  });

test("a handler gets both values of a repeated header, so that it can refuse a second credential", async () => {
  const handle = async ({ headers }: HttpRequest) =>
    emptyResponse(204, { "x-authorization": headers.authorization ?? "" });
  await using it = await listening({}, { handle });
  const answer = await it.ask(
    GET.replace("host: x", "host: x\r\nauthorization: a\r\nauthorization: b"),
  );
  assert.equal(answer.headers["x-authorization"], "a, b");
});

test("reading an aborted body returns an error", { timeout: 10_000 }, async () => {
  const read = promised<Buffer | AppError>();
  const handle = async (request: HttpRequest) => {
    read.keep(await request.readBody(1_000));
    return emptyResponse(204);
  };
  await using it = await listening({}, { handle });
  (await it.send(`${postHead(10)}12345`)).socket.resetAndDestroy();
  const error = await read.kept;
  assert.ok(error instanceof AppError && error.details.code === "invalid_request");
});

test("a connection over the limit is closed at once, and a closed connection frees its place", async () => {
  await using it = await listening({ connections: 2 });
  const opened = async () => {
    const connection = await it.send(GET);
    (await connection.answer()).is(204);
    return connection;
  };
  const [one, two] = [await opened(), await opened()];
  await assert.rejects(it.ask(), /closed after ""/);
  await one.write(GET.replace("host", "connection: close\r\nhost")).untilClosed();
  for (const connection of [two, await opened()]) connection.socket.destroy();
});

test("a connection that stops reading is closed within twice the limit, even if its response is pipelined", async () => {
  for (const request of [GET_LARGE, GET_SLOW + GET_LARGE]) {
    await using it = await listening({ unread_ms: 100, connections: 1 });
    const stopped = await it.send(request);
    stopped.socket.pause();
    const took_ms = await took(it.freed);
    stopped.socket.destroy();
    assert.ok(took_ms >= 100 && took_ms < 1_000, `${took_ms} ms`);
  }
});

test("a pipelined response that waits for a slow one longer than the limit is not cut off", async () => {
  await using it = await listening({ unread_ms: 50 });
  const connection = await it.send(GET_SLOW + GET);
  (await connection.answer()).is(204);
  (await connection.answer()).is(204);
  connection.socket.destroy();
});

for (const [where, tls] of Object.entries({ "in clear": undefined, "over TLS": TLS }))
  test(`a stop lets a response in progress be read to its end, ${where}`, async () => {
    await using it = await listening({}, {}, tls);
    const url = `${tls ? it.address.replace("http", "https") : it.address}/large`;
    const [answer] = await once(
      (tls ? https : http).get(url, { rejectUnauthorized: false, agent: false }),
      "response",
    );
    const stopped = it.stop();
    assert.equal((await text(answer)).length, LARGE.length);
    await stopped;
  });

test("a response that cannot be written closes its connection, is reported, and the server continues", async () => {
  const reported: string[] = [];
  const handle = async ({ path }: HttpRequest) =>
    emptyResponse(204, path === "/bad" ? { x: "a\r\nb" } : {});
  await using it = await listening(
    {},
    { onError: (error) => reported.push(String(error)), handle },
  );
  await (await it.send(GET.replace("/", "/bad"))).untilClosed();
  assert.match(reported.join(), /Invalid character in header/);
  (await it.ask()).is(204);
});

test("a stop before there is a handler closes the connection of a waiting request at once", async () => {
  const server = createHttpServer();
  const address = `http://127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
  const waiting = (await RawConnection.open(address)).write(GET);
  await eventually(async () => waiting.socket.bytesWritten > 0);
  await turns(50);
  assert.ok((await took(server.stop)) < 5_000);
  await waiting.untilClosed();
});
