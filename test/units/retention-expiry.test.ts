// Expiry: records are deleted when their time is up by the clock, not before; a failed sweep is retried.
import assert from "node:assert/strict";
import { test } from "node:test";
import { idempotency, signInStates } from "../../src/domain/model.ts";
import type { Store } from "../../src/domain/store.ts";
import { toIso } from "../../src/lib/clock.ts";
import { outboxWorld, START } from "../support/outbox-world.ts";

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

test("more records than one sweep deletes expire at the same clock time", async () => {
  const { clock, left } = await world(...Array<number>(1_201).fill(1_000));
  await clock.advance(1_000);
  assert.equal(await left(), 0);
});

test("an empty list is checked again without a report of a run", async () => {
  const { clock, add, left } = await world();
  await add("late", 10);
  assert.deepEqual(await clock.advance(3_600_000), []);
  assert.equal(await left(), 0);
});

test("a store failure is reported and the sweep is retried later", async (t) => {
  const { clock, store, errors, left } = await world(1_000);
  t.mock.method(store, "transact", () => Promise.reject(new Error("full")), { times: 1 });
  await clock.advance(1_000);
  assert.equal(errors.length, 1);
  await clock.advance(3_600_000);
  assert.equal(await left(), 0);
});

test("an expired record is deleted at its exact time, in every table", async () => {
  const { clock, store, forgetting, left } = await world(5_000);
  const link = {
    id: "link",
    key_id: "key_1",
    expires_at: toIso(START + 2_000),
    partition: "sign_in_states",
  } as const;
  await store.transact((tx) => tx.put(signInStates, link));
  await forgetting.runExpiry();
  assert.deepEqual(await clock.advance(1_999), []);
  assert.ok(await store.get(signInStates, "link"), "not a millisecond before its time");
  assert.deepEqual(await clock.advance(1), [
    { at: "2026-01-01T00:00:02.000Z", what: "expiry of pending sign-ins" },
  ]);
  assert.equal(await store.get(signInStates, "link"), undefined);
  assert.equal(await left(), 1);
  await clock.advance(3_000);
  assert.equal(await left(), 0);
});

test("a record that expires at the time of a regular check is reported", async () => {
  const { clock } = await world(7_200_000);
  assert.deepEqual(await clock.advance(7_200_000), [
    { at: "2026-01-01T02:00:00.000Z", what: "expiry of kept answers" },
  ]);
});

test("a record renewed during a sweep is kept", async (t) => {
  const { clock, store, add, left } = await world(1_000, 1_000);
  // The renewal commits between the sweep's read and its delete.
  const renewing: Store["transact"] = (work) =>
    add("id-0", 60_000).then(() => store.transact(work));
  t.mock.method(store, "transact", renewing, { times: 1 });
  await clock.advance(1_000);
  assert.equal(await left(), 1);
  await clock.advance(59_000);
  assert.equal(await left(), 0);
});

test("no timer remains after a stop", async () => {
  const { clock, forgetting } = await world(1_000);
  forgetting.stop();
  assert.deepEqual(await clock.advance(10_000_000), []);
});
