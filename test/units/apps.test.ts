// domain/apps over the memory store: everything of a deleted app goes with it, and the newest tombstones are kept.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appService } from "../../src/domain/apps.ts";
import { dataSourceService } from "../../src/domain/data-sources.ts";
import { deploy, findSiteByHost, findSiteById } from "../../src/domain/deployments.ts";
import { deployments, deploymentTombstones } from "../../src/domain/model.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const DRAFT = { title: "App", description: "", theme: "light", public: true };
const URLS = { site: (id: string) => `http://localhost/sites/${id}/`, isReservedHost: () => false };
const KEPT = 10_000;

async function setUp() {
  const { store, unit, account, clock } = await outboxWorld();
  const createApp = async () => kept(await appService.create(unit, account, DRAFT));
  const deployTo = async (app_id: string, environment: string, custom_domain: string | null) =>
    kept(await deploy(unit, account, app_id, { name: "R", environment, custom_domain }, URLS));
  const deleteApp = (id: string) => appService.delete(unit, account, id, () => undefined);
  return { store, unit, account, clock, createApp, deployTo, deleteApp };
}

test("3.redeploy.deleted: deleting an app deletes its deployments, frees its domains and detaches its data sources", async () => {
  const { store, unit, account, clock, createApp, deployTo, deleteApp } = await setUp();
  const { id: app_id } = await createApp();
  const retired = await deployTo(app_id, "production", "a.example.com");
  const live = await deployTo(app_id, "production", "b.example.com");
  await deployTo(app_id, "staging", "b.example.com");
  const draft = { name: "S", app_id, type: "csv", data: "a\n" } as const;
  const source = kept(await dataSourceService.create(unit, account, draft));
  await clock.advance(1_000);
  await deleteApp(app_id);
  assert.equal(await store.count(deployments, "app", [app_id]), 0);
  for (const { id } of [retired, live])
    assert.deepEqual(await findSiteById(store, id), { gone: true, successor: undefined });
  assert.equal(await findSiteByHost(store, "b.example.com"), undefined);
  const detached = kept(await dataSourceService.get(store, account, source.id));
  assert.deepEqual([detached.app_id, detached.updated_at], [null, "2026-01-01T00:00:01.000Z"]);
  const next = await deployTo((await createApp()).id, "production", "b.example.com");
  assert.equal((await findSiteByHost(store, "b.example.com"))?.deployment.id, next.id);
});

test("8.bounds.tombstones: the newest 10,000 deployment tombstones of an account are kept", async () => {
  const { store, account, createApp, deployTo, deleteApp } = await setUp();
  await store.transact(async (tx) => {
    await tx.put(deploymentTombstones, { id: "dep_other", account_id: "acc_2" });
    for (let n = 0; n < KEPT; n += 1)
      await tx.put(deploymentTombstones, { id: `dep_${n}`, account_id: account.id });
  });
  const { id: app_id } = await createApp();
  const { id } = await deployTo(app_id, "production", null);
  await deleteApp(app_id);
  assert.equal(await store.count(deploymentTombstones, "account", [account.id]), KEPT);
  for (const [tombstone, isKept] of [
    [id, true],
    ["dep_other", true],
    ["dep_1", true],
    ["dep_0", false],
  ] as const)
    assert.equal((await store.get(deploymentTombstones, tombstone)) !== undefined, isKept);
});
