// How long another request waits at most while one that is much work goes on: a webhook with very many pending deliveries is
// switched off or deleted, which cancels them behind the answer; a data source of many rows is uploaded and processed.
import { pool } from "../pool.ts";
import { type Line, percentile, plain, scaled, whole } from "./figures.ts";
import { create, creates, load, post, run } from "./load.ts";
import { startReceiver, startService } from "./machine.ts";

const PENDING = [scaled(30_000), scaled(100_000)];
const ROWS = scaled(900_000);
const PER_SECOND = 500;
/** Longer than the work takes. */
const LASTS_S = 6;

const DELETE = ["DELETE", "is deleted", undefined] as const;
const SWITCH_OFF = ["PATCH", "is switched off", { active: false }] as const;

export const holds = async (): Promise<Line[]> => [
  await upload(),
  ...(await pool(
    1,
    PENDING.flatMap((pending) => [DELETE, SWITCH_OFF].map((way) => [pending, way] as const)),
    ([pending, way]) => cancelled(pending, way),
  )),
];

/** The receiver is silent, so that all but one delivery are never attempted. */
async function cancelled(pending: number, [method, how, body]: typeof DELETE | typeof SWITCH_OFF): Promise<Line> {
  await using silent = await startReceiver("silent");
  await using server = await startService();
  const { port, api } = server;
  const { id } = await api.create("/webhooks", { url: silent.url, events: ["app.created"] });
  await create(port, pending);
  const longest_ms = await longest(port, api.call(method, `/webhooks/${id}`, body));
  // A deleted webhook's log is gone with it.
  const log = await api.get(`/webhooks/${id}/deliveries?status=pending`);
  const left = method === "DELETE" ? log.status - 404 : log.json.total;
  if (left !== 0) throw new Error(`${left} are pending ${LASTS_S} s later`);
  return line(`a webhook with ${whole(pending)} pending ${how}`, longest_ms, "<= 50");
}

async function upload(): Promise<Line> {
  await using server = await startService();
  const data = Array.from({ length: ROWS }, () => ({ a: 1 }));
  // Made before: whoever makes text of so much sends nothing else meanwhile.
  const text = post("/v1/data-sources", { name: "Large", type: "json", data });
  const began = performance.now();
  JSON.parse(text.slice(text.indexOf("{")));
  const parsing_ms = performance.now() - began;
  const work = run(
    server.port,
    load(() => text, 201, { requests: 1, connections: 1, perSecond: 1 }),
  );
  const longest_ms = await longest(server.port, work);
  return line(`${whole(ROWS)} rows are uploaded, beside the parsing`, longest_ms - parsing_ms, "<= 250");
}

/** What others wait while the work goes on. */
async function longest(port: number, work: Promise<unknown>): Promise<number> {
  const latencies = await run(port, creates({ requests: LASTS_S * PER_SECOND, perSecond: PER_SECOND }));
  await work;
  return percentile(latencies, 1);
}

const line = (what: string, ms: number, goal: string): Line =>
  plain(`Longest wait of another request while ${what}`, "ms", ms, goal);
