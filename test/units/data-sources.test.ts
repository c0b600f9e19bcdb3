// domain/data-sources over the memory store: what is kept, what the processing makes of it, and that it
// does so once.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "../../src/domain/access.ts";
import { appDraft, createApp } from "../../src/domain/apps.ts";
import {
  createDataSource,
  type DataSourceDraft,
  dataSourceDraft,
  getDataSource,
  listDataSources,
  processDataSource,
  removeDataSource,
  rowsPage,
  unprocessed,
} from "../../src/domain/data-sources.ts";
import {
  accounts,
  apps,
  type DataSourceRecord,
  dataContents,
  dataSources,
  deliveries,
  events,
  TOPIC,
  webhooks,
} from "../../src/domain/model.ts";
import { Refusal, refuse } from "../../src/domain/refusal.ts";
import { Unit } from "../../src/domain/work.ts";
import { AdjustableClock } from "../../src/kit/clock.ts";
import { seededRandom, TimeOrderedIds } from "../../src/kit/ids.ts";
import { parse } from "../../src/kit/schema.ts";
import { memoryStore } from "../../src/store/memory.ts";

const START = Date.UTC(2026, 0, 1);
const SPAN = { offset: 0, limit: 20 };

async function setUp() {
  const clock = new AdjustableClock(START);
  const ids = new TimeOrderedIds(clock, seededRandom("data sources"));
  const store = memoryStore();
  await store.open([accounts, apps, dataSources, dataContents, events, webhooks, deliveries]);
  const due: string[] = [];
  store.hear(TOPIC.data, (id) => due.push(id));
  const unit = (cause: string | null) => new Unit({ store, clock, ids }, cause);
  const caller = async (id: string): Promise<Caller> => {
    const account = { id, name: `Account ${id}`, state: "active", all: "accounts" } as const;
    await store.transact((tx) => tx.put(accounts, account));
    return { account, scopes: new Set(["admin"]), credential: "key_1" };
  };
  const ours = await caller("acc_1");
  const theirs = await caller("acc_2");
  /** As the service does it: the request, then the processing without one. */
  const load = async (body: object, process = true) => {
    const source = ok(await createDataSource(unit("req_1"), ours, draft(body)));
    if (process) ok(await processDataSource(unit(null), source.id));
    return ok(await getDataSource(store, ours, source.id));
  };
  const eventsOf = async (id: string) => {
    const page = await store.page(events, "account_type", ["acc_1", "data.processed"], SPAN);
    return page
      .map((event) => ({ ...event, body: JSON.parse(event.body) }))
      .filter((e) => e.body.data.object.id === id);
  };
  return { clock, store, unit, due, ours, theirs, load, eventsOf };
}

function ok<T>(result: T | Refusal): T {
  assert.ok(!(result instanceof Refusal), result instanceof Refusal ? JSON.stringify(result.reason) : "");
  return result;
}

function code(result: unknown): string {
  assert.ok(result instanceof Refusal, JSON.stringify(result));
  return result.reason.code;
}

function draft(body: object): DataSourceDraft {
  const read = parse(dataSourceDraft, { name: "Sales", ...body });
  assert.ok("value" in read, JSON.stringify(read));
  return read.value;
}

const never = () => undefined;

test("3.data-processing.first: a new data source is processing, its data is kept and due", async () => {
  const { load, store, due, ours } = await setUp();
  const source = await load({ type: "csv", data: "a\n1\n" }, false);
  assert.deepEqual(source, {
    id: source.id,
    name: "Sales",
    type: "csv",
    app_id: null,
    status: "processing",
    columns: null,
    row_count: null,
    error: null,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    account_id: "acc_1",
  });
  assert.match(source.id, /^ds_[0-9A-Za-z]{20,}$/);
  assert.deepEqual(due, [source.id]);
  assert.deepEqual(await unprocessed(store), [source.id]);
  assert.deepEqual(ok(await rowsPage(store, ours, source.id, SPAN)), { items: [], total: 0, span: SPAN });
});

