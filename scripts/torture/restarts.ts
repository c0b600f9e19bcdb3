// Kills and restarts the whole service on a file under load, during deliveries to a receiver that fails 30 % at random.
// At the end the receiver has accepted the event of every acknowledged app, and no app exists without its event and its
// delivery.
import { setTimeout as sleep } from "node:timers/promises";
import { startReceiver } from "../../src/receiver.ts";
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
  const args = [...SOURCES, "--data", lab.file(), "--retry-schedule", schedule];
  const random = Array.from({ length: 2 * events }, () => (Math.random() < 0.3 ? 500 : 200));
  const receiver = await startReceiver({ secret: SECRET, answers: [...random, 200] });
  let server = await startServer("the service", args);
  const webhook = { url: receiver.url, events: ["app.created"], secret: SECRET };
  const { id } = await server.api.create("/webhooks", webhook);
  const acknowledged: string[] = [];
  const createApps = async (until: number) => {
    while (acknowledged.length < until) {
      const sent = server.api.post("/apps", { title: "Torture" });
      const response = await sent.catch(() => sleep(POLL_MS));
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
  const count = async (path: string) => Number((await server.api.get(path)).json.total);
  const deliveries = `/webhooks/${id}/deliveries`;
  const deadline = performance.now() + PENDING_MS;
  while ((await count(`${deliveries}?status=pending`)) > 0 && performance.now() < deadline)
    await sleep(POLL_MS);
  const accepted = receiver.received
    .filter(({ attempts }) => attempts.some(({ answer }) => answer === 200))
    .map(({ event }) => event.data.object.id);
  const missing = acknowledged.filter((app) => !accepted.includes(app));
  const wrong = missing.map((app) => `the event of ${app} was never accepted`);
  const totals = await pool(1, ["/apps", "/events?type=app.created", deliveries], count);
  if (new Set(totals).size > 1) wrong.push(`${totals} apps, events and deliveries`);
  await server.stop();
  await receiver.close();
  return { what: "restarts", tried: `${kills} kills in ${acknowledged.length} events`, wrong };
}
