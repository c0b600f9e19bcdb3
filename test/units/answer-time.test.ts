// The 30 seconds of part 6 to the millisecond, by this server's clock: the conformance kit waits for them in truth (--slow).
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { mock, test } from "node:test";
import type { Client, Members } from "../support/client.ts";
import { embedded } from "../support/embedded.ts";
import { httpReceiver } from "../support/receivers.ts";
import { attempted, promised } from "../support/wait.ts";

/**
 * The delivery after its first attempt, to an endpoint that answers 200 when `wait_ms` have passed, without anybody
 * waiting: the sender's deadline is a timer of this process and is moved by hand, the sockets are real. The time passes
 * between the arrival of the delivery and its answer, so no race decides.
 */
async function answeredAfter(api: Client, wait_ms: number): Promise<Members> {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { kept: arrived, keep: arrive } = promised<ServerResponse>();
    const { url } = await httpReceiver((_, response) => void arrive(response));
    const webhook = await api.create("/webhooks", { url, events: ["app.created"] });
    await api.create("/apps", { title: "Answered late" });
    const response = await arrived;
    mock.timers.tick(wait_ms);
    response.writeHead(200).end();
    const delivery = await attempted(api, webhook);
    await api.delete(`/webhooks/${webhook.id}`);
    return delivery;
  } finally {
    mock.timers.reset();
  }
}

test("6.success.30-seconds: an answer in 28 s is a success, one after 30 s or 32 s is not", async () => {
  await using own = await embedded();
  const becomes = { 28000: "succeeded", 29999: "succeeded", 30000: "pending", 32000: "pending" };
  for (const [wait_ms, status] of Object.entries(becomes))
    assert.equal((await answeredAfter(own.api, Number(wait_ms))).status, status, `${wait_ms} ms`);
});
