// Kills and restarts the whole service on a file under load, during deliveries to a receiver that fails 30 % at random.
// At the end every acknowledged app has its event and its delivery, no other app exists in part, and only deliveries in
// flight were repeated after they had succeeded.
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../src/receiver.ts";
import type { Client } from "../../test/support/client.ts";
import { SOURCES, startServer } from "../bench/server.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import type { Lab } from "./lab.ts";

const CLIENTS = 8;
const SECRET = "torture-secret";
/** How long deliveries may stay pending after the last event. */
const PENDING_MS = 300_000;
const POLL_MS = 50;

export async function restarts(lab: Lab, events: number, kills: number): Promise<Finding> {
  const schedule = Array(20).fill("500ms").join(",");
  const options = ["--retry-schedule", schedule, "--webhook-timeout", "1s"];
  const args = [...SOURCES, "--data", lab.file(), ...options];
  let server = await startServer("the service", args);
  const random = Array.from({ length: 2 * events }, () => (Math.random() < 0.3 ? 500 : 200));
  const receiver = await startReceiver({ secret: SECRET, answers: [...random, 200] });
  const draft = { url: receiver.url, events: ["app.created"], secret: SECRET };
  const { id } = await server.api.create("/webhooks", draft);
  const acknowledged: string[] = [];
  const createApps = async (until: number) => {
    while (acknowledged.length < until) {
      const { api } = server;
      const response = await api.post("/apps", { title: "Torture" }).catch(() => sleep(POLL_MS));
      if (response?.status === 201) acknowledged.push(response.id);
    }
  };
  for (let part = 1; part <= kills + 1; part += 1) {
    const until = (events * part) / (kills + 1);
    const creating = pool(CLIENTS, Array(CLIENTS), () => createApps(until));
    if (part > 1) {
      await server.stop();
      server = await startServer("the service", args);
    }
    await creating;
  }
  const path = `/webhooks/${id}/deliveries?`;
  const wrong = [
    ...(await waitForDeliveries(server.api, `${path}status=pending&limit=1`)),
    ...(await findIncomplete(server.api, path)),
    ...checkReceived(receiver, acknowledged, kills),
  ];
  await server.stop();
  await receiver.close();
  const tried = `${kills} kills in ${acknowledged.length} events`;
  return { what: "restarts", tried, wrong };
}

async function waitForDeliveries(api: Client, path: string): Promise<string[]> {
  for (const until = performance.now() + PENDING_MS; ; await sleep(POLL_MS)) {
    const { total } = (await api.get(path)).json;
    if (total === 0) return [];
    if (performance.now() > until)
      return [`${total} deliveries are pending after ${PENDING_MS} ms`];
  }
}

/** Checks that every app has its event, and every event its delivery. */
async function findIncomplete(api: Client, deliveriesPath: string): Promise<string[]> {
  const paths = ["/apps?", "/events?type=app.created&", deliveriesPath];
  const lists = await pool(1, paths, (path) => api.get(`${path}limit=1`));
  const totals = lists.map(({ json }) => json.total);
  return new Set(totals).size === 1 ? [] : [`${totals} apps, events and deliveries`];
}

function checkReceived(
  { received }: Receiver,
  acknowledged: readonly string[],
  kills: number,
): string[] {
  const accepted = received.map(({ event, attempts }) => ({
    id: event.data.object.id,
    times: attempts.filter(({ answer }) => answer === 200).length,
  }));
  const ids = new Set(accepted.filter(({ times }) => times > 0).map(({ id }) => id));
  const missing = acknowledged.filter((id) => !ids.has(id));
  const wrong = missing.map((id) => `${id} was never accepted`);
  const repeated = accepted.filter(({ times }) => times > 1).length;
  if (repeated > kills) wrong.push(`${repeated} events accepted again, with ${kills} kills`);
  return wrong;
}
