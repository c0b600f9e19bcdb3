// Starting and closing a service inside a test's process: invalid options are named, services run side by side, and
// nothing remains after close. Also under the faked timers of node:test, enabled before or after its start; test/clients
// runs it in Vitest and Jest and beside sinon, which also fake performance and process.hrtime.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { mock, test } from "node:test";
import {
  memoryStore,
  type Service,
  type Store,
  startReceiver,
  startService,
} from "../../src/index.ts";
import { embedded, hooked, overridden, startRefused, struck, turns } from "../support/index.ts";

test("options: each invalid option is rejected by name", async () => {
  for (const [options, message] of [
    [{ prot: 0 }, "prot is not a known member; did you mean port?"],
    [{ port: 65_536 }, "port must be a whole number from 0 to 65535"],
    [{ clock: "manual", startAt: "yesterday" }, "startAt must be … with its zone"],
    [{ startAt: "2026-01-01T00:00:00Z" }, "startAt sets a manual clock"],
    [{ retrySchedule: ["5s"] }, "retrySchedule must be durations"],
    [{ webhookTimeout: ["5s"] }, "webhookTimeout must be a duration"],
    [{ rateLimit: [5] }, "rateLimit must be a whole number"],
    [{ control: ["true"] }, "control must be true or false"],
    [{ startAt: ["2026-01-01T00:00:00Z"], clock: "manual" }, "startAt must be a time"],
    [{ variants: 5 }, "variants must be one or more of list-shape=bare"],
    [{ variants: ["list-shape=bare"] }, "variants must be one or more of list-shape=bare"],
    [{ seed: 5 }, "seed must be … JSON object"],
    [{ store: { open() {} } }, "store must be … no method transact"],
    [{ store: memoryStore(), data: "x.json" }, "store and data cannot be given together"],
  ] as const)
    await startRefused(options, message);
});

test("services run side by side, each with its own key, data and clock", async () => {
  await using one = await embedded();
  await using two = await embedded({ startAt: "2030-05-06T09:08:09.123+02:00" });
  await one.api.newApp();
  assert.equal((await two.api.get("/apps")).total, 0);
  (await two.api.as(one.service.apiKey).get("/apps")).is(401);
  await one.service.clock.advance("1d");
  assert.equal(two.service.clock.now(), Date.UTC(2030, 4, 6, 7, 8, 9, 123));
});

/** Asserts that no timer and no socket created by `use` remains. */
async function leavesNothing(use: () => Promise<void>) {
  const before = process.getActiveResourcesInfo().length;
  await use();
  await turns(5);
  assert.deepEqual(process.getActiveResourcesInfo().slice(before), []);
}

test("no timer and no socket remains after close", () =>
  leavesNothing(async () => {
    for (let n = 0; n < 3; n += 1) {
      const it = await embedded({ clock: "system" });
      const receiver = await hooked(it.api, ["app.created"], {}, [500, "hang"]);
      await it.api.newApp();
      it.service.faults.add({ method: "GET", path: "/v1/apps", delayMs: 60_000 });
      const waiting = it.api.get("/apps");
      await struck(it);
      const idle = connect(it.service.port, "127.0.0.1");
      await once(idle, "connect");
      await it.service.close();
      idle.destroy();
      (await waiting).is(200);
      it.api.close();
      await receiver.close();
    }
  }));

test("no timer and no socket remains after a close while pending work is resumed", () =>
  leavesNothing(async () => {
    const real = memoryStore();
    let service: Service | undefined;
    const page: Store["page"] = async (from, index, values, range) => {
      if (from.name === "deliveries") await service?.close();
      return real.page(from, index, values, range);
    };
    service = await startService({ store: overridden(real, { page }) });
    await service.reset().catch((error: Error) => error);
    await service.close();
  }));

const { useEverything } = createRequire(import.meta.url)("../support/faked-timers.cjs");
const realDate = Date;

for (const before of [true, false])
  test(`faked timers: mock.timers enabled ${before ? "before" : "after"} the start changes nothing`, {
    timeout: 60_000,
  }, async () => {
    const fake = () => mock.timers.enable();
    try {
      await useEverything({ startService, startReceiver, fake, before, realDate });
    } finally {
      mock.timers.reset();
    }
  });
