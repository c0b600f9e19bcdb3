// The listener's limits of time and number (contract, part 8), with short ones in place of the decided: what is tested is
// that each is in force and how it is answered. That the decided ones are handed on is asserted at the end.
import assert from "node:assert/strict";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Refusal } from "../../src/domain/refusal.ts";
import { LIMITS, type Limits } from "../../src/http/arriving.ts";
import { type Call, empty } from "../../src/http/call.ts";
import { linksOf } from "../../src/http/links.ts";
import { Listener, type ListenerParts, type Tls } from "../../src/http/listener.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { problem } from "../support/problem.ts";
import { RawConnection, rawAnswer } from "../support/raw.ts";
import { SERVER_CERT, SERVER_KEY } from "../support/tls.ts";

const SHORT: Limits = { ...LIMITS, headers_ms: 60, request_ms: 120, idle_ms: 60 };
const ASK = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/** Reads each body and answers 204; no fault is expected. */
const PLAIN: Pick<ListenerParts, "handle" | "onError"> = {
  onError: (error) => assert.fail(String(error)),
  async handle(call) {
    await call.body(1_000);
    return empty(204);
  },
};

const whole = (parts: Pick<ListenerParts, "handle" | "onError">): ListenerParts => ({
  ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
  links: linksOf("http://localhost"),
  onAnswer: () => {},
  ...parts,
});

async function listening(limits: Limits, use: (address: string) => Promise<void>, parts = PLAIN, tls?: Tls) {
  const listener = new Listener(tls, limits);
  const port = await listener.listen(0, "127.0.0.1");
  listener.serve(whole(parts));
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    await listener.stop();
  }
}

