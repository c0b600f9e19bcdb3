// Store contract: long lists, snapshot and restore, and every value is read back unchanged.
import assert from "node:assert/strict";
import { ALL_RECORDS, type Store, type StoreData } from "../../../src/domain/store.ts";
import { type Cases, type Item, item, items, many, shown, write, written } from "./steps.ts";

const TRICKY =
  '__proto__ constructor \u2028\u2029 \0 \ud800 \udc00x \u{1F600} "\\\n\r\t \ufeff '.split(" ");

/** Enough records that no store keeps them in one block. */
const MANY = Array.from({ length: 2_000 }, (_, n) => item(`${n}`));

const only = (...records: readonly Item[]): StoreData => ({
  format: 2,
  collections: { items: records, counters: [] },
});

async function pagesShow(store: Store, expected: readonly Item[]): Promise<void> {
  for (const offset of [0, 1, 511, 1024, 1_500, expected.length - 5, expected.length + 1])
    for (const limit of [0, 7, 1_000])
      assert.deepEqual(
        await store.page(items, "owner", ["ann"], { offset, limit }),
        expected.slice(offset, offset + limit),
      );
}

export const data: Cases = {
  async "pages at any offset of 2,000 records follow creation order, also after removals"(store) {
    await written(store, MANY);
    await pagesShow(store, MANY);
    const gone = MANY.filter((_, n) => n % 3 === 0);
    await written(store, gone.map(({ id }) => `-${id}`).join(" "), "last");
    await pagesShow(store, [...MANY.filter((each) => !gone.includes(each)), item("last")]);
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
