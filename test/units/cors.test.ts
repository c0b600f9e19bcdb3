// Cross-origin resource sharing (contract, part 4): which responses a page of another origin can read. The last tests
// run stock clients that behave like browsers; test/browser uses a real one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { type Answer, Client } from "../support/client.ts";
import { assertPage } from "../support/dashboard.ts";
import { embedded } from "../support/embedded.ts";

const ORIGIN = "http://localhost:5173";
const FOREIGN = "https://evil.example";
const ALLOWED = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match";
const EXPOSED =
  "Location, ETag, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Idempotency-Replayed";

/** The CORS headers of a response. */
const corsIn = ({ headers }: Answer) =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name.startsWith("access-control-") || name === "vary",
    ),
  );

const readable = (origin: string, exposed = EXPOSED) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": exposed,
});
const VARIES = { vary: "Origin" };

const allows = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers": ALLOWED,
  "access-control-max-age": "600",
});

/** The preflight request that a browser sends, without a credential, before a request that is not simple. */
function preflight(api: Client, path: string, origin: string, method = "POST") {
  const headers = {
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization",
  };
  return api.root.as(null).send("OPTIONS", path, { headers });
}

const LOOPBACK_ORIGINS =
  "http://localhost https://localhost:1 http://localhost:65535 http://app.localhost:80 http://a-b.c_d.localhost " +
  "http://127.0.0.1 http://127.255.255.254:8080 https://[::1] http://[::1]:5173 capacitor://localhost tauri://localhost " +
  "http://localhost. http://[0:0:0:0:0:0:0:1]:3000";
const OTHER_ORIGINS =
  "null file:// https://evil.example http://localhost.evil.example http://evillocalhost http://128.0.0.1 http://126.255.255.255 " +
  "http://127.0.0.1.evil.example http://[::2] http://[::ffff:127.0.0.1] http://10.0.0.1 http://0.0.0.0 http://[::] localhost " +
  "localhost:5173 //localhost http:localhost http://localhost/ http://localhost/path http://localhost:5173,http://evil.example " +
  "http://localhost:x http://localhost:123456 http://evil.example@localhost http://localhost@evil.example http://localhost#x " +
  "http://localhost?x *://localhost * http://..localhost http://.localhost http://%6cocalhost http://localhost\\evil.example";

test("a server on loopback lets exactly the origins of this machine read its responses", async () => {
  await using own = await embedded();
  for (const origin of LOOPBACK_ORIGINS.split(" "))
    assert.deepEqual(corsIn(await own.api.get("/account", { origin })), {
      ...readable(origin),
      ...VARIES,
    });
  for (const origin of OTHER_ORIGINS.split(" "))
    assert.deepEqual(corsIn(await own.api.get("/account", { origin })), VARIES, origin);
  for (const origins of [[ORIGIN, ORIGIN], [ORIGIN, FOREIGN], [""], [`${ORIGIN} ${FOREIGN}`]])
    assert.deepEqual(
      corsIn(await own.api.get("/account", { origin: origins })),
      VARIES,
      String(origins),
    );
  assert.deepEqual(
    corsIn(await own.api.get("/account")),
    VARIES,
    "a cache must not hand it to an allowed origin",
  );
});

for (const options of [
  { host: "0.0.0.0" },
  { publicUrl: "https://apps.example.com" },
] satisfies readonly ServiceOptions[])
  test(`a server with ${JSON.stringify(options)} lets every origin read its responses`, async () => {
    await using service = await startService(options);
    const api = new Client({
      baseUrl: `http://${options.host ?? "localhost"}:${service.port}`,
      key: service.apiKey,
    });
    for (const origin of [ORIGIN, FOREIGN, "null"])
      assert.deepEqual(corsIn(await api.get("/v1/account", { origin })), readable("*"), origin);
    assert.deepEqual(
      corsIn(await api.get("/v1/account")),
      readable("*"),
      "a cache may hand it to any origin",
    );
    assert.deepEqual(corsIn(await preflight(api, "/v1/apps", FOREIGN)), allows("*"));
  });

