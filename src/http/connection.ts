// How connections end, other than by an answer's own end (RFC 9112 9.6): after an early answer, by a refusal where no
// request was, or on command. The rule everywhere: whoever is still sending gets to see the answer first.
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, type Timer } from "../lib/clock.ts";
import type { ConnectionFault } from "./message.ts";

/** TLS connections cannot be reset on their own; there the end comes without a word. */
export function abortConnection(request: IncomingMessage, cut: ConnectionFault): void {
  const { socket } = request;
  request.resume();
  if (cut === "empty") socket.destroySoon();
  else if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

const LINGER_MS = 2_000;

/**
 * For an answer before the whole request was read, or to what is none. Node would close both sides when it is out, which
 * resets a client that still sends, so that it might never see the answer. So only our side is closed, and what comes is
 * thrown away for a while (RFC 9112 9.6): a client that does not close its side keeps no socket of ours.
 */
export function closeAfterResponse(response: ServerResponse, body: string): void {
  const { req: request } = response;
  const { socket } = request;
  if (body.length === 0) response.flushHeaders();
  else response.write(body);
  request.resume();
  // Not before the answer is out: who reads slowly gets all of it.
  socket.end().once("finish", () => {
    const end = after(LINGER_MS, () => socket.destroy());
    socket.once("close", end.cancel);
  });
}

/** So often it is looked within that time. */
const LOOKS = 30;

/**
 * An answer of which nothing more is taken for so long is given up. Node's own limit for that takes what left at once for
 * progress and starts anew, so that it takes twice as long; how much is left only the socket's handle knows.
 */
export function destroyWhenUnread(response: ServerResponse, limit_ms: number): void {
  const { socket } = response.req;
  let [left, looks] = [Number.POSITIVE_INFINITY, 0];
  let next: Timer | undefined;
  const look = () => {
    const handle = Object(Reflect.get(socket, "_handle"));
    // Over TLS what is left lies below, encrypted: its own number never falls.
    const now = Number((handle._parent ?? handle).writeQueueSize);
    looks = now === left ? looks + 1 : 0;
    left = now;
    if (looks === LOOKS) socket.destroy();
    else next = after(limit_ms / LOOKS, look);
  };
  look();
  response.once("close", () => next?.cancel());
}
