// One attempt against receivers of every kind, over real sockets (contract, part 6).
import assert from "node:assert/strict";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { test } from "node:test";
import { judgeAddress } from "../../src/delivery/address-policy.ts";
import { HttpSender, type Outcome, type SenderOptions } from "../../src/delivery/sender.ts";
import { closeLater } from "../support/closing.ts";
import { closedPort, listen, rawReceiver } from "../support/receivers.ts";
import { CA_CERT, SERVER_CERT, SERVER_KEY } from "../support/tls.ts";

function sender(over: Partial<SenderOptions> = {}): HttpSender {
  const made = new HttpSender({ policy: "local", timeout_ms: 2_000, ...over });
  closeLater(() => made.close());
  return made;
}

const BODY = '{"a":"ü"}';
const post = (url: string) => ({
  url,
  body: BODY,
  headers: { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(BODY)) },
});

/** One attempt at a receiver that answers as told. */
async function attempt(answer: (socket: Socket) => void, over: Partial<SenderOptions> = {}) {
  const receiver = await rawReceiver(answer);
  closeLater(receiver.close);
  const outcome = await sender(over).send(post(receiver.url));
  return { outcome, receiver };
}

const text = (answer: string) => (socket: Socket) => socket.write(answer);
const outcome = (over: Partial<Outcome>): Outcome => ({
  status: null,
  body: null,
  error: null,
  retryAfter: null,
  ...over,
});

test("a 2xx answer is a success, its body kept as text", async () => {
  const { outcome: made, receiver } = await attempt(text("HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfine\n"));
  assert.deepEqual(made, outcome({ status: 201, body: "fine\n" }));
  assert.equal(receiver.requests.length, 1);
  assert.match(receiver.requests[0] ?? "", /^POST \/hook HTTP\/1\.1\r\n/);
  assert.ok(receiver.requests[0]?.endsWith(Buffer.from(BODY).toString("latin1")));
});

test("every other status fails, with the answer's Retry-After", async () => {
  for (const status of [300, 400, 404, 410, 500]) {
    const { outcome: made } = await attempt(text(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
    assert.deepEqual(made, outcome({ status, body: "", error: "status" }));
  }
  const { outcome: busy } = await attempt(text("HTTP/1.1 503 X\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"));
  assert.deepEqual(busy, outcome({ status: 503, body: "", error: "status", retryAfter: "120" }));
});

test("a redirect is never followed", async () => {
  const target = await rawReceiver(text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  closeLater(target.close);
  for (const status of [301, 302, 303, 307, 308]) {
    const answer = `HTTP/1.1 ${status} X\r\nLocation: ${target.url}\r\nContent-Length: 0\r\n\r\n`;
    assert.deepEqual((await attempt(text(answer))).outcome, outcome({ status, body: "", error: "status" }));
  }
  assert.equal(target.connections(), 0);
});

test("an answer of status 101 fails, and the connection is given up", async () => {
  const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  assert.deepEqual((await attempt(text(answer))).outcome, outcome({ status: 101, body: "", error: "status" }));
});

test("interim answers are not the answer", async () => {
  const { outcome: made } = await attempt(
    text("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
  );
  assert.deepEqual(made, outcome({ status: 200, body: "" }));
});

test("8.bounds.answer-kept: of the body the first KiB is kept, cut between characters", async () => {
  const body = `${"x".repeat(1_023)}üy`;
  const { outcome: made } = await attempt(
    text(`HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
  );
  assert.equal(made.body, "x".repeat(1_023));
  const whole = "ü".repeat(512);
  const { outcome: fits } = await attempt(text(`HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n${whole}`));
  assert.equal(fits.body, whole);
});

test("8.bounds.answer-read: of an endless body 16 KiB are read, then the socket is closed; it is a success", async () => {
  let sent = 0;
  let closed: Promise<unknown> | undefined;
  const { outcome: made } = await attempt((socket) => {
    closed = new Promise((done) => socket.once("close", done));
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`);
    const pump = () => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536, "x"))) sent += 65_536;
    };
    socket.on("drain", pump);
    pump();
  });
  assert.deepEqual(made, outcome({ status: 200, body: "x".repeat(1_024) }));
  await closed;
  assert.ok(sent < 2 ** 24, `${sent} bytes were taken`);
});

