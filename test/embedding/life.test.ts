// Starting and closing a service inside a test's process (contract, part 10): invalid options are named, services
// run side by side, and nothing remains after close.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { memoryStore, type Service, type Store, startService } from "../../src/index.ts";
import { took } from "../support/costs.ts";
import { embedded, startRefused, struck } from "../support/embedded.ts";
import { overridden } from "../support/other-stores.ts";
import { printedOn } from "../support/process.ts";
import { hooked } from "../support/receivers.ts";
import { turns } from "../support/wait.ts";

test("options: each invalid option is rejected by name", async () => {
  for (const [options, message] of [
    [{ prot: 0 }, /^There is no option prot; did you mean port\?$/],
    [{ toString: 1 }, /^There is no option toString$/],
    [{ port: 65_536 }, /^port must be a whole number from 0 to 65535$/],
    [{ data: {} }, /^data must be a string$/],
    [{ rateLimit: { __proto__: null } }, /^rateLimit must be a whole number above 0, or off/],
    [{ clock: "stopped" }, /^clock must be one of "system", "manual"$/],
    [{ clock: "manual", startAt: "2026-01-01T00:00:00" }, /^startAt must be .* with its zone$/],
    [{ startAt: "2026-01-01T00:00:00Z" }, /^startAt sets a manual clock/],
    [{ store: { open() {} } }, /^store must be .* no method transact/],
    [{ store: memoryStore(), data: "x.json" }, /^store and data cannot be given together/],
  ] as const)
    await startRefused(options, message);
});

test("a store may reference itself, a seed may be a module namespace, and an address may be a URL object", async () => {
  const publicUrl = new URL("http://localhost:4999") as unknown as string;
  const [store, seed] = [memoryStore(), { __proto__: null, accounts: [{ name: "Seeded" }] }];
  await using service = await startService({
    store: Object.assign(store, { store }),
    seed,
    publicUrl,
  });
  assert.deepEqual([service.account.name, service.authUrl], ["Seeded", "http://localhost:4999"]);
});

test("an option set to undefined equals a missing option", async () => {
  const output = await printedOn(process.stdout, async () => {
    await using it = await embedded({ port: undefined, log: undefined });
    assert.notEqual(it.service.port, 4600);
    await it.api.get("/apps");
  });
  assert.equal(output.join("").includes("/v1/apps"), false, "nothing is logged");
});

test("services run side by side, each with its own key, data and clock, which starts at startAt", async () => {
  await using one = await embedded();
  await using two = await embedded({ startAt: "2030-05-06T09:08:09.123+02:00" });
  await one.api.create("/apps", { title: "Only here" });
  assert.equal((await two.api.get("/apps")).json.total, 0);
  assert.equal((await two.api.as(one.service.apiKey).get("/apps")).status, 401);
  await one.service.clock.advance("1d");
  assert.equal(two.service.clock.now(), Date.UTC(2030, 4, 6, 7, 8, 9, 123));
  assert.equal(
    (await two.api.create("/apps", { title: "A" })).created_at,
    "2030-05-06T07:08:09.123Z",
  );
});

test("a service with test controls accepts requests only after it has resumed all pending work", async () => {
  const ended = await startService();
  await ended.close();
  const real = memoryStore();
  let early: Promise<Response> | undefined;
  let answered = false;
  // A start reads the delivery queues when it resumes pending work; the test sends a request at that moment.
  const page: Store["page"] = async (from, index, values, span) => {
    if (from.name === "deliveries" && early === undefined) {
      const init = { method: "POST", headers: { authorization: "Bearer my-own-key" } };
      early = fetch(`${ended.authUrl}/_control/settled`, init).finally(() => {
        answered = true;
      });
      await turns(200);
      assert.equal(answered, false);
    }
    return real.page(from, index, values, span);
  };
  const store = overridden(real, { page });
  await using _ = await startService({
    port: ended.port,
    store,
    control: true,
    apiKey: "my-own-key",
  });
  assert.equal((await early)?.status, 200);
});

test("close ends a connection that has sent no data", async () => {
  const service = await startService();
  const socket = connect(service.port, "127.0.0.1");
  await once(socket, "connect");
  assert.ok((await took(service.close)) < 2_000);
  socket.destroy();
});

/** Asserts that no timer and no socket created by `use` remains. */
async function leavesNothing(use: () => Promise<void>): Promise<void> {
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
      await it.api.create("/apps", { title: "A" });
      it.service.faults.add({ method: "GET", path: "/v1/apps", delayMs: 60_000 });
      const waiting = it.api.get("/apps");
      await struck(it);
      await it.service.close();
      assert.equal((await waiting).status, 200);
      it.api.close();
      await receiver.close();
    }
  }));

test("no timer and no socket remains after a close during a reset", () =>
  leavesNothing(async () => {
    const service = await startService();
    const reset = service.reset().catch((error: Error) => error);
    await service.close();
    await reset;
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
