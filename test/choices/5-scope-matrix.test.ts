// Spec part 5, scopes: every operation of the route table against every scope, no credential, a key, a revoked token, a
// suspended and a limited account. What is expected stands here, from the contract's table, and not in the code.
import assert from "node:assert/strict";
import { type Context, choice } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { ALL_SCOPES, sendJson } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";
import { fill, NOWHERE } from "../support/world.ts";

type Scope = (typeof ALL_SCOPES)[number];

/** The contract's table. */
const EXPECTED: { readonly [S in Scope | "any"]: readonly string[] } = {
  "read:apps": [
    "GET /apps",
    ...["", "/deployments", "/deployments/{deployment_id}"].map((end) => `GET /apps/{app_id}${end}`),
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
    ...["POST /data-sources", "DELETE /data-sources/{data_source_id}", "GET /events", "GET /events/{event_id}"],
    ...["PATCH /users/{user_id}", ...resource("/users", "user_id"), "PATCH /webhooks/{webhook_id}"],
    ...[...resource("/webhooks", "webhook_id"), "POST /webhooks/{webhook_id}/test"],
    ...["", "/{delivery_id}"].map((end) => `GET /webhooks/{webhook_id}/deliveries${end}`),
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    ...[...resource("/api-keys", "key_id"), ...resource("/oauth-clients", "client_id")],
  ],
  any: ["GET /account"],
};

function resource(list: string, id: string): string[] {
  return [`GET ${list}`, `POST ${list}`, `GET ${list}/{${id}}`, `DELETE ${list}/{${id}}`];
}

const NEEDED = new Map(
  [...ALL_SCOPES, "any" as const].flatMap((scope) => EXPECTED[scope].map((operation) => [operation, scope] as const)),
);

type Send = (client: Client) => Promise<Answer>;

/** Each operation, called with ids of things that never were and without a body: what is let through does nothing. */
const eachOperation = ({ document }: Context, run: (send: Send, name: string) => Promise<void>) =>
  Promise.all(
    document.api.map(({ method, path }) =>
      run((client) => client.send(method, fill(path, NOWHERE)), `${method} ${path}`),
    ),
  );

/** The checks of credential, standing and scope are behind this answer. */
const passed = (answer: Answer, why: string) =>
  assert.ok(![401, 403, 405].includes(answer.status), `${why}: ${answer.text}`);

function lacksScope(answer: Answer, scope: string): void {
  problem(answer, "insufficient_scope");
  const challenge = answer.header("www-authenticate");
  assert.ok(challenge.includes(`error="insufficient_scope"`) && challenge.includes(`scope="${scope}"`), challenge);
}

choice("5.scope-per-endpoint", "every operation x every scope: its own, and admin, open it", {}, async (own) => {
  const operations = own.document.api.map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(operations.sort(), [...NEEDED.keys()].sort(), "those of the contract, no more and no less");
  for (const scope of ALL_SCOPES) {
    const holder = own.api.as((await own.service.signIn({ scopes: [scope] })).access_token);
    await eachOperation(own, async (send, name) => {
      const [answer, needed = ""] = [await send(holder), NEEDED.get(name)];
      if (needed === "any" || needed === scope || scope === "admin") passed(answer, `${name} with ${scope}`);
      else lacksScope(answer, needed);
    });
  }
});

choice("5.scope-per-endpoint", "every operation x each credential and each state of the account", {}, async (own) => {
  const { api, service } = own;
  const { access_token, refresh_token } = await service.signIn({ scopes: ["admin"] });
  const [revoked, holder] = [api.as(access_token), api.as((await service.signIn({ scopes: ["admin"] })).access_token)];
  assert.equal((await revoked.get("/account")).status, 200);
  await sendJson(api, "/oauth/revoke", { token: refresh_token });
  await eachOperation(own, async (send, name) => {
    problem(await send(api.as(null)), "missing_credential");
    passed(await send(api), `${name} with a key`);
    problem(await send(revoked), "invalid_credential");
  });
  for (const [state, code] of [
    ["suspended", "account_suspended"],
    ["limited", "account_limited"],
  ] as const) {
    await service.setAccountState(state);
    await eachOperation(own, async (send, name) => {
      for (const answer of [await send(api), await send(holder)])
        if (state === "limited" && name.startsWith("GET ")) passed(answer, `${name} in a limited account`);
        else problem(answer, code);
    });
  }
});
