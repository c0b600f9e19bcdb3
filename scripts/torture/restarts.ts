// The whole service killed in the middle of its deliveries, to receivers that fail 30 % at random: after the last restart
// every acknowledged event has reached every webhook, with the same bytes at every attempt, and only what was in flight at a
// kill came again after it was taken.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../src/receiver.ts";
import { str } from "../../test/support/client.ts";
import { sources, startService } from "../bench/machine.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import type { Lab } from "./lab.ts";

const WEBHOOKS = 3;
const CLIENTS = 16;
const SECRET = "torture-secret";
const LOOK_AGAIN_MS = 50;
const RETRIES = Array(20).fill("50ms").join(",");

/** Whether the n-th answer fails: scattered, and the same from run to run. */
export const fails = (n: number): boolean => Math.imul(n, 2_654_435_761) >>> 0 < 0.3 * 2 ** 32;

export async function restarts(lab: Lab, events: number, kills: number): Promise<Finding> {
  const file = lab.file();
  const start = () => startService("the service", ["--data", file, "--retry-schedule", RETRIES], sources("bin"));
  let up = start();
  const killAndStart = (): typeof up => up.then((server) => server.stop()).then(start);
  /** Undefined where the service was killed before it answered. */
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await (await up).api.call(method, path, body).catch((error: Error) => error);
    if (answer instanceof Error) return undefined;
    assert.ok(answer.status < 400, answer.text);
    return answer.json;
  };
  const answers = [...Array.from({ length: 2 * events }, (_, n) => (fails(n) ? 500 : 200)), 200];
  const receivers = await pool(WEBHOOKS, Array(WEBHOOKS), () => startReceiver({ secret: SECRET, answers }));
  const drafts = receivers.map(({ url }) => ({ url, events: ["app.created"], secret: SECRET }));
  const webhooks = await pool(1, drafts, async (draft) => (await up).api.create("/webhooks", draft));
  const acknowledged: string[] = [];
  const killAt = Array.from({ length: kills }, (_, at) => Math.ceil((events * (at + 1)) / (kills + 1)));
  const work = function* () {
    while (acknowledged.length < events) yield;
  };
  await pool(CLIENTS, work(), async () => {
    const app = await ask("POST", "/apps", { title: "Torture" });
    if (app) acknowledged.push(str(app.id));
    if (killAt[0] === undefined || acknowledged.length < killAt[0]) return;
    killAt.shift();
    up = killAndStart();
  });
  for (const { id } of webhooks)
    while ((await ask("GET", `/webhooks/${id}/deliveries?status=pending&limit=1`))?.total !== 0)
      await sleep(LOOK_AGAIN_MS);
  await (await up).stop();
  for (const receiver of receivers) await receiver.close();
  return judge(receivers, acknowledged, kills);
}

export function judge(receivers: readonly Receiver[], acknowledged: readonly string[], kills: number): Finding {
  const wrong: string[] = [];
  let twice = 0;
  for (const [at, { received }] of receivers.entries()) {
    const taken = received.map(({ attempts }) => attempts.filter(({ answer }) => answer === 200).length);
    const heard = new Set(received.filter((_, n) => taken[n] !== 0).map(({ event }) => event.data.object.id));
    for (const id of acknowledged) if (!heard.has(id)) wrong.push(`webhook ${at} never took ${id}`);
    for (const { id, rawBody, attempts } of received)
      if (attempts.some((attempt) => attempt.rawBody !== rawBody)) wrong.push(`webhook ${at} got two bodies of ${id}`);
    const again = taken.filter((times) => times > 1).length;
    if (again > kills)
      wrong.push(`webhook ${at} took ${again} events again, with one in flight at each of ${kills} kills`);
    twice += again;
  }
  const pairs = acknowledged.length * WEBHOOKS;
  return {
    what: "restarts",
    tried: `${kills} kills in ${acknowledged.length} events, ${pairs} pairs; ${twice} came twice`,
    wrong,
  };
}
