// One delivery attempt against receivers of every kind, over real sockets (contract, part 6).
import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import dns from "node:dns/promises";
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

function sender(options: Partial<SenderOptions> = {}) {
  const created = createHttpSender({ policy: "local", timeout_ms: 2_000, ...options });
  closeLater(() => created.close());
  return created;
}

const BODY = '{"a":"ü"}';
const HEADERS = {
  "Content-Type": "application/json",
  "Content-Length": String(Buffer.byteLength(BODY)),
};

const attempt = (url: string, by = sender()) => by.send({ url, body: BODY, headers: HEADERS });

/** Summarizes the outcome, such as: 503 status 120 "body". */
async function sent(url: string, by = sender()): Promise<string> {
  const { response_status, error, retryAfter, response_body } = await attempt(url, by);
  const body = response_body === null ? null : JSON.stringify(response_body);
  return [response_status, error, retryAfter, body].filter((part) => part !== null).join(" ");
}

/** Returns the error and its detail. */
async function failed(url: string, options: Partial<SenderOptions> = {}) {
  const { error, error_detail } = await attempt(url, sender(options));
  return [error, error_detail];
}

/** Resolves every name to these addresses. */
const resolvesTo = (addresses: string) => async (): Promise<LookupAddress[]> =>
  addresses.split(" ").map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

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
const REDIRECT = "Redirects are not followed. Use the final address as the webhook's URL.";
const INVALID = "The response is not valid HTTP, or its headers are larger than 16 KiB.";
const CLOSED = "The receiver closed the connection without a response.";
const CUT = "The attempt succeeded, but the connection closed before the end of the response body.";
const SLOW = "The attempt succeeded, but the response body did not end within 0.15 s.";

for (const [response, answer, outcome, detail = null, timeout_ms = 20_000] of [
  ["200 with a body", says(sized("fine\n")), '200 "fine\\n"'],
  ["204 without a body", says(http(204, [])), '204 ""'],
  [
    "503 with Retry-After",
    says(http(503, ["Retry-After: 120", "Content-Length: 0"])),
    '503 status 120 ""',
  ],
  ["101", says(http(101, ["Connection: Upgrade", "Upgrade: ws"])), '101 status ""'],
  ["103 before 200", says(http(103, ["Link: </a>"]) + OK), '200 ""'],
  [
    "a redirect",
    says(http(302, ["Location: /evil", "Content-Length: 0"])),
    '302 status ""',
    REDIRECT,
  ],
  ["410", says(http(410)), '410 status ""', "A response of 410 (Gone) switches the webhook off."],
  ["a status line of 000", says(http("000")), "aborted", INVALID],
  ["a status line of 099", says(http("099")), "aborted", INVALID],
  ["text that is not HTTP", says("SSH-2.0-OpenSSH_9.6\r\n"), "aborted", INVALID],
  [
    "a response with endless headers",
    endless("HTTP/1.1 200 OK\r\n", `X-A: ${"a".repeat(1_000)}\r\n`),
    "aborted",
    INVALID,
  ],
  ["a close after the headers of a 200", ends(http(200, [])), '200 ""'],
  ["a close without a response", ends(""), "reset", CLOSED],
  ["a close within the headers", ends("HTTP/1.1 200 OK\r\n"), "reset", CLOSED],
  ["a reset", (socket: Socket) => void socket.resetAndDestroy(), "reset", CLOSED],
  ["a body cut off after a 200, which succeeded", ends(half(200)), '200 aborted "half"', CUT],
  ["a body cut off after a 500", ends(half(500)), '500 status "half"'],
  ["a slow body after a 200, which succeeded", says(half(200)), '200 timeout "half"', SLOW, 150],
  ["a body of 1 KiB", says(sized("ü".repeat(512))), `200 "${"ü".repeat(512)}"`],
  [
    "a longer body, cut between characters at 1 KiB,",
    says(sized(`${"x".repeat(1_023)}üy`)),
    `200 "${"x".repeat(1_023)}"`,
  ],
  ["a body that begins with a byte order mark", says(sized("\uFEFFfine")), '200 "\uFEFFfine"'],
  [
    "a body that ends within a character",
    says(Buffer.from(http(200, ["Content-Length: 2"], "x\xC3"), "latin1")),
    '200 "x\uFFFD"',
  ],
  ["16 KiB of a longer body", says(begun(16_384)), `200 ${KIB}`],
  ["less than 16 KiB of a longer body", says(begun(16_383)), `200 timeout ${KIB}`, SLOW, 150],
] as const)
  test(`8.bounds.answer-kept: ${response} is recorded as ${outcome.slice(0, 30)} at once, after one request`, async () => {
    const receiver = await raw(answer);
    const by = sender({ timeout_ms });
    assert.ok(
      (await took(async () => assert.equal(await sent(receiver.url, by), outcome))) < 9_000,
    );
    assert.deepEqual(receiver.requests, [`POST /hook 1.1 ${BODY}`]);
    assert.equal((await attempt(receiver.url, by)).error_detail, detail);
  });

