// Scopes (spec part 5): every operation of the route table against every scope, credential and account state. Expected
// results come from the contract's table, not from the code. Covers an access token's permissions and how fast a revoke
// takes effect, including for tokens whose verified signature is cached.
// RFC 9700 2.2, 4.10.2; RFC 8725 3.1, 3.10, 3.11 (units/jwt has the rest).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { choice, MANUAL, withService } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import {
  ALL_SCOPES,
  headerOf,
  held,
  pair,
  person,
  publishedKeys,
  refresh,
  sendJson,
} from "../support/oauth.ts";
import type { ApiDocument } from "../support/openapi.ts";
import { problem } from "../support/problem.ts";
import { fill, NOWHERE } from "../support/world.ts";

type Scope = (typeof ALL_SCOPES)[number];

const resource = (list: string, id: string) =>
  [`GET ${list}`, `POST ${list}`, `GET ${list}/{${id}}`, `DELETE ${list}/{${id}}`] as const;

/** The contract's table. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
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
  "5.scope-per-endpoint",
  "every operation requires its own scope or admin, and rejects every other scope",
  {},
  async (own) => {
    const operations = own.document.api.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(
      operations.sort(),
      [...NEEDED.keys()].sort(),
      "those of the contract, no more and no less",
    );
    for (const scope of ALL_SCOPES) {
      const holder = own.api.as((await own.service.signIn({ scopes: [scope] })).access_token);
      await eachOperation(own.document, async (send, name) => {
        const [answer, needed = ""] = [await send(holder), NEEDED.get(name)];
        if (needed === "any" || needed === scope || scope === "admin")
          return passed(answer, `${name} with ${scope}`);
        problem(answer, "insufficient_scope");
        const challenge = answer.header("www-authenticate");
        assert.ok(
          challenge.includes(`error="insufficient_scope"`) &&
            challenge.includes(`scope="${needed}"`),
          challenge,
        );
      });
    }
  },
);

choice(
  "5.scope-per-endpoint",
  "every operation accepts an API key, and rejects a missing credential and a revoked token",
  {},
  async ({ api, service, document }) => {
    const { access_token, refresh_token } = await service.signIn({ scopes: ["admin"] });
    const revoked = api.as(access_token);
    assert.equal((await revoked.get("/account")).status, 200);
    await sendJson(api, "/oauth/revoke", { token: refresh_token });
    await eachOperation(document, async (send, name) => {
      problem(await send(api.as(null)), "missing_credential");
      passed(await send(api), `${name} with a key`);
      problem(await send(revoked), "invalid_credential");
    });
  },
);

choice(
  "3.account-states",
  "a limited account may only read, and every operation respects each account state",
  {},
  async (own) => {
    const { api, service } = own;
    const holder = api.as((await service.signIn({ scopes: ["admin"] })).access_token);
    await api.create("/apps", { title: "Kept" });
    for (const state of ["suspended", "limited"] as const) {
      await service.setAccountState(state);
      await eachOperation(own.document, async (send, name) => {
        for (const answer of [await send(api), await send(holder)])
          if (state === "limited" && name.startsWith("GET "))
            passed(answer, `${name} in a limited account`);
          else problem(answer, `account_${state}`);
      });
    }
    const { json } = await api.get("/apps");
    assert.deepEqual([json.total, (await api.head("/apps")).status], [1, 200]);
    assert.equal((await api.get("/account")).json.state, "limited");
  },
);

async function assertInvalid(holder: Client, cause: string): Promise<void> {
  const answer = await holder.get("/apps");
  const { detail } = problem(answer, "invalid_credential");
  assert.ok(str(detail).includes(cause), str(detail));
  assert.match(answer.header("www-authenticate"), /^Bearer .*error="invalid_token"/);
}

choice(
  "1.rfcs.access-token",
  "access tokens of another server or a lost key and refresh tokens do not open the API",
  MANUAL,
  async ({ api, service }) => {
    await withService({}, async (other) => {
      const { access_token } = await other.service.signIn({ scopes: ["admin"] });
      assert.equal((await other.api.as(access_token).get("/apps")).status, 200);
      await assertInvalid(api.as(access_token), "not signed by this service");
      await service.restore(await other.service.snapshot());
      await assertInvalid(api.as(access_token), "another use: its iss does not fit");
    });
    for (const cut of ["eyJhbGciOiJFUzI1NiJ9.e30", "eyJhbGciOiJFUzI1NiJ9.e30.AA.AA"])
      await assertInvalid(api.as(cut), "not a well-formed JWT");
    const { tokens, holder } = await held(api);
    assert.equal((await holder.get("/apps")).status, 200);
    await assertInvalid(api.as(tokens.refresh), "no known API key or access token");
    const data = await service.snapshot();
    await service.restore({ ...data, collections: { ...data.collections, signing_keys: [] } });
    await assertInvalid(holder, "not signed by this service");
    const next = pair(await refresh(api, tokens.refresh)).access;
    assert.notEqual(headerOf(next).kid, headerOf(tokens.access).kid);
    assert.equal((await api.as(next).get("/apps")).status, 200);
  },
);

/** What each scope opens, by name. */
async function openedAreas(holder: Client): Promise<string> {
  const areas: string[] = [];
  for (const [name, send] of [
    ["read", () => holder.get("/apps")],
    ["write", () => holder.post("/apps", { title: "T" })],
    ["data", () => holder.get("/data-sources")],
    ["users", () => holder.get("/users")],
    ["account", () => holder.get("/account")],
  ] as const) {
    const { status } = await send();
    if (status !== 403) areas.push(name);
    assert.ok([200, 201, 403].includes(status), name);
  }
  return areas.join(" ");
}

