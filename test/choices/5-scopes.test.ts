// Scopes (spec part 5): every operation of the route table against every scope, credential and account state. Expected
// results come from the contract's table, not from the code. Covers an access token's permissions and how fast a revoke
// takes effect, including for tokens whose verified signature is cached.
// RFC 9700 2.2, 4.10.2; RFC 8725 3.1, 3.10, 3.11 (units/jwt has the rest).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Service } from "../../src/index.ts";
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
} from "../support/oauth.ts";
import type { ApiDocument } from "../support/openapi.ts";
import { problem } from "../support/problem.ts";
import { fill, NOWHERE } from "../support/world.ts";

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
  "5.scope-per-endpoint",
  "every operation accepts an API key, its own scope or admin, and rejects every other scope",
  {},
  async (own) => {
    const operations = own.document.api.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(
      operations.sort(),
      [...NEEDED.keys()].sort(),
      "those of the contract, no more and no less",
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
        assert.ok(challenge.includes(`error="insufficient_scope", scope="${needed}"`), challenge);
      });
    }
  },
);

choice(
  "3.account-states",
  "a limited account may only read, and every operation respects each account state",
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

async function assertInvalid(holder: Client, cause: string): Promise<void> {
  const answer = await holder.get("/apps");
  const { detail } = problem(answer, "invalid_credential");
  assert.ok(str(detail).includes(cause), str(detail));
}

choice(
  "1.rfcs.access-token",
  "access tokens of another server or a lost key and refresh tokens do not open the API",
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
  "5.scope-per-endpoint",
  "each use of a token limits its scopes to those of its user",
  MANUAL,
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
  "1.rfcs.token-algorithm",
  "one ES256 key exists before the first token, even for concurrent reads of the key set",
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
  "1.rfcs.token-algorithm",
  "a setting selects RS256, and its key is created when needed",
  { tokenAlg: "RS256" },
  async ({ api, service }) => {
    assert.deepEqual((await service.snapshot()).collections.signing_keys ?? [], []);
    const { access_token } = await service.signIn({ scopes: ["read:apps"] });
    (await api.as(access_token).get("/apps")).is(200);
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
  "1.rfcs.access-token",
  "GET /account names the token's user, and no user for an API key",
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
  "1.rfcs.access-token",
  "signIn grants what the user holds, and names the scopes and users that do not exist",
  MANUAL,
  async ({ api, service }) => {
    const tokens = await service.signIn({ scopes: ["read:apps", "read:data"] });
    assert.deepEqual([tokens.scope, tokens.expires_in], ["read:apps read:data", 3600]);
    const userId = (await person(api, ["read:apps"])).id;
    assert.equal((await service.signIn({ scopes: ["admin"], userId })).scope, "read:apps");
    for (const [options, error] of [
      [{ scopes: ["read:data"], userId }, /holds none/],
      [{ scopes: ["admin"], userId: "usr_nobody" }, /no user usr_nobody/],
      [{ scopes: ["read:nothing"] }, /signIn: #\/scopes\/0 must be one of/],
      [{ scopes: [] }, /signIn: #\/scopes must have/],
      [{ scopes: ["read:apps,read:data"] }, /#\/scopes\/0 must be one of/],
    ] as const)
      await assert.rejects(service.signIn(options as SignInOptions), error);
  },
);
