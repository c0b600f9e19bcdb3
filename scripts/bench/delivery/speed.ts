// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes; and whether the API answers as fast when a subscribed receiver is silent. The receivers are a process of
// their own, so that both sides of a ratio have the same one.
import { Agent, request } from "node:http";
import { collections } from "../../../src/domain/collections.ts";
import { recordEvent } from "../../../src/domain/events.ts";
import { addWebhook } from "../../../src/domain/webhooks.ts";
import { Unit } from "../../../src/domain/work.ts";
import { Background } from "../../../src/kit/background.ts";
import { AdjustableClock } from "../../../src/kit/clock.ts";
import { systemRandom, TimeOrderedIds } from "../../../src/kit/ids.ts";
import { readSettings } from "../../../src/options.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { webhookOutbox } from "../../../src/webhook-delivery.ts";
import { KEY, pinLoad, startService } from "../machine.ts";
import { answerTimes, clientOf, type Figure, percentile, receiverProcess, SECRET, times } from "./world.ts";

const POSTS = 20_000;
const WARM_UP_POSTS = 2_000;
const ROUNDS = 5;
/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const GOALS: readonly [webhooks: number, share: number][] = [
  [16, 0.5],
  [1, 0.4],
];
const SILENT_AMONG = 10;
const CREATES = 2_000;

export async function throughput(): Promise<Figure[]> {
  const receiver = await receiverProcess("quick");
  const figures: Figure[] = [];
  for (const [atOnce, share] of GOALS) {
    const ratios: number[] = [];
    const shown: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const bare = await bareRate(receiver.url, atOnce);
      const ours = await ourRate(receiver.url, atOnce);
      ratios.push(ours / bare);
      shown.push(`${ours.toFixed(0)}/${bare.toFixed(0)}`);
    }
    const middle = percentile(ratios, 0.5);
    figures.push({
      name: `deliveries a second against the bare agent, ${atOnce} at once`,
      value: `${middle.toFixed(2)} (${shown.join(", ")})`,
      goal: `>= ${share.toFixed(2)}`,
      reached: middle >= share,
    });
  }
  receiver.close();
  return figures;
}

async function bareRate(url: string, atOnce: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const body = JSON.stringify({ filler: "x".repeat(380) });
  const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
  const post = () =>
    new Promise<void>((done, failed) => {
      const sent = request(url, { agent, method: "POST", headers }, (response) => response.resume().on("end", done));
      sent.on("error", failed);
      sent.end(body);
    });
  await times(WARM_UP_POSTS, atOnce, post);
  const began = performance.now();
  await times(POSTS, atOnce, post);
  agent.destroy();
  return POSTS / ((performance.now() - began) / 1_000);
}

/** The outbox alone: the rows stand ready when it starts. One attempt at a time for each webhook. */
async function ourRate(url: string, webhooks: number): Promise<number> {
  const clock = new AdjustableClock();
  const store = memoryStore();
  await store.open(collections);
  const unitParts = { store, clock, ids: new TimeOrderedIds(clock, systemRandom) };
  const unit = new Unit(unitParts);
  const failed = (error: unknown) => {
    throw error;
  };
  const settings = readSettings({}, (name) => name);
  const background = new Background(failed);
  const outbox = webhookOutbox(unitParts, settings, { delivery: () => undefined, error: failed })(background);
  const account = { id: "acc_1", name: "Bench" };
  for (let n = 0; n < webhooks; n += 1)
    await unit.transact((w) =>
      addWebhook(w, account.id, { url, events: ["app.created"], secret: SECRET, active: true }),
    );
  const send = async (posts: number) => {
    for (let n = 0; n < posts / webhooks; n += 1)
      await unit.transact((w) => recordEvent(w, account, "app.created", { filler: "x".repeat(220) }));
    const began = performance.now();
    await outbox.start();
    await background.idle();
    return posts / ((performance.now() - began) / 1_000);
  };
  await send(WARM_UP_POSTS);
  const rate = await send(POSTS);
  outbox.stop();
  clock.close();
  return rate;
}

/**
 * The answer time of a create with ten webhooks, one of them silent, against that with none, taken in turns. Each server
 * is a process of its own, as it is where it is used; the client and the receivers have the other core.
 */
export async function besideSilence(): Promise<Figure[]> {
  pinLoad();
  const silent = await receiverProcess("silent");
  const quick = await receiverProcess("quick");
  const servers = [await startService([], "none"), await startService([], "ten")] as const;
  const [none, ten] = servers.map(({ port }) => ({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: KEY }));
  if (none === undefined || ten === undefined) throw new Error("no server");
  const client = clientOf(ten.baseUrl, ten.apiKey);
  try {
    for (let n = 0; n < SILENT_AMONG; n += 1) {
      const { url } = n === 0 ? silent : quick;
      await client.post("/webhooks", { url, events: ["app.created"], secret: SECRET });
    }
    const [none_ms, ten_ms] = await answerTimes([none, ten], CREATES);
    return shown(percentile(ten_ms ?? [], 0.5) / percentile(none_ms ?? [], 0.5));
  } finally {
    client.close();
    silent.close();
    quick.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function shown(ratio: number): Figure[] {
  const name = "create with ten webhooks, one of them silent, against none, median";
  return [{ name, value: ratio.toFixed(2), goal: "<= 1.10", reached: ratio <= 1.1 }];
}
