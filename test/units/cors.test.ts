// Cross-origin resource sharing: which responses a page of another origin can read. test/browser uses
// a real browser.
import assert from "node:assert/strict";
import { type Answer, type Client, contains, served } from "../support/index.ts";

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

const readable = (origin: string) => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": EXPOSED,
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
  return api.anyone.send("OPTIONS", path, { headers });
}

const LOOPBACK_ORIGINS =
  "http://localhost https://localhost:1 http://app.localhost:80 http://127.0.0.1 http://127.255.255.254:8080 http://[::1]:5173 capacitor://localhost";
const OTHER_ORIGINS =
  "null file:// https://evil.example http://localhost.evil.example http://evillocalhost http://128.0.0.1 " +
  "http://127.0.0.1.evil.example http://[::2] http://10.0.0.1 localhost http://localhost/path " +
  "http://localhost:5173,http://evil.example http://evil.example@localhost http://localhost@evil.example * http://localhost\\evil.example";

served(
  "a server on loopback lets exactly the origins of this machine read its responses",
  async ({ api }) => {
    const readCors = async (origin: string) => corsIn(await api.get("/account", { origin }));
    for (const origin of LOOPBACK_ORIGINS.split(" "))
      assert.deepEqual(await readCors(origin), { ...readable(origin), ...VARIES });
    for (const origin of OTHER_ORIGINS.split(" "))
      assert.deepEqual(await readCors(origin), VARIES, origin);
    assert.deepEqual(corsIn(await api.get("/account")), VARIES);
  },
);

for (const [options, isLocal] of [
  [{ host: "0.0.0.0" }, false],
  [{ publicUrl: "https://apps.example.com" }, false],
  [{ publicUrl: "https://localhost:8443" }, true],
] as const)
  served(
    `a server with ${JSON.stringify(options)} lets ${isLocal ? "only origins of this machine" : "every origin"} read its responses`,
    options,
    async ({ api }) => {
      const ask = async (origin: string) => corsIn(await api.get("/account", { origin }));
      assert.deepEqual(
        [await ask(ORIGIN), await ask(FOREIGN), await ask("null")],
        isLocal
          ? [{ ...readable(ORIGIN), ...VARIES }, VARIES, VARIES]
          : Array(3).fill(readable("*")),
      );
      if (!isLocal)
        assert.deepEqual(corsIn(await preflight(api, "/v1/apps", FOREIGN)), allows("*"));
    },
  );

served(
  "errors are readable like successes; pages, consent and the test controls never are",
  { control: true, rateLimit: 9 },
  async ({ api }) => {
    const [root, stranger] = [api.root, api.anyone];
    const origin = { origin: ORIGIN };
    const long = "x".repeat(8_200);
    const responses = {
      200: await root.get("/v1/apps", origin),
      401: await stranger.get("/v1/apps", origin),
      404: await root.get("/v1/nowhere", origin),
      405: await stranger.get("/oauth/token", origin),
      400: await stranger.post("/oauth/token", {}, origin),
      414: await root.get(`/v1/apps?${long}`, origin),
      422: await root.post("/v1/apps", {}, origin),
    };
    for (const [status, response] of Object.entries(responses)) response.is(Number(status));
    const documents = ["/oauth/jwks", "/.well-known/oauth-authorization-server", "/openapi.json"];
    const all = Object.values(responses);
    for (const path of documents) all.push(await stranger.get(path, origin));
    while ((await root.get("/v1/apps")).status === 200);
    all.push(await root.get("/v1/apps", origin));
    for (const response of all)
      assert.deepEqual(corsIn(response), { ...readable(ORIGIN), ...VARIES }, response.text);

    const never =
      "/ /dashboard /docs /healthz /sites/dep_0/ /nowhere /v2/apps /v1x /oauth/authorize /_control/requests";
    for (const path of never.split(" "))
      for (const answer of [await root.get(path, origin), await preflight(api, path, ORIGIN)])
        assert.deepEqual(corsIn(answer), {}, path);
  },
);

served(
  "a preflight request gets 204 before authentication, with the allowed methods and headers for allowed origins",
  { rateLimit: 1 },
  async ({ api }) => {
    for (const path of ["/v1/apps", "/v1/nowhere", "/oauth/token", "/openapi.json"])
      for (const [origin, headers] of [
        [ORIGIN, { ...allows(ORIGIN), ...VARIES }],
        [FOREIGN, VARIES],
        ["null", VARIES],
      ] as const) {
        const answer = await preflight(api, path, origin);
        assert.deepEqual(
          [answer.status, answer.text, corsIn(answer)],
          [204, "", headers],
          `${path} ${origin}`,
        );
      }
    (await api.get("/account")).is(200);
  },
);

served(
  "the server URL in the OpenAPI document is absolute, for tools that show it on another origin",
  { publicUrl: "https://apps.example.com" },
  async ({ api }) => {
    const { text } = await api.anyone.get("/openapi.json");
    contains(text, '"servers":[{"url":"https://apps.example.com/v1"');
  },
);

served(
  "with a variant, the headers that it adds are readable, too",
  {
    variants: { "list-shape": "bare", "rate-headers": "x-ratelimit" },
  },
  async ({ api }) => {
    const answer = await api.get("/apps", { origin: ORIGIN });
    const exposed = answer.header("access-control-expose-headers").toLowerCase().split(", ");
    const added = Object.keys(answer.headers).filter((name) => name.startsWith("x-"));
    assert.equal(added.length, 5);
    for (const name of added) assert.ok(exposed.includes(name), name);
  },
);
