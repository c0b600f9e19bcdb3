// What a site shows of a data source (web/sites/shelf): made once for each state of the data.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../../src/domain/access.ts";
import { collections } from "../../src/domain/collections.ts";
import { createDataSource, getDataSource, processDataSource } from "../../src/domain/data-sources.ts";
import { accounts } from "../../src/domain/model.ts";
import { Refusal } from "../../src/domain/refusal.ts";
import { Unit } from "../../src/domain/work.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { shelfOf } from "../../src/web/sites/shelf.ts";

const account = { id: "acc_1", name: "Account", state: "active", all: "accounts" } as const;
const caller: Caller = { account, scopes: new Set(), credential: "site" };

test("shelf: made once for each state of the data", async () => {
  const clock = new AdjustableClock();
  const store = memoryStore();
  const unit = new Unit({ store, clock, ids: new TimeOrderedIds(clock, systemRandom) });
  await store.open(collections);
  await store.transact((tx) => tx.put(accounts, account));
  const data = [{ town: "Bath", people: 3, area: 2 }];
  const made = await createDataSource(unit, caller, { name: "Towns", type: "json", app_id: null, data });
  assert.ok(!(made instanceof Refusal));
  const sourceNow = async () => {
    const source = await getDataSource(store, caller, made.id);
    assert.ok(!(source instanceof Refusal));
    return source;
  };
  assert.equal((await shelfOf(store, caller, await sourceNow())).chart, undefined, "its rows are not known yet");
  await processDataSource(unit, made.id);
  const source = await sourceNow();
  let turns = 0;
  const count = () => {
    turns += 1;
    turn = setImmediate(count);
  };
  let turn = setImmediate(count);
  const shelves = ["", "area", ""].map((wanted) => shelfOf(store, caller, source, wanted));
  const [after, chosen, again] = await Promise.all(shelves);
  clearImmediate(turn);
  assert.ok(turns >= 2, "others have their turn between two");
  assert.equal(again, after, "not twice for two who come at once");
  assert.equal(after?.chart?.points.length, 1);
  assert.equal(await shelfOf(store, caller, await sourceNow()), after, "the rows are not drawn again");
  assert.deepEqual([after?.chart?.y.name, chosen?.chart?.y.name], ["people", "area"]);
  assert.equal(await shelfOf(store, caller, await sourceNow(), "area"), chosen, "nor those of another column");
  assert.equal(await shelfOf(store, caller, await sourceNow(), "town"), after, "what is no number is no choice");
});
