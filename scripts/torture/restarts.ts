// Kills and restarts the whole service on a file under load, during deliveries to receivers that fail 30 % at random. At
// the end every acknowledged app exists with its event and one delivery per webhook, and no other app exists in part.
// All events are delivered with the same bytes at every attempt. No retry comes before it is due, and only deliveries in
// flight are repeated.
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../src/receiver.ts";
import { type Client, members, str } from "../../test/support/client.ts";
import { SOURCES, startServer } from "../bench/server.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import type { Lab } from "./lab.ts";

const WEBHOOKS = 3;
const CLIENTS = 8;
const SECRET = "torture-secret";
const RETRY_MS = 500;
/** The shortest wait that jitter allows, less the time that a packet may take. */
const EARLIEST_MS = 0.8 * RETRY_MS - 100;
/** How long deliveries may stay pending after the last event. */
const PENDING_MS = 300_000;
const POLL_MS = 50;
const PAGE = 100;

export async function restarts(lab: Lab, events: number, kills: number): Promise<Finding> {
  const schedule = Array(20).fill(`${RETRY_MS}ms`).join(",");
  const options = ["--retry-schedule", schedule, "--webhook-timeout", "1s"];
  const file = lab.file();
  const start = () => startServer("a process", [...SOURCES, "--data", file, ...options]);
  let server = await start();
  const early: string[] = [];
  const receivers = await pool(WEBHOOKS, Array(WEBHOOKS), () =>
    startReceiver(failAtRandom(events, early)),
  );
  const drafts = receivers.map(({ url }) => ({ url, events: ["app.created"], secret: SECRET }));
  const webhooks = await pool(1, drafts, (draft) => server.api.create("/webhooks", draft));
  const acknowledged: string[] = [];
  let killed = 0;
  const restart = async () => {
    killed += 1;
    await server.stop();
    server = await start();
  };
  let restarting = Promise.resolve();
  const untilAcknowledged = function* () {
    while (acknowledged.length < events) yield;
  };
  await pool(CLIENTS, untilAcknowledged(), async () => {
    const response = await server.api
      .post("/apps", { title: "Torture" })
      .catch(() => sleep(POLL_MS));
    if (response?.status === 201) acknowledged.push(response.id);
    if (killed < kills && acknowledged.length > (events * (killed + 1)) / (kills + 1))
      restarting = restart();
  });
  await restarting;
  const wrong = [
    ...(await waitForDeliveries(server.api, webhooks)),
    ...early,
    ...(await findIncomplete(server.api, acknowledged, webhooks)),
    ...checkReceived(receivers, acknowledged, kills),
  ];
  await server.stop();
  for (const receiver of receivers) await receiver.close();
  const tried = `${kills} kills in ${acknowledged.length} events to ${WEBHOOKS} webhooks`;
  return { what: "restarts", tried, wrong };
}

type Webhooks = readonly { readonly id: string }[];

/** Options of a receiver that fails at random until all events have arrived, and records early retries. */
function failAtRandom(events: number, early: string[]): Parameters<typeof startReceiver>[0] {
  const last = new Map<unknown, { readonly at: number; readonly attempt: number }>();
  const random = Array.from({ length: 3 * events }, () => (Math.random() < 0.3 ? 500 : 200));
  return {
    secret: SECRET,
    answers: [...random, 200],
    onRequest({ headers }) {
      const id = headers["x-service-delivery"];
      const attempt = Number(headers["x-service-attempt"]);
      const at = performance.now();
      const before = last.get(id);
      if (before && attempt > before.attempt && at - before.at < EARLIEST_MS)
        early.push(
          `attempt ${attempt} of ${id} came ${Math.round(at - before.at)} ms after the last`,
        );
      last.set(id, { at, attempt });
    },
  };
}

async function waitForDeliveries(api: Client, webhooks: Webhooks): Promise<string[]> {
  for (const until = performance.now() + PENDING_MS; ; await sleep(POLL_MS)) {
    const lists = webhooks.map(({ id }) =>
      api.get(`/webhooks/${id}/deliveries?status=pending&limit=1`),
    );
    const pending = (await Promise.all(lists)).map(({ json }) => Number(json.total));
    if (pending.every((count) => count === 0)) return [];
    if (performance.now() > until)
      return [`${pending.join(", ")} deliveries are pending after ${PENDING_MS} ms`];
  }
}

/** Checks that every app has its event, and every event its deliveries. */
async function findIncomplete(
  api: Client,
  acknowledged: readonly string[],
  webhooks: Webhooks,
): Promise<string[]> {
  const listAll = async (path: string) => {
    const found = [];
    for (let offset = 0, total = 1; offset < total; offset += PAGE) {
      const { json, items } = await api.get(`${path}&limit=${PAGE}&offset=${offset}`);
      found.push(...items);
      total = Number(json.total);
    }
    return found;
  };
  const apps = new Set((await listAll("/apps?")).map(({ id }) => str(id)));
  const events = await listAll("/events?type=app.created");
  const appIds = new Map(events.map(({ id, data }) => [id, str(members(members(data).object).id)]));
  const deliveries = await pool(1, webhooks, ({ id }) => listAll(`/webhooks/${id}/deliveries?`));
  const delivered = deliveries.map(
    (list) => new Set(list.map(({ event_id }) => appIds.get(event_id) ?? "")),
  );
  const lists = [apps, new Set(appIds.values()), ...delivered];
  const all = new Set([...acknowledged, ...lists.flatMap((ids) => [...ids])]);
  return [...all]
    .filter((id) => lists.some((ids) => !ids.has(id)))
    .map((id) => `${id}, acknowledged: ${acknowledged.includes(id)}, exists in part`);
}

/** Checks the deliveries that the receivers got. */
function checkReceived(
  receivers: readonly Receiver[],
  acknowledged: readonly string[],
  kills: number,
): string[] {
  const wrong: string[] = [];
  for (const [n, { received }] of receivers.entries()) {
    const accepted = received.map(
      ({ attempts }) => attempts.filter(({ answer }) => answer === 200).length,
    );
    const ids = new Set(
      received.filter((_, at) => accepted[at] !== 0).map(({ event }) => event.data.object.id),
    );
    for (const id of acknowledged)
      if (!ids.has(id)) wrong.push(`webhook ${n} never accepted ${id}`);
    for (const { id, rawBody, attempts } of received)
      if (attempts.some((attempt) => attempt.rawBody !== rawBody))
        wrong.push(`webhook ${n} got two bodies of ${id}`);
    const repeated = accepted.filter((times) => times > 1).length;
    if (repeated > kills)
      wrong.push(`webhook ${n} accepted ${repeated} events again, with ${kills} kills`);
  }
  return wrong;
}