for (const options of [
  { host: "127.0.0.2" },
  { publicUrl: "https://localhost:8443" },
] satisfies readonly ServiceOptions[])
  test(`a server with ${JSON.stringify(options)} counts as local to this machine`, async () => {
    await using service = await startService(options);
    const api = new Client({
      baseUrl: `http://${options.host ?? "localhost"}:${service.port}`,
      key: service.apiKey,
    });
    assert.deepEqual(corsIn(await api.get("/v1/account", { origin: FOREIGN })), VARIES);
    assert.deepEqual(corsIn(await api.get("/v1/account", { origin: ORIGIN })), {
      ...readable(ORIGIN),
      ...VARIES,
    });
  });

const NOTHING = {};

test("errors are readable like successes; pages, consent and the test controls never are", async () => {
  await using own = await embedded({ control: true, rateLimit: 20, apiKey: "limited-key" });
  const { api, service } = own;
  const [root, stranger] = [api.root, api.root.as(null)];
  const large = "x".repeat(1_100_000);
  const type = { "content-type": "application/json" };
  const origin = { origin: ORIGIN };
  service.faults.add({ method: "GET", path: "/v1/users", status: 500 });
  const shared: readonly (readonly [status: number, Promise<Answer>])[] = [
    [200, root.get("/v1/apps", origin)],
    [401, stranger.get("/v1/apps", origin)],
    [401, stranger.get("/v1/nowhere", origin)],
    [401, stranger.get("/v1", origin)],
    [404, root.get("/v1/nowhere", origin)],
    [404, root.get("/v1/", origin)],
    [405, root.send("PUT", "/v1/apps", { headers: origin })],
    [400, root.get("/v1/apps?limit=x", origin)],
    [422, root.post("/v1/apps", {}, origin)],
    [
      415,
      root.send("POST", "/v1/apps", {
        headers: { ...origin, "content-type": "text/plain" },
        body: "{}",
      }),
    ],
    [413, root.send("POST", "/v1/apps", { headers: { ...origin, ...type }, body: large })],
    [414, root.get(`/v1/apps?${large.slice(0, 8_200)}`, origin)],
    [431, root.get("/v1/apps", { ...origin, "x-large": large.slice(0, 17_000) })],
    [400, root.get("/v1/apps", { ...origin, host: "a b" })],
    [500, root.get("/v1/users", origin)],
    [400, stranger.post("/oauth/token", {}, origin)],
    [405, stranger.get("/oauth/token", origin)],
    [400, stranger.post("/oauth/revoke", {}, origin)],
    [200, stranger.get("/oauth/jwks", origin)],
    [200, stranger.get("/.well-known/oauth-authorization-server", origin)],
    [200, stranger.get("/.well-known/oauth-protected-resource/v1", origin)],
    [404, stranger.get("/.well-known/nothing", origin)],
    [200, stranger.get("/openapi.json", origin)],
    [405, stranger.post("/openapi.json", {}, origin)],
  ];
  for (const [at, [status, asked]] of shared.entries()) {
    const answer = await asked;
    assert.deepEqual(
      [status, corsIn(answer)],
      [answer.status, { ...readable(ORIGIN), ...VARIES }],
      String(at),
    );
  }
  while ((await root.get("/v1/apps")).status === 200);
  const limited = await root.get("/v1/apps", origin);
  assert.deepEqual([limited.status, corsIn(limited)], [403, { ...readable(ORIGIN), ...VARIES }]);

  for (const path of [
    ..."/ /dashboard /dashboard/sign-in /docs /healthz /assets/style.css /sites/dep_0/ /nowhere /v2/apps /v1x".split(
      " ",
    ),
    ..."/oauth/authorize /oauth/consent /oauth/nothing /oauth/token/ /openapi.json/ /openapixjson /.well-known".split(
      " ",
    ),
    ..."/_control/requests /_control/clock /_control/nothing".split(" "),
  ]) {
    for (const answer of [await root.get(path, origin), await root.post(path, {}, origin)])
      assert.deepEqual(corsIn(answer), NOTHING, path);
    assert.deepEqual(corsIn(await preflight(api, path, ORIGIN)), NOTHING, path);
  }
});

