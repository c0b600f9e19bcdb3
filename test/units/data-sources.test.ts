// domain/data-sources over the memory store: what is kept, what the processing makes of it, and that it does so once.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../../src/domain/access.ts";
import {
  createDataSource,
  type DataSourceDraft,
  getDataSource,
  processDataSource,
  removeDataSource,
  rowsPage,
  unprocessed,
} from "../../src/domain/data-sources.ts";
import {
  accounts,
  apps,
  dataContents,
  dataSources,
  deliveries,
  events,
  TOPIC,
  webhooks,
} from "../../src/domain/model.ts";
import { Unit } from "../../src/domain/work.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { kept } from "../support/outbox-world.ts";

const START = Date.UTC(2026, 0, 1);
const SPAN = { offset: 0, limit: 20 };
const ACCOUNT = { id: "acc_1", name: "Account acc_1", state: "active", all: "accounts" } as const;
const CALLER: Caller = { account: ACCOUNT, scopes: new Set(["admin"]), credential: "key_1" };

async function setUp() {
  const clock = new AdjustableClock(START);
  const ids = new TimeOrderedIds(clock, seededRandom("data sources"));
  const store = memoryStore();
  await store.open([accounts, apps, dataSources, dataContents, events, webhooks, deliveries]);
  await store.transact((tx) => tx.put(accounts, ACCOUNT));
  const due: string[] = [];
  store.hear(TOPIC.data, (id) => due.push(id));
  const unit = (cause: string | null) => new Unit({ store, clock, ids }, cause);
  const process = (id: string) => processDataSource(unit(null), id);
  /** As the service does it: the request, then the processing without one. */
  const sent = async (type: DataSourceDraft["type"], data: DataSourceDraft["data"]) =>
    kept(await createDataSource(unit("req_1"), CALLER, { name: "Sales", app_id: null, type, data }));
  const sourceOf = async (id: string) => kept(await getDataSource(store, CALLER, id));
  const load = async (type: DataSourceDraft["type"], data: DataSourceDraft["data"]) => {
    const { id } = await sent(type, data);
    await process(id);
    return sourceOf(id);
  };
  const rowsOf = async (id: string) => kept(await rowsPage(store, CALLER, id, SPAN)).items;
  const allEvents = async () => {
    const page = await store.page(events, "account_type", ["acc_1", "data.processed"], SPAN);
    return page.map((event) => ({ ...event, body: JSON.parse(event.body) }));
  };
  return { clock, store, unit, due, process, sent, sourceOf, load, rowsOf, allEvents };
}

test("3.data-processing.first: a new data source is processing, its data is kept and due", async () => {
  const { sent, store, due, rowsOf } = await setUp();
  const { id, ...rest } = await sent("csv", "a\n1\n");
  const at = "2026-01-01T00:00:00.000Z";
  assert.deepEqual(rest, {
    ...{ name: "Sales", type: "csv", app_id: null, account_id: "acc_1", created_at: at, updated_at: at },
    ...{ status: "processing", columns: null, row_count: null, error: null },
  });
  assert.deepEqual([due, await unprocessed(store), await rowsOf(id)], [[id], [id], []]);
});

test("processing CSV makes typed columns, rows, and one event caused by the request that sent the data", async () => {
  const { sent, process, sourceOf, clock, rowsOf, store, allEvents } = await setUp();
  const first = await sent("csv", "name,n,on\r\nx,1,true\r\n,,\r\n");
  await clock.advance(1_000);
  await process(first.id);
  const source = await sourceOf(first.id);
  const created = "2026-01-01T00:00:01.000Z";
  const columns = [
    { name: "name", type: "string" },
    { name: "n", type: "number" },
    { name: "on", type: "boolean" },
  ];
  assert.deepEqual(source, { ...first, status: "ready", columns, row_count: 2, updated_at: created });
  assert.equal(
    JSON.stringify(await rowsOf(source.id)),
    '[{"name":"x","n":1,"on":true},{"name":null,"n":null,"on":null}]',
  );
  const { account_id: _, ...object } = source;
  const [event, ...others] = await allEvents();
  assert.deepEqual([event?.request_id, others], ["req_1", []]);
  const account = { id: "acc_1", name: "Account acc_1" };
  assert.deepEqual(event?.body, { id: event?.id, type: "data.processed", created, data: { object }, account });
  assert.deepEqual([await unprocessed(store), (await store.get(dataContents, source.id))?.raw], [[], null]);
});

test("processing JSON gives back what was sent, __proto__ too; an empty array is ready as well", async () => {
  const { load, rowsOf } = await setUp();
  const data = '[{"__proto__":1,"constructor":"\\u2028"},{"__proto__":2,"constructor":null}]';
  const { id, row_count } = await load("json", JSON.parse(data));
  assert.deepEqual([row_count, JSON.stringify(await rowsOf(id))], [2, JSON.stringify(JSON.parse(data))]);
  const { status, columns, row_count: none, error } = await load("json", []);
  assert.deepEqual([status, columns, none, error], ["ready", [], 0, null]);
});

test("6.emitted-by.data-processed: data that cannot be read fails, says why and where, and is announced as well", async () => {
  const { load, allEvents, rowsOf } = await setUp();
  const { id, status, columns, row_count, error } = await load("csv", "a,b\n1,2\n3\n");
  const why = "Line 3: the number of fields is 1, but the header has 2.";
  assert.deepEqual([status, columns, row_count, error, await rowsOf(id)], ["failed", null, null, why, []]);
  const [event] = await allEvents();
  assert.deepEqual([event?.body.data.object.status, event?.body.data.object.error], ["failed", why]);
});

test("2.data-reading.byte-order-mark: one at the start of the text is no part of the first name", async () => {
  const { load } = await setUp();
  for (const [data, ...names] of [
    ["\uFEFFa,b\n", "a", "b"],
    ['\uFEFF"a",b\n', "a", "b"],
    ["\uFEFF\uFEFFa,\uFEFFb\n", "\uFEFFa", "\uFEFFb"],
  ] as const)
    assert.deepEqual(
      (await load("csv", data)).columns?.map(({ name }) => name),
      names,
    );
  assert.match((await load("csv", "\uFEFF")).error ?? "", /^Line 1: the text is empty/);
});

test("processing again, twice at once, or what is gone, changes nothing", async () => {
  const { sent, process, sourceOf, allEvents, clock } = await setUp();
  const { id } = await sent("csv", "a\n1\n");
  await Promise.all([process(id), process(id)]);
  const source = await sourceOf(id);
  await clock.advance(1_000);
  await process(id);
  assert.deepEqual([await sourceOf(id), (await allEvents()).length], [source, 1]);
  assert.equal(await process("ds_none"), null);
});

test("what waits is listed oldest first", async () => {
  const { sent, load, store } = await setUp();
  const first = await sent("csv", "a");
  await load("csv", "a");
  const last = await sent("csv", "a");
  assert.deepEqual(await unprocessed(store), [first.id, last.id]);
});

test("removing takes the data along, also before it is processed, and then nothing is announced", async () => {
  const { sent, load, process, unit, store, allEvents } = await setUp();
  for (const { id } of [await load("csv", "a\n1\n"), await sent("csv", "a\n1\n")]) {
    assert.equal(await removeDataSource(unit(null), CALLER, id, () => undefined), null);
    assert.equal(await store.get(dataContents, id), undefined);
    await process(id);
    assert.equal((await allEvents()).length, 1);
  }
});
