// OAuth step 3 (spec part 5): refreshing, how it fails, and how long its tokens last.
// RFC 9700 2.2.2, 4.14.2; OAuth 2.1 4.3.1.
import assert from "node:assert/strict";
import { choice, MANUAL } from "../support/clauses.ts";
import { basic, held, oauthError, pair, refresh, register, sendForm, sendJson } from "../support/oauth.ts";
import { problem } from "../support/problem.ts";

const DAY_MS = 86_400_000;

choice("5.token-lifetimes.refresh", "30 days anew at each use, to the ms; 30 more it is told", MANUAL, async (own) => {
  const { api, service } = own;
  let { refresh: token } = (await held(api)).tokens;
  for (let used = 0; used < 2; used += 1) {
    await service.clock.advance(`${30 * DAY_MS - 1}ms`);
    token = pair(await refresh(api, token)).refresh;
  }
  for (const days of [30, 29]) {
    await service.clock.advance(`${days * DAY_MS}ms`);
    assert.match(oauthError(await refresh(api, token)), /has expired/);
  }
  assert.match(oauthError(await refresh(api, "ahr_never-was")), /not known/);
});

choice("5.token-response.errors", "credentials need not be sent, but must be right", MANUAL, async ({ api }) => {
  const { app, tokens } = await held(api);
  const other = await register(api);
  const { client_id, client_secret } = app;
  for (const [extra, error, says] of [
    [{ client_id, client_secret: "x" }, "invalid_client", /client credentials/],
    [{ client_secret }, "invalid_client", /./],
    [{ client_id: "cli_nobody" }, "invalid_client", /./],
    [{ ...other }, "invalid_grant", /./],
    [{ client_id: other.client_id }, "invalid_grant", /./],
  ] as const)
    assert.match(oauthError(await refresh(api, tokens.refresh, extra), error), says);
  oauthError(await refresh(api, tokens.access));
  oauthError(await sendJson(api, "/oauth/token", { grant_type: "refresh_token" }), "invalid_request");
  const second = pair(await refresh(api, tokens.refresh, { ...app }));
  const third = pair(await refresh(api, second.refresh, { client_id }));
  const form = { grant_type: "refresh_token", refresh_token: third.refresh };
  pair(await sendForm(api, "/oauth/token", form, basic(client_id, client_secret)));
});

choice("5.token-lifetimes.second-use", "50 at once: one successor, and the grant ends", MANUAL, async ({ api }) => {
  const { tokens } = await held(api);
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(api, tokens.refresh)));
  const won = answers.filter(({ status }) => status === 200);
  assert.equal(won.length, 1);
  const told = answers.filter((answer) => answer !== won[0]).map((answer) => oauthError(answer));
  assert.ok(told.some((each) => /used before/.test(each)));
  const next = pair(won[0] ?? assert.fail());
  oauthError(await refresh(api, next.refresh));
  for (const token of [tokens.access, next.access]) problem(await api.as(token).get("/apps"), "invalid_credential");
});

choice("5.token-response", "a refresh may ask for less, and hands out what the user holds", MANUAL, async ({ api }) => {
  const { who, tokens } = await held(api, "read:apps write:apps");
  for (const scope of ["admin", "read:apps read:data", "nonsense", " "])
    oauthError(await refresh(api, tokens.refresh, { scope }), "invalid_scope");
  const less = pair(await refresh(api, tokens.refresh, { scope: "read:apps" }));
  assert.equal(less.scope, "read:apps");
  problem(await api.as(less.access).post("/apps", { title: "T" }), "insufficient_scope");
  const permit = (...permissions: string[]) => api.patch(`/users/${who.id}`, { permissions });
  await permit("write:apps");
  const cut = pair(await refresh(api, less.refresh));
  assert.equal(cut.scope, "write:apps");
  await permit();
  oauthError(await refresh(api, cut.refresh));
  await permit("admin");
  assert.equal(pair(await refresh(api, cut.refresh)).scope, "read:apps write:apps");
});

choice("5.token-lifetimes.memory", "the store is rid of what nothing can come of", MANUAL, async ({ api, service }) => {
  const { tokens } = await held(api);
  await service.signIn({ scopes: ["admin"] });
  for (const [wait_ms, kept] of [
    [0, [2, 2, 1, 1]],
    [DAY_MS, [2, 2, 0, 0]],
    [29 * DAY_MS + 1, [0, 2, 0, 0]],
    [30 * DAY_MS, [0, 0, 0, 0]],
  ] as const) {
    await service.clock.advance(`${wait_ms}ms`);
    const { collections } = await service.snapshot();
    const counts = ["grants", "refresh_tokens", "sessions", "sign_ins"].map((name) => collections[name]?.length ?? 0);
    assert.deepEqual(counts, kept);
  }
  assert.match(oauthError(await refresh(api, tokens.refresh)), /not known/);
});
