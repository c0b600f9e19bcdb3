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
import { type DataSourceDraft, dataSourceContents, events, TOPIC } from "../../src/domain/model.ts";
import { UnitOfWork } from "../../src/domain/unit-of-work.ts";
import { parseJson } from "../../src/http/validation.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const SPAN = { offset: 0, limit: 20 };
type Sent = readonly [type: DataSourceDraft["type"], data: DataSourceDraft["data"]];

async function setUp() {
  const { store, clock, parts, unit, account } = await outboxWorld();
  const due: string[] = [];
  store.subscribe(TOPIC.data, (id) => due.push(id));
  const process = (id: string) => processDataSource(unit, id);
  /** Creates a data source with a request id, as the service does; processing runs later without one. */
  const sent = async (...[type, data]: Sent) =>
    kept(
      await dataSourceService.create(new UnitOfWork(parts, "req_1"), account, {
        name: "Sales",
        app_id: null,
        type,
        data,
      }),
    );
  const sourceOf = async (id: string) => kept(await dataSourceService.get(store, account, id));
  const load = async (...given: Sent) => {
    const { id } = await sent(...given);
    await process(id);
    return sourceOf(id);
  };
  const removed = (id: string) => dataSourceService.delete(unit, account, id, () => undefined);
  const rowsOf = async (id: string) => kept(await listRows(store, account, id, SPAN)).items;
  const allEvents = async () => {
    const page = await store.page(events, "account_type", [account.id, "data.processed"], SPAN);
    return page.map((event) => ({ ...event, body: JSON.parse(event.body) }));
  };
  return { clock, store, due, process, sent, sourceOf, load, removed, rowsOf, allEvents };
}

test("3.data-processing.first: data is stored and due until processed, with one event caused by the request that sent the data", async () => {
  const { sent, process, sourceOf, clock, due, rowsOf, store, allEvents } = await setUp();
  const first = await sent("csv", "name,n\r\nx,1\r\n,\r\n");
  assert.deepEqual(
    [first.status, due, await listUnprocessed(store)],
    ["processing", [first.id], [first.id]],
  );
  assert.deepEqual(await rowsOf(first.id), []);
  await clock.advance(1_000);
  await process(first.id);
  const { account_id: _, ...object } = await sourceOf(first.id);
  assert.deepEqual([object.status, object.created_at], ["ready", first.created_at]);
  assert.equal(object.updated_at, "2026-01-01T00:00:01.000Z");
  assert.equal(
    JSON.stringify(await rowsOf(first.id)),
    '[{"name":"x","n":1},{"name":null,"n":null}]',
  );
  const [event, ...others] = await allEvents();
  assert.deepEqual([event?.request_id, event?.body.data.object, others], ["req_1", object, []]);
  assert.deepEqual(
    [await listUnprocessed(store), (await store.get(dataSourceContents, first.id))?.raw],
    [[], null],
  );
});

test("2.data-reading.byte-order-mark: a mark at the start of the text is not part of the first name", async () => {
  const { load } = await setUp();
  const read = {
    "\uFEFFa,b\n": "a b",
    '\uFEFF"a",b\n': "a b",
    "\uFEFF\uFEFFa,\uFEFFb\n": "\uFEFFa \uFEFFb",
  };
  for (const [data, names] of Object.entries(read)) {
    const { columns } = await load("csv", data);
    assert.equal(columns?.map(({ name }) => name).join(" "), names);
  }
  assert.match((await load("csv", "\uFEFF")).error ?? "", /^Line 1: the text is empty/);
});

test("processing a data source again, twice at once, or after its deletion changes nothing", async () => {
  const { sent, process, sourceOf, allEvents, clock } = await setUp();
  const { id } = await sent("csv", "a\n1\n");
  await Promise.all([process(id), process(id)]);
  const source = await sourceOf(id);
  await clock.advance(1_000);
  await process(id);
  assert.deepEqual([await sourceOf(id), (await allEvents()).length], [source, 1]);
  assert.equal(await process("ds_none"), null);
});

test("deleting a data source deletes its data, even before processing, and then publishes no processing event", async () => {
  const { sent, load, process, removed, store, allEvents } = await setUp();
  for (const { id } of [await load("csv", "a\n1\n"), await sent("csv", "a\n1\n")]) {
    assert.equal(kept(await removed(id)).id, id);
    // This delete acts like one whose record was deleted between the request's read and its transaction.
    const again = await removed(id);
    assert.equal(again instanceof AppError && again.details.code, "not_found");
    assert.equal(await store.get(dataSourceContents, id), undefined);
    await process(id);
    assert.equal((await allEvents()).length, 1);
  }
});

test("8.bounds: an object of over 250,000 members is rejected before it is parsed, and an array of more items is accepted", () => {
  const refused = (text: string) => {
    const read = parseJson(Buffer.from(text));
    return read instanceof AppError ? read.details : undefined;
  };
  const [open, member] = ['[{"":[1,2]},{', '"":1,'];
  const errors = [{ pointer: "#", detail: "has an object of over 250000 members" }];
  assert.deepEqual(refused(open + member.repeat(250_000)), { code: "validation_failed", errors });
  assert.equal(
    refused(open + member.repeat(249_999))?.code,
    "invalid_json",
    "it ends before the last member",
  );
  assert.equal(refused(`${open}${member.repeat(249_999)}"a,b{":1}]`), undefined);
  assert.equal(refused(`[${"1,".repeat(300_000)}1]`), undefined);
});
