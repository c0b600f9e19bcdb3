// When storage refuses a write, or something fails that nobody foresaw (contract, part 7: 503 and 500), and what an
// Idempotency-Key is worth meanwhile.
import assert from "node:assert/strict";
import { StorageUnavailable } from "../../src/index.ts";
import { choice, withService } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { fresh } from "../support/fresh.ts";
import { Gate } from "../support/gated-store.ts";
import { problem } from "../support/problem.ts";

const gated = async (use: (api: Client, gate: Gate) => Promise<void>): Promise<void> => {
  const gate = new Gate();
  await withService({ store: gate.store, clock: "manual" }, async ({ api }) => {
    // Notes the first use of the key, so that no write is left that nobody asked for.
    await api.get("/account");
    await use(api, gate);
    gate.fault = undefined;
  });
};

choice("7.error-codes.storage", "a write that cannot be kept is 503, and nothing of it is seen", () =>
  gated(async (api, gate) => {
    const app = `/apps/${(await api.create("/apps", { title: "Before" })).id}`;
    const lists = async () => [(await api.get("/apps")).text, (await api.get("/events")).text];
    const before = await lists();
    gate.fault = new StorageUnavailable("disk full");
    for (const [method, path] of [
      ["POST", "/apps"],
      ["PATCH", app],
      ["DELETE", app],
      ["POST", `${app}/deploy`],
    ] as const) {
      const body = path === `${app}/deploy` ? { name: "Lost" } : { title: "Lost" };
      const answer = await api.call(method, path, method === "DELETE" ? undefined : body);
      problem(answer, "storage_unavailable");
      assert.match(answer.header("RateLimit"), /^"default";r=\d+;t=\d+$/, "it was counted like any other");
    }
    assert.deepEqual(await lists(), before, "reads go on, and show what was");
    gate.fault = undefined;
    assert.equal((await api.post("/apps", { title: "Kept" })).status, 201, "writing resumes");
  }),
);

choice("7.error-codes.internal", "what nobody foresaw is a bare 500; no 5xx is kept for its key", () =>
  gated(async (api, gate) => {
    for (const [fault, code] of [
      [new TypeError("secret cause in /some/path.ts"), "internal_error"],
      [new StorageUnavailable("disk full"), "storage_unavailable"],
    ] as const) {
      const key = { "idempotency-key": fresh() };
      gate.fault = fault;
      const answer = await api.post("/apps", { title: "T" }, key);
      problem(answer, code);
      assert.doesNotMatch(answer.text, /secret|path\.ts|TypeError/);
      gate.fault = undefined;
      const again = await api.post("/apps", { title: "T" }, key);
      assert.deepEqual([again.status, again.headers["idempotency-replayed"]], [201, undefined]);
    }
  }),
);

choice("4.idempotency.in-progress", "a second request is 409 while the first one runs, then replays", () =>
  gated(async (api, gate) => {
    const send = (title: string) => api.post("/apps", { title }, { "idempotency-key": "in-progress" });
    const held = gate.hold();
    const first = send("Once");
    await held.begun;
    for (const title of ["Once", "Other"]) problem(await send(title), "idempotency_in_progress");
    held.release();
    const [answer, replayed] = [await first, await send("Once")];
    assert.deepEqual([answer.status, replayed.header("idempotency-replayed")], [201, "true"]);
    assert.equal(replayed.text, answer.text);
    assert.equal((await api.get("/apps")).json.total, 1);
  }),
);

choice("4.idempotency.in-progress", "of two that both hold the lease, which may be lost meanwhile, one is done", () =>
  gated(async (api, gate) => {
    gate.store.lease = async () => ({ release: async () => {} });
    const send = async () => {
      const { begun, release } = gate.hold();
      const answer = api.post("/apps", { title: "Once" }, { "idempotency-key": "lost" });
      await begun;
      return { answer, release };
    };
    const both = [await send(), await send()];
    for (const { release } of both) release();
    const [first, second] = await Promise.all(both.map(({ answer }) => answer));
    assert.equal(first?.status, 201);
    problem(second ?? assert.fail(), "idempotency_in_progress");
    assert.equal((await api.get("/apps")).json.total, 1);
  }),
);

choice("1.dashboard.api-keys.last-used", "noting it neither delays nor fails a read", async () => {
  const gate = new Gate();
  await withService({ store: gate.store, clock: "manual" }, async ({ api, service }) => {
    const reads = async () => assert.equal((await api.get("/account")).status, 200);
    await service.clock.advance("60000ms");
    const held = gate.hold();
    await reads(); // while the note waits
    gate.fault = new StorageUnavailable("disk full");
    held.release();
    await reads(); // after the note failed
    gate.fault = undefined;
    await service.clock.advance("60000ms");
    await reads();
  });
});
