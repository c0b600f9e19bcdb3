// The receiver of the kit's webhooks: one server with a path for each of them. It records each request (method, bytes,
// time, and whether the sender waited for the response) and sends the responses that a test chose.
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
  method: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Milliseconds, on the monotonic clock. */
  at: number;
  /** The body as an event; empty if it is none. */
  event: Members;
  /** Whether the sender was still connected when the response was sent. */
  wasRead?: boolean;
  /** The time of the response, or of the sender's disconnect. */
  ended_at?: number;
}

export interface Answered {
  status: number;
  location?: string;
  after_ms?: number;
}

/** The responses of a webhook's address. */
export type Answers = (arrival: Arrival) => Answered;

/** One webhook's address, and the requests it received. */
export interface Inbox {
  url: string;
  got: Arrival[];
  /** Resolves with the first `count` matching requests; rejects after a timeout. */
  arrived: (
    matches: (each: Arrival) => boolean,
    count?: number,
    patience_ms?: number,
  ) => Promise<Arrival[]>;
}

/** The expected requests did not arrive in time. */
class NothingArrived extends Error {}

/** Returns an empty list where that is a result and no failure. */
export function orNothing(error: unknown) {
  if (error instanceof NothingArrived) return [];
  throw error;
}

/** Timeout for an event's arrival: longer than our receivers block a sender that makes one delivery at a time. */
const PATIENCE_MS = 6_000;
const HURRY_MS = 200;

export type Hub = Awaited<ReturnType<typeof openHub>>;

/** The URL under which others reach the port, if that is not on this machine. */
export async function openHub(publicUrl?: string, onPort = "0") {
  const boxes = new Map<string, { inbox: Inbox; answers: Answers }>();
  let patience_ms = PATIENCE_MS;
  const arrivals = new EventEmitter().setMaxListeners(0);

  async function take(request: IncomingMessage, response: ServerResponse) {
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
    arrival.wasRead = !response.destroyed && !request.socket.destroyed;
    arrival.ended_at ??= performance.now();
    response.writeHead(status, { ...(location !== undefined && { location }) }).end();
  }

  const server = createServer((request, response) => {
    // A sender that disconnects in the middle of its request is no error of the receiver.
    take(request, response).catch(() => response.destroy());
  });
  server.listen(Number(onPort), publicUrl === undefined ? "127.0.0.1" : undefined);
  await once(server, "listening");
  const { port } = Object(server.address());
  const root = (publicUrl ?? `http://127.0.0.1:${port}`).replace(/\/$/, "");

  function open(answers: Answers = () => ({ status: 200 })) {
    const name = `hook-${boxes.size + 1}`;
    const got: Arrival[] = [];
    const arrived: Inbox["arrived"] = async (matches, count = 1, limit_ms = patience_ms) => {
      const signal = AbortSignal.timeout(limit_ms);
      for (;;) {
        const found = got.filter(matches);
        if (found.length >= count) return found;
        await once(arrivals, "request", { signal }).catch((error: unknown) => {
          if (!signal.aborted) throw error;
          const types = got.map(({ event }) => String(event.type)).join(", ") || "nothing";
          throw new NothingArrived(
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
  /** No event will arrive at all: do not wait the full time again. */
  const hurry = () => {
    patience_ms = HURRY_MS;
  };
  return { open, hurry, isPublic: publicUrl !== undefined, [Symbol.asyncDispose]: close };
}
