// Spec part 5, OAuth step 3: refreshing, and the three causes for which the spec lets it fail.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { oauthError, pair, person, refresh, register, sendForm, sendJson, tokensFor } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const OWN = { clock: "manual" } as const;
const DAY_MS = 86_400_000;

async function scene(api: Client, scope = "read:apps") {
  const [app, who] = [await register(api), await person(api)];
  return { app, who, tokens: await tokensFor(api, who, app, scope) };
}

choice("5.token-lifetimes.refresh", "30 days, to the millisecond, anew at each use", OWN, async ({ api, service }) => {
  const { tokens } = await scene(api);
  await service.clock.advance(`${30 * DAY_MS - 1}ms`);
  const next = pair(await refresh(api, tokens.refresh));
  await service.clock.advance(`${30 * DAY_MS - 1}ms`);
  const last = pair(await refresh(api, next.refresh));
  await service.clock.advance(`${30 * DAY_MS}ms`);
  oauthError(await refresh(api, last.refresh), 400, "invalid_grant");
});

choice(
  "5.token-lifetimes.refresh-memory",
  "an expired token is told so for 30 days more",
  OWN,
  async ({ api, service }) => {
    const { tokens } = await scene(api);
    await service.clock.advance(`${59 * DAY_MS}ms`);
    assert.match(oauthError(await refresh(api, tokens.refresh), 400, "invalid_grant"), /has expired/);
    assert.match(oauthError(await refresh(api, "ahr_never-was"), 400, "invalid_grant"), /not known/);
  },
);

choice("5.token-response.refresh-token", "starts with ahr_ and holds 256 random bits", OWN, async ({ api }) => {
  const { tokens } = await scene(api);
  assert.match(tokens.refresh, /^ahr_[A-Za-z0-9_-]{43}$/);
  oauthError(await refresh(api, tokens.access), 400, "invalid_grant");
});

choice(
  "5.token-response.errors",
  "client credentials need not be sent, but what is sent must be right",
  OWN,
  async ({ api }) => {
    const { app, tokens } = await scene(api);
    const other = await register(api);
    for (const [extra, status, error, says] of [
      [{ client_id: app.client_id, client_secret: "x" }, 401, "invalid_client", /client credentials/],
      [{ client_secret: app.client_secret }, 401, "invalid_client", /./],
      [{ client_id: "cli_nobody" }, 401, "invalid_client", /./],
      [{ ...other }, 400, "invalid_grant", /./],
      [{ client_id: other.client_id }, 400, "invalid_grant", /./],
    ] as const)
      assert.match(oauthError(await refresh(api, tokens.refresh, extra), status, error), says);
    const second = pair(await refresh(api, tokens.refresh, { ...app }));
    const third = pair(await refresh(api, second.refresh, { client_id: app.client_id }));
    const form = { grant_type: "refresh_token", refresh_token: third.refresh };
    const authorization = `Basic ${Buffer.from(`${app.client_id}:${app.client_secret}`).toString("base64")}`;
    pair(await sendForm(api, "/oauth/token", form, { authorization }));
  },
);

choice("5.token-response.errors", "a missing refresh_token is invalid_request", OWN, async ({ api }) => {
  oauthError(await sendJson(api, "/oauth/token", { grant_type: "refresh_token" }), 400, "invalid_request");
});

choice(
  "5.token-lifetimes.second-use",
  "a refresh token used again revokes the grant and its successor",
  OWN,
  async ({ api }) => {
    const { tokens } = await scene(api);
    const next = pair(await refresh(api, tokens.refresh));
    assert.match(oauthError(await refresh(api, tokens.refresh), 400, "invalid_grant"), /used before/);
    oauthError(await refresh(api, next.refresh), 400, "invalid_grant");
    for (const token of [tokens.access, next.access]) problem(await api.as(token).get("/apps"), "invalid_credential");
  },
);

