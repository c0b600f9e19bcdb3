// Forgetting grants, refresh tokens, sessions and sign-in links: what is over goes, to the millisecond, nothing else does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EXPIRING } from "../../src/domain/expiring.ts";
import { Expiry } from "../../src/domain/expiry.ts";
import { collections, signIns } from "../../src/domain/model.ts";
import { addRefreshToken, openGrant, openGrantWithCode } from "../../src/domain/oauth/grants.ts";
import { grants, refreshTokens, sessions } from "../../src/domain/oauth/model.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { signInWith } from "../../src/domain/sessions.ts";
import { newSignIn } from "../../src/domain/sign-in.ts";
import { addUser } from "../../src/domain/users.ts";
import { Unit } from "../../src/domain/work.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { memoryStore } from "../../src/store/memory.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

async function world() {
  const store = memoryStore();
  await store.open(collections);
  const clock = new AdjustableClock(1_767_225_600_000);
  const ids = new TimeOrderedIds(clock, systemRandom);
  const unit = new Unit({ store, clock, ids, onDue: () => {} });
  const left = async () =>
    Promise.all([
      store.count(grants, "expiry", ["grants"]),
      store.count(refreshTokens, "expiry", ["refresh_tokens"]),
      store.count(sessions, "expiry", ["sessions"]),
      store.count(signIns, "expiry", ["sign_ins"]),
    ]);
  return { store, clock, ids, unit, left };
}

test("sweep: each kind of record goes when it is over, and not a millisecond before", async () => {
  const { store, clock, ids, unit, left } = await world();
  const terms = { account_id: "acc_1", user_id: "usr_1", client_id: "cli_1", scopes: ["read:apps"] } as const;
  const token = await unit.transact(async (w) => {
    await openGrantWithCode(w, terms, { redirect_uri: "https://c.example/cb", challenge: null });
    await addRefreshToken(w, await openGrant(w, terms));
    const user = await addUser(w, "acc_1", { email: "a@example.com", name: "", permissions: [] });
    assert.ok(!(user instanceof Refusal));
    await newSignIn(w, user.id);
    return newSignIn(w, user.id);
  });
  assert.ok(typeof token === "string");
  assert.ok(await signInWith({ store, clock, ids }, token, "none"));
  const errors: unknown[] = [];
  const expiry = new Expiry({ store, clock, lists: EXPIRING, onError: (error) => errors.push(error) });
  await expiry.look();
  const at = clock.now();
  assert.deepEqual(await left(), [2, 1, 1, 1]);
  for (const [after, rest] of [
    [MINUTE - 1, [2, 1, 1, 1]],
    [MINUTE, [1, 1, 1, 1]],
    [15 * MINUTE - 1, [1, 1, 1, 1]],
    [15 * MINUTE, [1, 1, 1, 0]],
    [12 * 60 * MINUTE - 1, [1, 1, 1, 0]],
    [12 * 60 * MINUTE, [1, 1, 0, 0]],
    [30 * DAY - 1, [1, 1, 0, 0]],
    [30 * DAY, [0, 1, 0, 0]],
    [60 * DAY - 1, [0, 1, 0, 0]],
    [60 * DAY, [0, 0, 0, 0]],
  ] as const) {
    await clock.advance(at + after - clock.now());
    assert.deepEqual(await left(), rest, `after ${after} ms`);
  }
  expiry.stop();
  assert.deepEqual(errors, []);
});
