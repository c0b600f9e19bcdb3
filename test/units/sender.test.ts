// One delivery attempt against receivers of every kind, over real sockets (contract, part 6).
import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import type { TlsOptions } from "node:tls";
import { checkAddress } from "../../src/delivery/address-policy.ts";
import { connectDetail, tlsDetail } from "../../src/delivery/failures.ts";
import { createResolver } from "../../src/delivery/resolver.ts";
import { createHttpSender, type SenderOptions } from "../../src/delivery/sender.ts";
import { closeLater, freshFile } from "../support/closing.ts";
import { took } from "../support/costs.ts";
import { closedPort, listen } from "../support/ports.ts";
import { started } from "../support/process.ts";
import { CA_CERT, EXPIRED, NOT_YET_VALID, SELF_SIGNED, TLS } from "../support/tls.ts";

function sender(over: Partial<SenderOptions> = {}) {
  const made = createHttpSender({ policy: "local", timeout_ms: 2_000, ...over });
  closeLater(() => made.close());
  return made;
}

const HERE = { address: "127.0.0.1", family: 4 };
const BODY = '{"a":"ü"}';
const HEADERS = {
  "Content-Type": "application/json",
  "Content-Length": String(Buffer.byteLength(BODY)),
};

/** Summarizes the outcome, such as: 503 status 120 "body". */
async function sent(url: string, by = sender()): Promise<string> {
  const { response_status, error, retryAfter, response_body } = await by.send({
    url,
    body: BODY,
    headers: HEADERS,
  });
  const body = response_body === null ? null : JSON.stringify(response_body);
  return [response_status, error, retryAfter, body].filter((part) => part !== null).join(" ");
}

