// How long another request waits at most while one that is much work goes on: a webhook with very many pending deliveries is
// deleted, which cancels them behind the answer; a data source of many rows is uploaded and processed.
import { type Line, percentile, plain, scaled, whole } from "./figures.ts";
import { create, creates, run } from "./load.ts";
import { type Server, startReceiver, startService } from "./machine.ts";

const PENDING = scaled(30_000);
const ROWS = scaled(900_000);
const PER_SECOND = 500;
/** Longer than the work takes. */
const LASTS_S = 6;

export const holds = async (): Promise<Line[]> => [await upload(), await cancelled()];

/** The receiver is silent, so that all but one delivery are never attempted. */
async function cancelled(): Promise<Line> {
  await using silent = await startReceiver("silent");
  await using server = await startService();
  const { id } = await server.api.create("/webhooks", { url: silent.url, events: ["app.created"] });
  await create(server.port, PENDING);
  const ms = await longest(server, server.api.delete(`/webhooks/${id}`));
  return line(`a webhook with ${whole(PENDING)} pending is deleted`, ms, "<= 50");
}

async function upload(): Promise<Line> {
  await using server = await startService();
  const data = Array.from({ length: ROWS }, () => ({ a: 1 }));
  const text = JSON.stringify(data);
  const began = performance.now();
  JSON.parse(text);
  const parsing_ms = performance.now() - began;
  const ms = await longest(server, server.api.create("/data-sources", { name: "Large", type: "json", data }));
  return line(`${whole(ROWS)} rows are uploaded, beside the parsing`, ms - parsing_ms, "<= 250");
}

/** What others wait while the work goes on. */
async function longest({ port }: Server, work: Promise<unknown>): Promise<number> {
  const latencies = await run(port, creates({ requests: LASTS_S * PER_SECOND, perSecond: PER_SECOND }));
  await work;
  return percentile(latencies, 1);
}

const line = (what: string, ms: number, goal: string): Line =>
  plain(`Longest wait of another request while ${what}`, "ms", ms, goal);
