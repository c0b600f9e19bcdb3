// Store contract: a lease has one holder at a time, until it runs out or is released.
import assert from "node:assert/strict";
import type { Case } from "./fixture.ts";

const LONG_MS = 60_000;

export const leases: readonly Case[] = [
  {
    title: "a lease that nobody holds is taken; while it is held it is refused; another one is not touched",
    async run(store) {
      assert.ok(await store.lease("l", LONG_MS));
      assert.equal(await store.lease("l", LONG_MS), undefined);
      assert.ok(await store.lease("m", LONG_MS));
    },
  },
  {
    title: "a released lease is free at once; to release it again ends nobody else's",
    async run(store) {
      const lease = await store.lease("l", LONG_MS);
      await lease?.release();
      assert.ok(await store.lease("l", LONG_MS));
      await lease?.release();
      assert.equal(await store.lease("l", LONG_MS), undefined);
    },
  },
  {
    title: "of 20 that ask at once one gets it",
    async run(store) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => store.lease("l", LONG_MS)));
      assert.equal(answers.filter(Boolean).length, 1);
    },
  },
];