/** Calls `answer` with the connection of each request once the whole request has arrived. */
async function raw(answer: (socket: Socket, count: number) => void) {
  const requests: string[] = [];
  let connections = 0;
  const server = createServer(async (request) => {
    requests.push(`${request.method} ${request.url} ${request.httpVersion} ${await text(request)}`);
    answer(request.socket, requests.length);
  }).on("connection", () => {
    connections += 1;
  });
  const port = await listen(server);
  closeLater(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${port}/hook`, port, requests, connections: () => connections };
}

/** Makes one attempt at a receiver that responds with `answer`. */
async function attempt(answer: (socket: Socket) => void, over: Partial<SenderOptions> = {}) {
  const receiver = await raw(answer);
  return { outcome: await sent(receiver.url, sender(over)), receiver };
}

const latin1 = (text: string) => Buffer.from(text, "latin1");
const says = (answer: string | Buffer) => (socket: Socket) => void socket.write(answer);
const ends = (answer: string) => (socket: Socket) => void socket.end(answer);
/** An HTTP response with this status, these headers and this body. */
const http = (
  status: string | number,
  headers: readonly string[] = ["Content-Length: 0"],
  body = "",
) => [`HTTP/1.1 ${status} X`, ...headers, "", body].join("\r\n");
const sized = (body: string) => http(200, [`Content-Length: ${Buffer.byteLength(body)}`], body);
const OK = http(200);
/** A response whose body is cut off. */
const half = (status: number) => http(status, ["Content-Length: 9"], "half");

/** The start of a response with a body of a million bytes. */
const begun = (bytes: number) => http(200, ["Content-Length: 1000000"], "x".repeat(bytes));
const KIB = JSON.stringify("x".repeat(1_024));
const KEPT = "8.bounds.answer-kept: of the body the first KiB";
const LINE = `X-A: ${"a".repeat(1_000)}\r\n`;

for (const [what, answer, made, over] of [
  ["a 2xx answer is a success, its body kept as text", says(sized("fine\n")), '200 "fine\\n"'],
  ["another 2xx answer is one", says(http(204, [])), '204 ""'],
  [
    "503 fails, with its Retry-After",
    says(http(503, ["Retry-After: 120", "Content-Length: 0"])),
    '503 status 120 ""',
  ],
  [
    "101 fails, the connection is given up",
    says(http(101, ["Connection: Upgrade", "Upgrade: ws"])),
    '101 status ""',
  ],
  ["interim answers are not the answer", says(http(103, ["Link: </a>"]) + OK), '200 ""'],
  ["a status line of 000 is no answer", says(http("000")), "aborted"],
  ["a status line of 099 is no answer", says(http("099")), "aborted"],
  ["what is not HTTP is no answer", says("SSH-2.0-OpenSSH_9.6\r\n"), "aborted"],
  ["a close after the headers is the end of a good answer", ends(http(200, [])), '200 ""'],
  ["a close without an answer is a reset", ends(""), "reset"],
  ["a close within the headers is a reset", ends("HTTP/1.1 200 OK\r\n"), "reset"],
  ["a reset is a reset", (socket: Socket) => void socket.resetAndDestroy(), "reset"],
  ["a body broken off after a 2xx is noted, not a failure", ends(half(200)), '200 aborted "half"'],
  ["a body broken off after another status is that status", ends(half(500)), '500 status "half"'],
  [
    "headers without end are broken off",
    (socket: Socket) => endlessly(socket, LINE, "HTTP/1.1 200 OK\r\n"),
    "aborted",
  ],
  [`${KEPT} is kept`, says(sized("ü".repeat(512))), `200 "${"ü".repeat(512)}"`],
  [
    `${KEPT} is cut between characters`,
    says(sized(`${"x".repeat(1_023)}üy`)),
    `200 "${"x".repeat(1_023)}"`,
  ],
  [
    "a mark at the start of a body is one of its characters",
    says(sized("\uFEFFfine")),
    '200 "\uFEFFfine"',
  ],
  [
    "half a character at the end of a body is told",
    says(latin1(http(200, ["Content-Length: 2"], "x\xC3"))),
    '200 "x\uFFFD"',
  ],
  ["a body is read as far as 16 KiB", says(begun(16_384)), `200 ${KIB}`],
  ["a body of less may go on", says(begun(16_383)), `200 timeout ${KIB}`, { timeout_ms: 150 }],
  [
    "a body too slow after a 2xx is noted, not a failure",
    says(half(200)),
    '200 timeout "half"',
    { timeout_ms: 150 },
  ],
] as const)
  test(`${what}; the request is sent once and the outcome is known at once`, async () => {
    const began = performance.now();
    const { outcome, receiver } = await attempt(answer, { timeout_ms: 20_000, ...over });
    assert.ok(performance.now() - began < 10_000);
    assert.equal(outcome, made);
    assert.deepEqual(receiver.requests, [`POST /hook 1.1 ${BODY}`]);
  });

/** Sends this piece repeatedly, as fast as the socket accepts it. */
function endlessly(socket: Socket, piece: string, start: string): void {
  socket.write(start);
  const pump = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", pump);
  pump();
}

test("8.bounds.answer-read: 16 KiB of an endless body are read, then the socket is closed and the attempt succeeds", async () => {
  let closed: Promise<number> | undefined;
  const { outcome } = await attempt((socket) => {
    closed = new Promise((done) => socket.once("close", () => done(socket.bytesWritten)));
    endlessly(socket, "x".repeat(65_536), http(200, [`Content-Length: ${2 ** 30}`]));
  });
  assert.equal(outcome, `200 "${"x".repeat(1_024)}"`);
  assert.ok(Number(await closed) < 2 ** 24, `${await closed} bytes were taken`);
});

test("the deadline covers the whole attempt: silence, slow headers and endless interim responses end there", async () => {
  const drip = (start: string, bytes: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(bytes), 20);
    socket.on("close", () => clearInterval(timer));
  };
  const answers = [() => {}, drip("HTTP/1.1 200 OK\r\nX-Slow: ", "a"), drip("", http(103, []))];
  const slow = answers.map((answer) =>
    took(async () => assert.equal((await attempt(answer, { timeout_ms: 300 })).outcome, "timeout")),
  );
  for (const took_ms of await Promise.all(slow))
    assert.ok(took_ms >= 299 && took_ms < 600, `took ${took_ms} ms`);
});

test("a refused connection and an unknown host name have their own errors", async () => {
  const port = await closedPort();
  const unknown = () => Promise.reject(new Error("ENOTFOUND"));
  for (const [url, error, over] of [
    [`http://127.0.0.1:${port}/`, "refused", {}],
    [`http://localhost:${port}/`, "refused", {}],
    ["https://nowhere.test/", "dns", { resolve: unknown }],
    ["https://nowhere.test/", "dns", { resolve: () => Promise.resolve([]) }],
    ["https://nowhere.invalid/", "dns", {}],
  ] as const)
    assert.equal(await sent(url, sender(over)), error, url);
});

