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

const REACH: readonly (readonly [options: ServiceOptions, isLocal: boolean])[] = [
  [{ host: "0.0.0.0" }, false],
  [{ publicUrl: "https://apps.example.com" }, false],
  [{ host: "127.0.0.2" }, true],
  [{ publicUrl: "https://localhost:8443" }, true],
];

for (const [options, isLocal] of REACH)
  test(`a server with ${JSON.stringify(options)} lets ${isLocal ? "only origins of this machine" : "every origin"} read its responses`, async () => {
    await using service = await startService(options);
    const { host = "localhost" } = options;
    const api = new Client({ baseUrl: `http://${host}:${service.port}`, key: service.apiKey });
    const ask = async (origin: string) => corsIn(await api.get("/v1/account", { origin }));
    assert.deepEqual(
      [await ask(ORIGIN), await ask(FOREIGN), await ask("null")],
      isLocal ? [{ ...readable(ORIGIN), ...VARIES }, VARIES, VARIES] : Array(3).fill(readable("*")),
    );
    if (isLocal) return;
    assert.deepEqual(corsIn(await api.get("/v1/account")), readable("*"));
    assert.deepEqual(corsIn(await preflight(api, "/v1/apps", FOREIGN)), allows("*"));
  });

test("errors are readable like successes; pages, consent and the test controls never are", async () => {
  await using own = await embedded({ control: true, rateLimit: 20, apiKey: "limited-key" });
  const { api, service } = own;
  const [root, stranger] = [api.root, api.root.as(null)];
  const large = "x".repeat(1_100_000);
  const origin = { origin: ORIGIN };
  const typed = (type: string, body: string) =>
    root.send("POST", "/v1/apps", { headers: { ...origin, "content-type": type }, body });
  service.faults.add({ method: "GET", path: "/v1/users", status: 500 });
  const responses = [
    await root.get("/v1/apps", origin),
    await root.get("/v1/nowhere", origin),
    await root.send("PUT", "/v1/apps", { headers: origin }),
    await root.get("/v1/apps?limit=x", origin),
    await root.post("/v1/apps", {}, origin),
    await typed("text/plain", "{}"),
    await typed("application/json", large),
    await root.get(`/v1/apps?${large.slice(0, 8_200)}`, origin),
    await root.get("/v1/apps", { ...origin, "x-large": large.slice(0, 17_000) }),
    await root.get("/v1/apps", { ...origin, host: "a b" }),
    await root.get("/v1/users", origin),
  ];
  for (const path of ["/v1", "/v1/apps", "/v1/nowhere", "/oauth/token"])
    responses.push(await stranger.get(path, origin));
  for (const path of ["/oauth/token", "/oauth/revoke", "/openapi.json"])
    responses.push(await stranger.post(path, {}, origin));
  for (const path of [
    "/oauth/jwks",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/v1",
    "/.well-known/nothing",
    "/openapi.json",
  ])
    responses.push(await stranger.get(path, origin));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [
      ...[200, 404, 405, 400, 422, 415, 413, 414, 431, 400, 500],
      ...[401, 401, 401, 405],
      ...[400, 400, 405],
      ...[200, 200, 200, 404, 200],
    ],
  );
  while ((await root.get("/v1/apps")).status === 200);
  responses.push(await root.get("/v1/apps", origin));
  for (const [at, response] of responses.entries())
    assert.deepEqual(corsIn(response), { ...readable(ORIGIN), ...VARIES }, String(at));

  const never =
    "/ /dashboard /dashboard/sign-in /docs /healthz /assets/style.css /sites/dep_0/ /nowhere /v2/apps /v1x " +
    "/oauth/authorize /oauth/consent /oauth/nothing /oauth/token/ /openapi.json/ /openapixjson /.well-known " +
    "/_control/requests /_control/clock /_control/nothing";
  for (const path of never.split(" "))
    for (const answer of [
      await root.get(path, origin),
      await root.post(path, {}, origin),
      await preflight(api, path, ORIGIN),
    ])
      assert.deepEqual(corsIn(answer), {}, path);
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
  assert.deepEqual(corsIn(answer), {});
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
