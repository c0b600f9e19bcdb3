// The process (contract, part 1): flags, ready lines, seeds, and how it stops. Each test is a real process, so the file
// takes as long as a few starts; they run side by side.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { OptionError, startService } from "../../src/index.ts";
import { trusted } from "../../src/kit/schema.ts";
import { Browser } from "../support/browser.ts";
import { choice, withService } from "../support/clauses.ts";
import { Client, type Members, str } from "../support/client.ts";
import { httpReceiver } from "../support/http-receiver.ts";
import { problem } from "../support/problem.ts";
import { type Ended, runToEnd, ServerProcess } from "../support/process.ts";
import { RawConnection } from "../support/raw.ts";

const OWN = { needs: "embedded" } as const;
const folder = mkdtempSync(join(tmpdir(), "apphost-"));
after(() => rmSync(folder, { recursive: true }));

function seedFile(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

/** Starts on a free port with the JSON ready line; answers the process and the line. */
async function started(...args: string[]): Promise<{ server: ServerProcess; ready: Members; api: Client }> {
  const server = new ServerProcess(["--port", "0", "--log", "json", ...args]);
  await server.prints("\n");
  const ready = trusted<Members>(JSON.parse(server.stdout.split("\n")[0] ?? ""));
  const key = ready.api_key === null ? null : str(ready.api_key);
  return { server, ready, api: new Client({ baseUrl: str(ready.base_url), key }) };
}

async function stopped(server: ServerProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
  server.kill(signal);
  return server.ended;
}

/** Resolves as soon as the server no longer accepts connections: the first signal has arrived. */
async function acceptsNothing(address: string): Promise<void> {
  const connect = async () => {
    for (;;) (await RawConnection.open(address)).destroy();
  };
  // One that arrives just as the listening socket closes is reset instead of refused: not accepted either.
  await assert.rejects(connect, /ECONNREFUSED|ECONNRESET/);
}

/** Exactly one line on stderr that names `what`, no stack, nothing on stdout. */
function refused(ended: Ended, code: number, what: RegExp): void {
  assert.equal(ended.code, code, ended.stderr);
  assert.equal(ended.stderr.trimEnd().split("\n").length, 1, ended.stderr);
  assert.match(ended.stderr, what);
  assert.doesNotMatch(ended.stderr, /\n +at |\.ts:\d/);
  assert.equal(ended.stdout, "");
}

choice("1.test-controls.ready-line", "is the first line of JSON, and all in it works", OWN, async () => {
  const { server, ready, api } = await started("--api-key", "pinned-key-1");
  const { base_url, auth_url, sign_in_url, pid, ...rest } = ready;
  assert.deepEqual(rest, { event: "ready", api_key: "pinned-key-1" });
  assert.equal(base_url, `${auth_url}/v1`);
  assert.ok(str(sign_in_url).startsWith(`${auth_url}/dashboard/`));
  assert.equal(typeof pid, "number");
  assert.equal((await api.get("/account")).status, 200);
  api.close();
  assert.equal((await stopped(server)).code, 0);
});

choice("1.test-controls.log", "has a line for each attempt of a delivery", OWN, async () => {
  const { server, api } = await started();
  const receiver = await httpReceiver((count) => (count === 1 ? 500 : 200));
  const webhook = await api.create("/webhooks", { url: `${receiver.url}?token=t`, events: ["app.created"] });
  await api.create("/apps", { title: "Told" });
  await server.prints('"outcome":"500"');
  const [delivery] = (await api.get(`/webhooks/${webhook.id}/deliveries`)).items;
  const lines = server.stdout.split("\n").filter((line) => line.includes('"event":"delivery"'));
  const { at, duration_ms, ...line } = trusted<Members>(JSON.parse(lines[0] ?? "{}"));
  assert.match(str(at), /Z$/);
  assert.equal(typeof duration_ms, "number");
  const { id } = delivery ?? {};
  assert.deepEqual(line, { event: "delivery", id, type: "app.created", url: receiver.url, outcome: "500", attempt: 1 });
  api.close();
  await stopped(server);
});

choice(
  "1.test-controls.ready-line",
  "may be all that is read: the server goes on when its output is closed",
  OWN,
  async () => {
    const { server, api } = await started();
    server.stopReading();
    for (let asked = 0; asked < 3; asked += 1) assert.equal((await api.get("/account")).status, 200);
    api.close();
    assert.equal((await stopped(server)).code, 0);
  },
);

choice(
  "1.test-controls.ready-line.people",
  "for people show addresses, key, sign-in link and a curl that works",
  OWN,
  async () => {
    const server = new ServerProcess(["--port", "0"]);
    await server.prints("curl ");
    await server.prints("'\n");
    const { stdout } = server;
    const [, base] = /(http:\/\/localhost:\d+\/v1)/.exec(stdout) ?? [];
    const [, key] = /(ahs_[\w-]+)/.exec(stdout) ?? [];
    assert.match(stdout, /http:\/\/localhost:\d+\/dashboard\/\S+ {2}\(owner@example\.com\)\n/);
    assert.match(stdout, /Data +in memory; --data FILE keeps them\n/);
    const [, url, authorization, type, body] =
      /curl (\S+) -H "Authorization: ([^"]+)" -H "Content-Type: ([^"]+)" -d '([^']+)'/.exec(stdout) ?? [];
    assert.equal(url, `${base}/apps`);
    assert.equal(authorization, `Bearer ${key}`);
    const api = new Client({ baseUrl: str(base), key: null });
    const headers = { authorization: str(authorization), "content-type": str(type) };
    assert.equal((await api.send("POST", "/apps", { headers, body: str(body) })).status, 201);
    api.close();
    assert.equal((await stopped(server, "SIGINT")).code, 0);
  },
);

