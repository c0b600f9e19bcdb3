// Sessions and pending sign-ins end at their time, even before retention has deleted them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApiKey } from "../../src/domain/credentials.ts";
import { findSession, openSession, startSignIn } from "../../src/domain/sessions.ts";
import { createUser } from "../../src/domain/users.ts";
import { kept, outboxWorld, START } from "../support/outbox-world.ts";

const [STATE_MS, SESSION_MS] = [5 * 60_000, 12 * 3_600_000];

test("5.sign-in: a state is valid for less than 5 minutes, and a session for less than 12 hours", async () => {
  const { clock, store, unit, account } = await outboxWorld();
  const draft = { email: "a@b.example", name: "", permissions: [] };
  const { id: userId } = kept(await unit.run((ctx) => createUser(ctx, account.id, draft)));
  const { key } = await unit.run((ctx) => createApiKey(ctx, account.id, { name: "K" }));
  const start = async () => (await startSignIn(unit, key))?.state ?? "";
  const open = (state: string) => openSession(unit, { userId, state, previousSecret: "" });
  const [early, late] = [await start(), await start()];
  const opened = START + STATE_MS - 1;
  clock.set(opened);
  const secret = (await open(early)) ?? "";
  clock.set(opened + 1);
  assert.equal(await open(late), undefined);
  assert.ok(await findSession(store, secret, opened + SESSION_MS - 1));
  assert.equal(await findSession(store, secret, opened + SESSION_MS), undefined);
});
