// The process and its addresses: flags, ready lines, seeds and shutdown, and the `receiver` command. Only behavior that
// needs a process starts one, because each start takes time; flag values are tested without.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import {
  begins,
  begun,
  Client,
  choice,
  contains,
  type Ended,
  freshFile,
  listen,
  type Members,
  members,
  problem,
  RawConnection,
  type ServerProcess,
  serve,
  serving,
  shows,
  startRefused,
  str,
  TLS,
  withService,
} from "../support/index.ts";

/** Starts a server with the JSON ready line; it must exit although the client's connection is kept alive. */
const started = (args: readonly string[], use: (own: Started) => Promise<void> = async () => {}) =>
  serving(["--log", "json", ...args], "\n", (server) => {
    const ready = members(JSON.parse(server.said.stdout.split("\n")[0] ?? ""));
    const key = ready.api_key === null ? null : str(ready.api_key);
    const api = new Client({ baseUrl: str(ready.base_url), key });
    return use({ server, ready, api });
  });

interface Started {
  server: ServerProcess;
  ready: Members;
  api: Client;
}

/** Sends the signal to stop; resolves as soon as the server no longer accepts connections. */
async function acceptsNothing({ server, ready }: Started) {
  server.child.kill("SIGTERM");
  const connect = async () => {
    for (;;) (await RawConnection.open(str(ready.auth_url))).socket.destroy();
  };
  // A connection that arrives just as the socket closes is reset, which counts as not accepted, too.
  await assert.rejects(connect, /ECONNREFUSED|ECONNRESET/);
}

/** Expects exactly one line on stderr that matches, no stack, and nothing on stdout. */
function refused({ code, stdout, stderr }: Ended, exit: number, message: string) {
  assert.deepEqual([code, stdout, stderr.trimEnd().split("\n").length], [exit, "", 1], stderr);
  begins(stderr, message);
  // Neither a stack nor a key.
  assert.doesNotMatch(stderr, /\.ts:\d|"short"|secret-key-1/);
}

choice(
  "1.test-controls.ready-line: the ready line's values all work, then each request and attempt is logged, even if nobody reads the log",
  () =>
    started(["--api-key", "pinned-key-1"], async ({ server, ready, api }) => {
      const { auth_url } = ready;
      assert.deepEqual(ready, {
        event: "ready",
        base_url: `${auth_url}/v1`,
        auth_url,
        dashboard_url: `${auth_url}/dashboard`,
        api_key: "pinned-key-1",
        pid: server.child.pid,
      });
      // Nobody listens there.
      await api.create("/webhooks", { url: "http://127.0.0.1:1", events: ["app.created"] });
      await api.newApp();
      await server.prints('"outcome":"refused"');
      server.child.stdout.destroy();
      for (let times = 0; times < 3; times += 1) (await api.get("/account")).is(200);
    }),
);

choice(
  "1.test-controls.ready-line: over existing data the ready line has no key; with --control it has a fresh one, which opens the journals",
  async () => {
    const data = ["--data", freshFile("existing.json")];
    await started(data);
    await started(data, async ({ ready }) => assert.equal(ready.api_key, null));
    await started([...data, "--control"], async ({ ready, api }) => {
      (await api.get("/account")).is(200);
      const control = api.at(`${ready.auth_url}/_control`);
      assert.equal((await control.get("/requests")).total, 1);
    });
  },
);

choice(
  "1.test-controls.ready-line.store: the ready lines name the module of a custom store, and escape brackets of an address for the shell",
  async () => {
    const args = ["--store", "./test/stores/skeleton.mjs"];
    const { stdout } = await serving([...args, "--public-url", "http://[::1]:1"], "curl ");
    shows(stdout, "…Data … ./test/stores/skeleton.mjs");
    contains(stdout, "curl http://\\[::1\\]:1/v1/apps -H");
  },
);

