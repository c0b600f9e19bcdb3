// The HTTP server's limits on time and number (contract, part 8), tested with short limits: each is enforced
// with the right response. The last tests assert the limits used in production.
import assert from "node:assert/strict";
import { once } from "node:events";
import http, { ServerResponse } from "node:http";
import https from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { AppError } from "../../src/domain/errors.ts";
import { emptyResponse, type HttpRequest } from "../../src/http/message.ts";
import { LIMITS, type Limits } from "../../src/http/request.ts";
import { createHttpServer, type HttpServerDeps, type Tls } from "../../src/http/server.ts";
import { createUrls } from "../../src/http/urls.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/lib/ids.ts";
import { heapInUse, took } from "../support/costs.ts";
import { problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";
import { TLS } from "../support/tls.ts";
import { promised } from "../support/wait.ts";

const SHORT = { headers_ms: 60, request_ms: 120, idle_ms: 60 };
const ASK = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const [ASK_LARGE, ASK_SLOW] = [ASK.replace("/", "/large"), ASK.replace("/", "/slow")];
const IN_CLEAR_AND_OVER_TLS = Object.entries({ "in clear": undefined, "over TLS": TLS });

/** Larger than the socket buffers of two processes together. */
const LARGE = "x".repeat(10_000_000);
/** Larger than the data read before a handler asks for the body. */
const SOME = LARGE.slice(0, 1_000_000);

/** Reads each body; sends a large body for /large, a late response for /slow and 204 otherwise. Expects no error. */
async function listening(
  limits: Partial<Limits> = {},
  parts: Partial<HttpServerDeps> = {},
  tls?: Tls,
) {
  const listener = createHttpServer(tls, { ...LIMITS, ...limits });
  const { kept: made, keep: finish } = promised();
  const address = `http://127.0.0.1:${await listener.listen(0, "127.0.0.1")}`;
  listener.setHandler({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    urls: createUrls("http://localhost"),
    onError: (error) => assert.fail(String(error)),
    async handle(call) {
      if (call.path === "/slow") await made;
      if (call.path === "/large") return { ...emptyResponse(200), body: LARGE };
      await call.readBody(1_000);
      return emptyResponse(204);
    },
    ...parts,
  });
  /** Sends one request on its own connection and returns the response. */
  const ask = (text = ASK) => rawAnswer(address, text);
  return {
    ...{ address, finish, ask, stop: listener.stop, [Symbol.asyncDispose]: listener.stop },
    /** Sends this text on a new connection. */
    send: async (text: string) => (await RawConnection.open(address)).write(text),
    /** Retries until the server accepts another connection. */
    async freed(): Promise<void> {
      const began = performance.now();
      while ((await ask().catch(() => undefined))?.status !== 204)
        assert.ok(performance.now() - began < 10_000, "no connection was ever freed");
    },
  };
}

for (const [what, limits, ...parts] of [
  [
    "headers",
    { headers_ms: 60 },
    "G",
    "GET / HTTP/1.1\r\n",
    "GET / HTTP/1.1\r\nhost: x\r\nname: va",
  ],
  ["a body", SHORT, "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345"],
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

test("reading a body after the 408 response returns an error", async () => {
  const [late, read] = [promised(), promised<unknown>()];
  const handle = async (call: HttpRequest) => {
    await late.kept;
    read.keep(await call.readBody(SOME.length));
    return emptyResponse(204);
  };
  await using it = await listening(SHORT, { handle });
  const connection = await it.send(
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${SOME.length}\r\n\r\n${SOME}`,
  );
  problem(await connection.answer(), "request_timeout");
  await connection.untilClosed();
  late.keep();
  assert.ok((await read.kept) instanceof AppError);
});

test("a TLS handshake has the same time limit as the headers", async () => {
  await using it = await listening(SHORT, {}, TLS);
  await (await it.send("\x16")).untilClosed();
});

test("an idle connection is closed without a response, and sooner than by Node's default", async () => {
  await using it = await listening(SHORT);
  const connection = await it.send(ASK);
  assert.equal((await connection.answer()).status, 204);
  assert.ok((await took(async () => assert.equal(await connection.untilClosed(), "end"))) < 4_500);
});

test("a connection over the limit is closed at once, and a closed connection frees its place", async () => {
  await using it = await listening({ connections: 2 });
  const asked = async () => {
    const connection = await it.send(ASK);
    assert.equal((await connection.answer()).status, 204);
    return connection;
  };
  const [one, two] = [await asked(), await asked()];
  await assert.rejects(it.ask(), /closed after ""/);
  await one.write(ASK.replace("host", "connection: close\r\nhost")).untilClosed();
  for (const connection of [two, await asked()]) connection.socket.destroy();
});

test("a rejected client that never closes its side does not keep a socket open", async () => {
  await using it = await listening({ connections: 1 });
  const stubborn = await it.send("GARBAGE\r\n\r\n");
  assert.equal((await stubborn.answer()).status, 400);
  assert.equal(await stubborn.closed, "end");
  await it.freed();
  stubborn.socket.destroy();
});

const LAST = "POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 60000\r\n\r\n";

for (const [where, tls] of IN_CLEAR_AND_OVER_TLS)
  for (const [what, begins, status] of [
    ["a refusal", "", 400],
    ["the last answer", LAST, 204],
  ] as const)
    test(`a client that keeps sending after ${what} and reads last is not reset, ${where}`, async () => {
      await using it = await listening({}, {}, tls);
      const { hostname: host, port } = new URL(it.address);
      const options = { host, port: Number(port), rejectUnauthorized: false, allowHalfOpen: true };
      const socket = tls ? connectTls(options) : connect(options);
      await once(socket, tls ? "secureConnect" : "connect");
      const faults: Error[] = [];
      socket.on("error", (error) => faults.push(error));
      socket.write(begins);
      for (let piece = 0; piece < 25; piece += 1) {
        socket.write("GARBAGE\r\n\r\n");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      assert.match(await text(socket.end()), new RegExp(`^HTTP/1.1 ${status} `));
      assert.deepEqual(faults, []);
    });

test("a response that the client does not read is aborted after the limit", async () => {
  await using it = await listening({ unread_ms: 1_500, connections: 1 });
  const began = performance.now();
  const deaf = await it.send(ASK_LARGE);
  deaf.socket.pause();
  await it.freed();
  const took_ms = performance.now() - began;
  deaf.socket.destroy();
  assert.ok(took_ms >= 1_500 && took_ms < 2_600, `${took_ms} ms`);
});

for (const [where, tls] of IN_CLEAR_AND_OVER_TLS) {
  for (const [when, request] of [
    ["", ASK],
    [
      ", not even one before the request is whole",
      ASK.replace("host", "content-length: 2\r\nhost"),
    ],
  ] as const)
    test(`a response that the client reads slowly is not aborted, however long that takes, ${where}${when}`, async () => {
      const answer = { ...emptyResponse(200), body: LARGE.repeat(4) };
      await using it = await listening({ unread_ms: 1_000 }, { handle: async () => answer }, tls);
      const plain = connect(Number(new URL(it.address).port), "127.0.0.1").setNoDelay();
      const socket = tls ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
      const began = performance.now();
      socket.write(request);
      let [taken, allowed] = [0, 0];
      socket.on("data", ({ length }) => {
        taken += length;
        if (taken >= allowed) socket.pause();
      });
      const closed = once(socket, "close").then(() => false);
      while (taken < answer.body.length) {
        allowed += 1_000_000;
        socket.resume();
        const goesOn = await Promise.race([closed, once(AbortSignal.timeout(75), "abort")]);
        assert.ok(goesOn || taken >= answer.body.length, `cut off after ${taken} bytes`);
      }
      assert.ok(performance.now() - began > 2_500);
      socket.destroy();
    });

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
}

test("a response that is slow to produce is not aborted, even after the previous response was read late", async () => {
  await using it = await listening({ unread_ms: 600, connections: 2 });
  const late = await it.send(ASK_LARGE + ASK_SLOW);
  await once(late.socket, "data");
  late.socket.pause();
  late.socket.resume();
  assert.equal((await late.answer()).text.length, LARGE.length);
  const deaf = await it.send(ASK_LARGE);
  deaf.socket.pause();
  await it.freed();
  it.finish();
  assert.equal((await late.answer()).status, 204);
  for (const connection of [late, deaf]) connection.socket.destroy();
});

test("reading an aborted body returns an error", { timeout: 10_000 }, async () => {
  const { kept: read, keep: tell } = promised<Buffer | AppError>();
  const handle = async (call: HttpRequest) => {
    tell(await call.readBody(1_000));
    return emptyResponse(204);
  };
  await using it = await listening({}, { handle });
  const connection = await it.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345");
  connection.socket.resetAndDestroy();
  const reported = await read;
  assert.ok(reported instanceof AppError && reported.details.code === "invalid_request");
});

test("pipelined requests are handled one at a time, as fast as the client reads", async () => {
  let made = 0;
  const handle = async ({ path }: HttpRequest) => {
    if (path !== "/large") return emptyResponse(204);
    made += 1;
    return { ...emptyResponse(200), body: LARGE };
  };
  await using it = await listening({}, { handle });
  const deaf = await it.send(ASK_LARGE.repeat(50));
  await once(deaf.socket, "data");
  deaf.socket.pause();
  assert.equal((await it.ask()).status, 204);
  assert.equal(made, 1);
  deaf.socket.resetAndDestroy();
});

test("a body in many chunks uses memory in proportion to its bytes", async () => {
  const handle = async (call: HttpRequest) => {
    const before = await heapInUse();
    assert.ok((await call.readBody(200_000)) instanceof AppError);
    return { ...emptyResponse(200), body: String((await heapInUse()) - before) };
  };
  await using it = await listening({}, { handle });
  const chunks = "1\r\nx\r\n".repeat(200_001);
  const answer = await it.ask(
    `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
  );
  assert.ok(Number(answer.text) < 8_000_000);
});

test("the production limits have the specified values", () => {
  const bytes = { url_bytes: 8_192, header_bytes: 16_384 };
  const times = { headers_ms: 10_000, request_ms: 30_000, idle_ms: 60_000, unread_ms: 30_000 };
  assert.deepEqual(LIMITS, { ...bytes, ...times, connections: 1_000 });
});

test("a response that fails or cannot be written becomes a 500 problem, reported with the request's id, and the server continues", async () => {
  const reported: unknown[] = [];
  const answers = [
    async () => emptyResponse(303, { location: "https://example.com/\r\nx-evil: 1" }),
    async () => Promise.reject(new Error("unforeseen")),
  ];
  const handle = async () => answers[reported.length]?.() ?? emptyResponse(204);
  await using it = await listening({}, { onError: (_, id) => reported.push(id), handle });
  for (const at of answers.keys())
    assert.equal(problem(await it.ask(), "internal_error").instance, reported[at]);
  assert.equal((await it.ask()).status, 204);
});

test("a failure after the headers were sent closes the connection and is reported", async (t) => {
  const reported: unknown[] = [];
  const broken = t.mock.method(ServerResponse.prototype, "end", () => {
    throw new Error("broken");
  });
  await using it = await listening({}, { onError: (error) => reported.push(error) });
  await (await it.send(ASK)).untilClosed();
  assert.match(reported.join(), /broken/);
  broken.mock.restore();
  assert.equal((await it.ask()).status, 204);
});

test("a CONNECT request whose client disconnects does not affect the server", async () => {
  await using it = await listening();
  for (let made = 0; made < 50; made += 1) {
    const connection = await it.send(
      `CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n${"y".repeat(100_000)}`,
    );
    connection.socket.resetAndDestroy();
    await connection.closed;
  }
  assert.equal((await it.ask()).status, 204);
});
