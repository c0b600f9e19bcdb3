// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes. And how long another request waits at most while one that is much work goes on: a webhook with very many
// pending deliveries is switched off or deleted, which cancels them behind the answer; a data source of many rows is
// uploaded and processed.
import { pool } from "../pool.ts";
import { compare, type Line, percentile, plain, ratio, scaled, whole } from "./figures.ts";
import { create, creates, load, post, run } from "./load.ts";
import { side, startReceiver, startService } from "./machine.ts";

/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };

export async function throughput(): Promise<Line[]> {
  await using receiver = await startReceiver("quick");
  return await pool(1, Object.entries(RATES), async ([atOnce, goal]) => {
    const sides = ["send", "post"].map((mode) => side("a bare keep-alive agent", mode, `${receiver.url}/`, atOnce));
    const [own, bare] = await compare(sides, 0);
    return ratio(`Deliveries to ${atOnce} webhooks`, own, bare, "a second", goal);
  });
}

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
  const work = api.call(method, `/webhooks/${id}`, body);
  const found = await longest(`a webhook with ${whole(pending)} pending ${how}`, port, work, "<= 50");
  // A deleted webhook's log is gone with it.
  const log = await api.get(`/webhooks/${id}/deliveries?status=pending`);
  const left = method === "DELETE" ? log.status - 404 : log.json.total;
  if (left !== 0) throw new Error(`${left} are pending ${LASTS_S} s later`);
  return found;
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
  return await longest(`${whole(ROWS)} rows are uploaded, beside the parsing`, server.port, work, "<= 250", parsing_ms);
}

/** What others wait at most while the work goes on; `beside`: what of that is none of its doing. */
async function longest(what: string, port: number, work: Promise<unknown>, goal: string, beside_ms = 0): Promise<Line> {
  const latencies = await run(port, creates({ requests: LASTS_S * PER_SECOND, perSecond: PER_SECOND }));
  await work;
  const value = percentile(latencies, 1) - beside_ms;
  return plain(`Longest wait of another request while ${what}`, "ms", value, goal);
}