test("pages of a deployed app below /.well-known are not readable", async () => {
  await using own = await embedded();
  const { id } = await own.api.create("/apps", { title: "T", public: true });
  await own.api.create(`/apps/${id}/deploy`, { name: "R", custom_domain: "app.example.com" });
  const answer = await own.api.root.get("/.well-known/x", {
    host: "app.example.com",
    origin: ORIGIN,
  });
  assertPage(answer, 404);
  assert.deepEqual(corsIn(answer), NOTHING);
});

test("a cached document does not keep the origin of an earlier request", async () => {
  await using own = await embedded();
  const documents = ["/openapi.json", "/oauth/jwks", "/.well-known/oauth-authorization-server"];
  for (const path of documents) {
    assert.deepEqual(corsIn(await own.api.root.get(path, { origin: ORIGIN })), {
      ...readable(ORIGIN),
      ...VARIES,
    });
    assert.deepEqual(corsIn(await own.api.root.get(path, { origin: FOREIGN })), VARIES, path);
    assert.deepEqual(corsIn(await own.api.root.get(path)), VARIES, path);
  }
});

test("a preflight request gets 204 before authentication, with the allowed methods and headers for allowed origins", async () => {
  await using own = await embedded({ rateLimit: 1 });
  for (const path of "/v1/apps /v1/nowhere /v1 /oauth/token /oauth/revoke /oauth/jwks /.well-known/x /openapi.json".split(
    " ",
  ))
    for (const [origin, headers] of [
      [ORIGIN, { ...allows(ORIGIN), ...VARIES }],
      [FOREIGN, VARIES],
      ["null", VARIES],
    ] as const) {
      const answer = await preflight(own.api, path, origin);
      assert.deepEqual(
        [answer.status, answer.text, corsIn(answer)],
        [204, "", headers],
        `${path} ${origin}`,
      );
    }
  assert.equal(
    (await own.api.get("/account")).status,
    200,
    "it does not count against the rate limit",
  );
});

test("an OPTIONS request that is not a preflight is authenticated and handled as usual", async () => {
  await using own = await embedded();
  const send = (headers: Record<string, string>, api = own.api) =>
    api.send("OPTIONS", "/apps", { headers });
  for (const headers of [{}, { origin: ORIGIN }, { "access-control-request-method": "POST" }]) {
    const allowed = await send(headers);
    assert.deepEqual([allowed.status, allowed.header("allow")], [204, "POST, GET, HEAD, OPTIONS"]);
    assert.equal((await send(headers, own.api.as(null))).status, 401);
  }
  const invalid = { host: "a b", origin: ORIGIN, "access-control-request-method": "POST" };
  assert.equal(
    (await send(invalid)).status,
    400,
    "what is no valid request is no preflight either",
  );
});

test("the headers of a variant are exposed", async () => {
  const variants = { "list-shape": "bare", "rate-headers": "x-ratelimit" } as const;
  await using own = await embedded({ variants });
  const answer = await own.api.get("/apps", { origin: ORIGIN });
  const names = answer.header("access-control-expose-headers").toLowerCase().split(", ");
  for (const name of [
    "x-total-count",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
  ])
    assert.ok(names.includes(name) && name in answer.headers, name);
});

test("preflight requests are recorded in the journal of requests", async () => {
  await using own = await embedded();
  await preflight(own.api, "/v1/apps", ORIGIN);
  const [{ method, path, status } = {}] = own.service.requests;
  assert.deepEqual([method, path, status], ["OPTIONS", "/v1/apps", 204]);
});

test("the server URL in the OpenAPI document is absolute, for tools that show it on another origin", async () => {
  await using service = await startService({ publicUrl: "https://apps.example.com" });
  const api = new Client({ baseUrl: `http://localhost:${service.port}`, key: null });
  const { servers } = (await api.get("/openapi.json")).json;
  assert.ok(Array.isArray(servers));
  assert.equal(servers[0].url, "https://apps.example.com/v1");
});
