// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes. And how long another request waits at most while one that is much work goes on: a webhook with very many
// pending deliveries is switched off or deleted, which cancels them behind the answer; a data source of many rows is
// uploaded and processed.
import { createServer } from "node:http";
import { startReceiver } from "../../src/receiver.ts";
import { listen } from "../../test/support/ports.ts";
import { compare, percentile, scaled, tell, whole } from "./figures.ts";
import { asking, create, creates, load, run } from "./load.ts";
import { built, side, startServer } from "./machine.ts";

/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };

export async function throughput(): Promise<void> {
  const options = { keepAliveTimeout: 60_000 };
  await using receiver = createServer(options, (request, response) => request.resume().on("end", () => response.end()));
  const url = `http://127.0.0.1:${await listen(receiver)}/`;
  const bare = "a bare keep-alive agent";
  for (const [atOnce, goal] of Object.entries(RATES)) {
    const [own, base] = [side("own", "send", url, atOnce), side(bare, "post", url, atOnce)];
    await compare(`Deliveries to ${atOnce} webhooks`, [own, base], { "a second": goal }, 0);
  }
}

const SECRET = "bench-secret";
const PENDING = [scaled(30_000), scaled(100_000)];
const ROWS = scaled(900_000);
/** Takes longer than the work, which shows in the longest of all waits. */
const BESIDE = creates({ requests: scaled(40_000), connections: 1 });

export async function holds(): Promise<void> {
  await upload();
  for (const pending of PENDING) {
    await cancelled(pending, "DELETE", "is deleted");
    await cancelled(pending, "PATCH", "is switched off", { active: false });
  }
}

/** The receiver is silent, so that all but one delivery are never attempted. */
async function cancelled(pending: number, method: "DELETE" | "PATCH", how: string, body?: object): Promise<void> {
  await using silent = await startReceiver({ secret: SECRET, answers: ["hang"] });
  await using server = await startServer("this server", [built("bin")]);
  const { port, api } = server;
  const { id } = await api.create("/webhooks", { url: silent.url, events: ["app.created"], secret: SECRET });
  await create(server, pending);
  const work = api.call(method, `/webhooks/${id}`, body);
  await longest(`a webhook with ${whole(pending)} pending ${how}`, port, work, "<= 50");
  // A deleted webhook's log is gone with it.
  const log = await api.get(`/webhooks/${id}/deliveries?status=pending`);
  const left = method === "DELETE" ? log.status - 404 : log.json.total;
  if (left !== 0) throw new Error(`${left} are still pending`);
}

async function upload(): Promise<void> {
  await using server = await startServer("this server", [built("bin")]);
  const data = Array.from({ length: ROWS }, () => ({ a: 1 }));
  // Made before: whoever makes text of so much sends nothing else meanwhile.
  const text = asking("POST", "/v1/data-sources", { name: "Large", type: "json", data });
  const began = performance.now();
  JSON.parse(text.slice(text.indexOf("{")));
  const parsing_ms = performance.now() - began;
  const once = load(() => text, 201, { requests: 1, connections: 1 });
  const what = `${whole(ROWS)} rows are uploaded, beside the parsing`;
  await longest(what, server.port, run(server.port, once), "<= 250", parsing_ms);
}

/** What others wait at most while the work goes on; `beside_ms`: what of that is none of its doing. */
async function longest(what: string, port: number, work: Promise<unknown>, goal: string, beside_ms = 0): Promise<void> {
  const latencies = await run(port, BESIDE);
  await work;
  const values = [percentile(latencies, 1) - beside_ms];
  tell({ what: `Longest wait of another request while ${what}`, figure: "ms", values, goal });
}
