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

choice("7.error-codes.storage", "a write that cannot be kept is 503, and nothing of it is seen", "ours", () =>
  gated(async (api, gate) => {
    const app = await api.create("/apps", { title: "Before" });
    const lists = async () => [(await api.get("/apps")).text, (await api.get("/events")).text];
    const before = await lists();
    gate.fault = new StorageUnavailable("disk full");
    problem(await api.post("/apps", { title: "Lost" }), "storage_unavailable");
    problem(await api.patch(`/apps/${app.id}`, { title: "Lost" }), "storage_unavailable");
    problem(await api.delete(`/apps/${app.id}`), "storage_unavailable");
    problem(await api.post(`/apps/${app.id}/deploy`, { name: "Lost" }), "storage_unavailable");
    assert.deepEqual(await lists(), before, "reads go on, and show what was");
    gate.fault = undefined;
    assert.equal((await api.post("/apps", { title: "Kept" })).status, 201, "writing resumes");
  }),
);

choice("7.error-codes.internal", "what nobody foresaw is a bare 500, without its cause", "ours", () =>
  gated(async (api, gate) => {
    gate.fault = new TypeError("secret cause in /some/path.ts");
    const answer = await api.post("/apps", { title: "T" });
    problem(answer, "internal_error");
    assert.doesNotMatch(answer.text, /secret|path\.ts|TypeError/);
    gate.fault = undefined;
    assert.equal((await api.post("/apps", { title: "T" })).status, 201);
  }),
);

choice("4.idempotency", "a 5xx answer is not kept: the same key may try again", "ours", () =>
  gated(async (api, gate) => {
    for (const fault of [new StorageUnavailable("disk full"), new Error("unforeseen")]) {
      const key = { "idempotency-key": fresh() };
      gate.fault = fault;
      assert.ok((await api.post("/apps", { title: "T" }, key)).status >= 500);
      gate.fault = undefined;
      const answer = await api.post("/apps", { title: "T" }, key);
      assert.deepEqual([answer.status, answer.headers["idempotency-replayed"]], [201, undefined]);
    }
  }),
);

choice(
  "4.idempotency.in-progress",
  "a second request is 409 while the first one runs, and replays once it is done",
  "ours",
  () =>
    gated(async (api, gate) => {
      const key = { "idempotency-key": fresh() };
      const held = gate.hold();
      const first = api.post("/apps", { title: "Once" }, key);
      await held.begun;
      problem(await api.post("/apps", { title: "Once" }, key), "idempotency_in_progress");
      problem(await api.post("/apps", { title: "Other" }, key), "idempotency_in_progress");
      held.release();
      const answer = await first;
      assert.equal(answer.status, 201);
      const replayed = await api.post("/apps", { title: "Once" }, key);
      assert.equal(replayed.header("idempotency-replayed"), "true");
      assert.equal(replayed.text, answer.text);
      assert.equal((await api.get("/apps")).json.total, 1);
    }),
);

choice("1.dashboard.api-keys.last-used", "noting it neither delays nor fails a read", "ours", async () => {
  const gate = new Gate();
  await withService({ store: gate.store, clock: "manual" }, async ({ api, service }) => {
    await service.clock.advance("60000ms");
    const held = gate.hold();
    assert.equal((await api.get("/account")).status, 200, "while the note waits");
    gate.fault = new StorageUnavailable("disk full");
    held.release();
    assert.equal((await api.get("/account")).status, 200, "after the note failed");
    gate.fault = undefined;
    await service.clock.advance("60000ms");
    assert.equal((await api.get("/account")).status, 200);
  });
});
