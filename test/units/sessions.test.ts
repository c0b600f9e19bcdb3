// Sessions and pending sign-ins end at their time, even before retention has deleted them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiKey } from "../../src/domain/credentials.ts";
import { findSession, openSession, startSignIn } from "../../src/domain/sessions.ts";
import { createUser } from "../../src/domain/users.ts";
import { kept, outboxWorld, START } from "../support/outbox-world.ts";

const [STATE_MS, SESSION_MS] = [5 * 60_000, 12 * 3_600_000];

async function signedOut() {
  const { clock, store, unit, account } = await outboxWorld();
  const draft = { email: "a@b.example", name: "", permissions: [] };
  const user = kept(await unit.run((ctx) => createUser(ctx, account.id, draft)));
  const key = await unit.run((ctx) => createApiKey(ctx, account.id, { name: "K" }));
  const begin = async () => (await startSignIn(unit, key.key))?.state ?? "";
  const open = (state: string | null) =>
    openSession(unit, { userId: user.id, state, previousSecret: "" });
  return { clock, store, begin, open };
}

test("5.sign-in.state: a state is valid for less than 5 minutes", async () => {
  const { clock, begin, open } = await signedOut();
  const [early, late] = [await begin(), await begin()];
  clock.set(START + STATE_MS - 1);
  assert.ok(await open(early));
  clock.set(START + STATE_MS);
  assert.equal(await open(late), undefined);
});

test("5.sign-in.session: a session is valid for less than 12 hours", async () => {
  const { store, open } = await signedOut();
  const secret = (await open(null)) ?? "";
  assert.ok(await findSession(store, secret, START + SESSION_MS - 1));
  assert.equal(await findSession(store, secret, START + SESSION_MS), undefined);
});
