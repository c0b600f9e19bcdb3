// The chart panel of a data source on a site (web/sites/chart-panel): built once for each state of the data.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dataSourceService, processDataSource } from "../../src/domain/data-sources.ts";
import { loadChartPanel } from "../../src/web/sites/chart-panel.ts";
import { withTurns } from "../support/costs.ts";
import { kept, outboxWorld } from "../support/outbox-world.ts";

test("chart panel: it is built once for each state of the data", async (t) => {
  const { store, unit, account } = await outboxWorld();
  const data = [{ town: "Bath", people: 3, area: 2 }];
  const draft = { name: "Towns", type: "json", app_id: null, data } as const;
  const { id } = kept(await dataSourceService.create(unit, account, draft));
  const sourceNow = async () => kept(await dataSourceService.get(store, account, id));
  const choosing = (wanted = "") => ({ store, query: new Map([[id, wanted]]) });
  const shelfNow = async (wanted?: string) =>
    loadChartPanel(choosing(wanted), account, await sourceNow());
  assert.equal((await shelfNow()).chart, undefined, "its rows are not known yet");
  await processDataSource(unit, id);
  const source = await sourceNow();
  t.mock.method(store, "get", () => Promise.reject(new Error("away")), { times: 1 });
  await assert.rejects(
    loadChartPanel(choosing(), account, source),
    /away/,
    "and is read again after that",
  );
  const three = () =>
    Promise.all(
      ["", "area", ""].map((wanted) => loadChartPanel(choosing(wanted), account, source)),
    );
  const { value, turns } = await withTurns(three);
  const [after, chosen, again] = value;
  assert.ok(turns >= 2, "others have their turn between two");
  assert.equal(again, after, "not twice for two who come at once");
  assert.equal(after?.chart?.points.length, 1);
  assert.deepEqual([after?.chart?.y.name, chosen?.chart?.y.name], ["people", "area"]);
  assert.equal(await shelfNow(), after, "the rows are not drawn again");
  assert.equal(await shelfNow("area"), chosen, "nor those of another column");
  assert.equal(await shelfNow("town"), after, "what is no number is no choice");
});
