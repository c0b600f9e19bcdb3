// The 30 seconds of part 6 to the millisecond, by this server's clock: the conformance kit waits for them in truth (--slow).
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { embedded } from "../support/embedded.ts";
import { httpReceiver } from "../support/receivers.ts";
import { attempted, promised } from "../support/wait.ts";

/**
 * Nobody waits: the sender's deadline is a timer of this process and is moved by hand, the sockets are real. The time passes
 * between the arrival of the delivery and its answer, so no race decides. A test delivery is tried once, and goes nowhere else.
 */
test("6.success.30-seconds: an answer in 28 s is a success, one after 30 s or 32 s is not", async (t) => {
  await using own = await embedded();
  const becomes = { 28000: "succeeded", 29999: "succeeded", 30000: "failed", 32000: "failed" };
  for (const [wait_ms, status] of Object.entries(becomes)) {
    const { kept: arrived, keep: arrive } = promised<ServerResponse>();
    const { url } = await httpReceiver((_, response) => void arrive(response));
    const webhook = await own.api.create("/webhooks", { url, events: ["app.created"] });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await own.api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" });
    const response = await arrived;
    t.mock.timers.tick(Number(wait_ms));
    response.writeHead(200).end();
    assert.equal((await attempted(own.api, webhook)).status, status, `${wait_ms} ms`);
    t.mock.timers.reset();
  }
});