choice(
  "1.test-controls.ready-line.people: the ready lines for people show addresses, the key and a curl command that works",
  () =>
    serving([], "'\n", async ({ said: { stdout }, child, ended }) => {
      const [, base = ""] = /Base URL +(http:\/\/localhost:\d+\/v1)\n/.exec(stdout) ?? [];
      const [, key] = /API key +(ahs_\w+)\n/.exec(stdout) ?? [];
      contains(stdout, `Dashboard ${base.replace("/v1", "/dashboard")}\n`);
      shows(stdout, "…Data … in memory; --data FILE keeps them");
      const CURL = /curl (\S+) -H "Authorization: ([^"]+)" -H "Content-Type: ([^"]+)" -d '([^']+)'/;
      const [, url = "", authorization = "", type = "", body = ""] = CURL.exec(stdout) ?? [];
      assert.deepEqual([url, authorization], [`${base}/apps`, `Bearer ${key}`]);
      const headers = { authorization, "content-type": type };
      assert.equal((await fetch(url, { method: "POST", headers, body })).status, 201);
      child.kill("SIGINT");
      await ended;
    }),
);

const IN_FLIGHT = '{"title":"In flight"}';

const inFlight = (own: Started) => begun(str(own.ready.auth_url), own, IN_FLIGHT.length);

choice(
  "1.test-controls.stop: stopping lets the request in flight finish, then exits with code 0",
  () =>
    started([], async (own) => {
      const raw = await inFlight(own);
      await acceptsNothing(own);
      const answer = await raw.write(IN_FLIGHT).answer();
      assert.deepEqual([answer.status, answer.headers.connection], [201, "close"]);
      await own.server.ended;
      raw.socket.destroy();
    }),
);

choice(
  "1.test-controls.stop: a second signal, of either kind, stops the process at once",
  async () => {
    const busy = started([], async (own) => {
      const raw = await inFlight(own);
      await acceptsNothing(own);
      own.server.child.kill("SIGINT");
      await own.server.ended;
      raw.socket.destroy();
    });
    // The first signal alone would end with code 0, ten seconds later.
    await assert.rejects(busy, { code: "ERR_ASSERTION", operator: "strictEqual", expected: 0 });
  },
);

const PEM = {
  cert: freshFile("cert.pem", TLS.cert),
  empty: freshFile("empty.pem", ""),
};

const SECRET = ["receiver", "--secret", "s"];

/** Only mistakes that the command line itself finds run as processes; values are tested below without one each. */
const WRONG = [
  [["--prot", "1"], "…--prot'; did you mean --port?"],
  // Neither the file "true" nor the file "--control".
  [["--tls-cert"], "--tls-cert must have a value"],
  [["--data", "--control"], "--data must have a value"],
  [["--data", "-h"], "--data must have a value"],
  // The name of a variable is a value, and the word may be a key.
  [["--data", "PORT", "secret-key-1"], "Unexpected argument: flags begin with --…argument (see"],
  [["--api-key", "short"], "--api-key must "],
  [["--seed", "no-such-file.json"], "…no-such-file.json"],
  [["--data", "nowhere/data.json"], "--data: …nowhere/data.json … mount the folder"],
  [["--data", "package.json/data.json"], "--data: …ENOTDIR"],
  [["--data", "n".repeat(256)], "--data: …ENAMETOOLONG"],
  [["--data", "src"], "--data: …EISDIR"],
  [["--log", "jsn"], '--log must be one of …"json"'],
  [["--host", "300.1.1.1", "--api-key", "secret-key-1"], "--host "],
  [["--tls-cert", PEM.cert, "--tls-key", PEM.empty], "--tls-key must be … not empty"],
  [["--tls-cert", PEM.cert], "--tls-cert and --tls-key must … given together"],
  [["--store", "./none.mjs"], "--store must be …none.mjs"],
  [["receivr"], "…must be the first argument; did you mean receiver?"],
  [["receiver"], "--secret is required…--help)"],
  [[...SECRET, "--prot", "1"], "…--prot'; did you mean --port?"],
  [[...SECRET, "--port", "65536"], "--port must "],
  [[...SECRET, "--host", "a b"], "--host must "],
  [[...SECRET, "--answers", "200,maybe"], "…answers must be "],
  [["--variant", "create-status=200", "--variant", "list-shap=bare"], "--variant …list-shape=bare"],
] as const;

