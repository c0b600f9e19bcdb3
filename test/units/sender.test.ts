// One delivery attempt against receivers of every kind, over real sockets. Includes the 30 seconds of part 6, to the
// millisecond by a deadline that the test moves by hand. The conformance kit waits in real time (--slow).
import assert from "node:assert/strict";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { TlsOptions } from "node:tls";
import { createHttpSender, type SenderOptions } from "../../src/delivery/sender.ts";
import { readOptions, serverOptions } from "../../src/options.ts";
import {
  begins,
  CA_CERT,
  closedPort,
  closeLater,
  EXPIRED,
  eventually,
  freshFile,
  httpReceiver,
  listen,
  NOT_YET_VALID,
  promised,
  SELF_SIGNED,
  started,
  TLS,
  took,
} from "../support/index.ts";

function sender(options: Partial<SenderOptions> = {}) {
  const created = createHttpSender({ policy: "local", timeout_ms: 2_000, ...options });
  closeLater(() => created.close());
  return created;
}

const BODY = '{"a":"ü"}';
const attempt = (url: string, by = sender()) => by.send({ url, body: BODY, headers: {} });

/** Summarizes the outcome, such as: 503 status 120 "body". */
async function sent(url: string, by = sender()) {
  const { response_status, error, retryAfter = null, response_body } = await attempt(url, by);
  const body = response_body === null ? null : JSON.stringify(response_body);
  return [response_status, error, retryAfter, body].filter((part) => part !== null).join(" ");
}

/** Resolves every name to these addresses. */
const resolvesTo = (addresses: string) => async () =>
  addresses.split(" ").map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

/** Calls `answer` with the connection of each request once the whole request has arrived. */
async function raw(answer: (socket: Socket) => void) {
  const requests: string[] = [];
  const connections: Socket[] = [];
  const server = createServer(async (request) => {
    requests.push(`${request.method} ${request.url} ${request.httpVersion} ${await text(request)}`);
    answer(request.socket);
  }).on("connection", (socket) => connections.push(socket));
  const port = await listen(server);
  closeLater(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${port}/hook`, port, requests, connections };
}

const says = (answer: string) => (socket: Socket) => void socket.write(answer);
const ends = (answer: string) => (socket: Socket) => void socket.end(answer);
/** An HTTP response with this status, these headers and this body. */
const http = (status: number, headers: readonly string[] = ["Content-Length: 0"], body = "") =>
  [`HTTP/1.1 ${status} X`, ...headers, "", body].join("\r\n");
const sized = (body: string) => http(200, [`Content-Length: ${Buffer.byteLength(body)}`], body);
const OK = http(200);
/** A response whose body is cut off. */
const HALF = http(200, ["Content-Length: 9"], "half");
/** The start of a response with a body of a million bytes. */
const begun = (bytes: number) => http(200, ["Content-Length: 1000000"], "x".repeat(bytes));

/** Sends this piece repeatedly, as fast as the socket accepts it. */
const endless = (start: string, piece: string) => (socket: Socket) => {
  socket.write(start);
  const pump = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", pump);
  pump();
};

const KIB = JSON.stringify("x".repeat(1_024));

for (const [response, answer, outcome, timeout_ms = 5_000] of [
  ["200 with a body", says(sized("fine\n")), '200 "fine\\n"'],
  [
    "503 with Retry-After",
    says(http(503, ["Retry-After: 120", "Content-Length: 0"])),
    '503 status 120 ""',
  ],
  ["101", says(http(101, ["Connection: Upgrade", "Upgrade: ws"])), "aborted"],
  ["103 before 200", says(http(103, ["Link: </a>"]) + OK), '200 ""'],
  ["a redirect", says(http(302, ["Location: /evil", "Content-Length: 0"])), '302 status ""'],
  ["text that is not HTTP", says("SSH-2.0-OpenSSH_9.6\r\n"), "aborted"],
  [
    "a response with endless headers",
    endless("HTTP/1.1 200 OK\r\n", `X-A: ${"a".repeat(1_000)}\r\n`),
    "aborted",
  ],
  ["a close after the headers of a 200", ends(http(200, [])), '200 ""'],
  ["a close without a response", ends(""), "reset"],
  ["a body cut off after a 200, which succeeded,", ends(HALF), '200 aborted "half"'],
  ["a slow body after a 200, which succeeded,", says(HALF), '200 timeout "half"', 150],
  ["a body of more than 1 KiB", says(sized("x".repeat(1_025))), `200 ${KIB}`],
  ["16 KiB of a longer body", says(begun(16_384)), `200 ${KIB}`],
  ["less than 16 KiB of a longer body", says(begun(16_383)), `200 timeout ${KIB}`, 150],
] as const)
  test(`8.bounds.answer-kept: ${response} is recorded as ${outcome.slice(0, 30)} after one request`, async () => {
    const receiver = await raw(answer);
    const by = sender({ timeout_ms });
    assert.equal(await sent(receiver.url, by), outcome);
    assert.deepEqual(receiver.requests, [`POST /hook 1.1 ${BODY}`]);
  });

test("8.bounds.answer-read: 16 KiB of an endless body are read, then the socket is closed and the attempt succeeds", async () => {
  const receiver = await raw(
    endless(http(200, [`Content-Length: ${2 ** 30}`]), "x".repeat(65_536)),
  );
  assert.equal(await sent(receiver.url), `200 ${KIB}`);
  await eventually(async () => receiver.connections[0]?.destroyed);
});

test("the deadline covers the whole attempt: silence, slow headers and endless interim responses end there", async () => {
  const drip = (start: string, bytes: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(bytes), 20);
    socket.on("close", () => clearInterval(timer));
  };
  const answers = [() => {}, drip("HTTP/1.1 200 OK\r\nX-Slow: ", "a"), drip("", http(103, []))];
  const slow = answers.map((answer) =>
    took(async () => {
      const { url } = await raw(answer);
      assert.equal(await sent(url, sender({ timeout_ms: 300 })), "timeout");
    }),
  );
  for (const took_ms of await Promise.all(slow))
    assert.ok(took_ms >= 299 && took_ms < 600, `took ${took_ms} ms`);
});

test("names under localhost resolve to loopback without DNS", async () => {
  const receiver = await raw(says(OK));
  assert.equal(await sent(`http://some.app.localhost:${receiver.port}/`), '200 ""');
});