choice(
  "5.scope-per-endpoint",
  "each use of a token limits its scopes to those of its user",
  MANUAL,
  async ({ api }) => {
    const [some, admin] = [await held(api, "read:apps write:apps"), await held(api, "admin")];
    for (const [permissions, ofSome, ofAdmin] of [
      [["admin"], "read write account", "read write data users account"],
      [["read:apps", "read:data"], "read account", "read data account"],
      [["write:apps"], "write account", "write account"],
      [[], "account", "account"],
      [["read:apps", "write:apps"], "read write account", "read write account"],
    ] as const) {
      for (const { permit } of [some, admin]) await permit(...permissions);
      assert.equal(await openedAreas(some.holder), ofSome);
      assert.equal(await openedAreas(admin.holder), ofAdmin);
    }
  },
);

choice(
  "1.rfcs.token-algorithm",
  "one ES256 key exists before the first token, even for concurrent reads of the key set",
  {},
  async ({ api }) => {
    const seen = await Promise.all(Array.from({ length: 50 }, () => publishedKeys(api)));
    const [{ x, y, kid, ...rest } = {}, ...more] = seen[0] ?? [];
    assert.deepEqual([rest, more], [{ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" }, []]);
    for (const value of [x, y, kid]) assert.match(String(value), /^[A-Za-z0-9_-]{43}$/);
    assert.equal(new Set(seen.map((keys) => JSON.stringify(keys))).size, 1);
  },
);

choice(
  "1.rfcs.token-algorithm",
  "a setting selects RS256, and its key is created when needed",
  { tokenAlg: "RS256" },
  async (own) => {
    const { api, service } = own;
    const count = async () => (await service.snapshot()).collections.signing_keys?.length ?? 0;
    assert.equal(await count(), 0);
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    assert.equal(await count(), 1);
    assert.equal((await api.as(access_token).get("/apps")).status, 200);
    const [key = {}] = await publishedKeys(api);
    const thumbprint = createHash("sha256")
      .update(`{"e":"${key.e}","kty":"RSA","n":"${key.n}"}`)
      .digest("base64url");
    assert.equal(key.kty, "RSA");
    for (const { kid, alg } of [key, headerOf(access_token)])
      assert.deepEqual([kid, alg], [thumbprint, "RS256"]);
  },
);

choice(
  "1.rfcs.access-token",
  "GET /account names the token's user, and no user for an API key",
  MANUAL,
  async ({ api, service }) => {
    const account = { ...service.account, user: null };
    assert.deepEqual((await api.get("/account")).json, account);
    const { id, email, name } = { ...(await api.get("/users")).items[0] };
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    const owner = { ...account, user: { id, email, name } };
    assert.deepEqual((await api.as(access_token).get("/account")).json, owner);
    // One account, two users: neither sees the other's.
    const { who, holder, permit } = await held(api);
    await permit();
    const user = { id: who.id, email: who.email, name: "" };
    const first = await holder.get("/account");
    assert.deepEqual(first.json, { ...account, user });
    await permit("admin");
    await api.patch(`/users/${who.id}`, { name: "Ada" });
    const changed = await holder.get("/account", { "if-none-match": first.header("etag") });
    assert.deepEqual(changed.json.user, { ...user, name: "Ada" });
    const same = await holder.get("/account", { "if-none-match": changed.header("etag") });
    assert.equal(same.status, 304);
  },
);

choice(
  "1.rfcs.access-token",
  "signIn returns tokens that can be refreshed and revoked",
  MANUAL,
  async ({ api, service }) => {
    const tokens = await service.signIn({ scopes: ["read:apps", "read:data"] });
    assert.deepEqual([tokens.scope, tokens.expires_in], ["read:apps read:data", 3600]);
    const holder = api.as(tokens.access_token);
    assert.equal((await holder.get("/apps")).status, 200);
    const { access: token } = pair(await refresh(api, tokens.refresh_token));
    assert.equal((await sendJson(api, "/oauth/revoke", { token })).status, 200);
    await assertInvalid(holder, "revoked");
  },
);

choice(
  "1.rfcs.access-token",
  "signIn grants what the user holds, and names the scopes and users that do not exist",
  MANUAL,
  async ({ api, service }) => {
    const userId = (await person(api, ["read:apps"])).id;
    assert.equal((await service.signIn({ scopes: ["admin"], userId })).scope, "read:apps");
    const scopes = (...names: string[]) => names as Scope[];
    for (const [options, error] of [
      [{ scopes: scopes("read:data"), userId }, /holds none/],
      [{ scopes: scopes("admin"), userId: "usr_nobody" }, /no user usr_nobody/],
      [{ scopes: scopes("read:apps", "read:nothing") }, /signIn: read:nothing is not a scope; the/],
      [{ scopes: scopes() }, /signIn: scopes is empty; the scopes are read:apps,/],
      [{ scopes: scopes("read:apps,read:data") }, /is not a scope; separate scopes with spaces/],
    ] as const)
      await assert.rejects(service.signIn(options), error);
  },
);