choice(
  "1.test-controls.exit-codes.wrong-flag: a wrong flag prints one line that names it and exits with code 2",
  async () => {
    await Promise.all(
      WRONG.map(async ([args, names]) => {
        const anyPort = args[0] === "receiver" ? [] : ["--port", "0"];
        refused(await serve([...anyPort, ...args]).ended, 2, names);
      }),
    );
  },
);

choice(
  "1.test-controls.flags.bounds: each flag's value has bounds, and the error names the option",
  async () => {
    for (const [option, values] of Object.entries({
      port: ["http", "-1", 65_536, 1.5, "", [0]],
      rateLimit: [0, "none", 1.5],
      publicUrl: ["apps.example.com", "ftp://x.example", "https://x.example/path"],
      apiKey: ["short77", "a".repeat(201), "has spaces in it"],
      webhookTimeout: ["0s", "30001ms", "soon"],
    }))
      for (const value of values) await startRefused({ [option]: value }, option);
    for (const text of ["null", "0", "["])
      await startRefused({ seed: freshFile("wrong.json", text) }, "seed must be … JSON object");
    for (const open of [{ host: "0.0.0.0" }, { publicUrl: "https://x.example" }])
      await startRefused({ randomSeed: "x", ...open }, "…randomSeed");
    // The last one looks like a signed token.
    for (const apiKey of ["8letters", "eyJa.b.cd"])
      await withService({ apiKey }, async ({ api }) => {
        (await api.get("/account")).is(200);
        (await api.as(`${apiKey.slice(0, -1)}e`).get("/account")).is(401);
      });
  },
);

choice(
  "1.test-controls.environment: each flag can be set by an environment variable, the port by PORT too, and the flag takes precedence",
  async () => {
    for (const [variables, names, args = []] of [
      [{ PORT: "0", APPHOST_RATE_LIMIT: "never" }, "APPHOST_RATE_LIMIT must be"],
      [{ PORT: "http" }, "PORT must be"],
      [{ PORT: "1", APPHOST_PORT: "http" }, "APPHOST_PORT must be"],
      [{ APPHOST_PROT: "" }, "…APPHOST_PROT; did you mean APPHOST_PORT?"],
      [{ APPHOST_PROT: "1" }, "…APPHOST_PROT; did you mean APPHOST_PORT?", SECRET],
    ] as const)
      refused(await serve(args, variables).ended, 2, names);
    const server = serve(["--log", "json"], {
      PORT: "0",
      APPHOST_API_KEY: "from-environment",
      APPHOST_LOG: "pretty",
    });
    await server.prints("\n");
    server.child.kill("SIGTERM");
    const { code, stdout } = await server.ended;
    contains(stdout, '"api_key":"from-environment"');
    assert.equal(code, 0);
  },
);

