// Ends connections early (RFC 9112 9.6): after an early response, after an error without a request, or on command. A
// client that is still sending gets to read the response first.
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, type Timer } from "../lib/clock.ts";
import type { ConnectionFault } from "./message.ts";

/** Ends a connection without a response. A TLS connection cannot be reset on its own, so it is destroyed. */
export function abortConnection(request: IncomingMessage, cut: ConnectionFault): void {
  const { socket } = request;
  request.resume();
  if (cut === "empty") socket.destroySoon();
  else if ("encrypted" in socket) socket.destroy();
  else socket.resetAndDestroy();
}

const LINGER_MS = 2_000;

/**
 * Closes the connection after a response to an incomplete request or to input that is not a request. Node would close
 * both sides, which resets a client that still sends and may lose the response. So only our side closes, and input is
 * discarded for a while (RFC 9112 9.6). A client that never closes its side cannot hold the socket.
 */
export function closeAfterResponse(response: ServerResponse, body: string): void {
  const { req: request } = response;
  const { socket } = request;
  if (body.length === 0) response.flushHeaders();
  else response.write(body);
  request.resume();
  // Wait until the response is flushed, so that a slow reader gets all of it.
  socket.end().once("finish", () => {
    const end = after(LINGER_MS, () => socket.destroy());
    socket.once("close", end.cancel);
  });
}

/** Number of checks within `limit_ms`. */
const LOOKS = 30;

/**
 * Destroys the socket if the client reads nothing for `limit_ms`. Node's own timeout counts the first write as
 * progress and restarts, which doubles the wait. Only the socket's handle knows how much is left.
 */
export function destroyWhenUnread(response: ServerResponse, limit_ms: number): void {
  const { socket } = response.req;
  let [left, looks] = [Number.POSITIVE_INFINITY, 0];
  let next: Timer | undefined;
  const look = () => {
    const handle = Object(Reflect.get(socket, "_handle"));
    // Over TLS the parent handle holds the pending bytes, encrypted; the TLS handle's own number never falls.
    const now = Number((handle._parent ?? handle).writeQueueSize);
    looks = now === left ? looks + 1 : 0;
    left = now;
    if (looks === LOOKS) socket.destroy();
    else next = after(limit_ms / LOOKS, look);
  };
  look();
  response.once("close", () => next?.cancel());
}
