// The whole service killed in the middle of its deliveries: after the last restart every acknowledged event has reached
// every webhook, and only what was in flight at a kill has come twice.
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../src/receiver.ts";
import { Child, type Finding, type Lab } from "./lab.ts";

const WEBHOOKS = 3;
const CLIENTS = 16;
const KEY = "torture-key";
const SECRET = "torture-secret";
const LOOK_AGAIN_MS = 50;

/** One server after the other on one file and one port. */
class Service {
  readonly #file: string;
  #child: Child | undefined;
  #baseUrl = "http://localhost:0";
  /** Resolves when it can be asked (again). */
  up: Promise<void>;

  constructor(file: string) {
    this.#file = file;
    this.up = this.#start();
  }

  async #start(): Promise<void> {
    const { port } = new URL(this.#baseUrl);
    const flags = ["--port", port, "--data", this.#file, "--log", "json", "--api-key", KEY, "--rate-limit", "off"];
    this.#child = new Child([process.execPath, "--import", "tsx", "src/bin.ts", ...flags]);
    const ready = await this.#child.firstLine();
    if (ready === undefined) throw new Error("The service did not start");
    this.#baseUrl = JSON.parse(ready).base_url;
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** In the middle of whatever it does. */
  killAndStart(): Promise<void> {
    this.up = this.kill().then(() => this.#start());
    return this.up;
  }

  /** Answers the body of a 2xx; undefined where the service was killed before it answered. */
  async ask(method: string, path: string, body?: object): Promise<{ id: string; total: number } | undefined> {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    try {
      const answer = await fetch(this.#baseUrl + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
      if (answer.ok) return Object(await answer.json());
      throw new Error(`${method} ${path} answered ${answer.status}`);
    } catch (error) {
      if (error instanceof TypeError) return undefined; // what fetch rejects with when the connection breaks
      throw error;
    }
  }
}

export async function restarts(lab: Lab, events: number, kills: number): Promise<Finding> {
  const service = new Service(lab.file());
  await service.up;
  const receivers = await Promise.all(Array.from({ length: WEBHOOKS }, () => startReceiver({ secret: SECRET })));
  const webhooks = receivers.map(({ url }) => ({ url, events: ["app.created"], secret: SECRET }));
  const made = await Promise.all(webhooks.map((draft) => service.ask("POST", "/webhooks", draft)));
  const acknowledged: string[] = [];
  const killAt = Array.from({ length: kills }, (_, at) => Math.ceil((events * (at + 1)) / (kills + 1)));
  await Promise.all(Array.from({ length: CLIENTS }, () => create(service, acknowledged, events, killAt)));
  for (const webhook of made)
    while ((await service.ask("GET", `/webhooks/${webhook?.id}/deliveries?status=pending&limit=1`))?.total !== 0)
      await sleep(LOOK_AGAIN_MS);
  await service.kill();
  for (const receiver of receivers) await receiver.close();
  return judge(receivers, acknowledged, kills);
}

/** Creates apps until so many are acknowledged in all; whoever reaches the next number of `killAt` kills the service. */
async function create(service: Service, acknowledged: string[], until: number, killAt: number[]): Promise<void> {
  while (acknowledged.length < until) {
    await service.up;
    const app = await service.ask("POST", "/apps", { title: "Torture" });
    if (app) acknowledged.push(app.id);
    if (killAt[0] === undefined || acknowledged.length < killAt[0]) continue;
    killAt.shift();
    await service.killAndStart();
  }
}

function judge(receivers: readonly Receiver[], acknowledged: readonly string[], kills: number): Finding {
  const wrong: string[] = [];
  let twice = 0;
  for (const [at, { received }] of receivers.entries()) {
    const heard = new Set(received.map(({ event }) => event.data.object.id));
    for (const id of acknowledged) if (!heard.has(id)) wrong.push(`webhook ${at} never heard of ${id}`);
    const again = received.filter(({ attempts }) => attempts.length > 1).length;
    if (again > kills)
      wrong.push(`webhook ${at} heard ${again} events again, with one in flight at each of ${kills} kills`);
    twice += again;
  }
  const pairs = acknowledged.length * WEBHOOKS;
  return {
    tried: `restarts: ${kills} kills in ${acknowledged.length} events, ${pairs} pairs; ${twice} came twice`,
    wrong,
  };
}
