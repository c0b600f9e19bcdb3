// domain/data-sources over the memory store: the stored data, the result of processing, and that it happens once.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dataSourceService,
  listRows,
  listUnprocessed,
  processDataSource,
} from "../../src/domain/data-sources.ts";
import { dataSourceContents, events } from "../../src/domain/model.ts";
import { UnitOfWork } from "../../src/domain/unit-of-work.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const RANGE = { offset: 0, limit: 20 };

async function setUp() {
  const { store, clock, parts, unit, account } = await outboxWorld();
  const published: string[] = [];
  parts.notifications.on("data", (id) => published.push(id));
  return {
    store,
    clock,
    published,
    /** Creates a data source with a request id, as the service does; processing runs later without one. */
    create: async (data: string) =>
      kept(
        await dataSourceService.create(new UnitOfWork(parts, "req_1"), account, {
          name: "Sales",
          app_id: null,
          type: "csv",
          data,
        }),
      ),
    process: (id: string) => processDataSource(unit, id),
    get: async (id: string) => kept(await dataSourceService.get(store, account, id)),
    remove: (id: string) => dataSourceService.delete(unit, account, id, () => undefined),
    rows: async (id: string) => kept(await listRows(store, account, id, RANGE)).items,
    processedEvents: () =>
      store.page(events, "account_type", [account.id, "data.processed"], RANGE),
  };
}

test("3.data-processing.first: data is due until processed once, with one event caused by the request that sent it", async () => {
  const { create, process, get, clock, published, rows, store, processedEvents } = await setUp();
  const { id, status } = await create("name,n\r\nx,1\r\n,\r\n");
  assert.equal(status, "processing");
  assert.deepEqual([published, await listUnprocessed(store)], [[id], [id]]);
  assert.deepEqual(await rows(id), []);
  await clock.advance(1_000);
  await Promise.all([process(id), process(id)]);
  const { account_id: _, ...shown } = await get(id);
  assert.deepEqual([shown.status, shown.updated_at], ["ready", "2026-01-01T00:00:01.000Z"]);
  assert.deepEqual(await rows(id), [
    { name: "x", n: 1 },
    { name: null, n: null },
  ]);
  const [event, ...others] = await processedEvents();
  assert.deepEqual([event?.request_id, others], ["req_1", []]);
  assert.deepEqual(JSON.parse(event?.body ?? "").data.object, shown);
  assert.deepEqual(await listUnprocessed(store), []);
  assert.equal((await store.get(dataSourceContents, id))?.raw, null);
});

test("3.data-processing.deleted: deleting a data source deletes its data, and processing it then does nothing", async () => {
  const { create, process, remove, store, processedEvents } = await setUp();
  const { id } = await create("a\n1\n");
  await remove(id);
  assert.equal(await store.get(dataSourceContents, id), undefined);
  await process(id);
  assert.deepEqual(await processedEvents(), []);
});
