// Kills and restarts the whole service under load, during deliveries to receivers that fail 30 % at random. It runs as
// one process on a file, and as a fleet on one database. The fleet's database restarts meanwhile, and one process is
// frozen for longer than its leases last. At the end every acknowledged app exists with its event and one delivery per
// webhook, and no other app exists in part. All events are delivered with the same bytes at every attempt. No retry
// comes before it is due, and only deliveries in flight are repeated.
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../src/receiver.ts";
import { startBalancer } from "../../test/support/balancer.ts";
import { type Client, str } from "../../test/support/client.ts";
import { missing, startDatabase } from "../../test/support/database.ts";
import { KEY, type Server, SOURCES, startServer } from "../bench/machine.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import type { Lab } from "./lab.ts";

const WEBHOOKS = 3;
const CLIENTS = 8;
const SECRET = "torture-secret";
const RETRY_MS = 500;
/** The shortest wait that jitter allows, less the clock difference of two processes. */
const EARLY_MS = 0.8 * RETRY_MS - 100;
/** A lease expires six seconds after its last renewal. */
const FROZEN_MS = 8_000;
const LOOK_AGAIN_MS = 50;
const FLAGS = [
  "--retry-schedule",
  Array(20).fill(`${RETRY_MS}ms`).join(","),
  "--webhook-timeout",
  "1s",
];

interface Trial {
  readonly what: string;
  readonly processes: number;
  /** The value of `--data`. */
  readonly data: string;
  /** Below the retention limit. */
  readonly events: number;
  readonly kills: number;
  /** How long deliveries may stay outstanding after the last event. */
  readonly outstanding_ms: number;
  /** Further faults, injected after half of the kills. */
  readonly more?: readonly ((servers: readonly Server[], ports: number[]) => unknown)[];
}

export const restarts = (lab: Lab, events: number, kills: number): Promise<Finding> =>
  disturbed({
    what: "restarts",
    processes: 1,
    data: lab.file(),
    events,
    kills,
    outstanding_ms: 300_000,
  });

export async function fleet(
  processes: number,
  events: number,
  kills: number,
  freezes = 1,
): Promise<Finding> {
  const what = `fleet of ${processes}, a restart of the database, ${freezes} frozen processes`;
  if (missing) return { what, tried: `SKIPPED, ${missing}`, wrong: [] };
  using database = startDatabase();
  const restart = () => {
    database.stop();
    database.start();
  };
  const more = [restart, ...Array<typeof freeze>(freezes).fill(freeze)];
  return await disturbed({
    what,
    processes,
    data: database.address(),
    events,
    kills,
    outstanding_ms: 30_000,
    more,
  });
}

const leave = (ports: number[], port = 0) => void ports.splice(ports.indexOf(port), 1);

async function freeze([server]: readonly Server[], ports: number[]): Promise<void> {
  if (server === undefined) return;
  leave(ports, server.port);
  server.signal("SIGSTOP");
  await sleep(FROZEN_MS);
  server.signal("SIGCONT");
  ports.push(server.port);
}

async function disturbed({
  what,
  processes,
  data,
  events,
  kills,
  outstanding_ms,
  more = [],
}: Trial): Promise<Finding> {
  using balancer = await startBalancer();
  const { ports } = balancer;
  const start = async () => {
    const server = await startServer("a process", [...SOURCES, "--data", data, ...FLAGS]);
    ports.push(server.port);
    return server;
  };
  const servers = await pool(processes, Array(processes), start);
  const api = balancer.client(KEY);
  const early: string[] = [];
  const receivers = await pool(WEBHOOKS, Array(WEBHOOKS), () =>
    startReceiver(failing(events, early)),
  );
  const drafts = receivers.map(({ url }) => ({ url, events: ["app.created"], secret: SECRET }));
  const webhooks = await pool(1, drafts, (draft) => api.create("/webhooks", draft));
  const kill = async (n: number) => {
    const server = servers[n % processes];
    leave(ports, server?.port);
    await server?.stop();
    servers[n % processes] = await start();
  };
  const blows: (() => unknown)[] = Array.from({ length: kills }, (_, n) => () => kill(n));
  blows.splice(kills / 2, 0, ...more.map((blow) => () => blow(servers, ports)));
  const acknowledged = await load(api, events, blows);
  const outstanding = await delivered(api, webhooks, outstanding_ms);
  const { tried, wrong } = judged(receivers, acknowledged, blows.length);
  wrong.push(...outstanding, ...early, ...(await halves(api, acknowledged, webhooks)));
  for (const server of servers) await server.stop();
  for (const receiver of receivers) await receiver.close();
  return { what, tried, wrong };
}