test("8.bounds.answer-read: 16 KiB of an endless body are read, then the socket is closed and the attempt succeeds", async () => {
  let closed: Promise<number> | undefined;
  const { url } = await raw((socket) => {
    closed = new Promise((done) => socket.once("close", () => done(socket.bytesWritten)));
    endless(http(200, [`Content-Length: ${2 ** 30}`]), "x".repeat(65_536))(socket);
  });
  assert.equal(await sent(url), `200 ${KIB}`);
  assert.ok(Number(await closed) < 2 ** 24, `${await closed} bytes were taken`);
});

test("the deadline covers the whole attempt: silence, slow headers and endless interim responses end there", async () => {
  const drip = (start: string, bytes: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(bytes), 20);
    socket.on("close", () => clearInterval(timer));
  };
  const answers = [() => {}, drip("HTTP/1.1 200 OK\r\nX-Slow: ", "a"), drip("", http(103, []))];
  const detail = "The receiver did not respond within 0.3 s.";
  const slow = answers.map((answer) =>
    took(async () => {
      const { url } = await raw(answer);
      assert.deepEqual(await failed(url, { timeout_ms: 300 }), ["timeout", detail]);
    }),
  );
  for (const took_ms of await Promise.all(slow))
    assert.ok(took_ms >= 299 && took_ms < 600, `took ${took_ms} ms`);
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
  const asked = t.mock.method(dns, "lookup", lookup);
  const resolve = createResolver();
  const names = () => asked.mock.calls.map(({ arguments: [name] }) => name).join();
  const found = ["a", "a", "b", "c"].map((name) =>
    resolve(name).then(([first]) => first?.address, String),
  );
  assert.equal(names(), "a,b");
  const [, options] = asked.mock.calls[0]?.arguments ?? [];
  assert.deepEqual(options, { all: true });
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

/** Addresses by how each policy treats a name that resolves to them beside an allowed one. */
const POLICY_CASES = [
  [
    "forbidden addresses over http and https",
    "local",
    ["http", "https"],
    "169.254.169.254 fd00:ec2::254 ::ffff:127.0.0.1 64:ff9b::7f00:1 fe80::1 fe80::1%eth0 unreadable",
  ],
  [
    "public addresses over http",
    "local",
    ["http"],
    "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 93.184.215.14",
  ],
  ["loopback and private addresses", "strict", ["http", "https"], "127.0.0.1 10.0.0.1"],
] as const;
for (const [what, policy, protocols, addresses] of POLICY_CASES)
  test(`the ${policy} policy blocks ${what}, even beside an allowed one, without a connection`, async () => {
    const receiver = await raw(says(OK));
    for (const address of addresses.split(" "))
      for (const protocol of protocols)
        for (const beside of ["", policy === "local" ? "127.0.0.1 " : "93.184.215.14 "]) {
          const by = sender({ policy, resolve: resolvesTo(beside + address) });
          const url = `${protocol}://name.test:${receiver.port}/`;
          assert.equal(await sent(url, by), "blocked_address", `${protocol} ${address}`);
        }
    assert.equal(receiver.connections(), 0);
  });

test("the strict policy blocks a URL that shows a forbidden address without a connection", async () => {
  const receiver = await raw(says(OK));
  const { url, port } = receiver;
  for (const each of [url, `https://localhost:${port}/`, `https://[::ffff:7f00:1]:${port}/`])
    assert.equal(await sent(each, sender({ policy: "strict" })), "blocked_address", each);
  assert.equal(receiver.connections(), 0);
});

test("the local policy allows http to names that resolve to this machine and private networks", async () => {
  const receiver = await raw(says(OK));
  const inside = "10.0.0.0 172.16.0.1 172.31.255.255 192.168.0.1 fd12::1 fc00::1 127.0.0.53 ::1";
  for (const address of inside.split(" "))
    for (const name of ["receiver", "receiver.test"]) {
      const by = sender({ resolve: resolvesTo(`127.0.0.1 ${address}`) });
      assert.equal(await sent(`http://${name}:${receiver.port}/`, by), '200 ""', address);
    }
});

test("the address of the connected socket is checked before anything is sent, and when the connection is reused", async () => {
  const receiver = await raw(says(http(200, ["Keep-Alive: timeout=9", "Content-Length: 0"])));
  const url = `http://localhost:${receiver.port}/`;
  let checks = 0;
  let allowed = 2;
  const judge: typeof checkAddress = (address, policy, secure) => {
    checks += 1;
    return checks > allowed ? "is refused for this test" : checkAddress(address, policy, secure);
  };
  const by = sender({ judge });
  assert.equal(await sent(url, by), "blocked_address");
  assert.equal(receiver.requests.length, 0);
  checks = 0;
  allowed = 3;
  assert.equal(await sent(url, by), '200 ""');
  assert.equal(await sent(url, by), "blocked_address");
  assert.equal(receiver.requests.length, 1);
});

test("a connection is kept alive and reused, and closed after a truncated response", async () => {
  const kept = http(200, ["Keep-Alive: timeout=3", "Content-Length: 0"]);
  const receiver = await raw((socket, count) =>
    socket.write(count === 2 ? sized("x".repeat(40_000)) : kept),
  );
  const by = sender();
  for (let count = 0; count < 4; count += 1) assert.match(await sent(receiver.url, by), /^200 "/);
  assert.equal(receiver.connections(), 2);
});

for (const header of ["X-A: b", "Keep-Alive: max=100", "Keep-Alive: timeout=2"])
  test(`a connection after the header ${header} is used once, because the receiver may close it at any time`, async () => {
    const answer = http(200, [header, "Content-Length: 0"]);
    const receiver = await raw((socket) =>
      socket.write(answer, () => setImmediate(() => socket.end())),
    );
    const by = sender();
    for (let count = 0; count < 20; count += 1)
      assert.equal(await sent(receiver.url, by), '200 ""');
    assert.equal(receiver.connections(), 20);
  });

/** Starts a receiver over TLS and returns its port. */
function secure(answer: RequestListener, more: TlsOptions = {}): Promise<number> {
  const server = createHttpsServer({ ...TLS, ...more }, answer);
  closeLater(() => server.close().closeAllConnections());
  return listen(server);
}

/** Starts a TCP server and returns its port. */
function tcp(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer(onConnection);
  closeLater(() => server.close());
  return listen(server);
}

/** Returns the outcomes of deliveries by a separate process with these environment variables. */
async function sentBy(env: NodeJS.ProcessEnv, urls: readonly string[]): Promise<unknown[]> {
  const args = ["--import", "tsx", "test/support/send.ts", ...urls];
  const { code, stdout, stderr } = await started(args, env).ended;
  assert.equal(code, 0, stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const tlsUrl = (port: number, host = "localhost") => `https://${host}:${port}/`;

const TRUST =
  "To trust it, set NODE_EXTRA_CA_CERTS to the file of its CA (PEM) and restart the server.";
const SELF_SIGNED_DETAIL = `The receiver's certificate is self-signed. ${TRUST}`;

for (const [certificate, options, detail] of [
  ["of an unknown issuer", {}, `The receiver's certificate comes from an unknown issuer. ${TRUST}`],
  [
    "of an untrusted CA",
    { cert: TLS.cert + CA_CERT },
    `The receiver's certificate comes from a CA that is not trusted. ${TRUST}`,
  ],
  ["that is self-signed", SELF_SIGNED, SELF_SIGNED_DETAIL],
] as const)
  test(`a certificate ${certificate} fails with the error tls, and the detail says how to trust it`, async () => {
    const port = await secure((_, response) => response.end(), options);
    assert.deepEqual(await failed(tlsUrl(port)), ["tls", detail]);
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
    const noCertificate =
      "The receiver refused the TLS handshake. It may require a client certificate, which this server does not have.";
    const cases = new Map<string, string | null>([
      [tlsUrl(good), null],
      [tlsUrl(good, "127.0.0.1"), null],
      [tlsUrl(good, "receiver.test"), null],
      [
        tlsUrl(good, "other.test"),
        "The receiver's certificate is for another host name. Use a host name in the URL that the certificate contains.",
      ],
      [tlsUrl(await secure(answer, EXPIRED)), "The receiver's certificate has expired. Renew it."],
      [
        tlsUrl(await secure(answer, NOT_YET_VALID)),
        "The receiver's certificate is not valid yet. Check its dates and this machine's clock.",
      ],
      [tlsUrl(await secure(answer, SELF_SIGNED)), SELF_SIGNED_DETAIL],
    ]);
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
      cases.set(tlsUrl(await secure(() => {}, { requestCert: true, maxVersion })), noCertificate);
    const outcomes = [...cases.values()].map((detail) =>
      detail === null ? ["over TLS", null, null] : [null, "tls", detail],
    );
    const env = environment(freshFile("ca.pem", CA_CERT));
    assert.deepEqual(await sentBy(env, [...cases.keys()]), outcomes);
  });

test("a self-signed certificate is trusted if NODE_EXTRA_CA_CERTS is its own file", async () => {
  const port = await secure((_, response) => response.end("trusted"), SELF_SIGNED);
  const file = freshFile("self.pem", SELF_SIGNED.cert);
  const outcome = ["trusted", null, null];
  assert.deepEqual(await sentBy({ NODE_EXTRA_CA_CERTS: file }, [tlsUrl(port)]), [outcome]);
});

test("each error without a response has a detail that says what to do, without the address", async () => {
  const noTls =
    "The receiver does not use TLS at this port. Use http in the URL, or correct the port.";
  const refused =
    "Nothing listens at the host and port of the URL. Start the receiver, or correct the URL.";
  const unresolved = "The host name in the URL does not resolve. Check its spelling.";
  const linkLocal =
    "The URL must lead to another address: both webhook policies refuse link-local ones.";
  const httpsOnly =
    "The URL must use https: the local webhook policy allows http to loopback and private addresses only.";
  const closing = "The receiver closed the connection during the TLS handshake.";
  const silent = "The receiver did not respond within 0.15 s.";
  const unknown = () => Promise.reject(new Error("ENOTFOUND"));
  // Repeated, because a receiver may close before or after the connection is established.
  for (const [url, error, detail, options] of [
    [tlsUrl((await raw(says(OK))).port), "tls", noTls],
    [tlsUrl(await tcp((socket) => socket.destroy())), "tls", closing],
    [tlsUrl(await tcp((socket) => void socket.resume())), "timeout", silent, { timeout_ms: 150 }],
    [`http://127.0.0.1:${await tcp((socket) => socket.resetAndDestroy())}/`, "reset", CLOSED],
    [`http://127.0.0.1:${await closedPort()}/`, "refused", refused],
    [`http://localhost:${await closedPort()}/`, "refused", refused],
    ["http://nowhere.invalid/", "dns", unresolved],
    ["https://nowhere.test/", "dns", unresolved, { resolve: unknown }],
    ["https://nowhere.test/", "dns", unresolved, { resolve: async () => [] }],
    ["http://name.test/", "blocked_address", linkLocal, { resolve: resolvesTo("169.254.1.1") }],
    ["http://name.test/", "blocked_address", httpsOnly, { resolve: resolvesTo("93.184.215.14") }],
    ["http://169.254.1.1/", "blocked_address", linkLocal],
  ] as const)
    for (let count = 0; count < 5; count += 1)
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
  assert.equal(await sent(tlsUrl(await tcp(() => closing.close())), closing), "tls");
});
