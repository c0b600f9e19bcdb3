// Store contract: a lease has one holder at a time, until its instant or its release.
import assert from "node:assert/strict";
import type { Case } from "./fixture.ts";

export const leases: readonly Case[] = [
  {
    title: "a lease that nobody holds is taken; while it is held it is refused; at its end it is free",
    async run(store) {
      assert.equal(await store.lease("l", 1000, 2000), true);
      assert.equal(await store.lease("l", 1000, 3000), false);
      assert.equal(await store.lease("l", 1999, 3000), false);
      assert.equal(await store.lease("l", 2000, 3000), true);
      assert.equal(await store.lease("l", 2999, 4000), false);
    },
  },
  {
    title: "a released lease is free at once; another one is not touched",
    async run(store) {
      await store.lease("l", 1000, 2000);
      await store.lease("m", 1000, 2000);
      await store.release("l");
      assert.equal(await store.lease("l", 1001, 2000), true);
      assert.equal(await store.lease("m", 1001, 2000), false);
      await store.release("nobody's");
    },
  },
  {
    title: "of 20 that ask at once one gets it",
    async run(store) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => store.lease("l", 1000, 2000)));
      assert.equal(answers.filter(Boolean).length, 1);
    },
  },
];
