// Delivery benchmark: signed and recorded deliveries per second, compared with a bare node:http agent with keep-alive
// that posts the same bytes. It also measures the longest wait of another request during heavy work. That work is
// cancelling the many pending deliveries of a deleted webhook, or processing a large data source.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import { createHttpSender, type Sender } from "../../src/delivery/sender.ts";
import { startReceiver } from "../../src/receiver.ts";
import { took } from "../../test/support/costs.ts";
import { outboxWorld } from "../../test/support/outbox-world.ts";
import { listen } from "../../test/support/ports.ts";
import { promised } from "../../test/support/wait.ts";
import { pool } from "../pool.ts";
import { compare, type Figures, percentile, report, scaled, whole } from "./figures.ts";
import { asking, create, creates, load, run } from "./load.ts";
import { built, side, startServer } from "./machine.ts";

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

const SECRET = "bench-secret";
const PENDING = [scaled(30_000), scaled(100_000)];
const ROWS = scaled(900_000);
/** Takes longer than the work, so that the work shows in the longest wait. */
const BESIDE = creates({ requests: scaled(40_000), connections: 1 });

export async function holds(): Promise<void> {
  await upload();
  for (const pending of PENDING) await deleted(pending);
}

/** The receiver never responds, so all but one delivery stay unattempted. */
async function deleted(pending: number): Promise<void> {
  await using silent = await startReceiver({ secret: SECRET, answers: ["hang"] });
  await using server = await startServer("this server", [built("bin")]);
  const { port, api } = server;
  const { id } = await api.create("/webhooks", {
    url: silent.url,
    events: ["app.created"],
    secret: SECRET,
  });
  await create(server, pending);
  const work = api.delete(`/webhooks/${id}`);
  await longest(`a webhook with ${whole(pending)} pending is deleted`, port, work, "<= 50");
  assert.equal((await work).status, 204);
}

async function upload(): Promise<void> {
  await using server = await startServer("this server", [built("bin")]);
  const data = Array.from({ length: ROWS }, () => ({ a: 1 }));
  // Serialized beforehand, because encoding this much would block the other requests of this process.
  const text = asking("POST", "/v1/data-sources", { name: "Large", type: "json", data });
  const parsing_ms = await took(async () => JSON.parse(text.slice(text.indexOf("{"))));
  const once = load(() => text, 201, { requests: 1, connections: 1 });
  const what = `${whole(ROWS)} rows are uploaded, beside the parsing`;
  await longest(what, server.port, run(server.port, once), "<= 250", parsing_ms);
}

/** The longest wait of other requests during the work; `beside_ms` is the part that the work does not cause. */
async function longest(
  what: string,
  port: number,
  work: Promise<unknown>,
  goal: string,
  beside_ms = 0,
): Promise<void> {
  const latencies = await run(port, BESIDE);
  await work;
  const values = [percentile(latencies, 1) - beside_ms];
  report({ what: `Longest wait of another request while ${what}`, figure: "ms", values, goal });
}