test("2.data-source-request.app: an app of the account or none", async () => {
  const { load, unit, ours, theirs, store } = await setUp();
  const appOf = async (caller: Caller) => {
    const body = parse(appDraft, { title: "App" });
    assert.ok("value" in body);
    return ok(await createApp(unit(null), caller, body.value)).id;
  };
  const [own, foreign] = [await appOf(ours), await appOf(theirs)];
  assert.equal((await load({ type: "csv", data: "a", app_id: own })).app_id, own);
  assert.equal((await load({ type: "csv", data: "a" })).app_id, null);
  for (const app_id of [foreign, "app_none"]) {
    const refused = await createDataSource(unit(null), ours, draft({ type: "csv", data: "a", app_id }));
    assert.ok(refused instanceof Refusal);
    assert.deepEqual(refused.reason, {
      code: "validation_failed",
      errors: [{ pointer: "#/app_id", detail: "must be the id of one of your apps, or null" }],
    });
  }
  assert.equal((await listDataSources(store, ours, SPAN)).total, 2);
});

test("processing CSV makes typed columns, rows, and one event caused by the request that sent the data", async () => {
  const { load, clock, unit, ours, store, eventsOf } = await setUp();
  const sent = await load({ type: "csv", data: "name,n,on\r\nx,1,true\r\n,,\r\n" }, false);
  await clock.advance(1_000);
  ok(await processDataSource(unit(null), sent.id));
  const source = ok(await getDataSource(store, ours, sent.id));
  const { account_id: _, ...fields } = source;
  assert.deepEqual(source, {
    ...sent,
    status: "ready",
    columns: [
      { name: "name", type: "string" },
      { name: "n", type: "number" },
      { name: "on", type: "boolean" },
    ],
    row_count: 2,
    updated_at: "2026-01-01T00:00:01.000Z",
  });
  const page = ok(await rowsPage(store, ours, source.id, SPAN));
  assert.equal(JSON.stringify(page.items), '[{"name":"x","n":1,"on":true},{"name":null,"n":null,"on":null}]');
  const [event, ...others] = await eventsOf(source.id);
  assert.deepEqual(others, []);
  assert.equal(event?.request_id, "req_1");
  assert.deepEqual(event?.body, {
    id: event?.id,
    type: "data.processed",
    created: "2026-01-01T00:00:01.000Z",
    data: { object: fields },
    account: { id: "acc_1", name: "Account acc_1" },
  });
  assert.deepEqual(await unprocessed(store), []);
  assert.equal((await store.get(dataContents, source.id))?.raw, null);
});

test("processing JSON gives back what was sent, __proto__ too", async () => {
  const { load, ours, store } = await setUp();
  const data = '[{"__proto__":1,"constructor":"\\u2028"},{"__proto__":2,"constructor":null}]';
  const source = await load({ type: "json", data: JSON.parse(data) });
  assert.equal(source.row_count, 2);
  const { items } = ok(await rowsPage(store, ours, source.id, SPAN));
  assert.deepEqual(JSON.stringify(items), JSON.stringify(JSON.parse(data)));
});

test("an empty array is ready, without columns and rows", async () => {
  const { load } = await setUp();
  const { status, columns, row_count, error } = await load({ type: "json", data: [] });
  assert.deepEqual({ status, columns, row_count, error }, { status: "ready", columns: [], row_count: 0, error: null });
});

const failure = ({ status, columns, row_count, error }: DataSourceRecord) => ({ status, columns, row_count, error });