/** Addresses by how each policy treats a name that resolves to them beside an allowed one. */
for (const [what, policy, protocols, addresses] of [
  [
    "forbidden addresses over http and https",
    "local",
    ["http", "https"],
    "169.254.169.254 fd00:ec2::254 ::ffff:127.0.0.1 64:ff9b::7f00:1 fe80::1 fe80::1%eth0",
  ],
  ["public addresses over http", "local", ["http"], "9.255.255.255 172.32.0.0 93.184.215.14"],
  ["loopback and private addresses", "strict", ["http", "https"], "127.0.0.1 10.0.0.1"],
] as const)
  test(`the ${policy} policy blocks ${what}, even beside an allowed one, without a connection`, async () => {
    const receiver = await raw(says(OK));
    const allowed = policy === "local" ? "127.0.0.1" : "93.184.215.14";
    for (const address of addresses.split(" "))
      for (const protocol of protocols)
        for (const resolved of [address, `${allowed} ${address}`]) {
          const by = sender({ policy, resolve: resolvesTo(resolved) });
          const url = `${protocol}://name.test:${receiver.port}/`;
          assert.equal(await sent(url, by), "blocked_address", `${protocol} ${address}`);
        }
    assert.deepEqual(receiver.connections, []);
  });

test("the local policy allows http to names that resolve to this machine and private networks", async () => {
  const receiver = await raw(says(OK));
  for (const address of "10.0.0.0 172.31.255.255 192.168.0.1 fd12::1 127.0.0.53 ::1".split(" ")) {
    const by = sender({ resolve: resolvesTo(`127.0.0.1 ${address}`) });
    assert.equal(await sent(`http://receiver:${receiver.port}/`, by), '200 ""', address);
  }
});

test("the address of the connected socket is checked before anything is sent", async () => {
  const receiver = await raw(says(OK));
  const reads = ["93.184.215.14", "127.0.0.1"];
  // A resolver that returns a public address for the check and loopback for the connection.
  const rebinding = {
    family: 4,
    get address() {
      return reads.shift() ?? "127.0.0.1";
    },
  };
  const by = sender({ policy: "strict", resolve: async () => [rebinding] });
  assert.equal(await sent(`https://name.test:${receiver.port}/`, by), "blocked_address");
  assert.deepEqual(receiver.requests, []);
});

for (const [header, count] of [
  ["Keep-Alive: timeout=3", 1],
  ["Keep-Alive: timeout=2", 4],
  ["X-A: b", 4],
] as const)
  test(`four deliveries after the header ${header} open ${count === 1 ? "one connection" : "four, because the receiver may close them"}`, async () => {
    const receiver = await raw(says(http(200, [header, "Content-Length: 0"])));
    const by = sender();
    for (let n = 0; n < 4; n += 1) assert.equal(await sent(receiver.url, by), '200 ""');
    assert.equal(receiver.connections.length, count);
  });

/** Starts a receiver over TLS and returns its URL, by default with a name that its certificate contains. */
async function secure(options: TlsOptions = {}, host = "localhost") {
  const answer: RequestListener = (_, response) => response.end("over TLS");
  const server = createHttpsServer({ ...TLS, ...options }, answer);
  closeLater(() => server.close().closeAllConnections());
  return `https://${host}:${await listen(server)}/`;
}

