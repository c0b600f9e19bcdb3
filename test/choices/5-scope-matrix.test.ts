// Spec part 5, scopes: every operation of the route table against every scope, no credential, a key, a revoked token, a
// suspended and a limited account. What is expected stands here, from the contract's table, and not in the code.
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { ALL_SCOPES, sendJson } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";
import { fill, type Ids, makeWorld, nowhere } from "../support/world.ts";

const OWN = { needs: "embedded", options: {} } as const;

type Scope = (typeof ALL_SCOPES)[number];

const EXPECTED: { readonly [S in Scope | "any"]: readonly string[] } = {
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
  "read:data": ["GET /data-sources", "GET /data-sources/{data_source_id}", "GET /data-sources/{data_source_id}/rows"],
  admin: [
    "POST /data-sources",
    "DELETE /data-sources/{data_source_id}",
    ...resource("/users", "/users/{user_id}", "PATCH"),
    ...resource("/webhooks", "/webhooks/{webhook_id}", "PATCH"),
    "POST /webhooks/{webhook_id}/test",
    "GET /webhooks/{webhook_id}/deliveries",
    "GET /webhooks/{webhook_id}/deliveries/{delivery_id}",
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    "GET /events",
    "GET /events/{event_id}",
    ...resource("/api-keys", "/api-keys/{key_id}"),
    ...resource("/oauth-clients", "/oauth-clients/{client_id}"),
  ],
  any: ["GET /account"],
};

function resource(list: string, one: string, ...more: readonly string[]): string[] {
  return [`GET ${list}`, `POST ${list}`, ...["GET", "DELETE", ...more].map((method) => `${method} ${one}`)];
}

const NEEDED = new Map(
  [...ALL_SCOPES, "any" as const].flatMap((scope) => EXPECTED[scope].map((operation) => [operation, scope] as const)),
);

/** One call of each operation, with ids of things that never were and without a body: what is let through does nothing. */
async function eachOperation({ document }: OwnContext, ids: Ids, run: (call: Call) => Promise<void>): Promise<void> {
  await Promise.all(
    document.api.map(({ method, path }) => {
      const name = `${method} ${path}`;
      const needed = NEEDED.get(name);
      assert.ok(needed, `${name} is in no row of the contract's table`);
      return run({ name, method, needed, send: (client) => client.send(method, fill(path, ids)) });
    }),
  );
}

interface Call {
  readonly name: string;
  readonly method: string;
  readonly needed: Scope | "any";
  readonly send: (client: Client) => Promise<Answer>;
}

/** The checks of credential, standing and scope are behind this answer. */
const passed = (answer: Answer, why: string) =>
  assert.ok(![401, 403, 405].includes(answer.status), `${why}: ${answer.text}`);

function lacksScope(answer: Answer, scope: string): void {
  problem(answer, 403, "insufficient_scope");
  const challenge = answer.header("www-authenticate");
  assert.ok(challenge.includes(`error="insufficient_scope"`) && challenge.includes(`scope="${scope}"`), challenge);
}

choice(
  "5.scope-per-endpoint",
  "the route table has the operations of the contract, no more and no less",
  OWN,
  async ({ document }) => {
    const operations = document.api.map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual([...operations].sort(), [...NEEDED.keys()].sort());
  },
);

choice(
  "5.scope-per-endpoint",
  "every operation x every scope: the one that it takes, and admin, open it",
  OWN,
  async (own) => {
    const ids = nowhere(await makeWorld(own.api));
    for (const scope of ALL_SCOPES) {
      const holder = own.api.as((await own.service.signIn({ scopes: [scope] })).access_token);
      await eachOperation(own, ids, async ({ name, needed, send }) => {
        const answer = await send(holder);
        if (needed === "any" || needed === scope || scope === "admin") passed(answer, `${name} with ${scope}`);
        else lacksScope(answer, needed);
      });
    }
  },
);

choice(
  "5.scope-per-endpoint",
  "every operation: 401 without a credential, open to a key, 401 with a revoked token",
  OWN,
  async (own) => {
    const ids = nowhere(await makeWorld(own.api));
    const { access_token, refresh_token } = await own.service.signIn({ scopes: ["admin"] });
    assert.equal((await own.api.as(access_token).get("/account")).status, 200);
    await sendJson(own.api, "/oauth/revoke", { token: refresh_token });
    await eachOperation(own, ids, async ({ name, send }) => {
      problem(await send(own.api.as(null)), 401, "missing_credential");
      passed(await send(own.api), `${name} with a key`);
      problem(await send(own.api.as(access_token)), 401, "invalid_credential");
    });
  },
);

choice(
  "5.scope-per-endpoint",
  "every operation: nothing is open in a suspended account, only reads in a limited one",
  OWN,
  async (own) => {
    const ids = nowhere(await makeWorld(own.api));
    const holder = own.api.as((await own.service.signIn({ scopes: ["admin"] })).access_token);
    await own.service.setAccountState("suspended");
    await eachOperation(own, ids, async ({ send }) => {
      for (const client of [own.api, holder]) problem(await send(client), 403, "account_suspended");
    });
    await own.service.setAccountState("limited");
    await eachOperation(own, ids, async ({ name, method, send }) => {
      for (const client of [own.api, holder]) {
        const answer = await send(client);
        if (method === "GET") passed(answer, `${name} in a limited account`);
        else problem(answer, 403, "account_limited");
      }
    });
  },
);
