// How a credential is sent, how each cause of 401 is reported (RFC 6750), and the order of the checks. Each pair of
// neighboring checks fails at once, so that swapping them breaks a test.
// Scopes (spec part 5): every operation of the route table against every scope, credential and account state. Expected
// results are written out, not read from the code. Covers an access token's permissions and how fast a revoke takes
// effect, including for tokens whose verified signature is cached.
// RFC 9700 2.2, 4.10.2; RFC 8725 3.1, 3.10, 3.11 (units/jwt has the rest).
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import type { Service } from "../../src/index.ts";
import {
  ALL_SCOPES,
  type Answer,
  type ApiDocument,
  badHeader,
  badParameter,
  type Client,
  choice,
  contains,
  fill,
  freshHost,
  headerOf,
  held,
  invalid,
  MANUAL,
  NOWHERE,
  pair,
  person,
  problem,
  publishedKeys,
  refresh,
  str,
  withService,
} from "../support/index.ts";

const send = (api: Client, authorization: string) => api.as(null).get("/apps", { authorization });

/** 401 with this code, a challenge with or without this error, and a link to the metadata. */
function challenged(answer: Answer, code: string, error?: string) {
  problem(answer, code);
  const challenge = answer.header("www-authenticate");
  assert.match(
    challenge,
    /^Bearer .*resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/v1"/,
  );
  assert.equal(/error="(\w+)"/.exec(challenge)?.[1], error, challenge);
}

/** After the scheme Bearer: no single token (RFC 6750 2.1). */
const MALFORMED = "Bearer|Bearer |bearer|Bearer a b|Bearer a,b|Bearer a=b|Bearer ä".split("|");
const OTHER_SCHEMES = "Basic dXNlcjpwYXNz|Token abc|BearerX abc|Bearerabc|key|:".split("|");
const UNKNOWN = ["ahs_nobody-has-this-key", "unknown", "a.b.c", "A".repeat(9000), "__proto__"];

choice(
  "7.error-codes.401: each cause of 401 has its code, and its challenge has the matching error or none",
  async ({ api }) => {
    for (const path of ["/apps", `/apps?access_token=${api.key}`])
      challenged(await api.as(null).get(path), "missing_credential");
    for (const value of MALFORMED)
      challenged(await send(api, value), "malformed_credential", "invalid_request");
    for (const value of OTHER_SCHEMES) challenged(await send(api, value), "malformed_credential");
    for (const token of UNKNOWN)
      challenged(await api.as(token).get("/apps"), "invalid_credential", "invalid_token");
  },
);

choice(
  "1.rfcs.one-credential: the scheme of a credential ignores case, and no error repeats the credential",
  async ({ api }) => {
    for (const scheme of ["bearer", "BEARER", "bEaReR"])
      (await send(api, `${scheme} ${api.key}`)).is(200);
    for (const value of ["Bearer my-secret-token", "Basic my-secret-token"])
      assert.equal((await send(api, value)).text.includes("my-secret-token"), false, value);
  },
);

const NO_APP = "/apps/app_00000000000000000000000";
const OLD = { "if-match": '"old"' };
const TOO_LARGE = "x".repeat(1_048_577);
/** A body of an unsupported media type, which would be invalid as JSON, too. */
const TEXT = { headers: { "content-type": "text/plain" }, body: "{" };

const SUSPENDED = { seed: { accounts: [{ name: "Held", state: "suspended" }] } };

/** Invalid parts of its path, method, query and body. */
async function wrongs(api: Client) {
  const query = await api.get("/apps?limit=0");
  return [
    await api.get("/nowhere"),
    await api.send("PUT", "/apps"),
    query,
    await api.send("POST", "/apps", TEXT),
  ];
}

choice(
  "7.error-codes.order: the credential is checked before everything else, then the account's state",
  SUSPENDED,
  async ({ api }) => {
    for (const answer of await wrongs(api.as(null))) problem(answer, "missing_credential");
    for (const answer of await wrongs(api)) problem(answer, "account_suspended");
  },
);

choice(
  "7.error-codes.order: the rate limit is checked before path, method and query, and the account's state before the rate limit",
  { rateLimit: 2 },
  async ({ api, service }) => {
    for (let used = 0; used < 2; used += 1) await api.get("/account");
    for (const answer of await wrongs(api)) problem(answer, "rate_limit_exceeded");
    await service.setAccountState("limited");
    problem(await api.get("/account"), "rate_limit_exceeded");
    problem(await api.post("/apps", { title: "T" }), "account_limited");
  },
);

