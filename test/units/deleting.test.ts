// Deleting an app with many records: its deployments, domains and the links of its data sources go in one transaction.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appService as apps } from "../../src/domain/apps.ts";
import {
  dataSourceService as dataSources,
  listDataSourcesOfApp,
} from "../../src/domain/data-sources.ts";
import {
  deploy,
  findSiteByHost,
  findSiteById,
  getDeployment,
} from "../../src/domain/deployments.ts";
import { AppError } from "../../src/domain/errors.ts";
import { deployments, domains } from "../../src/domain/model.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const MANY = 260;
const links = {
  site: (id: string) => `http://localhost/sites/${id}/`,
  isReservedHost: () => false,
};

test("a deleted app leaves no deployment, site, domain or linked data source, and its domains are free at once", async () => {
  const { store, clock, unit, account } = await outboxWorld();
  const createApp = async () =>
    kept(
      await apps.create(unit, account, {
        title: "App",
        description: "",
        theme: "light",
        public: true,
      }),
    );
  const deployTo = async (appId: string, environment: string, custom_domain: string | null) => {
    const draft = { name: "n", environment, custom_domain };
    return kept(await deploy(unit, account, appId, draft, links));
  };
  const app = await createApp();
  const deployed: Awaited<ReturnType<typeof deployTo>>[] = [];
  const sources: string[] = [];
  for (let n = 0; n < MANY; n += 1) {
    deployed.push(await deployTo(app.id, `e${n}`, `d${n}.example.com`));
    const draft = { name: "s", app_id: app.id, type: "csv", data: "a" } as const;
    sources.push(kept(await dataSources.create(unit, account, draft)).id);
  }
  await clock.advance(1_000);
  assert.equal(await apps.delete(unit, account, app.id, () => undefined), app);

  assert.equal(await store.count(deployments, "app", [app.id]), 0);
  for (const { id, custom_domain } of [kept(deployed[0]), kept(deployed.at(-1))]) {
    const read = await getDeployment(store, account, app.id, id);
    assert.ok(read instanceof AppError && read.details.code === "not_found");
    assert.deepEqual(await findSiteById(store, id), { gone: true, successor: undefined });
    assert.equal(await findSiteByHost(store, custom_domain ?? ""), undefined);
    assert.equal(await store.get(domains, custom_domain ?? ""), undefined);
  }
  assert.equal((await listDataSourcesOfApp(store, app.id, { offset: 0, limit: 1 })).total, 0);
  const source = kept(await dataSources.get(store, account, sources.at(-1) ?? ""));
  assert.deepEqual([source.app_id, source.updated_at], [null, "2026-01-01T00:00:01.000Z"]);

  const other = await createApp();
  const { id } = await deployTo(other.id, "production", "d0.example.com");
  assert.equal((await findSiteByHost(store, "d0.example.com"))?.deployment.id, id);
});
