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

async function postThroughAgent(total: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const startedAt = performance.now();
  await pool(concurrency, Array(total), async () => {
    const sent = request(url, { agent, method: "POST", headers }).end(body);
    const [response] = await once(sent, "response");
    await once(response.resume(), "end");
  });
  agent.destroy();
  return performance.now() - startedAt;
}

async function createOutboxRun(): Promise<(total: number) => Promise<number>> {
  const sender = createHttpSender({ policy: "local", timeout_ms: 30_000 });
  let gate = Promise.resolve();
  const send: Sender["send"] = (delivery) => gate.then(() => sender.send(delivery));
  const world = await outboxWorld({ sender: { ...sender, send } });
  for (let n = 0; n < concurrency; n += 1) await world.webhook(url);
  return async (total) => {
    const { kept, keep: open } = promised();
    gate = kept;
    for (let n = 0; n < total / concurrency; n += 1) await world.emit({ filler: "x".repeat(220) });
    const startedAt = performance.now();
    open();
    await world.idle();
    return performance.now() - startedAt;
  };
}

const count = Number(posts);
const run = subject === "agent" ? postThroughAgent : await createOutboxRun();
await run(count / 10);
const ms = await run(count);
process.send?.(count / (ms / 1_000), () => process.exit());
