// domain/data-sources over the memory store: the stored data, the result of processing, and that it happens once.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dataSourceService,
  listRows,
  listUnprocessed,
  processDataSource,
} from "../../src/domain/data-sources.ts";
import { AppError } from "../../src/domain/errors.ts";
import { type DataSourceDraft, dataSourceContents, events } from "../../src/domain/model.ts";
import { UnitOfWork } from "../../src/domain/unit-of-work.ts";
import { parseJson } from "../../src/http/validation.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const RANGE = { offset: 0, limit: 20 };

async function setUp() {
  const { store, clock, parts, unit, account, stop } = await outboxWorld();
  await stop();
  const published: string[] = [];
  parts.notifications.on("data", (id) => published.push(id));
  const get = async (id: string) => kept(await dataSourceService.get(store, account, id));
  const process = async (id: string) => {
    await processDataSource(unit, id);
    return get(id);
  };
  return {
    store,
    clock,
    published,
    unit,
    get,
    process,
    /** Creates a data source with a request id, as the service does; processing runs later without one. */
    create: async (type: DataSourceDraft["type"], data: DataSourceDraft["data"]) =>
      kept(
        await dataSourceService.create(new UnitOfWork(parts, "req_1"), account, {
          name: "Sales",
          app_id: null,
          type,
          data,
        }),
      ),
    remove: (id: string) => dataSourceService.delete(unit, account, id, () => undefined),
    rows: async (id: string) => kept(await listRows(store, account, id, RANGE)).items,
    processedEvents: () =>
      store.page(events, "account_type", [account.id, false, "data.processed"], RANGE),
  };
}

test("3.data-processing.first: data is stored and due until processed, with one event caused by the request that sent the data", async () => {
  const { create, process, clock, published, rows, store, processedEvents } = await setUp();
  const created = await create("csv", "name,n\r\nx,1\r\n,\r\n");
  assert.equal(created.status, "processing");
  assert.deepEqual([published, await listUnprocessed(store)], [[created.id], [created.id]]);
  assert.deepEqual(await rows(created.id), []);
  await clock.advance(1_000);
  const { account_id: _, ...shown } = await process(created.id);
  assert.deepEqual([shown.status, shown.created_at], ["ready", created.created_at]);
  assert.equal(shown.updated_at, "2026-01-01T00:00:01.000Z");
  assert.deepEqual(await rows(created.id), [
    { name: "x", n: 1 },
    { name: null, n: null },
  ]);
  const [event, ...others] = await processedEvents();
  assert.deepEqual([event?.request_id, others], ["req_1", []]);
  assert.deepEqual(JSON.parse(event?.body ?? "").data.object, shown);
  assert.deepEqual(await listUnprocessed(store), []);
  assert.equal((await store.get(dataSourceContents, created.id))?.raw, null);
});

test("2.data-reading.byte-order-mark: a mark at the start of the text is not part of the first name", async () => {
  const { create, process } = await setUp();
  const load = async (data: string) => process((await create("csv", data)).id);
  for (const [data, names] of [
    ["\uFEFFa,b\n", ["a", "b"]],
    ['\uFEFF"a",b\n', ["a", "b"]],
    ["\uFEFF\uFEFFa,\uFEFFb\n", ["\uFEFFa", "\uFEFFb"]],
  ] as const)
    assert.deepEqual(
      (await load(data)).columns?.map(({ name }) => name),
      names,
    );
  assert.match((await load("\uFEFF")).error ?? "", /^Line 1: the text is empty/);
});

test("processing a data source again, twice at once, or after its deletion changes nothing", async () => {
  const { create, process, unit, processedEvents, clock } = await setUp();
  const { id } = await create("csv", "a\n1\n");
  const [source] = await Promise.all([process(id), process(id)]);
  await clock.advance(1_000);
  assert.deepEqual([await process(id), (await processedEvents()).length], [source, 1]);
  await processDataSource(unit, "ds_none");
});

test("deleting a data source deletes its data, even before processing, and then publishes no processing event", async () => {
  const { create, process, unit, remove, store, processedEvents } = await setUp();
  const [ready, unprocessed] = [await create("csv", "a\n1\n"), await create("csv", "a\n1\n")];
  await process(ready.id);
  for (const { id } of [ready, unprocessed]) {
    assert.equal(kept(await remove(id)).id, id);
    // This delete acts like one whose record was deleted between the request's read and its transaction.
    const again = await remove(id);
    assert.equal(again instanceof AppError && again.details.code, "not_found");
    assert.equal(await store.get(dataSourceContents, id), undefined);
    await processDataSource(unit, id);
  }
  assert.equal((await processedEvents()).length, 1);
});

test("8.bounds: an object of over 250,000 members is rejected before it is parsed, and an array of more items is accepted", () => {
  const error = (text: string) => {
    const parsed = parseJson(Buffer.from(text));
    return parsed instanceof AppError ? parsed.details : undefined;
  };
  const [open, member] = ['[{"":[1,2]},{', '"":1,'];
  const errors = [{ pointer: "#", detail: "has an object of over 250000 members" }];
  assert.deepEqual(error(open + member.repeat(250_000)), { code: "validation_failed", errors });
  assert.equal(error(open + member.repeat(249_999))?.code, "invalid_json", "not closed");
  assert.equal(error(`${open}${member.repeat(249_999)}"a,b{":1}]`), undefined);
  assert.equal(error(`[${"1,".repeat(300_000)}1]`), undefined);
});