const late = {
  headers: ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: x\r\nname: va"],
  "a body": ["POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345"],
};
for (const [what, parts] of Object.entries(late))
  test(`${what} not there in time: 408, and the connection is closed`, () =>
    listening(SHORT, async (address) => {
      for (const part of parts) {
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

test("an idle connection is closed without a word", () =>
  listening(SHORT, async (address) => {
    const connection = await RawConnection.open(address);
    assert.equal((await connection.write(ASK).answer()).status, 204);
    assert.equal(await connection.untilClosed(), "end");
  }));

/** Asks until there is room for one more connection. */
async function freed(address: string): Promise<void> {
  const began = performance.now();
  const status = () =>
    rawAnswer(address, ASK).then(
      (answer) => answer.status,
      () => 0,
    );
  while ((await status()) !== 204) assert.ok(performance.now() - began < 10_000, "no connection was ever freed");
}

test("a connection over the number is closed at once, and one that ends makes room", () =>
  listening({ ...LIMITS, connections: 2 }, async (address) => {
    const asked = async () => {
      const connection = await RawConnection.open(address);
      assert.equal((await connection.write(ASK).answer()).status, 204);
      return connection;
    };
    const [one, two] = [await asked(), await asked()];
    await (await RawConnection.open(address)).untilClosed();
    await one.write(ASK.replace("host", "connection: close\r\nhost")).untilClosed();
    for (const connection of [two, await asked()]) connection.destroy();
  }));

test("a refused client that never closes keeps no socket", () =>
  listening({ ...LIMITS, connections: 1 }, async (address) => {
    const stubborn = await RawConnection.open(address);
    assert.equal((await stubborn.write("GARBAGE\r\n\r\n").answer()).status, 400);
    assert.equal(await stubborn.closed, "end");
    await freed(address);
    stubborn.destroy();
  }));

/** More than the buffers between two processes hold. */
const LARGE = "x".repeat(10_000_000);
const large = async () => ({ status: 200, headers: {}, body: LARGE });

test("an answer that nobody reads is given up; one that takes its time to be made is not", async () => {
  let finish = () => {};
  const made = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const handle = async (call: Call) => {
    if (call.path === "/slow") await made;
    return call.path === "/large" ? large() : empty(204);
  };
  await listening(
    { ...LIMITS, unread_ms: 60, connections: 2 },
    async (address) => {
      const slow = (await RawConnection.open(address)).write(ASK.replace("/", "/slow"));
      const deaf = (await RawConnection.open(address)).pause().write(ASK.replace("/", "/large"));
      await freed(address);
      finish();
      assert.equal((await slow.answer()).status, 204);
      slow.destroy();
      deaf.destroy();
    },
    { ...PLAIN, handle },
  );
});

test("of many requests at once one is answered after the other, as far as the client reads", () => {
  let made = 0;
  const handle = async (call: Call) => {
    if (call.path === "/large") made += 1;
    return call.path === "/large" ? large() : empty(204);
  };
  return listening(
    LIMITS,
    async (address) => {
      const deaf = (await RawConnection.open(address)).write(ASK.replace("/", "/large").repeat(50));
      await deaf.pausedAtFirst();
      assert.equal((await rawAnswer(address, ASK)).status, 204);
      assert.equal(made, 1);
      deaf.abort();
    },
    { ...PLAIN, handle },
  );
});

test("a stop lets an answer that was begun be read to its end", async () => {
  const listener = new Listener();
  const port = await listener.listen(0, "127.0.0.1");
  listener.serve(whole({ ...PLAIN, handle: large }));
  const slow = (await RawConnection.open(`http://127.0.0.1:${port}`)).write(ASK);
  await slow.pausedAtFirst();
  const stopped = listener.stop();
  assert.equal((await slow.resume().answer()).text.length, LARGE.length);
  await stopped;
});

test("a stop over TLS lets it be read to its end, too", async () => {
  const listener = new Listener({ cert: SERVER_CERT, key: SERVER_KEY });
  const port = await listener.listen(0, "127.0.0.1");
  listener.serve(whole({ ...PLAIN, handle: large }));
  const [answer] = await once(get({ port, rejectUnauthorized: false, agent: false }), "response");
  const stopped = listener.stop();
  assert.equal((await text(answer)).length, LARGE.length);
  await stopped;
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

test("a body in many chunks takes the room of its bytes", () =>
  listening(
    LIMITS,
    async (address) => {
      const chunks = "1\r\nx\r\n".repeat(200_001);
      const connection = (await RawConnection.open(address)).write(
        `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`,
      );
      assert.ok(Number((await connection.answer()).text) < 8_000_000);
      connection.destroy();
    },
    {
      ...PLAIN,
      async handle(call) {
        collectGarbage();
        const before = process.memoryUsage().heapUsed;
        assert.ok((await call.body(200_000)) instanceof Refusal);
        collectGarbage();
        return { status: 200, headers: {}, body: String(process.memoryUsage().heapUsed - before) };
      },
    },
  ));

test("a body that is none is refused behind the answers to what came before it", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => (go = resolve));
  const handle = async (call: Call) => {
    await (call.method === "GET" ? held : call.body(1_000));
    return empty(204);
  };
  await listening(
    LIMITS,
    async (address) => {
      const connection = await RawConnection.open(address);
      connection.write(`${ASK}POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`);
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      go();
      assert.equal((await connection.answer()).status, 204);
      problem(await connection.answer(), "invalid_request");
      assert.equal(await connection.untilClosed(), "end");
    },
    { ...PLAIN, handle },
  );
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
  const parts = {
    onError: (_: unknown, id: string) => told.push(id),
    handle: async () => answers[told.length]?.() ?? empty(204),
  };
  await listening(
    LIMITS,
    async (address) => {
      for (const at of answers.keys()) {
        const { instance } = problem(await rawAnswer(address, ASK), "internal_error");
        assert.equal(told[at], instance);
      }
      assert.equal((await rawAnswer(address, ASK)).status, 204);
    },
    parts,
  );
});

test("a failure after the headers were sent ends the connection, and is told", async (t) => {
  const told: unknown[] = [];
  const broken = t.mock.method(ServerResponse.prototype, "end", () => {
    throw new Error("broken");
  });
  const parts = { onError: (error: unknown) => told.push(error), handle: async () => empty(204) };
  await listening(
    LIMITS,
    async (address) => {
      await (await RawConnection.open(address)).write(ASK).untilClosed();
      assert.match(told.join(), /broken/);
      broken.mock.restore();
      assert.equal((await rawAnswer(address, ASK)).status, 204);
    },
    parts,
  );
});

test("a CONNECT whose client is gone harms nobody", () =>
  listening(LIMITS, async (address) => {
    for (let made = 0; made < 50; made += 1) {
      const connection = await RawConnection.open(address);
      connection.write(`CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n${"y".repeat(100_000)}`).abort();
      await connection.closed;
    }
    assert.equal((await rawAnswer(address, ASK)).status, 204);
  }));