test("a connection that the receiver closes at once is reported as reset or tls, neither refused nor blocked", async () => {
  for (const [protocol, close, error] of [
    ["http", (socket: Socket) => socket.resetAndDestroy(), "reset"],
    ["https", (socket: Socket) => socket.destroy(), "tls"],
  ] as const) {
    const server = createTcpServer(close);
    closeLater(() => server.close());
    const url = `${protocol}://127.0.0.1:${await listen(server)}/`;
    for (let count = 0; count < 10; count += 1) assert.equal(await sent(url), error);
  }
});

test("names under localhost resolve to loopback without DNS", async () => {
  const receiver = await raw(says(OK));
  assert.equal(await sent(`http://some.app.localhost:${receiver.port}/`), '200 ""');
});

test("two names are resolved concurrently, each with one lookup at a time, and a new one starts after success or failure", async (t) => {
  const ends: ((found: LookupAddress[] | Error) => void)[] = [];
  const lookup = (_host: string, _options: object) =>
    new Promise((resolve, reject) =>
      ends.push((found) => (found instanceof Error ? reject(found) : resolve(found))),
    );
  const asked = t.mock.method(process.getBuiltinModule("node:dns/promises"), "lookup", lookup);
  const resolve = createResolver();
  const names = () => asked.mock.calls.map(({ arguments: [name] }) => name).join();
  const found = ["a", "a", "b", "c"].map((name) =>
    resolve(name).then(([first]) => first?.address, String),
  );
  assert.equal(names(), "a,b");
  const [, options] = asked.mock.calls[0]?.arguments ?? [];
  assert.deepEqual(options, { all: true }, "each of its addresses is to be judged");
  ends[0]?.([{ address: "192.0.2.1", family: 4 }]);
  assert.deepEqual([await found[0], await found[1]], ["192.0.2.1", "192.0.2.1"]);
  assert.equal(names(), "a,b,c");
  found.push(resolve("a").then(() => "again"));
  ends[1]?.(new Error("ENOTFOUND"));
  assert.equal(await found[2], "Error: ENOTFOUND");
  for (let step = 0; step < 5; step += 1) await Promise.resolve();
  assert.equal(names(), "a,b,c,a");
});

test("localhost resolves to loopback over IPv6", async (t) => {
  const server = createServer((_, response) => response.end());
  closeLater(() => server.close());
  // A port outside the ephemeral range, because another test might hold it on IPv4, which is tried first.
  const port = 20_000 + (process.pid % 12_000);
  const listening = await once(server.listen(port, "::1"), "listening").catch(() => undefined);
  if (listening === undefined) return t.skip("this machine has no IPv6");
  assert.equal(await sent(`http://localhost:${port}/`), '200 ""');
});