choice(
  "7.error-codes.order: path and method are checked before headers, query and body",
  async ({ api }) => {
    problem(await api.get("/nowhere?limit=0"), "not_found");
    problem(await api.send("PUT", "/apps?limit=0"), "method_not_allowed");
    problem(await api.send("POST", "/nowhere", TEXT), "not_found");
    problem(await api.send("PUT", "/apps", TEXT), "method_not_allowed");
  },
);

choice(
  "7.error-codes.order: one error reports headers and query, before the body; the body's size, type and JSON follow in order",
  async ({ api }) => {
    const key = { "idempotency-key": "k".repeat(256) };
    badParameter(await api.send("POST", "/apps?x=1", TEXT), "x");
    badHeader(
      await api.send("POST", "/apps", { ...TEXT, headers: { ...TEXT.headers, ...key } }),
      "Idempotency-Key",
    );
    const both = await api.post("/apps?x=1", { title: "T" }, key);
    both.is(400);
    for (const fault of [/"parameter":"x"/, /"header":"Idempotency-Key"/])
      assert.match(both.text, fault);
    problem(await api.send("POST", "/apps", { ...TEXT, body: TOO_LARGE }), "payload_too_large");
    problem(await api.send("POST", "/apps", TEXT), "unsupported_media_type");
  },
);

choice(
  "7.error-codes.order: query and body are checked before the resource, and the resource before fields and ETag",
  async ({ api }) => {
    badParameter(await api.get(`${NO_APP}?x=1`), "x");
    problem(await api.text("POST", `${NO_APP}/deploy`, TOO_LARGE), "payload_too_large");
    problem(await api.send("POST", `${NO_APP}/deploy`, TEXT), "unsupported_media_type");
    problem(await api.text("POST", `${NO_APP}/deploy`, "{"), "invalid_json");
    for (const [method, path, body] of [
      ["PATCH", NO_APP, { title: 5 }],
      ["POST", `${NO_APP}/deploy`, {}],
      ["POST", "/webhooks/wh_00000000000000000000000/test", {}],
    ] as const)
      problem(await api.call(method, path, body), "not_found");
    problem(await api.patch(NO_APP, { title: "T" }, OLD), "not_found");
    problem(await api.delete(NO_APP, { "if-match": "*" }), "not_found");
  },
);

choice(
  "7.error-codes.order: the fields are checked before the resource's state, and the state before the ETag",
  {},
  async ({ api }) => {
    const custom_domain = freshHost();
    const [mine, other] = [
      await api.create("/apps", { title: "A" }),
      await api.create("/apps", { title: "B" }),
    ];
    await api.deploy(mine.id, { custom_domain });
    invalid(await api.post(`/apps/${other.id}/deploy`, { name: "", custom_domain }), "#/name");
    invalid(await api.patch(`/apps/${mine.id}`, { title: "" }, OLD), "#/title");
    const owner = `/users/${(await api.get("/users")).items[0]?.id}`;
    problem(await api.delete(owner, OLD), "last_admin");
  },
);

choice(
  "7.error-codes.order: a stored response is replayed before the resource is checked, and a reused key is rejected before it",
  async ({ api }) => {
    const key = { "idempotency-key": randomUUID() };
    const { path } = await api.newApp();
    const first = await api.post(`${path}/deploy`, { name: "R" }, key);
    await api.delete(path);
    assert.equal((await api.post(`${path}/deploy`, { name: "R" }, key)).text, first.text);
    problem(await api.post(`${path}/deploy`, { name: "S" }, key), "idempotency_key_reused");
  },
);

const resource = (list: string, id: string) =>
  [`GET ${list}`, `POST ${list}`, `GET ${list}/{${id}}`, `DELETE ${list}/{${id}}`] as const;

