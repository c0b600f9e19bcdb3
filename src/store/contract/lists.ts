// Store contract: lists in creation order or in the text order of a field, paged by offset; counts and groups.
import assert from "node:assert/strict";
import { ALL, type Case, idsOf, item, items, put, remove } from "./fixture.ts";

const named = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => item(`item ${from + at}`));

/** Enough that no store keeps them in one block. */
const MANY = 5000;

export const lists: readonly Case[] = [
  {
    title: "pages at any offset of 5,000 records follow creation order, to the last and not beyond",
    async run(store) {
      await put(store, ...named(0, MANY));
      const expected = named(0, MANY).map(({ id }) => id);
      for (const offset of [0, 1, 511, 512, 1023, 1024, 1025, 2047, 2048, 4990, MANY - 1, MANY, MANY + 1]) {
        assert.deepEqual(await idsOf(store, "ann", { offset, limit: 20 }), expected.slice(offset, offset + 20));
      }
      assert.deepEqual(await idsOf(store, "ann", { offset: 1000, limit: 3000 }), expected.slice(1000, 4000));
      assert.deepEqual(await idsOf(store, "ann", { offset: 0, limit: 0 }), []);
      assert.equal(await store.count(items, "owner", ["ann"]), MANY);
    },
  },
  {
    title: "after removals here and there and of long runs the pages close up",
    async run(store) {
      await put(store, ...named(0, MANY));
      const gone = new Set(
        named(0, MANY)
          .filter((_, at) => at % 3 === 0 || (at > 900 && at < 2200))
          .map(({ id }) => id),
      );
      await remove(store, ...gone);
      const left = named(0, MANY).filter(({ id }) => !gone.has(id));
      await put(store, item("last"));
      const expected = [...left.map(({ id }) => id), "last"];
      assert.deepEqual(await idsOf(store), expected);
      for (let offset = 0; offset < expected.length; offset += 333)
        assert.deepEqual(await idsOf(store, "ann", { offset, limit: 7 }), expected.slice(offset, offset + 7));
      assert.equal(await store.count(items, "owner", ["ann"]), expected.length);
    },
  },
  {
    title: "a replaced record keeps its place, also in a list it moves to",
    async run(store) {
      await put(store, item("a"), item("b", { owner: "bob" }), item("c"), item("d", { owner: "bob" }));
      await put(store, item("a", { text: "new" }));
      assert.deepEqual(await idsOf(store), ["a", "c"]);
      await put(store, item("c", { owner: "bob" }));
      assert.deepEqual(await idsOf(store, "bob"), ["b", "c", "d"]);
      assert.deepEqual(await idsOf(store), ["a"]);
    },
  },
  {
    title: "the record that a list shows is the newest",
    async run(store) {
      await put(store, item("a", { rank: "1" }), item("b", { rank: "2" }));
      await put(store, item("a", { rank: "1", text: "new" }));
      const texts = (await store.page(items, "ranked", ["ann"], ALL)).map(({ text }) => text);
      assert.deepEqual(texts, ["new", ""]);
    },
  },
  {
    title: "null in a field leaves the record out of the list, and no values of null find it",
    async run(store) {
      await put(store, item("a", { owner: null, colour: "red" }), item("b"));
      assert.deepEqual(await idsOf(store), ["b"]);
      assert.equal(await store.count(items, "owner", [null]), 0);
      assert.deepEqual(await store.page(items, "owner_colour", ["ann", null], ALL), []);
    },
  },
  {
    title: "a list with an order field follows its text and then creation, without those that have none",
    async run(store) {
      await put(store, item("a", { rank: "2" }), item("b", { rank: "10" }), item("c"), item("d", { rank: "2" }));
      const ranked = async () => (await store.page(items, "ranked", ["ann"], ALL)).map(({ id }) => id);
      assert.deepEqual(await ranked(), ["b", "a", "d"]);
      await put(store, item("a", { rank: "3" }), item("c", { rank: "2" }));
      assert.deepEqual(await ranked(), ["b", "c", "d", "a"]);
      await put(store, item("d"));
      assert.deepEqual(await ranked(), ["b", "c", "a"]);
    },
  },
  {
    title: "values of different kinds and of several fields are not mixed up",
    async run(store) {
      await put(store, item("a", { bright: true }), item("b", { owner: "true", colour: "x" }));
      await put(store, item("c", { owner: "x", colour: "y,z" }), item("d", { owner: "x,y", colour: "z" }));
      const bright = await store.page(items, "bright", [true], ALL);
      assert.deepEqual(
        bright.map(({ id }) => id),
        ["a"],
      );
      assert.equal(await store.count(items, "bright", ["true"]), 0);
      assert.equal(await store.count(items, "owner_colour", ["x", "y,z"]), 1);
    },
  },
];
