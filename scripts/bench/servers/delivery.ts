// Sends the rate, per second, of posts to a receiver: "outbox" through this server's outbox, with all rows stored
// before the first is sent; "agent" through a bare keep-alive agent with the same payload.
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createHttpSender, type Sender } from "../../../src/delivery/sender.ts";
import { outboxWorld } from "../../../test/support/outbox-world.ts";
import { promised } from "../../../test/support/wait.ts";
import { pool } from "../../pool.ts";

const [subject, url = "", webhooks, posts] = process.argv.slice(2);
const concurrency = Number(webhooks);
const count = Number(posts);
const WARM_SHARE = 0.1;

async function postThroughAgent(total: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  await pool(concurrency, Array(total), async () => {
    const sent = request(url, { agent, method: "POST", headers }).end(body);
    const [response] = await once(sent, "response");
    await once(response.resume(), "end");
  });
  agent.destroy();
}

async function createOutboxRun(): Promise<(total: number) => Promise<number>> {
  const httpSender = createHttpSender({ policy: "local", timeout_ms: 30_000 });
  let gate = Promise.resolve();
  const sender: Sender = {
    send: (delivery) => gate.then(() => httpSender.send(delivery)),
    close: () => httpSender.close(),
  };
  const world = await outboxWorld({ sender });
  for (let n = 0; n < concurrency; n += 1) await world.webhook(url);
  return async (total) => {
    const { kept: promise, keep: resolve } = promised();
    gate = promise;
    for (let n = 0; n < total / concurrency; n += 1) await world.emit({ filler: "x".repeat(220) });
    const startedAt = performance.now();
    resolve();
    await world.idle();
    return performance.now() - startedAt;
  };
}

async function timeOfAgent(total: number): Promise<number> {
  const startedAt = performance.now();
  await postThroughAgent(total);
  return performance.now() - startedAt;
}

const run = subject === "agent" ? timeOfAgent : await createOutboxRun();
await run(count * WARM_SHARE);
const ms = await run(count);
process.send?.(count / (ms / 1_000), () => process.exit());
