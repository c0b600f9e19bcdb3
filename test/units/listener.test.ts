// The listener's limits of time and number (contract, part 8), with short ones in place of the decided: what is tested is
// that each is in force and how it is answered. That the decided ones are handed on is asserted at the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import { get } from "node:https";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import { Refusal } from "../../src/domain/refusal.ts";
import { LIMITS, type Limits } from "../../src/http/arriving.ts";
import { type Call, empty } from "../../src/http/call.ts";
import { linksOf } from "../../src/http/links.ts";
import { type ListenerParts, listenerOf, type Tls } from "../../src/http/listener.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { heapInUse } from "../support/heap.ts";
import { problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";
import { promised } from "../support/steps.ts";
import { SERVER_CERT, SERVER_KEY } from "../support/tls.ts";

const SHORT = { headers_ms: 60, request_ms: 120, idle_ms: 60 };
const ASK = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const ASK_LARGE = ASK.replace("/", "/large");

const readsAll: ListenerParts["handle"] = async (call) => {
  await call.body(1_000);
  return empty(204);
};

/** Reads each body and answers 204, and no fault is expected, unless the parts say otherwise. */
async function listening(limits: Partial<Limits> = {}, parts: Partial<ListenerParts> = {}, tls?: Tls) {
  const listener = listenerOf(tls, { ...LIMITS, ...limits });
  const address = `http://127.0.0.1:${await listener.listen(0, "127.0.0.1")}`;
  listener.serve({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    links: linksOf("http://localhost"),
    onAnswer: () => {},
    onError: (error) => assert.fail(String(error)),
    handle: readsAll,
    ...parts,
  });
  return {
    address,
    /** Sends this on a new connection. */
    send: async (text = "") => (await RawConnection.open(address)).write(text),
    /** The answer to this one request. */
    ask: (text = ASK) => rawAnswer(address, text),
    stop: () => listener.stop(),
    [Symbol.asyncDispose]: () => listener.stop(),
  };
}

type Listening = Awaited<ReturnType<typeof listening>>;

for (const [what, limits, ...parts] of [
  ["headers", { headers_ms: 60 }, "G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nname: va"],
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

test("a TLS handshake has the time that headers have", async () => {
  await using it = await listening(SHORT, {}, { cert: SERVER_CERT, key: SERVER_KEY });
  await (await it.send("\x16")).untilClosed();
});

test("an idle connection is closed without a word, and sooner than Node would", async () => {
  await using it = await listening(SHORT);
  const connection = await it.send(ASK);
  assert.equal((await connection.answer()).status, 204);
  const began = performance.now();
  assert.equal(await connection.untilClosed(), "end");
  assert.ok(performance.now() - began < 4_500);
});

/** Asks until there is room for one more connection. */
async function freed({ ask }: Listening): Promise<void> {
  const began = performance.now();
  const status = async () => (await ask().catch(() => undefined))?.status;
  while ((await status()) !== 204) assert.ok(performance.now() - began < 10_000, "no connection was ever freed");
}

test("a connection over the number is closed at once, and one that ends makes room", async () => {
  await using it = await listening({ connections: 2 });
  const asked = async () => {
    const connection = await it.send(ASK);
    assert.equal((await connection.answer()).status, 204);
    return connection;
  };
  const [one, two] = [await asked(), await asked()];
  await assert.rejects(it.ask(), /closed after ""/);
  await one.write(ASK.replace("host", "connection: close\r\nhost")).untilClosed();
  for (const connection of [two, await asked()]) connection.destroy();
});

test("a refused client that never closes keeps no socket", async () => {
  await using it = await listening({ connections: 1 });
  const stubborn = await it.send("GARBAGE\r\n\r\n");
  assert.equal((await stubborn.answer()).status, 400);
  assert.equal(await stubborn.closed, "end");
  await freed(it);
  stubborn.destroy();
});

/** More than the buffers between two processes hold. */
const LARGE = "x".repeat(10_000_000);
const large = async (call: Call) => (call.path === "/large" ? { ...empty(200), body: LARGE } : empty(204));

/** Answers what is slow when it is told to. */
function slowly() {
  const { kept: made, keep: finish } = promised();
  const handle = async (call: Call) => {
    if (call.path === "/slow") await made;
    return large(call);
  };
  return { handle, finish };
}

test("an answer that nobody reads is given up in time; one that takes its time to be made is not", async () => {
  const { handle, finish } = slowly();
  await using it = await listening({ unread_ms: 1_500, connections: 2 }, { handle });
  const slow = await it.send(ASK.replace("/", "/slow"));
  const began = performance.now();
  const deaf = (await it.send()).pause().write(ASK_LARGE);
  await freed(it);
  const took_ms = performance.now() - began;
  assert.ok(took_ms >= 1_500 && took_ms < 2_600, `${took_ms} ms`);
  finish();
  assert.equal((await slow.answer()).status, 204);
  for (const connection of [slow, deaf]) connection.destroy();
});

for (const [what, tls] of [
  ["", undefined],
  [" over TLS", { cert: SERVER_CERT, key: SERVER_KEY }],
] as const)
  test(`an answer that is read a little at a time is not given up, however long that takes${what}`, async () => {
    const answer = { ...empty(200), body: "x".repeat(40_000_000) };
    await using it = await listening({ unread_ms: 1_000 }, { handle: async () => answer }, tls);
    const port = Number(new URL(it.address).port);
    const plain = connect(port, "127.0.0.1").setNoDelay();
    const socket = tls ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
    const began = performance.now();
    socket.write(ASK);
    let [taken, allowed] = [0, 0];
    socket.on("data", ({ length }) => {
      taken += length;
      if (taken >= allowed) socket.pause();
    });
    const closed = once(socket, "close").then(() => false);
    while (taken < answer.body.length) {
      allowed += 1_000_000;
      socket.resume();
      assert.ok(await Promise.race([closed, once(AbortSignal.timeout(50), "abort")]), `cut off after ${taken} bytes`);
    }
    assert.ok(performance.now() - began > 1_500);
    socket.destroy();
  });

test("an answer that takes its time is not given up because the one before it was read late", async () => {
  const { handle, finish } = slowly();
  await using it = await listening({ unread_ms: 600, connections: 2 }, { handle });
  const late = await it.send(ASK_LARGE + ASK.replace("/", "/slow"));
  await late.pausedAtFirst();
  assert.equal((await late.resume().answer()).text.length, LARGE.length);
  const deaf = (await it.send()).pause().write(ASK_LARGE);
  await freed(it);
  finish();
  assert.equal((await late.answer()).status, 204);
  for (const connection of [late, deaf]) connection.destroy();
});

test("who reads a body that is broken off is told so", { timeout: 10_000 }, async () => {
  const { kept: read, keep: tell } = promised<Buffer | Refusal>();
  const handle = async (call: Call) => {
    tell(await call.body(1_000));
    return empty(204);
  };
  await using it = await listening({}, { handle });
  const connection = await it.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345");
  connection.abort();
  const told = await read;
  assert.ok(told instanceof Refusal && told.reason.code === "invalid_request");
});

test("of many requests at once one is answered after the other, as far as the client reads", async () => {
  let made = 0;
  const handle = (call: Call) => {
    if (call.path === "/large") made += 1;
    return large(call);
  };
  await using it = await listening({}, { handle });
  const deaf = await it.send(ASK_LARGE.repeat(50));
  await deaf.pausedAtFirst();
  assert.equal((await it.ask()).status, 204);
  assert.equal(made, 1);
  deaf.abort();
});

test("a stop lets an answer that was begun be read to its end", async () => {
  await using it = await listening({}, { handle: large });
  const slow = await it.send(ASK_LARGE);
  await slow.pausedAtFirst();
  const stopped = it.stop();
  assert.equal((await slow.resume().answer()).text.length, LARGE.length);
  await stopped;
});

test("a stop over TLS lets it be read to its end, too", async () => {
  await using it = await listening({}, { handle: large }, { cert: SERVER_CERT, key: SERVER_KEY });
  const asked = get(`${it.address.replace("http", "https")}/large`, { rejectUnauthorized: false, agent: false });
  const [answer] = await once(asked, "response");
  const stopped = it.stop();
  assert.equal((await text(answer)).length, LARGE.length);
  await stopped;
});

test("a body in many chunks takes the room of its bytes", async () => {
  const handle = async (call: Call) => {
    const before = heapInUse();
    assert.ok((await call.body(200_000)) instanceof Refusal);
    return { ...empty(200), body: String(heapInUse() - before) };
  };
  await using it = await listening({}, { handle });
  const chunks = "1\r\nx\r\n".repeat(200_001);
  const answer = await it.ask(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
  assert.ok(Number(answer.text) < 8_000_000);
});

test("the decided limits", () => {
  const bytes = { url_bytes: 8_192, header_bytes: 16_384 };
  const times = { headers_ms: 10_000, request_ms: 30_000, idle_ms: 60_000, unread_ms: 30_000 };
  assert.deepEqual(LIMITS, { ...bytes, ...times, connections: 1_000 });
});

test("an answer that fails or cannot be written is a bare 500, told with the request's id, and the server goes on", async () => {
  const told: unknown[] = [];
  const answers = [
    async () => empty(303, { location: "https://example.com/\r\nx-evil: 1" }),
    async () => Promise.reject(new Error("unforeseen")),
  ];
  await using it = await listening(
    {},
    { onError: (_, id) => told.push(id), handle: async () => answers[told.length]?.() ?? empty(204) },
  );
  for (const at of answers.keys()) {
    const { instance } = problem(await it.ask(), "internal_error");
    assert.equal(told[at], instance);
  }
  assert.equal((await it.ask()).status, 204);
});

test("a failure after the headers were sent ends the connection, and is told", async (t) => {
  const told: unknown[] = [];
  const broken = t.mock.method(ServerResponse.prototype, "end", () => {
    throw new Error("broken");
  });
  await using it = await listening({}, { onError: (error) => told.push(error) });
  await (await it.send(ASK)).untilClosed();
  assert.match(told.join(), /broken/);
  broken.mock.restore();
  assert.equal((await it.ask()).status, 204);
});

test("a CONNECT whose client is gone harms nobody", async () => {
  await using it = await listening();
  for (let made = 0; made < 50; made += 1) {
    const connection = await it.send(`CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n${"y".repeat(100_000)}`);
    connection.abort();
    await connection.closed;
  }
  assert.equal((await it.ask()).status, 204);
});
