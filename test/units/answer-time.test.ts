// The 30 seconds of part 6, to the millisecond by the server's clock. The conformance kit waits in real time (--slow).
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createHttpSender } from "../../src/delivery/sender.ts";
import { readSettings } from "../../src/options.ts";
import { closeLater } from "../support/closing.ts";
import { httpReceiver } from "../support/receivers.ts";
import { promised } from "../support/wait.ts";

/** The test moves the sender's deadline by hand while the delivery has arrived without a response. */
test("6.success.30-seconds: a response in 28 s is a success, and one after 30 s or 32 s is not", async () => {
  const { webhookTimeout: timeout_ms } = readSettings({ port: 0, log: "off" });
  for (const [wait_ms, outcome] of Object.entries({
    28000: 200,
    29999: 200,
    30000: "timeout",
    32000: "timeout",
  })) {
    let pass = (_by_ms: number) => {};
    const startTimer = (by_ms: number, run: () => void) => {
      pass = (passed_ms) => passed_ms >= by_ms && run();
      return { cancel: () => {} };
    };
    const sender = createHttpSender({ policy: "local", timeout_ms, startTimer });
    closeLater(() => sender.close());
    const { kept: arrived, keep: arrive } = promised<ServerResponse>();
    const { url } = await httpReceiver((_, response) => void arrive(response));
    const sent = sender.send({ url, headers: {}, body: "{}" });
    const response = await arrived;
    pass(Number(wait_ms));
    response.writeHead(200).end();
    const { response_status, error } = await sent;
    assert.equal(error ?? response_status, outcome, `${wait_ms} ms`);
  }
});