/** Starts a receiver that fails at random until all events have arrived, and records early retries. */
function failing(events: number, early: string[]) {
  const last = new Map<unknown, { readonly at: number; readonly attempt: number }>();
  const answers = [
    ...Array.from({ length: 3 * events }, () => (Math.random() < 0.3 ? 500 : 200)),
    200,
  ];
  const onRequest: Parameters<typeof startReceiver>[0]["onRequest"] = ({ headers }) => {
    const [id, attempt, at] = [
      headers["x-service-delivery"],
      Number(headers["x-service-attempt"]),
      performance.now(),
    ];
    const before = last.get(id);
    if (before && attempt > before.attempt && at - before.at < EARLY_MS)
      early.push(
        `attempt ${attempt} of ${id} came ${Math.round(at - before.at)} ms after the one before`,
      );
    last.set(id, { at, attempt });
  };
  return { secret: SECRET, answers, onRequest };
}

/** Creates apps with a fault after each share of them; returns the ids of the acknowledged apps. */
async function load(
  api: Client,
  events: number,
  blows: readonly (() => unknown)[],
): Promise<string[]> {
  const acknowledged: string[] = [];
  let [struck, striking] = [0, Promise.resolve<unknown>(undefined)];
  const work = function* () {
    while (acknowledged.length < events) yield;
  };
  await pool(CLIENTS, work(), async () => {
    const answer = await api.post("/apps", { title: "Torture" }).catch(() => sleep(LOOK_AGAIN_MS));
    if (answer?.status === 201) acknowledged.push(answer.id);
    if (acknowledged.length < (events * (struck + 1)) / (blows.length + 1)) return;
    striking = striking.then(blows[struck]);
    struck += 1;
  });
  await striking;
  return acknowledged;
}

async function delivered(
  api: Client,
  webhooks: readonly { readonly id: string }[],
  limit_ms: number,
) {
  for (const until = performance.now() + limit_ms; ; await sleep(LOOK_AGAIN_MS)) {
    const lists = webhooks.map(({ id }) =>
      api.get(`/webhooks/${id}/deliveries?status=pending&limit=1`),
    );
    const pending = (await Promise.all(lists)).map(({ json }) => Number(json.total));
    if (pending.every((count) => count === 0)) return [];
    if (performance.now() > until)
      return [`${pending.join(", ")} deliveries are outstanding after ${limit_ms} ms`];
  }
}

/** Checks that every app has its event, and every event its deliveries. */
async function halves(
  api: Client,
  acknowledged: readonly string[],
  webhooks: readonly { readonly id: string }[],
) {
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
  const appOf = new Map(events.map(({ id, data }) => [id, str(Object(data).object.id)]));
  const deliveries = await pool(1, webhooks, ({ id }) => all(`/webhooks/${id}/deliveries?`));
  const reported = deliveries.map(
    (list) => new Set(list.map(({ event_id }) => appOf.get(event_id) ?? "")),
  );
  const lists = [apps, new Set(appOf.values()), ...reported];
  const known = new Set([...acknowledged, ...lists.flatMap((ids) => [...ids])]);
  const places = (id: string) => lists.filter((ids) => ids.has(id)).length;
  const broken = [...known].filter((id) => places(id) < lists.length);
  return broken.map(
    (id) =>
      `${id}, acknowledged: ${acknowledged.includes(id)}, is in ${places(id)} of ${lists.length} places`,
  );
}

/** Checks the deliveries that the receivers got. */
function judged(receivers: readonly Receiver[], acknowledged: readonly string[], inFlight: number) {
  const wrong: string[] = [];
  let twice = 0;
  for (const [at, { received }] of receivers.entries()) {
    const taken = received.map(
      ({ attempts }) => attempts.filter(({ answer }) => answer === 200).length,
    );
    const messages = new Set(
      received.filter((_, n) => taken[n] !== 0).map(({ event }) => event.data.object.id),
    );
    for (const id of acknowledged)
      if (!messages.has(id)) wrong.push(`webhook ${at} never took ${id}`);
    for (const { id, rawBody, attempts } of received)
      if (attempts.some((attempt) => attempt.rawBody !== rawBody))
        wrong.push(`webhook ${at} got two bodies of ${id}`);
    const again = taken.filter((times) => times > 1).length;
    if (again > inFlight)
      wrong.push(
        `webhook ${at} took ${again} events again, with one in flight at ${inFlight} blows`,
      );
    twice += again;
  }
  const pairs = acknowledged.length * WEBHOOKS;
  const tried = `${inFlight} blows in ${acknowledged.length} events, ${pairs} pairs; ${twice} came twice`;
  return { tried, wrong };
}