test("6.emitted-by.data-processed: data that cannot be read fails, says why and where, and is announced as well", async () => {
  const { load, eventsOf, ours, store } = await setUp();
  const source = await load({ type: "csv", data: "a,b\n1,2\n3\n" });
  const error = "Line 3: the number of fields is 1, but the header has 2.";
  assert.deepEqual(failure(source), { status: "failed", columns: null, row_count: null, error });
  const [event] = await eventsOf(source.id);
  assert.equal(event?.body.data.object.status, "failed");
  assert.equal(event?.body.data.object.error, error);
  assert.deepEqual(ok(await rowsPage(store, ours, source.id, SPAN)).items, []);
  assert.equal((await load({ type: "csv", data: "" })).error, "Line 1: the text is empty, there is no header line.");
});

test("2.data-reading.byte-order-mark: one at the start of the text is no part of the first name", async () => {
  const { load } = await setUp();
  const names = async (data: string) => (await load({ type: "csv", data })).columns?.map(({ name }) => name);
  assert.deepEqual(await names("\uFEFFa,b\n"), ["a", "b"]);
  assert.deepEqual(await names('\uFEFF"a",b\n'), ["a", "b"]);
  assert.deepEqual(await names("\uFEFF\uFEFFa,\uFEFFb\n"), ["\uFEFFa", "\uFEFFb"]);
  assert.match((await load({ type: "csv", data: "\uFEFF" })).error ?? "", /^Line 1: the text is empty/);
});

test("processing again, or what is gone, changes nothing", async () => {
  const { load, unit, ours, store, eventsOf, clock } = await setUp();
  const source = await load({ type: "csv", data: "a\n1\n" });
  await clock.advance(1_000);
  ok(await processDataSource(unit(null), source.id));
  assert.deepEqual(ok(await getDataSource(store, ours, source.id)), source);
  assert.equal((await eventsOf(source.id)).length, 1);
  assert.equal(ok(await processDataSource(unit(null), "ds_none")), null);
});

test("processing at the same time happens once", async () => {
  const { load, unit, eventsOf } = await setUp();
  const { id } = await load({ type: "csv", data: "a\n1\n" }, false);
  await Promise.all([processDataSource(unit(null), id), processDataSource(unit(null), id)]);
  assert.equal((await eventsOf(id)).length, 1);
});

test("what waits is listed oldest first", async () => {
  const { load, store } = await setUp();
  const first = await load({ type: "csv", data: "a" }, false);
  await load({ type: "csv", data: "a" });
  const last = await load({ type: "csv", data: "a" }, false);
  assert.deepEqual(await unprocessed(store), [first.id, last.id]);
});

test("removing takes the data along, also before it is processed, and asks the precondition", async () => {
  const { load, unit, ours, store, eventsOf } = await setUp();
  for (const process of [true, false]) {
    const { id } = await load({ type: "csv", data: "a\n1\n" }, process);
    const unmet = () => refuse({ code: "precondition_failed" });
    assert.equal(code(await removeDataSource(unit(null), ours, id, unmet)), "precondition_failed");
    assert.equal(ok(await removeDataSource(unit(null), ours, id, never)), null);
    assert.equal(code(await getDataSource(store, ours, id)), "not_found");
    assert.equal(await store.get(dataContents, id), undefined);
    assert.equal(code(await removeDataSource(unit(null), ours, id, never)), "not_found");
    const before = (await eventsOf(id)).length;
    ok(await processDataSource(unit(null), id));
    assert.equal((await eventsOf(id)).length, before);
  }
});

test("what another account owns does not exist", async () => {
  const { load, unit, theirs, store, ours } = await setUp();
  const { id } = await load({ type: "csv", data: "a\n1\n" });
  assert.deepEqual(await getDataSource(store, theirs, id), await getDataSource(store, theirs, "ds_none"));
  assert.equal(code(await rowsPage(store, theirs, id, SPAN)), "not_found");
  assert.equal(code(await removeDataSource(unit(null), theirs, id, never)), "not_found");
  assert.equal((await listDataSources(store, theirs, SPAN)).total, 0);
  assert.equal((await listDataSources(store, ours, SPAN)).items[0]?.id, id);
});
