// The addresses that the server listens on. By default it uses 127.0.0.1 and [::1], so a client that resolves localhost
// never reaches another program. An explicit host means that address only.
// Also the default address policy, and which hosts are this machine. The addresses that a policy rejects are tested over
// HTTP and, after DNS, with the sender.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { isLoopbackHost } from "../../src/lib/loopback.ts";
import { begins, embedded, freshFile, RawConnection, rawAnswer, serve } from "../support/index.ts";

/** Starts another program that holds a port on one address. */
async function stranger(host: string, port = 0) {
  const server = createServer((socket: Socket) => socket.end("stranger"));
  await once(server.listen({ port, host, ipv6Only: host === "::" }), "listening");
  return {
    port: Number(Object(server.address()).port),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const hasIpv6 = await stranger("::1").then(
  (own) => own[Symbol.asyncDispose]().then(() => true),
  () => false,
);
const both = { skip: !hasIpv6 && "this machine has no [::1]" };

const ASK = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
/** Returns the status of a request to the address, or the error code. */
const asked = (host: string, port: number) =>
  rawAnswer(`http://${host}:${port}`, ASK).then(
    ({ status }) => status,
    ({ code }) => code,
  );
const askedOnBoth = (port: number) => Promise.all([asked("127.0.0.1", port), asked("[::1]", port)]);

for (const [host, shown, statuses] of [
  [undefined, "localhost", [200, 200]],
  ["localhost", "localhost", [200, 200]],
  ["127.0.0.1", "127.0.0.1", [200, "ECONNREFUSED"]],
  ["::1", "[::1]", ["ECONNREFUSED", 200]],
  ["0.0.0.0", "localhost", [200, "ECONNREFUSED"]],
  ["::", "localhost", [200, 200]],
] as const)
  test(
    `a server with the host ${host} listens there only, and its URL reaches it`,
    both,
    async () => {
      await using service = await startService(host === undefined ? {} : { host });
      assert.deepEqual(await askedOnBoth(service.port), statuses);
      assert.equal(service.authUrl, `http://${shown}:${service.port}`);
    },
  );

test(
  "a stop closes the idle connections of both addresses, and no address is open then",
  both,
  async () => {
    const service = await startService();
    const connections: RawConnection[] = [];
    for (const host of ["127.0.0.1", "[::1]"]) {
      const connection = (await RawConnection.open(`http://${host}:${service.port}`)).write(ASK);
      (await connection.answer()).is(200);
      connections.push(connection);
    }
    await service.close();
    for (const connection of connections) assert.equal(await connection.untilClosed(), "end");
    assert.deepEqual(await askedOnBoth(service.port), ["ECONNREFUSED", "ECONNREFUSED"]);
  },
);

for (const host of ["127.0.0.1", "::1"])
  test(
    `a port that another program holds on ${host} is in use: one line, exit 1, and no key that nobody saw`,
    both,
    async () => {
      await using other = await stranger(host);
      const data = freshFile("taken.json");
      const { code, stdout, stderr } = await serve(["--port", String(other.port), "--data", data])
        .ended;
      assert.deepEqual([code, stdout], [1, ""], stderr);
      begins(stderr, `Port ${other.port} is in use…--port`);
      assert.equal(stderr.split("\n").length, 2);
      assert.doesNotMatch(readFileSync(data, "utf8"), /acc_|key_/);
    },
  );

/** Runs `before` once, just before the first attempt to listen on [::1]. */
function beforeIpv6(context: TestContext, before: (server: Server, port: number) => boolean) {
  const { listen } = Server.prototype;
  const ports: number[] = [];
  context.mock.method(Server.prototype, "listen", function (this: Server, ...args: unknown[]) {
    const [port, host] = args;
    if (host !== "::1") return Reflect.apply(listen, this, args);
    ports.push(Number(port));
    if (ports.length > 1 || !before(this, Number(port))) return Reflect.apply(listen, this, args);
    return this;
  });
  return ports;
}

test("port 0 is drawn again until the port is free on both addresses", both, async (context) => {
  const other = createServer();
  const drawn = beforeIpv6(context, (_, port) => {
    other.listen({ port, host: "::1" });
    return false;
  });
  await using service = await startService({ port: 0 });
  const [first, second] = drawn;
  assert.equal(drawn.length, 2);
  assert.notEqual(first, second);
  assert.equal(service.port, second);
  assert.deepEqual(await askedOnBoth(service.port), [200, 200]);
  assert.equal(await asked("127.0.0.1", Number(first)), "ECONNREFUSED");
  other.close();
});

for (const code of ["EADDRNOTAVAIL", "EAFNOSUPPORT"])
  test(`on a machine without IPv6 (${code}) the server listens on 127.0.0.1 only`, async (context) => {
    beforeIpv6(context, (server) => {
      process.nextTick(() => server.emit("error", Object.assign(new Error(code), { code })));
      return true;
    });
    await using service = await startService();
    assert.deepEqual(await askedOnBoth(service.port), [200, "ECONNREFUSED"]);
    assert.equal((await fetch(`${service.authUrl}/healthz`)).status, 200);
  });

/** The policy of a service, by whether it accepts a webhook on this machine. */
async function policy(options: ServiceOptions) {
  await using own = await embedded(options);
  const webhook = { url: "http://127.0.0.1:9/", events: ["app.created"] };
  const { status } = await own.api.post("/webhooks", webhook);
  return status === 201 ? "local" : "strict";
}

test("6.webhook-policy: the default is local if only this machine can reach the server by its host and its public URL", async () => {
  assert.equal(await policy({}), "local");
  assert.equal(await policy({ publicUrl: "http://localhost:8080" }), "local");
  assert.equal(await policy({ publicUrl: "https://apps.example.com" }), "strict");
  assert.equal(await policy({ host: "0.0.0.0" }), "strict");
  assert.equal(await policy({ host: "0.0.0.0", webhookPolicy: "local" }), "local");
});

const LOOPBACK =
  "localhost localhost. LOCALHOST. a.b.localhost a.b.localhost. 127.0.0.1 127.255.255.254 [::1] ::1 0:0:0:0:0:0:0:1 0::0001";
const OTHERS =
  "localhost.com notlocalhost .localhost localhost.. 128.0.0.1 127.0.0.1.example [::] ::2 ::11 1::1 ::1:1 [2001:db8::1] " +
  "::ffff:127.0.0.1 ";

test("loopback: localhost, the names below it and the addresses of this machine are recognized in every spelling", () => {
  for (const host of LOOPBACK.split(" ")) assert.equal(isLoopbackHost(host), true, host);
  for (const host of OTHERS.split(" ")) assert.equal(isLoopbackHost(host), false, host);
});
