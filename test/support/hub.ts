// Where the kit's webhooks lead: one server with an address for each of them, which keeps what arrives as it arrived - the
// method, the bytes, when, and whether the sender waited for the answer - and answers as it is told.
import { EventEmitter, once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import type { Members } from "./client.ts";
import { objectIn } from "./shown.ts";

export interface Arrival {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Milliseconds, on the clock that does not jump. */
  readonly at: number;
  /** The body as an event; empty where it is none. */
  readonly event: Members;
  /** Whether the sender was still there when it was answered. */
  heard?: boolean;
  /** When it was answered, or the sender went away. */
  ended_at?: number;
}

export interface Answered {
  readonly status: number;
  readonly location?: string;
  readonly after_ms?: number;
}

/** How a webhook's address answers. */
export type Answers = (arrival: Arrival) => Answered;

/** One webhook's address, and what came to it. */
export interface Inbox {
  readonly url: string;
  readonly got: Arrival[];
  /** The first arrivals that match, as soon as there are so many; rejects when that takes too long. */
  readonly arrived: (
    matches: (each: Arrival) => boolean,
    count?: number,
    patience_ms?: number,
  ) => Promise<Arrival[]>;
}

/** How long an event may take to come: longer than any receiver of ours keeps a sender that makes one delivery at a time. */
const PATIENCE_MS = 6_000;
const HURRY_MS = 200;

export type Hub = Awaited<ReturnType<typeof openHub>>;

/** How others reach the port, where that is not on this machine. */
export async function openHub(publicUrl?: string, onPort = "0") {
  const boxes = new Map<string, { readonly inbox: Inbox; readonly answers: Answers }>();
  let patience_ms = PATIENCE_MS;
  const arrivals = new EventEmitter().setMaxListeners(0);

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers, url = "" } = request;
    const at = performance.now();
    const body = await buffer(request);
    const box = boxes.get(url.split("/").at(-1) ?? "");
    if (box === undefined) return void response.writeHead(404).end();
    const arrival: Arrival = { method, headers, body, at, event: objectIn(body.toString()) };
    box.inbox.got.push(arrival);
    response.once("close", () => {
      arrival.ended_at ??= performance.now();
    });
    arrivals.emit("request");
    const { status, location, after_ms = 0 } = box.answers(arrival);
    if (after_ms > 0) await wait(after_ms, undefined, { ref: false });
    arrival.heard = !response.destroyed && !request.socket.destroyed;
    arrival.ended_at ??= performance.now();
    response.writeHead(status, { ...(location !== undefined && { location }) }).end();
  }

  const server = createServer((request, response) => {
    // A sender that goes away in the middle of its request is none of ours to complain of.
    take(request, response).catch(() => response.destroy());
  });
  server.listen(Number(onPort), publicUrl === undefined ? "127.0.0.1" : undefined);
  await once(server, "listening");
  const { port } = Object(server.address());
  const root = (publicUrl ?? `http://127.0.0.1:${port}`).replace(/\/$/, "");

  function open(answers: Answers = () => ({ status: 200 })): Inbox {
    const name = `hook-${boxes.size + 1}`;
    const got: Arrival[] = [];
    const arrived: Inbox["arrived"] = async (matches, count = 1, limit_ms = patience_ms) => {
      const signal = AbortSignal.timeout(limit_ms);
      for (;;) {
        const found = got.filter(matches);
        if (found.length >= count) return found;
        await once(arrivals, "request", { signal }).catch(() => {
          const types = got.map(({ event }) => String(event.type)).join(", ") || "nothing";
          throw new Error(
            `no delivery of it within ${limit_ms / 1_000} s; what came to this webhook: ${types}`,
          );
        });
      }
    };
    const inbox = { url: `${root}/${name}`, got, arrived };
    boxes.set(name, { inbox, answers });
    return inbox;
  }

  const close = async () => {
    const closed = once(server, "close");
    server.close().closeAllConnections();
    await closed;
  };
  /** Nothing ever comes: nobody waits as long again. */
  const hurry = () => {
    patience_ms = HURRY_MS;
  };
  return { open, hurry, close, isPublic: publicUrl !== undefined };
}
