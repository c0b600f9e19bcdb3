// Store contract: pages, snapshot and restore, and every value is read back unchanged.
import assert from "node:assert/strict";
import { ALL_RECORDS, type Reader, type StoreData, type Tx } from "../../../src/domain/store.ts";
import { seededRandom } from "../../../src/lib/ids.ts";
import {
  type Cases,
  type Item,
  item,
  items,
  many,
  shown,
  undone,
  write,
  written,
} from "./steps.ts";

const TRICKY =
  '__proto__ constructor \u2028\u2029 \0 \ud800 \udc00x \u{1F600} "\\\n\r\t \ufeff '.split(" ");

const only = (...records: readonly Item[]): StoreData => ({
  format: 2,
  collections: { items: records, counters: [] },
});

const byRank = (one: Item, other: Item) =>
  one.level - other.level || (one.rank ?? "").localeCompare(other.rank ?? "");

export const data: Cases = {
  async "random writes give the same pages as a plain list, whether committed or rolled back"(
    store,
  ) {
    const random = seededRandom("items");
    const pick = (below: number) => random(2).readUInt16BE() % below;
    /** The records in creation order. */
    let expected = new Map<string, Item>();
    const compare = async (from: Reader, records: ReadonlyMap<string, Item>) => {
      const owner = `${pick(4)}`;
      const owned = [...records.values()].filter((record) => record.owner === owner);
      const range = { offset: pick(owned.length + 2), limit: 25 };
      const slice = (all: readonly Item[]) => all.slice(range.offset, range.offset + range.limit);
      assert.deepEqual(await from.page(items, "owner", [owner], range), slice(owned));
      assert.deepEqual(await from.page(items, "all", [], range), slice([...records.values()]));
      const ranked = await from.page(items, "ranked", [owner], range);
      assert.deepEqual(ranked, slice(owned.toSorted(byRank)));
      assert.equal(await from.count(items, "ranked", [owner]), owned.length);
    };
    for (let unit = 0; unit < 100; unit += 1) {
      const changed = new Map(expected);
      const work = async (tx: Tx) => {
        for (let n = 0; n < 20; n += 1) {
          const fields = { owner: `${pick(4)}`, level: pick(12), rank: `${pick(12)}` };
          const record = item(`${pick(300)}`, fields);
          const isRemoval = pick(4) === 0;
          if (isRemoval) changed.delete(record.id);
          else changed.set(record.id, record);
          await (isRemoval ? tx.remove(items, record.id) : tx.put(items, record));
        }
        await compare(tx, changed);
      };
      const isUndone = unit % 3 === 1;
      await (isUndone ? undone(store, work) : store.transact(work));
      if (!isUndone) expected = changed;
      await compare(store, expected);
    }
    assert.deepEqual(await store.snapshot(), only(...expected.values()));
  },
  async "a snapshot has all records in creation order and does not change with later writes"(
    store,
  ) {
    await written(store, "b c a", "b:text=new -c");
    const snapshot = await store.snapshot();
    await written(store, "a:text=new d");
    assert.deepEqual(snapshot, only(item("b", { text: "new" }), item("a")));
  },
  async "changing a snapshot or the data of a restore does not change the store"(store) {
    const data = only(item("a"));
    await store.restore(data);
    for (const { collections } of [data, await store.snapshot()])
      for (const record of collections.items ?? []) Object.assign(record, { text: "changed" });
    assert.equal(await shown(store), "ann: a");
  },
  async "a restore is serialized with concurrent units of work"(store) {
    await written(store, "old");
    const add = (n: number) =>
      store.transact(async (tx) =>
        write(tx, `${n}:text=${(await tx.get(items, "old")) ? "before" : "after"}`),
      );
    await many(40, (n) => (n === 20 ? store.restore(only(item("new"))) : add(n)));
    await add(40);
    assert.match(await shown(store), /^ann: new( \d+\(after\))* 40\(after\)$/);
  },
  async "every string is returned unchanged as a value, an id and a key"(store) {
    const make = (text: string) =>
      item(text, { text, owner: text, slot: text, rank: text, colour: text });
    const look = async (text: string) => {
      const record = make(text);
      assert.deepEqual(
        [await store.get(items, text), await store.find(items, "slot", [text, text])],
        [record, record],
      );
      assert.deepEqual(await store.page(items, "owner_colour", [text, text], ALL_RECORDS), [
        record,
      ]);
      assert.deepEqual(await store.page(items, "ranked", [text], ALL_RECORDS), [record]);
    };
    await written(store, TRICKY.map(make));
    for (const text of TRICKY) await look(text);
    await store.restore(JSON.parse(JSON.stringify(await store.snapshot())));
    for (const text of TRICKY) await look(text);
  },
  async "members keep their order, and __proto__ is an ordinary member"(store) {
    const text =
      '{"z":1,"id":"p","__proto__":{"slot":"s"},"owner":"ann","constructor":null,"a":[{"c":1,"b":"\\u0000"}]}';
    const look = async () => [
      JSON.stringify(await store.get(items, "p")),
      await store.find(items, "slot", ["ann", "s"]),
    ];
    await written(store, [JSON.parse(text)]);
    assert.deepEqual(await look(), [text, undefined]);
    const snapshot = await store.snapshot();
    assert.equal(JSON.stringify(snapshot.collections.items), `[${text}]`);
    await store.restore(snapshot);
    assert.deepEqual(await look(), [text, undefined]);
  },
};
