// The whole service killed in the middle of its deliveries: after the last restart every acknowledged event has reached
// every webhook, and only what was in flight at a kill has come twice.
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { Child, type Finding, type Lab } from "./lab.ts";

const WEBHOOKS = 3;
const CLIENTS = 16;
const KEY = "torture-key";
const LOOK_AGAIN_MS = 50;
const PROGRAM = fileURLToPath(new URL("../../src/bin.ts", import.meta.url));

/** How often each app's app.created has come. */
class Receiver {
  readonly arrivals = new Map<string, number>();
  readonly #server: Server;
  constructor() {
    this.#server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const { id } = JSON.parse(body).data.object;
      this.arrivals.set(id, (this.arrivals.get(id) ?? 0) + 1);
      response.end();
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** One server after the other on one file and one port. */
class Service {
  readonly #file: string;
  #child: Child | undefined;
  /** Resolves when it can be asked (again). */
  up: Promise<void> = Promise.resolve();
  baseUrl = "";
  constructor(file: string) {
    this.#file = file;
  }

  async start(): Promise<void> {
    const port = this.baseUrl === "" ? "0" : new URL(this.baseUrl).port;
    const flags = { port, data: this.#file, log: "json", "api-key": KEY, "rate-limit": "off" };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    this.#child = new Child([process.execPath, "--import", "tsx", PROGRAM, ...args]);
    const ready = await this.#child.firstLine();
    if (ready === undefined) throw new Error("The service did not start again");
    this.baseUrl = JSON.parse(ready).base_url;
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** In the middle of whatever it does. */
  async killAndStart(): Promise<void> {
    this.up = this.kill().then(() => this.start());
    await this.up;
  }

  /** Answers the body of a 2xx; undefined where the service was killed before it answered. */
  async ask(method: string, path: string, body?: object): Promise<{ id: string; total: number } | undefined> {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    try {
      const answer = await fetch(this.baseUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      if (answer.ok) return Object(await answer.json());
      throw new Error(`${method} ${path} answered ${answer.status}`);
    } catch (error) {
      if (error instanceof TypeError) return undefined; // what fetch rejects with when the connection breaks
      throw error;
    }
  }
}

export async function restarts(lab: Lab, events: number, kills: number): Promise<Finding> {
  const receivers = Array.from({ length: WEBHOOKS }, () => new Receiver());
  const service = new Service(lab.file());
  await service.start();
  const webhooks: string[] = [];
  for (const receiver of receivers) {
    const made = await service.ask("POST", "/webhooks", { url: await receiver.listen(), events: ["app.created"] });
    webhooks.push(made?.id ?? "");
  }
  const acknowledged: string[] = [];
  const killAt = Array.from({ length: kills }, (_, at) => Math.ceil((events * (at + 1)) / (kills + 1)));
  const clients = Array.from({ length: CLIENTS }, () => create(service, acknowledged, events, killAt));
  await Promise.all(clients);
  for (const webhook of webhooks) await delivered(service, webhook);
  await service.kill();
  for (const receiver of receivers) receiver.close();
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

async function delivered(service: Service, webhook: string): Promise<void> {
  for (;;) {
    const pending = await service.ask("GET", `/webhooks/${webhook}/deliveries?status=pending&limit=1`);
    if (pending?.total === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

function judge(receivers: readonly Receiver[], acknowledged: readonly string[], kills: number): Finding {
  const wrong: string[] = [];
  let twice = 0;
  for (const [at, { arrivals }] of receivers.entries()) {
    for (const id of acknowledged) if (!arrivals.has(id)) wrong.push(`webhook ${at} never heard of ${id}`);
    const again = [...arrivals.values()].filter((times) => times > 1).length;
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
