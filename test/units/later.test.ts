// What a start does not wait for is made when first asked for, and whole for everybody who asks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Later, once } from "../../src/kit/later.ts";

test("once: made at the first question, and the same at every other", () => {
  let made = 0;
  const thing = once(() => ({ number: ++made }));
  assert.equal(made, 0);
  assert.equal(thing(), thing());
  assert.equal(made, 1);
});

test("later: two who ask at once wait for one load, and whoever asks afterwards has it at once", async () => {
  let loads = 0;
  const later = new Later(async () => ({ number: ++loads }));
  assert.deepEqual([loads, later.loaded], [0, undefined]);
  const [one, two] = await Promise.all([later.get(), later.get()]);
  assert.equal(one, two);
  assert.equal(later.loaded, one);
  assert.equal(await later.get(), one);
  assert.equal(loads, 1);
});

test("later: a load that failed fails whoever waited for it, and is tried again", async () => {
  let loads = 0;
  const later = new Later(async () => {
    loads += 1;
    if (loads === 1) throw new Error("not there");
    return "there";
  });
  const both = await Promise.allSettled([later.get(), later.get()]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(later.loaded, undefined);
  assert.equal(await later.get(), "there");
  assert.equal(loads, 2);
});

test("later: a load that fails before it has begun is tried again, too", async () => {
  let loads = 0;
  const later = new Later(() => {
    loads += 1;
    if (loads === 1) throw new Error("not there");
    return Promise.resolve("there");
  });
  assert.throws(() => later.get(), /not there/);
  assert.equal(await later.get(), "there");
});