/** The scope of each operation. */
const EXPECTED = {
  "read:apps": [
    "GET /apps",
    "GET /apps/{app_id}",
    "GET /apps/{app_id}/deployments",
    "GET /apps/{app_id}/deployments/{deployment_id}",
  ],
  "write:apps": [
    "POST /apps",
    "PATCH /apps/{app_id}",
    "POST /apps/{app_id}/deploy",
    "POST /apps/{app_id}/interactions",
  ],
  "delete:apps": ["DELETE /apps/{app_id}"],
  "read:data": [
    "GET /data-sources",
    "GET /data-sources/{data_source_id}",
    "GET /data-sources/{data_source_id}/rows",
  ],
  admin: [
    "POST /data-sources",
    "DELETE /data-sources/{data_source_id}",
    "GET /events",
    "GET /events/{event_id}",
    ...resource("/users", "user_id"),
    "PATCH /users/{user_id}",
    ...resource("/webhooks", "webhook_id"),
    "PATCH /webhooks/{webhook_id}",
    "POST /webhooks/{webhook_id}/test",
    "GET /webhooks/{webhook_id}/deliveries",
    "GET /webhooks/{webhook_id}/deliveries/{delivery_id}",
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    ...resource("/api-keys", "key_id"),
    ...resource("/oauth-clients", "client_id"),
  ],
  any: ["GET /account"],
};

const NEEDED = new Map(
  Object.entries(EXPECTED).flatMap(([scope, operations]) =>
    operations.map((operation) => [operation, scope]),
  ),
);

type SignInOptions = Parameters<Service["signIn"]>[0];

type Send = (client: Client) => Promise<Answer>;

/** Each operation, called with unknown ids and without a body, so that an authorized request has no effect. */
const eachOperation = ({ api }: ApiDocument, run: (send: Send, name: string) => Promise<void>) =>
  Promise.all(
    api.map(({ method, path }) =>
      run((client) => client.send(method, fill(path, NOWHERE)), `${method} ${path}`),
    ),
  );

/** This response proves that the checks of credential, account state and scope passed. */
const passed = (answer: Answer, why: string) =>
  assert.ok(![401, 403, 405].includes(answer.status), `${why}: ${answer.text}`);

choice(
  "5.scope-per-endpoint: every operation accepts an API key, its own scope or admin, and rejects every other scope",
  {},
  async (own) => {
    const operations = own.document.api.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(
      operations.sort(),
      [...NEEDED.keys()].sort(),
      "those listed above, no more and no less",
    );
    await eachOperation(own.document, async (send, name) => passed(await send(own.api), name));
    for (const scope of ALL_SCOPES) {
      const holder = own.api.as((await own.service.signIn({ scopes: [scope] })).access_token);
      await eachOperation(own.document, async (send, name) => {
        const [answer, needed = ""] = [await send(holder), NEEDED.get(name)];
        if (needed === "any" || needed === scope || scope === "admin")
          return passed(answer, `${name} with ${scope}`);
        problem(answer, "insufficient_scope");
        const challenge = answer.header("www-authenticate");
        contains(challenge, `error="insufficient_scope", scope="${needed}"`);
      });
    }
  },
);

choice(
  "3.account-states: a limited account may only read, and every operation respects each account state",
  {},
  async (own) => {
    const { api, service } = own;
    const holder = api.as((await service.signIn({ scopes: ["admin"] })).access_token);
    for (const state of ["suspended", "limited"] as const) {
      await service.setAccountState(state);
      await eachOperation(own.document, async (send, name) => {
        for (const answer of [await send(api), await send(holder)])
          if (state === "limited" && name.startsWith("GET "))
            passed(answer, `${name} in a limited account`);
          else problem(answer, `account_${state}`);
      });
    }
    (await api.head("/apps")).is(200);
    assert.equal((await api.get("/account")).json.state, "limited");
  },
);

async function assertInvalid(holder: Client, cause: string) {
  const answer = await holder.get("/apps");
  const { detail } = problem(answer, "invalid_credential");
  contains(detail, cause);
}

choice(
  "1.rfcs.access-token: access tokens of another server or a lost key and refresh tokens do not open the API",
  MANUAL,
  async ({ api, service }) => {
    await withService({}, async (other) => {
      const { access_token } = await other.service.signIn({ scopes: ["admin"] });
      await assertInvalid(api.as(access_token), "not signed by this service");
      await service.restore(await other.service.snapshot());
      await assertInvalid(api.as(access_token), "its iss is wrong");
    });
    await assertInvalid(api.as("eyJhbGciOiJFUzI1NiJ9.e30"), "not a well-formed JWT");
    const { tokens, holder } = await held(api);
    (await holder.get("/apps")).is(200);
    await assertInvalid(api.as(tokens.refresh), "no known API key or access token");
    const data = await service.snapshot();
    await service.restore({ ...data, collections: { ...data.collections, signing_keys: [] } });
    await assertInvalid(holder, "not signed by this service");
    const next = pair(await refresh(api, tokens.refresh)).access;
    assert.notEqual(headerOf(next).kid, headerOf(tokens.access).kid);
    (await api.as(next).get("/apps")).is(200);
  },
);