test("a URL or name with a forbidden address, even beside an allowed one, is blocked without a connection", async () => {
  const receiver = await raw(says(OK));
  const url = `https://name.test:${receiver.port}/`;
  const forbidden =
    "169.254.169.254 fd00:ec2::254 ::ffff:127.0.0.1 64:ff9b::7f00:1 fe80::1 fe80::1%eth0 unreadable";
  for (const address of forbidden.split(" ")) {
    const resolve = async () => [HERE, { address, family: address.includes(":") ? 6 : 4 }];
    for (const name of [url, url.replace("https", "http")])
      assert.equal(await sent(name, sender({ resolve })), "blocked_address", address);
  }
  const at = (address: string) => async () => [{ address, family: 4 }];
  const outside = sender({ resolve: at("93.184.215.14") });
  const mixed = sender({ resolve: async () => [HERE, { address: "93.184.215.14", family: 4 }] });
  for (const by of [outside, mixed])
    assert.equal(
      await sent(`http://name.test:${receiver.port}/`, by),
      "blocked_address",
      "there only by https",
    );
  const strict = sender({ resolve: at("127.0.0.1"), policy: "strict" });
  assert.equal(await sent(url, strict), "blocked_address");
  const inside = sender({ resolve: at("10.0.0.1"), policy: "strict" });
  assert.equal(await sent(url, inside), "blocked_address");
  for (const url of [
    receiver.url,
    `https://localhost:${receiver.port}/`,
    `https://[::ffff:7f00:1]:${receiver.port}/`,
  ])
    assert.equal(await sent(url, sender({ policy: "strict" })), "blocked_address", url);
  assert.equal(receiver.connections(), 0);
});

test("the policy local allows http to this machine and private networks, and checks each address of a name", async () => {
  const receiver = await raw(says(OK));
  const at = (address: string) => async () => [
    HERE,
    { address, family: address.includes(":") ? 6 : 4 },
  ];
  for (const address of "10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 fd12::1 fc00::1 127.0.0.53 ::1".split(
    " ",
  ))
    for (const name of ["receiver", "receiver.test"])
      assert.equal(
        await sent(`http://${name}:${receiver.port}/`, sender({ resolve: at(address) })),
        '200 ""',
        address,
      );
  for (const address of "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0".split(
    " ",
  ))
    assert.equal(
      await sent(`http://receiver:${receiver.port}/`, sender({ resolve: at(address) })),
      "blocked_address",
    );
});

test("the address of the connected socket is checked before anything is sent, and when the connection is reused", async () => {
  const receiver = await raw(says(OK));
  const url = `http://localhost:${receiver.port}/`;
  let asked = 0;
  let allowed = 2;
  const judge: typeof checkAddress = (address, policy, secure) => {
    asked += 1;
    return asked > allowed ? "refused for this test" : checkAddress(address, policy, secure);
  };
  const changed = sender({ judge });
  assert.equal(await sent(url, changed), "blocked_address");
  assert.equal(receiver.requests.length, 0);
  asked = 0;
  allowed = 3;
  assert.equal(await sent(url, changed), '200 ""');
  assert.equal(await sent(url, changed), "blocked_address");
  assert.equal(receiver.requests.length, 1);
});