test("silence, dripping headers and endless interim answers end at the deadline, which is total", async () => {
  const drip = (start: string, bytes: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(bytes), 20);
    socket.on("close", () => clearInterval(timer));
  };
  const answers = [() => {}, drip("HTTP/1.1 200 OK\r\nX-Slow: ", "a"), drip("", "HTTP/1.1 103 Hint\r\n\r\n")];
  const ends = answers.map(async (answer) => {
    const start = performance.now();
    const { outcome: made } = await attempt(answer, { timeout_ms: 300 });
    return { made, took_ms: performance.now() - start };
  });
  for (const { made, took_ms } of await Promise.all(ends)) {
    assert.deepEqual(made, outcome({ error: "timeout" }));
    assert.ok(took_ms >= 299 && took_ms < 600, `took ${took_ms} ms`);
  }
});

test("a body that drips past the deadline after a 2xx is noted, not a failure", async () => {
  const { outcome: made } = await attempt(text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nslow"), {
    timeout_ms: 150,
  });
  assert.deepEqual(made, outcome({ status: 200, body: "slow", error: "timeout" }));
});

test("a body broken off after a 2xx is noted, after another status it is that status", async () => {
  const broken = (status: number) => (socket: Socket) => {
    socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 9\r\n\r\nhalf`);
  };
  assert.deepEqual((await attempt(broken(200))).outcome, outcome({ status: 200, body: "half", error: "aborted" }));
  assert.deepEqual((await attempt(broken(500))).outcome, outcome({ status: 500, body: "half", error: "status" }));
});

test("a receiver that closes after the status line and headers is a success, sent once", async () => {
  const { outcome: made, receiver } = await attempt((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\n"));
  assert.deepEqual(made, outcome({ status: 200, body: "" }));
  assert.equal(receiver.requests.length, 1);
});

test("a close without an answer, or within its headers, is a reset, sent once", async () => {
  for (const answer of ["", "HTTP/1.1 200 OK\r\n"]) {
    const { outcome: made, receiver } = await attempt((socket) => socket.end(answer));
    assert.deepEqual(made, outcome({ error: "reset" }));
    assert.equal(receiver.requests.length, 1);
  }
  const { outcome: reset } = await attempt((socket) => socket.resetAndDestroy());
  assert.deepEqual(reset, outcome({ error: "reset" }));
});

test("a status line of 000 is no answer", async () => {
  for (const status of ["000", "099"]) {
    const { outcome: made } = await attempt(text(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
    assert.deepEqual(made, outcome({ error: "aborted" }));
  }
});

test("headers without end and what is not HTTP are broken off", async () => {
  const endless = (socket: Socket) => {
    socket.write("HTTP/1.1 200 OK\r\n");
    const more = () => {
      while (!socket.destroyed && socket.write(`X-A: ${"a".repeat(1_000)}\r\n`));
    };
    socket.on("drain", more);
    more();
  };
  assert.deepEqual((await attempt(endless)).outcome, outcome({ error: "aborted" }));
  assert.deepEqual((await attempt(text("SSH-2.0-OpenSSH_9.6\r\n"))).outcome, outcome({ error: "aborted" }));
});

test("a refused connection and a name that does not exist say so", async () => {
  const port = await closedPort();
  assert.deepEqual(await sender().send(post(`http://127.0.0.1:${port}/`)), outcome({ error: "refused" }));
  assert.deepEqual(await sender().send(post(`http://localhost:${port}/`)), outcome({ error: "refused" }));
  const resolve = () => Promise.reject(new Error("ENOTFOUND"));
  assert.deepEqual(await sender({ resolve }).send(post("https://nowhere.test/")), outcome({ error: "dns" }));
  const none = () => Promise.resolve([]);
  assert.deepEqual(await sender({ resolve: none }).send(post("https://nowhere.test/")), outcome({ error: "dns" }));
  assert.deepEqual(await sender().send(post("https://nowhere.invalid/")), outcome({ error: "dns" }));
});

test("names under localhost are loopback without DNS", async () => {
  const receiver = await rawReceiver(text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  closeLater(receiver.close);
  const made = await sender().send(post(`http://some.app.localhost:${receiver.port}/`));
  assert.deepEqual(made, outcome({ status: 200, body: "" }));
});

test("a name that resolves to a forbidden address is blocked, even beside an allowed one", async () => {
  const receiver = await rawReceiver(text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  closeLater(receiver.close);
  const url = `https://name.test:${receiver.port}/`;
  const forbidden = ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1"];
  for (const address of forbidden) {
    const resolve = async () => [
      { address: "127.0.0.1", family: 4 },
      { address, family: address.includes(":") ? 6 : 4 },
    ];
    assert.deepEqual(await sender({ resolve }).send(post(url)), outcome({ error: "blocked_address" }), address);
  }
  const loopback = async () => [{ address: "127.0.0.1", family: 4 }];
  const strict = sender({ resolve: loopback, policy: "strict" });
  assert.deepEqual(await strict.send(post(url)), outcome({ error: "blocked_address" }));
  assert.equal(receiver.connections(), 0);
});

test("a URL that the policy refuses is blocked without a connection", async () => {
  const receiver = await rawReceiver(() => {});
  closeLater(receiver.close);
  for (const url of [receiver.url, `https://localhost:${receiver.port}/`, `https://[::ffff:7f00:1]:${receiver.port}/`])
    assert.deepEqual(await sender({ policy: "strict" }).send(post(url)), outcome({ error: "blocked_address" }), url);
  assert.equal(receiver.connections(), 0);
});

test("the connected socket is judged again, before anything is sent, and when it is used again", async () => {
  const receiver = await rawReceiver(text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  closeLater(receiver.close);
  const url = `http://localhost:${receiver.port}/`;
  let asked = 0;
  let allowed = 2;
  const judge: typeof judgeAddress = (address, policy, secure) => {
    asked += 1;
    return asked > allowed ? "refused for this test" : judgeAddress(address, policy, secure);
  };
  const changed = sender({ judge });
  assert.deepEqual(await changed.send(post(url)), outcome({ error: "blocked_address" }));
  assert.equal(receiver.requests.length, 0);
  asked = 0;
  allowed = 3;
  assert.deepEqual(await changed.send(post(url)), outcome({ status: 200, body: "" }));
  assert.deepEqual(await changed.send(post(url)), outcome({ error: "blocked_address" }));
  assert.equal(receiver.requests.length, 1);
});

test("a connection is kept and used again, and given up where an answer was cut off", async () => {
  const receiver = await rawReceiver((socket, count) =>
    socket.write(
      count === 2
        ? `HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n${"x".repeat(40_000)}`
        : "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ),
  );
  closeLater(receiver.close);
  const one = sender();
  for (let count = 0; count < 4; count += 1) assert.equal((await one.send(post(receiver.url))).status, 200);
  assert.equal(receiver.connections(), 2);
});

test("TLS: refused without the authority, accepted with --webhook-ca, refused for another name", async () => {
  const server = createHttpsServer({ cert: SERVER_CERT, key: SERVER_KEY }, (_, response) => response.end("over TLS"));
  closeLater(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = await listen(server);
  const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
  assert.deepEqual(await sender().send(post(`https://localhost:${port}/`)), outcome({ error: "tls" }));
  const trusting = sender({ ca: CA_CERT, resolve });
  const right = outcome({ status: 200, body: "over TLS" });
  assert.deepEqual(await trusting.send(post(`https://127.0.0.1:${port}/`)), right);
  assert.deepEqual(await trusting.send(post(`https://receiver.test:${port}/`)), right);
  assert.deepEqual(await trusting.send(post(`https://other.test:${port}/`)), outcome({ error: "tls" }));
  const plain = await rawReceiver(() => {});
  closeLater(plain.close);
  const silent = sender({ ca: CA_CERT, timeout_ms: 150 });
  assert.deepEqual(await silent.send(post(`https://127.0.0.1:${plain.port}/`)), outcome({ error: "timeout" }));
});

test("close breaks off what is under way", async () => {
  const closing = sender();
  const receiver = await rawReceiver(() => closing.close());
  closeLater(receiver.close);
  assert.deepEqual(await closing.send(post(receiver.url)), outcome({ error: "reset" }));
});