choice(
  "5.scope-per-endpoint: each use of a token limits its scopes to those of its user",
  async ({ api }) => {
    const [some, admin] = [await held(api, "read:apps write:apps"), await held(api, "admin")];
    for (const [permissions, ofSome, ofAdmin] of [
      [["admin"], [200, 201, 403], [200, 201, 200]],
      [
        ["read:apps", "read:data"],
        [200, 403, 403],
        [200, 403, 200],
      ],
      [["write:apps"], [403, 201, 403], [403, 201, 403]],
      [[], [403, 403, 403], [403, 403, 403]],
    ] as const)
      for (const [{ permit, holder }, expected] of [
        [some, ofSome],
        [admin, ofAdmin],
      ] as const) {
        await permit(...permissions);
        const answers = [
          await holder.get("/apps"),
          await holder.post("/apps", { title: "T" }),
          await holder.get("/data-sources"),
        ];
        const statuses = answers.map(({ status }) => status);
        assert.deepEqual(statuses, expected, permissions.join());
      }
  },
);

choice(
  "1.rfcs.token-algorithm: one ES256 key exists before the first token, even for concurrent reads of the key set",
  {},
  async ({ api }) => {
    const seen = await Promise.all(Array.from({ length: 20 }, () => publishedKeys(api)));
    const [{ x, y, kid, ...rest } = {}, ...more] = seen[0] ?? [];
    assert.deepEqual([rest, more], [{ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" }, []]);
    for (const value of [x, y, kid]) assert.match(String(value), /^[A-Za-z0-9_-]{43}$/);
    assert.equal(new Set(seen.map((keys) => JSON.stringify(keys))).size, 1);
  },
);

choice(
  "1.rfcs.token-algorithm: a setting selects RS256, and its key is created when needed",
  { tokenAlg: "RS256" },
  async ({ api, service }) => {
    const countKeys = async () => (await service.snapshot()).collections.signing_keys?.length ?? 0;
    assert.equal(await countKeys(), 0);
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    (await api.as(access_token).get("/apps")).is(200);
    assert.equal(await countKeys(), 1);
    const [key = {}] = await publishedKeys(api);
    const thumbprint = createHash("sha256")
      .update(`{"e":"${key.e}","kty":"RSA","n":"${key.n}"}`)
      .digest("base64url");
    assert.equal(Buffer.from(str(key.n), "base64url").length, 256, "2,048 bits");
    for (const { kid, alg } of [key, headerOf(access_token)])
      assert.deepEqual([kid, alg], [thumbprint, "RS256"]);
  },
);

choice(
  "1.rfcs.access-token: GET /account names the token's user, and no user for an API key",
  MANUAL,
  async ({ api, service }) => {
    const account = { ...service.account, user: null };
    assert.deepEqual((await api.get("/account")).json, account);
    const { who, holder, permit } = await held(api);
    await permit();
    const user = { id: who.id, email: who.email, name: "" };
    const first = await holder.get("/account");
    assert.deepEqual(first.json, { ...account, user });
    await api.patch(`/users/${who.id}`, { name: "Ada" });
    const changed = await holder.get("/account", { "if-none-match": first.header("etag") });
    assert.deepEqual(changed.json.user, { ...user, name: "Ada" });
  },
);

choice(
  "1.rfcs.access-token: signIn names the scopes and users that do not exist, and a user without the scopes",
  MANUAL,
  async ({ api, service }) => {
    const userId = (await person(api, ["read:apps"])).id;
    const { scope } = await service.signIn({ scopes: ["read:apps", "read:data"], userId });
    assert.equal(scope, "read:apps");
    for (const [options, error] of [
      [{ scopes: ["read:data"], userId }, "holds none"],
      [{ scopes: ["admin"], userId: "usr_nobody" }, "no user usr_nobody"],
      [{ scopes: ["read:nothing"] }, "signIn: #/scopes/0 must be one of"],
      [{ scopes: [] }, "signIn: #/scopes must have"],
      [{ scopes: ["read:apps,read:data"] }, "#/scopes/0 must be one of"],
    ] as const)
      await assert.rejects(service.signIn(options as SignInOptions), ({ message }: Error) =>
        message.includes(error),
      );
  },
);
