// Delivery benchmark: signed and recorded deliveries per second, compared with a bare node:http agent with keep-alive
// that posts the same bytes.
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { createHttpSender, type Sender } from "../../src/delivery/sender.ts";
import { took } from "../../test/support/costs.ts";
import { outboxWorld } from "../../test/support/outbox-world.ts";
import { listen } from "../../test/support/ports.ts";
import { promised } from "../../test/support/wait.ts";
import { pool } from "../pool.ts";
import { compare, type Figures, scaled } from "./figures.ts";
import { side } from "./machine.ts";

/** Goals by the number of webhooks, as a share of the bare agent's rate; each webhook makes one attempt at a time. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };
const POSTS = scaled(20_000);
const WARM_POSTS = scaled(2_000);

export async function throughput(): Promise<void> {
  const options = { keepAliveTimeout: 60_000 };
  await using receiver = createServer(options, (request, response) =>
    request.resume().on("end", () => response.end()),
  );
  const url = `http://127.0.0.1:${await listen(receiver)}/`;
  for (const [atOnce, goal] of Object.entries(RATES)) {
    const own = side("own", "delivery", "send", url, atOnce);
    const bare = side("a bare keep-alive agent", "delivery", "post", url, atOnce);
    await compare(`Deliveries to ${atOnce} webhooks`, [own, bare], { "a second": goal }, 0);
  }
}

/** The rate after a warm-up. */
async function rate(posted: (count: number) => Promise<number>): Promise<Figures> {
  await posted(WARM_POSTS);
  return { "a second": POSTS / ((await posted(POSTS)) / 1_000) };
}

/** Posts the payload of a delivery through a bare node:http agent with keep-alive. */
export function post(url: string, atOnce: string): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number(atOnce) });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const work = async () => {
    const [response] = await once(
      request(url, { agent, method: "POST", headers }).end(body),
      "response",
    );
    await once(response.resume(), "end");
  };
  return rate((count) => took(() => pool(Number(atOnce), Array(count), work)));
}

/** Runs the outbox alone with one attempt at a time per webhook; all rows exist before the first is sent. */
export async function send(url: string, webhooks: string): Promise<Figures> {
  const real = createHttpSender({ policy: "local", timeout_ms: 30_000 });
  let gate = Promise.resolve();
  const sender: Sender = {
    send: (one) => gate.then(() => real.send(one)),
    close: () => real.close(),
  };
  const world = await outboxWorld({ sender });
  for (let n = 0; n < Number(webhooks); n += 1) await world.webhook(url);
  return rate(async (count) => {
    const { kept, keep } = promised();
    gate = kept;
    for (let n = 0; n < count / Number(webhooks); n += 1)
      await world.emit({ filler: "x".repeat(220) });
    keep();
    return took(() => world.idle());
  });
}