const IN_FLIGHT = '{"title":"In flight"}';

/** A request whose handling has begun and waits for its body. */
async function inFlight(address: string, key: string): Promise<RawConnection> {
  const raw = await RawConnection.open(address);
  raw.write(
    `POST /v1/apps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
      `content-length: ${IN_FLIGHT.length}\r\nexpect: 100-continue\r\n\r\n`,
  );
  assert.equal((await raw.answer()).status, 100, "the request has begun");
  return raw;
}

choice("1.test-controls.stop", "lets the request in flight finish, then exits 0", OWN, async () => {
  const { server, ready, api } = await started();
  const raw = await inFlight(str(ready.auth_url), str(api.key));
  server.kill("SIGTERM");
  await acceptsNothing(str(ready.auth_url));
  const answer = await raw.write(IN_FLIGHT).answer();
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.connection, "close");
  assert.equal((await server.ended).code, 0);
  raw.destroy();
  api.close();
});

choice(
  "1.test-controls.stop",
  "an idle connection does not hold it up, and a second signal ends it at once",
  OWN,
  async () => {
    const idle = await started();
    assert.equal((await idle.api.get("/account")).status, 200, "its connection is kept alive");
    assert.equal((await stopped(idle.server)).code, 0);
    idle.api.close();
    const busy = await started();
    const raw = await inFlight(str(busy.ready.auth_url), str(busy.api.key));
    busy.server.kill("SIGTERM");
    await acceptsNothing(str(busy.ready.auth_url));
    busy.server.kill("SIGTERM");
    assert.notEqual(
      (await busy.server.ended).code,
      0,
      "the first one alone would end in good order, ten seconds later",
    );
    raw.destroy();
    busy.api.close();
  },
);

choice(
  "1.test-controls.stop",
  "a signal that comes between the first answer and the end of the start is heard, too",
  OWN,
  async () => {
    const data = join(folder, "knocked.json");
    const before = await startService({ data });
    const { apiKey: key, baseUrl, authUrl } = before;
    const api = new Client({ baseUrl, key });
    // What waits for its next attempt has the start load what sends it, after the first answers.
    await api.create("/webhooks", { url: "http://127.0.0.1:1/", events: ["app.created"] });
    await api.create("/apps", { title: "A" });
    await before.settled();
    api.close();
    await before.close();
    const server = new ServerProcess(["--port", new URL(authUrl).port, "--data", data]);
    while ((await fetch(`${authUrl}/healthz`).catch(() => null))?.status !== 200);
    assert.deepEqual(await stopped(server).then(({ code, signal, stderr }) => [code, signal, stderr]), [0, null, ""]);
  },
);

choice("1.test-controls.exit-codes.port-in-use", "is one line that names --port, exit 1", OWN, async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  refused(await runToEnd(["--port", String(port)]), 1, new RegExp(`Port ${port} .*--port`));
  const data = join(folder, "in-use.json");
  refused(await runToEnd(["--port", String(port), "--data", data]), 1, /--port/);
  other.close();
  const { server, ready, api } = await started("--data", data);
  assert.match(str(ready.api_key), /^ahs_/, "no key may have been made that nobody got to see");
  api.close();
  await stopped(server);
});

/** As processes only what the command line itself has to find; the values are held below, without a process each. */
const WRONG: readonly (readonly [args: readonly string[], names: RegExp])[] = [
  [["--prot", "1"], /--prot'; did you mean --port\?/],
  [["--pretty"], /--pretty'\. See/],
  [["--port"], /--port/],
  [["stray"], /stray/],
  [["--api-key", "short"], /^--api-key (?!.*"short")/],
  [["--seed", "no-such-file.json"], /no-such-file\.json/],
  [["--retry-schedule", ""], /--retry-schedule/],
  [["--host", "300.1.1.1", "--api-key", "secret-key-1"], /^--host (?!.*secret-key-1)/],
  [["--tls-cert", "package.json", "--tls-key", "package.json"], /--tls-cert.*--tls-key/],
  [["--tls-cert", "package.json"], /^--tls-cert and --tls-key must be given together\. See/],
  [["--webhook-ca", "package.json"], /--webhook-ca/],
];

choice("1.test-controls.exit-codes.wrong-flag", "is one line that names it, exit 2", OWN, async () => {
  await Promise.all(WRONG.map(async ([args, names]) => refused(await runToEnd(["--port", "0", ...args]), 2, names)));
});

/** The start is refused with an OptionError whose message names what is wrong, on one line. */
async function startRefused(options: object, names: RegExp): Promise<void> {
  await assert.rejects(startService({ port: 0, log: "off", ...options }), (error: unknown) => {
    assert.ok(error instanceof OptionError, String(error));
    assert.match(error.message, names);
    assert.equal(error.message.includes("\n"), false);
    return true;
  });
}

choice("1.test-controls.flags.api-key", "may look like a signed token and still opens the account", OWN, async () => {
  const service = await startService({ apiKey: "eyJa.b.cd" });
  const ask = (key: string) => fetch(`${service.baseUrl}/account`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal((await ask("eyJa.b.cd")).status, 200);
  assert.equal((await ask("eyJa.b.ce")).status, 401);
  await service.close();
});

choice("1.test-controls.flags.bounds", "each value has its bounds, and the option is named", OWN, async () => {
  for (const port of ["http", "-1", 65_536, 1.5, ""]) await startRefused({ port }, /port/);
  for (const rateLimit of [0, -1, "none", 1.5]) await startRefused({ rateLimit }, /rateLimit/);
  await startRefused({ log: "loud" }, /log/);
  for (const publicUrl of [
    "apps.example.com",
    "ftp://x.example",
    "https://x.example/path",
    "https://u@x.example",
    "https://\u65e5.example",
  ])
    await startRefused({ publicUrl }, /publicUrl/);
  await startRefused({ randomSeed: "x", host: "0.0.0.0" }, /randomSeed/);
  await startRefused({ randomSeed: "x", publicUrl: "https://apps.example.com" }, /randomSeed/);
  await startRefused({ tlsCert: "x.pem" }, /tlsKey/);
});

choice("1.test-controls.pinned-key", "has 8 to 200 unreserved characters", OWN, async () => {
  for (const apiKey of ["short77", "a".repeat(201), "has spaces in it", "ümlaut-key-1", ""])
    await startRefused({ apiKey }, /apiKey/);
  for (const apiKey of ["8letters", "a".repeat(200), "-._~-._~"])
    await withService({ apiKey }, async ({ api }) => assert.equal((await api.get("/account")).status, 200));
});

choice("1.test-controls.environment", "each flag is also a variable, PORT too, and the flag wins", OWN, async () => {
  const variables = { APPHOST_RATE_LIMIT: "never" };
  refused(await runToEnd(["--port", "0"], variables), 2, /^APPHOST_RATE_LIMIT /);
  refused(await runToEnd([], { PORT: "http" }), 2, /^PORT /);
  refused(await runToEnd([], { APPHOST_PROT: "1" }), 2, /APPHOST_PROT; did you mean APPHOST_PORT\?/);
  const server = new ServerProcess(["--log", "json"], {
    PORT: "0",
    APPHOST_API_KEY: "from-environment",
    APPHOST_LOG: "pretty",
  });
  await server.prints("\n");
  assert.match(server.stdout, /"api_key":"from-environment"/);
  assert.equal((await stopped(server)).code, 0);
});

choice("1.test-controls.flags.help", "fits a screen and names every flag", OWN, async () => {
  const { code, stdout, stderr } = await runToEnd(["--help"]);
  assert.deepEqual([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  assert.ok(lines.length <= 40, `${lines.length} lines`);
  assert.ok(Math.max(...lines.map((line) => line.length)) <= 120);
  for (const flag of ["--port", "--host", "--public-url", "--seed", "--api-key", "--tls-cert", "--rate-limit", "--log"])
    assert.ok(stdout.includes(flag), flag);
});

choice("1.test-controls.flags.version", "prints the package's version", OWN, async () => {
  const { code, stdout } = await runToEnd(["--version"]);
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

choice("1.test-controls.seed", "makes the accounts that it names; the first key is the ready line's", OWN, async () => {
  const app = { id: "app_seeded0000000000000000", title: "Seeded", public: true };
  const source = { name: "S", type: "csv", data: "a\n1\n" };
  const seed = {
    accounts: [
      {
        id: "acc_first",
        name: "First",
        api_keys: [{ name: "one", key: "first-seed-key" }],
        apps: [app],
        data_sources: [source],
      },
      {
        name: "Second",
        state: "limited",
        api_keys: [{ name: "two", key: "second-seed-key" }],
        users: [{ email: "x@example.com", permissions: ["admin"] }],
      },
    ],
  };
  const { server, ready, api } = await started("--seed", seedFile("good.json", seed));
  assert.equal(ready.api_key, "first-seed-key");
  assert.equal((await api.get("/account")).json.id, "acc_first");
  assert.equal((await api.get(`/apps/${app.id}`)).json.title, "Seeded");
  assert.equal((await api.get("/data-sources")).json.total, 1);
  assert.equal((await api.get("/users")).items[0]?.email, "owner@example.com");
  const second = api.as("second-seed-key");
  assert.equal((await second.get("/apps")).json.total, 0);
  assert.equal((await second.get("/users")).items[0]?.email, "x@example.com");
  problem(await second.post("/apps", { title: "T" }), 403, "account_limited");
  api.close();
  assert.equal((await stopped(server)).code, 0);
});

choice("1.test-controls.seed", "without an admin it still has a sign-in link", OWN, async () => {
  const seed = { accounts: [{ name: "A", users: [{ email: "x@example.com", permissions: ["read:apps"] }] }] };
  await withService({ seed }, async ({ api, service }) => {
    assert.equal((await new Browser(api).signIn(service.signInUrl)).header("location"), "/dashboard");
  });
});

choice("1.test-controls.seed", "a misspelt member is named in one line, exit 2", OWN, async () => {
  const seed = { accounts: [{ name: "A", api_keys: [{ name: "k", key: "some-seed-key" }], apps: [{ titel: "T" }] }] };
  refused(await runToEnd(["--port", "0", "--seed", seedFile("titel.json", seed)]), 2, /titel/);
});

choice("1.test-controls.seed", "one that is wrong is refused by the member's name", OWN, async () => {
  const account = { name: "A", api_keys: [{ name: "k", key: "some-seed-key" }] };
  const wrong: readonly (readonly [seed: unknown, names: RegExp])[] = [
    [{ acounts: [] }, /acounts/],
    [{ accounts: [{ ...account, app: [] }] }, /\bapp\b/],
    [{ accounts: [{ ...account, apps: [{ title: "" }] }] }, /title/],
    [{ accounts: [{ ...account, state: "asleep" }] }, /state/],
    [{ accounts: [{ ...account, api_keys: [{ name: "k", key: "short" }] }] }, /key/],
    [{ accounts: [{ ...account, webhooks: [{ url: "ftp://x", events: ["app.created"] }] }] }, /url/],
    [{ accounts: [{ ...account, users: [{ email: "a@b.example" }, { email: "A@b.example" }] }] }, /users\/1\/email/],
    [{ accounts: [{ ...account, data_sources: [{ name: "N", type: "xml", data: "" }] }] }, /type/],
    [{ accounts: [{ ...account, id: "first" }] }, /id/],
    [{ accounts: [] }, /accounts/],
    [[], /seed/i],
  ];
  for (const [seed, names] of wrong) await startRefused({ seed }, names);
  await startRefused({ seed: seedFile("broken.json", "{ not json") }, /broken\.json/);
});

choice(
  "1.test-controls.in-the-open",
  "what only a test should reach is warned of where others reach it",
  OWN,
  async () => {
    const open = new ServerProcess([
      "--port",
      "0",
      "--log",
      "json",
      "--control",
      "--public-url",
      "https://apps.example.com",
    ]);
    await open.prints("\n");
    const warnings = (await stopped(open)).stderr.trim().split("\n");
    assert.deepEqual([warnings.length, /--control/.test(warnings[0] ?? "")], [1, true]);
    const { server } = await started("--control");
    assert.equal((await stopped(server)).stderr, "");
  },
);