/** Starts a TCP server and returns its port. */
function tcp(onConnection: (socket: Socket) => void) {
  const server = createTcpServer(onConnection);
  closeLater(() => server.close());
  return listen(server);
}

test("NODE_EXTRA_CA_CERTS is trusted for deliveries; other certificates fail with their check in the detail", async () => {
  const cases = [
    [await secure(), null],
    [await secure({}, "127.0.0.1"), null],
    [await secure({}, "other.test"), "ERR_TLS_CERT_ALTNAME_INVALID"],
    [await secure(EXPIRED), "CERT_HAS_EXPIRED"],
    [await secure(NOT_YET_VALID), "CERT_NOT_YET_VALID"],
    [await secure(SELF_SIGNED), "DEPTH_ZERO_SELF_SIGNED_CERT"],
    [await secure({ requestCert: true }), "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"],
  ] as const;
  // A separate process, because Node reads the trusted certificates when it starts.
  const args = ["--import", "tsx", "test/support/send.ts", ...cases.map(([url]) => url)];
  const env = { NODE_EXTRA_CA_CERTS: freshFile("ca.pem", CA_CERT) };
  const { code, stdout, stderr } = await started(args, env).ended;
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split("\n");
  assert.equal(lines.length, cases.length);
  for (const [at, line] of lines.entries()) {
    const { response_body, error, error_detail } = JSON.parse(line);
    const check = cases[at]?.[1] ?? null;
    assert.deepEqual([response_body, error], check ? [null, "tls"] : ["over TLS", null], line);
    assert.equal(error_detail?.split(":")[0] ?? null, check);
  }
});

test("each error without a response has a detail that begins with Node's code and names no address", async () => {
  const unknown = Object.assign(new Error(), { code: "ENOTFOUND", syscall: "getaddrinfo" });
  for (const [url, error, detail, options] of [
    [
      `https://127.0.0.1:${(await raw(says(OK))).port}/`,
      "tls",
      "EPROTO: The TLS connection failed",
    ],
    [await secure(), "tls", "UNABLE_TO_VERIFY_LEAF_SIGNATURE: … NODE_EXTRA_CA_CERTS"],
    [`https://127.0.0.1:${await tcp((socket) => socket.destroy())}/`, "tls", "ECONNRESET: "],
    [
      `https://127.0.0.1:${await tcp((socket) => void socket.resume())}/`,
      "timeout",
      "The receiver did not respond",
      { timeout_ms: 150 },
    ],
    [`http://127.0.0.1:${await closedPort()}/`, "refused", "ECONNREFUSED: … Start the receiver"],
    [`http://localhost:${await closedPort()}/`, "refused", "ECONNREFUSED: "],
    ["http://nowhere.invalid/", "dns", "…: The host name in the URL does not resolve"],
    ["https://nowhere.test/", "dns", "ENOTFOUND: ", { resolve: () => Promise.reject(unknown) }],
    ["http://169.254.1.1/", "blocked_address", "The URL must not lead to a link-local"],
    [
      "http://name.test/",
      "blocked_address",
      "The URL must use https",
      { resolve: resolvesTo("93.184.215.14") },
    ],
  ] as const) {
    const result = await attempt(url, sender(options));
    assert.equal(result.error, error, url);
    begins(result.error_detail, detail);
    assert.doesNotMatch(String(result.error_detail), /\d\.\d/);
  }
});

test("close aborts attempts in flight, including those in a TLS handshake", async () => {
  const closing = sender();
  const receiver = await raw(() => closing.close());
  assert.equal(await sent(receiver.url, closing), "reset");
  const port = await tcp(() => closing.close());
  assert.equal(await sent(`https://127.0.0.1:${port}/`, closing), "tls");
});

/** The test moves the sender's deadline by hand while the delivery has arrived without a response. */
test("6.success.30-seconds: a response in 28 s is a success, and one after 30 s or 32 s is not", async () => {
  const { webhookTimeout: timeout_ms } = readOptions(serverOptions, {});
  for (const [wait_ms, outcome] of Object.entries({
    28000: 200,
    29999: 200,
    30000: "timeout",
    32000: "timeout",
  })) {
    let pass = (_by_ms: number) => {};
    const startTimer = (by_ms: number, run: () => void) => {
      pass = (passed_ms) => passed_ms >= by_ms && run();
      return { cancel: () => {} };
    };
    const sender = createHttpSender({ policy: "local", timeout_ms, startTimer });
    closeLater(() => sender.close());
    const { kept: arrived, keep: arrive } = promised<ServerResponse>();
    const { url } = await httpReceiver((_, response) => void arrive(response));
    const sent = sender.send({ url, headers: {}, body: "{}" });
    const response = await arrived;
    pass(Number(wait_ms));
    response.writeHead(200).end();
    const { response_status, error } = await sent;
    assert.equal(error ?? response_status, outcome, `${wait_ms} ms`);
  }
});