choice("1.test-controls.flags: --help fits a screen and names every flag", async () => {
  const { code, stdout, stderr } = await serve(["--help"]).ended;
  assert.deepEqual([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n");
  assert.ok(lines.length <= 40 && Math.max(...lines.map((line) => line.length)) <= 120, stdout);
  const flags =
    "port host public-url data store seed api-key tls-cert tls-key rate-limit retry-schedule webhook-policy " +
    "webhook-timeout token-alg random-seed variant control log help version";
  for (const flag of flags.split(" ")) contains(stdout, `--${flag}`);
});

choice(
  "1.test-controls.seed: a seed creates its accounts, and the ready line shows the first key",
  async () => {
    const app = { id: "app_seeded0000000000000000", title: "Seeded", public: true };
    const data_sources = [{ name: "S", type: "csv", data: "a\n1\n" }];
    const users = [{ email: "x@example.com", permissions: ["admin"] }];
    const [one, two] = ["first", "second"].map((name) => [{ name, key: `${name}-seed-key` }]);
    const accounts = [
      { id: "acc_first", name: "First", api_keys: one, apps: [app], data_sources },
      { name: "Second", state: "limited", api_keys: two, users },
    ];
    const seed = freshFile("good.json", JSON.stringify({ accounts }));
    await started(["--seed", seed], async ({ ready, api }) => {
      assert.equal(ready.api_key, "first-seed-key");
      const second = api.as("second-seed-key");
      assert.equal((await api.get("/account")).json.id, "acc_first");
      assert.equal((await api.get(`/apps/${app.id}`)).json.title, "Seeded");
      assert.equal((await api.get("/data-sources")).total, 1);
      assert.equal((await api.get("/users")).items[0]?.email, "owner@example.com");
      assert.equal((await second.get("/users")).items[0]?.email, "x@example.com");
      problem(await second.post("/apps", { title: "T" }), "account_limited");
    });
  },
);

choice(
  "1.test-controls.in-the-open: the server warns when test controls or the local webhook policy are reachable from other machines",
  async () => {
    const open = ["--control", "--webhook-policy", "local", "--public-url", "https://x.example"];
    const { stderr } = await started(open);
    shows(stderr, "…--control and --webhook-policy local: …");
    assert.equal(stderr.split("\n").length, 2);
    assert.equal((await started(["--control"])).stderr, "");
  },
);

choice(
  "1.dashboard.addresses: /healthz responds to everybody, / redirects to the dashboard, and an unknown address is a problem",
  async ({ api }) => {
    const anyone = api.anyone;
    const health = await anyone.get("/healthz");
    assert.deepEqual([health.status, health.json.status], [200, "ok"]);
    (await anyone.send("POST", "/healthz")).is(405);
    const home = await anyone.get("/");
    assert.deepEqual([home.status, home.header("location")], [302, "/dashboard"]);
    problem(await anyone.get("/nowhere"), "not_found");
    problem(await anyone.get("/v1/nowhere"), "missing_credential");
  },
);

test("receiver: a port in use prints one line and exits with code 1", async () => {
  const other = createServer();
  const port = String(await listen(other));
  refused(await serve([...SECRET, "-p", port]).ended, 1, `Port ${port} …--port`);
  other.close();
});

test("--help names the receiver, whose own --help lists its flags, and -h, -v and -p are short for the long names", async () => {
  const texts = await Promise.all(
    [["-h"], ["receiver", "-h"], ["-v"]].map(async (args) => {
      const { code, stdout, stderr } = await serve(args, { APPHOST_PROT: "1" }).ended;
      assert.deepEqual([code, stderr], [0, ""]);
      return stdout;
    }),
  );
  const [help = "", receiverHelp = "", version = ""] = texts;
  for (const name of ["app-hosting-service receiver", "-p, --port", "-h, --help", "-v, --version"])
    contains(help, name);
  for (const name of ["--secret", "-p, --port", "--host", "--answers"])
    contains(receiverHelp, name);
  assert.match(version, /^\d+\.\d+\.\d+\n$/);
  refused(await serve(["-p", "http"]).ended, 2, "--port must be ");
});

test("receiver: the command prints each delivery with its verdict, and ends with a signal", async () => {
  const flags = "-p 0 --host 0.0.0.0 --secret whsecret --answers 500,200";
  const { child, said, prints, ended } = serve(["receiver", ...flags.split(" ")]);
  await prints("\n");
  const url = said.stdout.replace("Listening on ", "").trim();
  const body = '{"id":"evt_1","type":"app.created"}';
  // openssl dgst -sha256 -hmac whsecret
  const right = "c90b414094d4459e361e838e9c3be44774867757c18deba83885fbf21632319e";
  // The whole of 127.0.0.0/8 is this machine: another address than the default one.
  const post = (hex: string) =>
    fetch(url.replace("localhost", "127.0.0.2"), {
      method: "POST",
      body,
      headers: { "X-Service-Signature": `sha256=${hex}` },
    });
  const rejected = await post("0");
  assert.equal(rejected.status, 401);
  contains(await rejected.text(), "signature does not match");
  assert.equal((await post(right)).status, 500);
  assert.equal((await post(right)).status, 200);
  await prints("answered 200");
  const printed = said.stdout.split("\n").slice(1, 6).join("|");
  assert.match(
    printed,
    /bad signature, answered 401\|.*\|.*new, answered 500\|.*\|.*seen before, answered 200$/,
  );
  assert.equal(printed.split("|")[3]?.trim(), body);
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr], [0, ""]);
});