choice(
  "5.token-lifetimes.second-use",
  "50 refreshes at once: one successor, invalid_grant for the rest, and the grant ends",
  OWN,
  async ({ api }) => {
    const { tokens } = await scene(api);
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(api, tokens.refresh)));
    const won = answers.filter(({ status }) => status === 200);
    assert.equal(won.length, 1);
    for (const answer of answers) if (answer !== won[0]) oauthError(answer, 400, "invalid_grant");
    for (const answer of won) oauthError(await refresh(api, pair(answer).refresh), 400, "invalid_grant");
  },
);

choice(
  "5.token-response",
  "a refresh may ask for less, not for more; the grant keeps its scopes",
  OWN,
  async ({ api }) => {
    const { tokens } = await scene(api, "read:apps write:apps");
    for (const scope of ["admin", "read:apps read:data", "nonsense", " "])
      oauthError(await refresh(api, tokens.refresh, { scope }), 400, "invalid_scope");
    const less = pair(await refresh(api, tokens.refresh, { scope: "read:apps" }));
    assert.equal(less.scope, "read:apps");
    problem(await api.as(less.access).post("/apps", { title: "T" }), "insufficient_scope");
    assert.equal(pair(await refresh(api, less.refresh)).scope, "read:apps write:apps");
  },
);

choice("5.token-response", "a refresh hands out what the user still holds", OWN, async ({ api }) => {
  const { who, tokens } = await scene(api, "read:apps write:apps");
  await api.patch(`/users/${who.id}`, { permissions: ["write:apps"] });
  const cut = pair(await refresh(api, tokens.refresh));
  assert.equal(cut.scope, "write:apps");
  await api.patch(`/users/${who.id}`, { permissions: [] });
  oauthError(await refresh(api, cut.refresh), 400, "invalid_grant");
  await api.patch(`/users/${who.id}`, { permissions: ["admin"] });
  assert.equal(pair(await refresh(api, cut.refresh)).scope, "read:apps write:apps");
});

choice(
  "1.rfcs.revocation",
  "a deleted user's, deleted client's or suspended account's token is invalid_grant",
  OWN,
  async (own) => {
    const { api, service } = own;
    const [first, second, third] = [await scene(api), await scene(api), await scene(api)];
    await api.delete(`/users/${first.who.id}`);
    assert.match(oauthError(await refresh(api, first.tokens.refresh), 400, "invalid_grant"), /user was deleted/);
    await api.delete(`/oauth-clients/${second.app.client_id}`);
    assert.match(
      oauthError(await refresh(api, second.tokens.refresh), 400, "invalid_grant"),
      /application was deleted/,
    );
    await service.setAccountState("suspended");
    assert.match(oauthError(await refresh(api, third.tokens.refresh), 400, "invalid_grant"), /suspended/);
    await service.setAccountState("active");
    pair(await refresh(api, third.tokens.refresh));
  },
);

choice(
  "5.token-lifetimes.refresh-memory",
  "when nothing can come of them any more, the store is rid of them",
  OWN,
  async (own) => {
    const { tokens } = await scene(own.api);
    await own.service.signIn({ scopes: ["admin"] });
    const kept = async () => {
      const { collections } = await own.service.store.snapshot();
      return ["grants", "refresh_tokens", "sessions", "sign_ins"].map((name) => collections[name]?.length ?? 0);
    };
    assert.deepEqual(await kept(), [2, 2, 1, 1]);
    await own.service.clock.advance(`${DAY_MS}ms`);
    assert.deepEqual(await kept(), [2, 2, 0, 0]);
    await own.service.clock.advance(`${29 * DAY_MS + 1}ms`);
    assert.deepEqual(await kept(), [0, 2, 0, 0]);
    await own.service.clock.advance(`${30 * DAY_MS}ms`);
    assert.deepEqual(await kept(), [0, 0, 0, 0]);
    assert.match(oauthError(await refresh(own.api, tokens.refresh), 400, "invalid_grant"), /not known/);
  },
);
