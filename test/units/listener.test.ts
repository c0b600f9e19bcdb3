// The listener's limits of time and number (contract, part 8), with short ones in place of the decided: what is tested is
// that each is in force and how it is answered. That the decided ones are handed on is asserted at the end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { LIMITS, type Limits } from "../../src/http/arriving.ts";
import { empty } from "../../src/http/call.ts";
import { ServiceLinks } from "../../src/http/links.ts";
import { Listener, type ListenerParts, type Tls } from "../../src/http/listener.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";
import { SERVER_CERT, SERVER_KEY } from "../support/tls.ts";

/** Between two looks whether the socket is free; a look costs a connection. */
const POLL_MS = 25;
const SHORT: Limits = { ...LIMITS, headers_ms: 60, request_ms: 120, idle_ms: 60 };

/** Reads each body and answers 204; no fault is expected. */
const PLAIN: Pick<ListenerParts, "handle" | "onError"> = {
  onError: (error) => assert.fail(String(error)),
  async handle(call) {
    await call.body(1_000);
    return empty(204);
  },
};

async function listening(
  limits: Limits,
  use: (address: string) => Promise<void>,
  parts = PLAIN,
  tls?: Tls,
): Promise<void> {
  const listener = new Listener(tls, limits);
  const port = await listener.listen(0, "127.0.0.1");
  listener.serve({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    links: new ServiceLinks("http://localhost"),
    onAnswer: () => {},
    ...parts,
  });
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    await listener.stop();
  }
}

test("headers that take too long are 408, and the connection is closed", () =>
  listening(SHORT, async (address) => {
    for (const part of ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nname: va"]) {
      const connection = await RawConnection.open(address);
      problem(await connection.write(part).answer(), "request_timeout");
      assert.equal(await connection.untilClosed(), "end");
    }
  }));

test("a TLS handshake has the time that headers have", () => {
  const use = async (address: string) => {
    const connection = await RawConnection.open(address);
    await connection.write("\x16").untilClosed();
  };
  return listening(SHORT, use, PLAIN, { cert: SERVER_CERT, key: SERVER_KEY });
});

test("a body that takes too long is 408, and the connection is closed", () =>
  listening(SHORT, async (address) => {
    const connection = await RawConnection.open(address);
    connection.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345");
    problem(await connection.answer(), "request_timeout");
    assert.equal(await connection.untilClosed(), "end");
  }));

test("an idle connection is closed without a word", () =>
  listening(SHORT, async (address) => {
    const connection = await RawConnection.open(address);
    assert.equal((await connection.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n").answer()).status, 204);
    assert.equal(await connection.untilClosed(), "end");
  }));

test("a connection over the number is closed at once, and one that ends makes room", () =>
  listening({ ...LIMITS, connections: 2 }, async (address) => {
    const ask = (connection: RawConnection) => connection.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n").answer();
    const [one, two] = [await RawConnection.open(address), await RawConnection.open(address)];
    for (const connection of [one, two]) assert.equal((await ask(connection)).status, 204);
    await (await RawConnection.open(address)).untilClosed();
    await one.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").untilClosed();
    const next = await RawConnection.open(address);
    assert.equal((await ask(next)).status, 204);
    for (const connection of [two, next]) connection.destroy();
  }));

test("a refused client that never closes keeps no socket", () =>
  listening({ ...LIMITS, connections: 1 }, async (address) => {
    const stubborn = await RawConnection.open(address);
    assert.equal((await stubborn.write("GARBAGE\r\n\r\n").answer()).status, 400);
    assert.equal(await stubborn.closed, "end");
    const began = performance.now();
    for (;;) {
      const next = await RawConnection.open(address);
      const answered = await next
        .write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .answer()
        .catch(() => undefined);
      next.destroy();
      await pause(POLL_MS);
      if (answered?.status === 204) break;
      assert.ok(performance.now() - began < 10_000, "the only socket was never freed");
    }
    stubborn.destroy();
  }));

test("the decided limits", () => {
  assert.deepEqual(LIMITS, {
    url_bytes: 8_192,
    header_bytes: 16_384,
    headers_ms: 10_000,
    request_ms: 30_000,
    idle_ms: 60_000,
    connections: 1_000,
  });
});

test("an answer that cannot be written is a bare 500, told to onError, and the server goes on", async () => {
  const told: unknown[] = [];
  const parts = {
    onError: (error: unknown) => told.push(error),
    handle: async () => empty(303, { location: "https://example.com/\r\nx-evil: 1" }),
  };
  const ask = async (address: string) => {
    problem(await rawAnswer(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"), "internal_error");
  };
  await listening(LIMITS, async (address) => ask(address).then(() => ask(address)), parts);
  assert.equal(told.length, 2);
});

test("listener: a request that comes before the service is ready waits and is answered", async () => {
  const listener = new Listener();
  const port = await listener.listen(0, "127.0.0.1");
  const connection = await RawConnection.open(`http://127.0.0.1:${port}`);
  connection.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await pause(POLL_MS);
  listener.serve({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    links: new ServiceLinks("http://localhost"),
    onAnswer: () => {},
    ...PLAIN,
  });
  assert.equal((await connection.answer()).status, 204);
  connection.destroy();
  await listener.stop();
});

test("a CONNECT whose client is gone harms nobody", () =>
  listening(LIMITS, async (address) => {
    for (let made = 0; made < 50; made += 1) {
      const connection = await RawConnection.open(address);
      connection.write(`CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n${"y".repeat(100_000)}`).abort();
      await connection.closed;
    }
    assert.equal((await rawAnswer(address, "GET / HTTP/1.1\r\nhost: x\r\n\r\n")).status, 204);
  }));
