// Answers that go on (http/call, Live): as long as the client listens and no longer, whatever the limits of requests are.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "../../src/http/arriving.ts";
import type { Live } from "../../src/http/call.ts";
import { ServiceLinks } from "../../src/http/links.ts";
import { Listener } from "../../src/http/listener.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { RawConnection } from "../support/raw.ts";

const SHORT_MS = 60;
/** Less than what requests in flight are given. */
const PATIENCE_MS = 5_000;
const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

async function serving(live: Live, use: (port: number, listener: Listener) => Promise<void>): Promise<void> {
  const limits = { ...LIMITS, headers_ms: SHORT_MS, request_ms: SHORT_MS, idle_ms: SHORT_MS };
  const listener = new Listener(undefined, limits);
  const port = await listener.listen(0, "127.0.0.1");
  listener.serve({
    ids: new TimeOrderedIds(new AdjustableClock(), systemRandom),
    links: new ServiceLinks("http://localhost"),
    onAnswer: () => {},
    onError: (error) => assert.fail(String(error)),
    handle: async () => ({ status: 200, headers: {}, body: "", live }),
  });
  try {
    await use(port, listener);
  } finally {
    await listener.stop();
  }
}

/** An answer that says what it is told to, and when its reader has left. */
function told() {
  let say: (text: string) => void = () => assert.fail("nobody listens");
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const live: Live = (send) => {
    say = send;
    send("first;");
    return leave;
  };
  return { live, left, say: (text: string) => say(text) };
}

test("live: what is sent arrives at once, and goes on past the limits of requests", async () => {
  const { live, say, left } = told();
  await serving(live, async (port) => {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    socket.write(GET);
    let text = "";
    socket.on("data", (chunk: string) => {
      text += chunk;
    });
    await pause(5 * SHORT_MS);
    assert.match(text, /first;/);
    say("second;");
    while (!text.includes("second;")) await pause(1);
    socket.destroy();
    await left;
  });
});

test("live: a reader that falls behind is let go", async () => {
  const { live, say, left } = told();
  await serving(live, async (port) => {
    const socket = connect(port, "127.0.0.1").pause();
    socket.on("error", () => socket.destroy());
    socket.write(GET);
    let over = false;
    void left.then(() => {
      over = true;
    });
    await pause(SHORT_MS);
    let sent = 0;
    while (!over && sent < 20_000_000) {
      say("x".repeat(50_000));
      sent += 50_000;
      await pause(0);
    }
    assert.ok(over, "16 MiB were kept for somebody who does not read");
    socket.destroy();
  });
});

test("live: ends when the server stops", async () => {
  const { live, left } = told();
  await serving(live, async (port, listener) => {
    const connection = await RawConnection.open(`http://127.0.0.1:${port}`);
    connection.write(GET);
    await pause(SHORT_MS);
    const began = performance.now();
    await Promise.all([listener.stop(), left]);
    assert.ok(performance.now() - began < PATIENCE_MS, "its reader is not waited for");
    assert.equal(await connection.untilClosed(), "end");
  });
});
