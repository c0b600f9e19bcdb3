// Store contract: subscribers are notified after the commit, and a lease has one holder at a time.
import assert from "node:assert/strict";
import type { Tx } from "../../domain/store.ts";
import { type Cases, counter, many, setCounter, shown, undone, write } from "./steps.ts";

const LONG_MS = 60_000;
const SHORT_MS = 30;

/** Returns work that publishes these subjects to the topic t. */
const telling = (subjects: readonly string[]) => async (tx: Tx) => {
  await setCounter(tx, "told", subjects.length);
  for (const subject of subjects) tx.publish("t", subject);
};

export const signals: Cases = {
  async "what is told is heard before the unit of work resolves, and what it wrote can be seen then"(
    store,
  ) {
    const seen: Promise<string>[] = [];
    store.subscribe("t", () => void seen.push(shown(store)));
    await store.transact(async (tx) => {
      tx.publish("t", "a");
      await write(tx, "a");
    });
    assert.deepEqual(await Promise.all(seen), ["ann: a"]);
  },
  async "a subject is heard once for each unit of work that was kept, by all who still hear its topic"(
    store,
  ) {
    const received: string[] = [];
    const ends = ["t", "t", "u"].map((topic, n) =>
      store.subscribe(topic, (subject) => void received.push(`${n}${subject}`)),
    );
    await undone(store, telling(["never"]));
    await store.transact(telling(["a", "a"]));
    ends[0]?.();
    for (const subject of ["b", "a"]) await store.transact(telling([subject]));
    assert.deepEqual(received, ["0a", "1a", "1b", "1a"]);
  },
  async "units of work are heard in the order in which they resolve, whatever the text of a subject"(
    store,
  ) {
    const messages: string[] = [];
    const resolved: string[] = [];
    store.subscribe("t", (subject) => void messages.push(subject));
    const next = async (tx: Tx) => {
      const n = await counter(tx, "told");
      const subject = `${n} '\\\0\ud800`.padEnd(999, "ü");
      await telling(Array.from({ length: n + 1 }, () => subject))(tx);
      return subject;
    };
    await many(50, async () => resolved.push(await store.transact(next)));
    assert.deepEqual(messages, resolved);
    assert.equal(new Set(messages).size, 50);
  },
  async "of 20 that ask for a lease at once one gets it, and once it is released the next does"(
    store,
  ) {
    const leases = (await many(20, () => store.lease("l", LONG_MS))).filter(
      (lease) => lease !== undefined,
    );
    const other = await store.lease("m", LONG_MS);
    assert.equal(await store.lease("l", LONG_MS), undefined);
    for (const lease of leases) await lease.release();
    assert.ok(other && (await store.lease("l", LONG_MS)));
    assert.deepEqual([leases.length, await store.lease("m", LONG_MS)], [1, undefined]);
  },
  async "a lease that has run out is free, and its old holder cannot end that of the next"(store) {
    const old = await store.lease("l", SHORT_MS);
    let next = await store.lease("l", LONG_MS);
    while (next === undefined) next = await store.lease("l", LONG_MS);
    await old?.release();
    assert.equal(await store.lease("l", LONG_MS), undefined);
    await next.release();
    assert.ok(await store.lease("l", LONG_MS));
    await next.release();
    assert.equal(await store.lease("l", LONG_MS), undefined);
  },
};
