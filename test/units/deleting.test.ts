// Deleting an app with many records: the app is gone at once, and its records are deleted in steps after the response.
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
import {
  appTombstones,
  deployments,
  deploymentTombstones,
  domains,
} from "../../src/domain/model.ts";
import { withTurns } from "../support/costs.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

const MANY = 260;
const links = {
  site: (id: string) => `http://localhost/sites/${id}/`,
  isReservedHost: () => false,
};
const DRAFT = { title: "App", description: "", theme: "light", public: true };

/** Creates an app with many live deployments, each with its own domain, and many data sources; then deletes the app. */
async function afterDeleting() {
  const { store, clock, unit, account, forgetting, background, errors } = await outboxWorld();
  const anApp = async () => kept(await apps.create(unit, account, DRAFT));
  const put = async (app_id: string, n: number, custom_domain: string | null) =>
    kept(
      await deploy(
        unit,
        account,
        app_id,
        { name: "n", environment: `e${n}`, custom_domain },
        links,
      ),
    );
  const app = await anApp();
  const deployed: Awaited<ReturnType<typeof put>>[] = [];
  const sources: string[] = [];
  for (let n = 0; n < MANY; n += 1) {
    deployed.push(await put(app.id, n, `d${n}.example.com`));
    const given = { name: "s", app_id: app.id, type: "csv", data: "a" } as const;
    sources.push(kept(await dataSources.create(unit, account, given)).id);
  }
  await clock.advance(1_000);
  const reported: string[] = [];
  store.subscribe(TOPIC.events, (subject) => reported.push(subject));
  assert.equal(await apps.delete(unit, account, app.id, () => undefined), app);
  assert.ok(reported.includes(""), "that there is something left");
  /** Returns the number of event-loop turns that other work gets during the sweep of the account. */
  const swept = async () => {
    forgetting.notify(account.id);
    const { turns } = await withTurns(() => background.idle());
    assert.deepEqual(errors, []);
    return turns;
  };
  const first = kept(deployed[0]);
  const last = kept(deployed.at(-1));
  return { store, account, app, anApp, put, first, last, sources, swept };
}

test("deployments, sites and domains of a deleted app are gone at once; its records are deleted in steps that yield to other work", async () => {
  const { store, account, app, first, last, sources, swept } = await afterDeleting();
  const left = () => store.count(deployments, "app", [app.id]);
  assert.equal(
    await left(),
    MANY - 50,
    "a step of them goes with it, the others behind the answer",
  );
  for (const { id, custom_domain } of [first, last]) {
    const read = await getDeployment(store, account, app.id, id);
    assert.ok(read instanceof AppError && read.details.code === "not_found");
    assert.deepEqual(await findSiteById(store, id), { gone: true, successor: undefined });
    assert.equal(await findSiteByHost(store, custom_domain ?? ""), undefined);
  }
  const turns = await swept();
  assert.ok(turns >= 50 + (MANY - 50) / 50, `fifty to gather, and one for fifty of each: ${turns}`);
  assert.equal(await left(), 0);
  assert.equal(await store.count(deploymentTombstones, "account", [account.id]), MANY);
  assert.equal(await store.get(domains, last.custom_domain ?? ""), undefined);
  assert.deepEqual((await listDataSourcesOfApp(store, app.id, { offset: 0, limit: 1 })).total, 0);
  const source = kept(await dataSources.get(store, account, sources.at(-1) ?? ""));
  assert.deepEqual([source.app_id, source.updated_at], [null, "2026-01-01T00:00:01.000Z"]);
  assert.equal(await store.count(appTombstones, "all", ["gone_apps"]), 0);
});

test("a domain of a deleted app can be reused at once, and the later cleanup does not affect its new owner", async () => {
  const { store, last, anApp, put, swept } = await afterDeleting();
  const host = last.custom_domain ?? "";
  const other = await anApp();
  const taken = await put(other.id, 1, host);
  const at = async () => (await findSiteByHost(store, host))?.deployment.id;
  assert.equal(await at(), taken.id);
  const next = await anApp();
  await put(other.id, 1, null);
  const holder = await store.get(domains, host);
  assert.equal(holder, undefined, "free, although a deployment of the deleted app still has it");
  const again = await put(next.id, 1, host);
  await swept();
  assert.equal(await at(), again.id);
});
