// Processes on one database, killed and started again under load, with deliveries to receivers that fail 30 % at random;
// meanwhile the database is restarted once, and a process is frozen for longer than its leases last. In the end every
// acknowledged app is there with its event and one delivery to each webhook, no other app is there by half, all have been
// delivered, no retry came before it was due, and only what was in flight came again.
import { setTimeout as sleep } from "node:timers/promises";
import { startReceiver } from "../../src/receiver.ts";
import { startBalancer } from "../../test/support/balancer.ts";
import { type Client, str } from "../../test/support/client.ts";
import { type Database, missing, startDatabase } from "../../test/support/database.ts";
import { KEY, type Server, sources, startService } from "../bench/machine.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { fails, judge } from "./restarts.ts";

const WHAT = "fleet";
const PROCESSES = 2;
const WEBHOOKS = 3;
const CLIENTS = 8;
const SECRET = "torture-secret";
const RETRY_MS = 500;
/** The least that the jitter leaves of a wait, and what the clocks of two processes may differ by. */
const EARLY_MS = 0.8 * RETRY_MS - 100;
/** A delivery's lease lasts ten seconds longer than an attempt may take. */
const TIMEOUT_S = 1;
const FROZEN_MS = (TIMEOUT_S + 11) * 1_000;
const OUTSTANDING_MS = 30_000;
const FLAGS = ["--retry-schedule", Array(20).fill(`${RETRY_MS}ms`).join(","), "--webhook-timeout", `${TIMEOUT_S}s`];

export async function fleet(events: number, kills: number, freezes = 1): Promise<Finding> {
  if (missing) return { what: WHAT, tried: `SKIPPED, ${missing}`, wrong: [] };
  const database = startDatabase();
  try {
    return await disturbed(database, events, kills, freezes);
  } finally {
    database.end();
  }
}

async function disturbed(database: Database, events: number, kills: number, freezes: number): Promise<Finding> {
  using balancer = await startBalancer();
  const address = database.address();
  const start = async () => {
    const server = await startService("a process", ["--data", address, ...FLAGS], sources("bin"));
    balancer.ports.push(server.port);
    return server;
  };
  const leave = ({ port }: Server) => void balancer.ports.splice(balancer.ports.indexOf(port), 1);
  const servers = await pool(PROCESSES, Array(PROCESSES), start);
  const api = balancer.client(KEY);
  const early: string[] = [];
  const receivers = await pool(WEBHOOKS, Array(WEBHOOKS), () => startReceiver(failing(events, early)));
  const drafts = receivers.map(({ url }) => ({ url, events: ["app.created"], secret: SECRET }));
  const webhooks = await pool(1, drafts, (draft) => api.create("/webhooks", draft));
  const kill = async (n: number) => {
    const server = servers[n % PROCESSES];
    if (server) leave(server);
    await server?.stop();
    servers[n % PROCESSES] = await start();
  };
  const freeze = async (server: Server | undefined) => {
    if (server) leave(server);
    server?.signal("SIGSTOP");
    await sleep(FROZEN_MS);
    server?.signal("SIGCONT");
    if (server) balancer.ports.push(server.port);
  };
  const restart = async () => {
    database.stop();
    database.start();
  };
  const blows = Array.from({ length: kills }, (_, n) => () => kill(n));
  blows.splice(Math.floor(kills / 3), 0, restart);
  blows.splice(Math.floor((2 * kills) / 3) + 1, 0, ...Array(freezes).fill(() => freeze(servers[0])));
  const inFlight = blows.length;
  const acknowledged = await load(api, events, blows);
  const outstanding = await delivered(api, webhooks);
  const finding = judge(receivers, acknowledged, inFlight);
  const wrong = [...finding.wrong, ...outstanding, ...early, ...(await halves(api, acknowledged, webhooks))];
  for (const server of servers) await server.stop();
  for (const receiver of receivers) await receiver.close();
  return { what: WHAT, tried: `${finding.tried}; a restart of the database, ${freezes} frozen processes`, wrong };
}

/** A receiver that notes which retries come early. */
function failing(events: number, early: string[]) {
  const last = new Map<unknown, { readonly at: number; readonly attempt: number }>();
  const answers = [...Array.from({ length: 3 * events }, (_, n) => (fails(n) ? 500 : 200)), 200];
  const onRequest: Parameters<typeof startReceiver>[0]["onRequest"] = ({ headers }) => {
    const [id, attempt, at] = [headers["x-service-delivery"], Number(headers["x-service-attempt"]), performance.now()];
    const before = last.get(id);
    if (before && attempt > before.attempt && at - before.at < EARLY_MS)
      early.push(`attempt ${attempt} of ${id} came ${Math.round(at - before.at)} ms after the one before`);
    last.set(id, { at, attempt });
  };
  return { secret: SECRET, answers, onRequest };
}

/** Makes apps, and strikes a blow after each share of them; the ids of those that were acknowledged. */
async function load(api: Client, events: number, blows: (() => Promise<void>)[]): Promise<string[]> {
  const acknowledged: string[] = [];
  const strikeAt = blows.map((_, at) => Math.ceil((events * (at + 1)) / (blows.length + 1)));
  let striking = Promise.resolve();
  const work = function* () {
    while (acknowledged.length < events) yield;
  };
  await pool(CLIENTS, work(), async () => {
    const answer = await api.post("/apps", { title: "Torture" }).catch(() => undefined);
    if (answer?.status === 201) acknowledged.push(answer.id);
    if (strikeAt[0] === undefined || acknowledged.length < strikeAt[0]) return;
    strikeAt.shift();
    const blow = blows.shift();
    if (blow) striking = striking.then(blow);
  });
  await striking;
  return acknowledged;
}

async function delivered(api: Client, webhooks: readonly { readonly id: string }[]): Promise<string[]> {
  const until = performance.now() + OUTSTANDING_MS;
  for (;;) {
    const lists = webhooks.map(({ id }) => api.get(`/webhooks/${id}/deliveries?status=pending&limit=1`));
    const pending = (await Promise.all(lists)).reduce((sum, { json }) => sum + Number(json.total), 0);
    if (pending === 0) return [];
    if (performance.now() > until) return [`${pending} deliveries are outstanding after 30 s`];
    await sleep(100);
  }
}

/** Every app has its event, and every event its deliveries. */
async function halves(api: Client, acknowledged: readonly string[], webhooks: readonly { readonly id: string }[]) {
  const all = async (path: string) => {
    const found = [];
    for (let offset = 0, total = 1; offset < total; offset += 100) {
      const { json, items } = await api.get(`${path}&limit=100&offset=${offset}`);
      found.push(...items);
      total = Number(json.total);
    }
    return found;
  };
  const apps = new Set((await all("/apps?")).map(({ id }) => str(id)));
  const events = await all("/events?type=app.created");
  const lists = [new Set(events.map(({ data }) => str(Object(data).object.id)))];
  const objectOf = new Map(events.map(({ id, data }) => [id, str(Object(data).object.id)]));
  for (const { id } of webhooks)
    lists.push(new Set((await all(`/webhooks/${id}/deliveries?`)).map((each) => objectOf.get(each.event_id) ?? "")));
  const known = new Set([...apps, ...lists.flatMap((ids) => [...ids])]);
  const half = [...known].filter((id) => ![apps, ...lists].every((ids) => ids.has(id)));
  return [
    ...half.map((id) => `half of ${id} is there`),
    ...acknowledged.filter((id) => !apps.has(id)).map((id) => `${id} was acknowledged and is lost`),
  ];
}