test("a connection is kept alive and reused, and closed after a truncated response", async () => {
  const kept = OK.replace("\r\n\r\n", "\r\nKeep-Alive: timeout=3\r\n\r\n");
  const receiver = await raw((socket, count) =>
    socket.write(count === 2 ? sized("x".repeat(40_000)) : kept),
  );
  const one = sender();
  for (let count = 0; count < 4; count += 1) assert.match(await sent(receiver.url, one), /^200 "/);
  assert.equal(receiver.connections(), 2);
});

test("a connection without a keep-alive promise is used once, because the receiver may close it at any time", async () => {
  for (const header of ["", "\r\nKeep-Alive: max=100", "\r\nKeep-Alive: timeout=2"]) {
    const answer = OK.replace("\r\n\r\n", `${header}\r\n\r\n`);
    const receiver = await raw((socket) =>
      socket.write(answer, () => setImmediate(() => socket.end())),
    );
    const one = sender();
    for (let count = 0; count < 20; count += 1)
      assert.equal(await sent(receiver.url, one), '200 ""');
    assert.equal(receiver.connections(), 20, header);
  }
});

/** Starts a receiver over TLS and returns its port. */
function secure(answer: RequestListener, more: TlsOptions = {}): Promise<number> {
  const server = createHttpsServer({ ...TLS, ...more }, answer);
  closeLater(() => server.close().closeAllConnections());
  return listen(server);
}

const TRUST =
  "To trust it, set NODE_EXTRA_CA_CERTS to the file of its CA (PEM) and restart the server.";

/** Returns the outcomes of deliveries by a separate process with these environment variables. */
async function sentBy(env: NodeJS.ProcessEnv, urls: readonly string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await started(
    ["--import", "tsx", "test/support/send.ts", ...urls],
    env,
  ).ended;
  assert.equal(code, 0, stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const over = (port: number, host = "localhost") => `https://${host}:${port}/`;

/** Returns the error and its detail. */
async function failed(url: string, over: Partial<SenderOptions> = {}) {
  const { error, error_detail } = await sender(over).send({ url, headers: {}, body: "" });
  return [error, error_detail];
}

test("an untrusted certificate fails with the error tls, and the detail names the failed check and how to trust the CA", async () => {
  const answer: RequestListener = (_, response) => response.end();
  const issuer = await secure(answer);
  assert.deepEqual(await failed(over(issuer)), [
    "tls",
    `The receiver's certificate comes from an unknown issuer. ${TRUST}`,
  ]);
  const chain = await secure(answer, { cert: TLS.cert + CA_CERT });
  const untrusted = `The receiver's certificate comes from a CA that is not trusted. ${TRUST}`;
  assert.deepEqual(await failed(over(chain)), ["tls", untrusted]);
  const alone = await secure(answer, SELF_SIGNED);
  assert.deepEqual(await failed(over(alone)), [
    "tls",
    `The receiver's certificate is self-signed. ${TRUST}`,
  ]);
});

for (const [name, environment] of [
  ["NODE_EXTRA_CA_CERTS", (file: string) => ({ NODE_EXTRA_CA_CERTS: file })],
  [
    "--use-openssl-ca",
    (file: string) => ({ NODE_OPTIONS: "--use-openssl-ca", SSL_CERT_FILE: file }),
  ],
] as const)
  test(`${name} is trusted for deliveries; other names, dates and self-signed certificates fail with their check`, async () => {
    const answer: RequestListener = (_, response) => response.end("over TLS");
    const good = await secure(answer);
    const [expired, early] = [await secure(answer, EXPIRED), await secure(answer, NOT_YET_VALID)];
    const alone = await secure(answer, SELF_SIGNED);
    const wary = [];
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
      wary.push(await secure(() => {}, { requestCert: true, maxVersion }));
    const urls = [
      over(good),
      over(good, "127.0.0.1"),
      over(good, "receiver.test"),
      over(good, "other.test"),
    ];
    const others = [expired, early, alone, ...wary].map((port) => over(port));
    const success = ["over TLS", null, null];
    const fails = (detail: string) => [null, "tls", detail];
    const noCertificate =
      "The receiver refused the TLS handshake. It may require a client certificate, which this server does not have.";
    assert.deepEqual(
      await sentBy(environment(freshFile("ca.pem", CA_CERT)), [...urls, ...others]),
      [
        success,
        success,
        success,
        fails(
          "The receiver's certificate is for another host name. Use a host name in the URL that the certificate contains.",
        ),
        fails("The receiver's certificate has expired. Renew it."),
        fails(
          "The receiver's certificate is not valid yet. Check its dates and this machine's clock.",
        ),
        fails(`The receiver's certificate is self-signed. ${TRUST}`),
        fails(noCertificate),
        fails(noCertificate),
      ],
    );
  });

test("a self-signed certificate is trusted if NODE_EXTRA_CA_CERTS is its own file", async () => {
  const port = await secure((_, response) => response.end("trusted"), SELF_SIGNED);
  const file = freshFile("self.pem", SELF_SIGNED.cert);
  assert.deepEqual(await sentBy({ NODE_EXTRA_CA_CERTS: file }, [over(port)]), [
    ["trusted", null, null],
  ]);
});

test("each error has a detail that says what to do, without the address or any data from the receiver", async () => {
  const receiver = await raw(says(OK));
  const at = (address: string) => async () => [{ address, family: 4 }];
  const plain = async (answer: (socket: Socket) => void) => (await raw(answer)).url;
  const silent = createTcpServer((socket) => void socket.resume());
  closeLater(() => silent.close());
  const closing = createTcpServer((socket) => socket.destroy());
  closeLater(() => closing.close());
  const silence = over(await listen(silent), "127.0.0.1");
  const noTls =
    "The receiver does not use TLS at this port. Use http in the URL, or correct the port.";
  const nobody =
    "Nothing listens at the host and port of the URL. Start the receiver, or correct the URL.";
  const linkLocal =
    "The URL must lead to another address: both webhook policies refuse link-local ones.";
  const httpsOnly =
    "The URL must use https: the local webhook policy allows http to loopback and private addresses only.";
  for (const [url, error, detail, options] of [
    [over(receiver.port), "tls", noTls],
    [
      over(await listen(closing)),
      "tls",
      "The receiver closed the connection during the TLS handshake.",
    ],
    [silence, "timeout", "The receiver did not respond within 0.15 s.", { timeout_ms: 150 }],
    [`http://127.0.0.1:${await closedPort()}/`, "refused", nobody],
    [`http://localhost:${await closedPort()}/`, "refused", nobody],
    [
      "http://nowhere.invalid/",
      "dns",
      "The host name in the URL does not resolve. Check its spelling.",
    ],
    ["http://name.test/", "blocked_address", linkLocal, { resolve: at("169.254.1.1") }],
    ["http://name.test/", "blocked_address", httpsOnly, { resolve: at("93.184.215.14") }],
    ["http://169.254.1.1/", "blocked_address", linkLocal],
    [await plain(ends("")), "reset", "The receiver closed the connection without a response."],
    [
      await plain(says("SSH-2.0-OpenSSH_9.6\r\n")),
      "aborted",
      "The response is not valid HTTP, or its headers are larger than 16 KiB.",
    ],
    [
      await plain(says(http(302, ["Location: /evil", "Content-Length: 0"]))),
      "status",
      "Redirects are not followed. Use the final address as the webhook's URL.",
    ],
    [await plain(says(http(410))), "status", "A response of 410 (Gone) switches the webhook off."],
    [await plain(says(http(500))), "status", null],
    [await plain(says(OK)), null, null],
    [
      await plain(ends(half(200))),
      "aborted",
      "The attempt succeeded, but the connection closed before the end of the response body.",
    ],
    [
      await plain(says(half(200))),
      "timeout",
      "The attempt succeeded, but the response body did not end within 0.15 s.",
      { timeout_ms: 150 },
    ],
  ] as const)
    assert.deepEqual(await failed(url, options), [error, detail], url);
});

test("an error that Node reports by code alone has the code in its detail", () => {
  const error = (code: string) => Object.assign(new Error(), { code });
  const unreachable = "The connection failed (EHOSTUNREACH). Check the host and port of the URL.";
  assert.equal(connectDetail(error("EHOSTUNREACH")), unreachable);
  assert.equal(tlsDetail(error("CERT_REVOKED")), "The TLS handshake failed (CERT_REVOKED).");
});

test("close aborts attempts in flight, including those in a TLS handshake", async () => {
  const closing = sender();
  const receiver = await raw(() => closing.close());
  assert.equal(await sent(receiver.url, closing), "reset");
  const server = createTcpServer(() => closing.close());
  closeLater(() => server.close());
  assert.equal(await sent(over(await listen(server)), closing), "tls");
});
