// What is over its time goes by the clock, and not before; a sweep that fails is tried again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { idempotency, signInTokens } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { requestSignInLinks, userService as users } from "../../src/domain/users.ts";
import { toIso } from "../../src/lib/clock.ts";
import { kept, outboxWorld, START } from "../support/outbox-world.ts";

async function world(...expiries_ms: readonly number[]) {
  const { clock, store, forgetting, errors } = await outboxWorld();
  const answer = {
    fingerprint: "",
    status: 201,
    headers: {},
    body: "",
    partition: "idempotency",
  } as const;
  const add = (id: string, after_ms: number) =>
    store.transact((tx) =>
      tx.put(idempotency, { ...answer, id, expires_at: toIso(START + after_ms) }),
    );
  for (const [at, after_ms] of expiries_ms.entries()) await add(`id-${at}`, after_ms);
  await forgetting.runExpiry();
  const left = () => store.count(idempotency, "expiry", ["idempotency"]);
  return { clock, store, forgetting, add, left, errors };
}

test("more than one sweep takes at once go in one moment", async () => {
  const { clock, left } = await world(...Array<number>(1_201).fill(1_000));
  await clock.advance(1_000);
  assert.equal(await left(), 0);
});

test("a list that was empty is looked at again, which is not told as something that ran", async () => {
  const { clock, add, left } = await world();
  await add("late", 10);
  assert.deepEqual(await clock.advance(3_600_000), []);
  assert.equal(await left(), 0);
});

test("a store that fails is reported, and the sweep is tried again later", async (t) => {
  const { clock, store, errors, left } = await world(1_000);
  t.mock.method(store, "transact", () => Promise.reject(new Error("full")), { times: 1 });
  await clock.advance(1_000);
  assert.equal(errors.length, 1);
  await clock.advance(3_600_000);
  assert.equal(await left(), 0);
});

test("what is over goes when its time has come, whichever list it is in", async () => {
  const { clock, store, forgetting, left } = await world(5_000);
  const link = {
    id: "link",
    user_id: "usr_1",
    expires_at: toIso(START + 2_000),
    partition: "sign_ins",
  } as const;
  await store.transact((tx) => tx.put(signInTokens, link));
  await forgetting.runExpiry();
  assert.deepEqual(await clock.advance(1_999), []);
  assert.ok(await store.get(signInTokens, "link"), "not a millisecond before its time");
  assert.deepEqual(await clock.advance(1), [
    { at: "2026-01-01T00:00:02.000Z", what: "expiry of sign-in links" },
  ]);
  assert.equal(await store.get(signInTokens, "link"), undefined);
  assert.equal(await left(), 1);
  await clock.advance(3_000);
  assert.equal(await left(), 0);
});

test("what goes at the very time of a look is told of, too", async () => {
  const { clock } = await world(7_200_000);
  assert.deepEqual(await clock.advance(7_200_000), [
    { at: "2026-01-01T02:00:00.000Z", what: "expiry of kept answers" },
  ]);
});

test("a record that is given more time while a sweep runs stays", async (t) => {
  const { clock, store, add, left } = await world(1_000, 1_000);
  // The renewal is committed between the sweep's look and its removal.
  const renewing: Store["transact"] = (work) =>
    add("id-0", 60_000).then(() => store.transact(work));
  t.mock.method(store, "transact", renewing, { times: 1 });
  await clock.advance(1_000);
  assert.equal(await left(), 1);
  await clock.advance(59_000);
  assert.equal(await left(), 0);
});

test("after the stop no timer is left", async () => {
  const { clock, forgetting } = await world(1_000);
  forgetting.stop();
  assert.deepEqual(await clock.advance(10_000_000), []);
});

test("5.sign-in-link.waiting: five may wait; those that are over make room for others before they are forgotten", async () => {
  const { clock, unit, account } = await outboxWorld();
  const draft = { email: "a@b.example", name: "", permissions: [] };
  const { email } = kept(await users.create(unit, account, draft)); // with a first link
  const made = async () => kept(await unit.run((w) => requestSignInLinks(w, email))).length;
  for (const expected of [1, 1, 1, 1, 0]) assert.equal(await made(), expected);
  clock.set(START + 15 * 60_000);
  for (const expected of [1, 1, 1, 1, 1, 0]) assert.equal(await made(), expected);
});
