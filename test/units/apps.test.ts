// domain/apps over the memory store: everything of a deleted app goes with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appService } from "../../src/domain/apps.ts";
import { dataSourceService } from "../../src/domain/data-sources.ts";
import { deploy, findSiteByHost, findSiteById } from "../../src/domain/deployments.ts";
import { deployments } from "../../src/domain/model.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const DRAFT = { title: "App", description: "", theme: "light", public: true };
const URLS = { site: (id: string) => `http://localhost/sites/${id}/`, isOwnHost: () => false };

test("3.redeploy.deleted: deleting an app deletes its deployments, frees its domains and detaches its data sources", async () => {
  const { store, unit, account, clock } = await outboxWorld();
  const createApp = async () => kept(await appService.create(unit, account, DRAFT));
  const deployTo = async (app_id: string, environment: string) => {
    const request = { name: "R", environment, custom_domain: "b.example.com" };
    return kept(await deploy(unit, account, app_id, request, URLS));
  };
  const { id: app_id } = await createApp();
  const { id } = await deployTo(app_id, "production");
  await deployTo(app_id, "staging");
  const draft = { name: "S", app_id, type: "csv", data: "a\n" } as const;
  const source = kept(await dataSourceService.create(unit, account, draft));
  await clock.advance(1_000);
  await appService.delete(unit, account, app_id, () => undefined);
  assert.equal(await store.count(deployments, "app", [app_id]), 0);
  assert.equal(await findSiteById(store, id), undefined);
  assert.equal(await findSiteByHost(store, "b.example.com"), undefined);
  const detached = kept(await dataSourceService.get(store, account, source.id));
  assert.deepEqual([detached.app_id, detached.updated_at], [null, "2026-01-01T00:00:01.000Z"]);
  const next = await deployTo((await createApp()).id, "production");
  assert.equal((await findSiteByHost(store, "b.example.com"))?.deployment.id, next.id);
});
