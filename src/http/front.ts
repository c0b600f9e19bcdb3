// The front door: which part of the server a path belongs to (contract, part 1). Each part is asked in turn; what none
// of them knows is a 404. Nothing here looks further than the path and the host.

import { refuse } from "../domain/refusal.ts";
import { decide } from "../kit/decisions.ts";
import { type Call, empty, type Handler, jsonReply, type Reply, VERSION_PREFIX } from "./call.ts";
import { ADDRESSES } from "./links.ts";
import { type ProblemLinks, problem } from "./problem.ts";

/** Undefined where the call is not for it, which the path alone tells. */
export type Door = (call: Call) => Promise<Reply> | undefined;

export function front(doors: readonly Door[], links: ProblemLinks): Handler {
  return (call) => {
    for (const door of doors) {
      const coming = door(call);
      if (coming !== undefined) return coming;
    }
    const refusal = refuse({ code: "not_found", detail: unknownPath(call.path) });
    return Promise.resolve(problem(refusal, call.id, links));
  };
}

/** Answers what came for a host of its own; undefined, at once or later, where the Host header names none. */
export type HostDoor = (call: Call) => Promise<Reply | undefined> | undefined;

/** Asks `hosts` first: under a live custom domain every path belongs to its app. */
export const unlessHost =
  (hosts: HostDoor, inside: Handler): Handler =>
  (call) => {
    const coming = hosts(call);
    return coming === undefined ? inside(call) : coming.then((reply) => reply ?? inside(call));
  };

const SUPPORTED = decide("9.other-versions", VERSION_PREFIX, {
  open: "what a path of another version answers",
  why: "a 404 that names the version there is tells a client of tomorrow what happened",
});

const unknownPath = (path: string): string =>
  /^\/v\d+(\/|$)/.test(path) ? `This server speaks ${SUPPORTED} only.` : "There is no such path.";

export const api =
  (handle: Handler): Door =>
  (call) =>
    call.path === VERSION_PREFIX || call.path.startsWith(`${VERSION_PREFIX}/`) ? handle(call) : undefined;

/** A page or document at one path, for GET and HEAD. */
export const document =
  (path: string, links: ProblemLinks, reply: () => Reply): Door =>
  (call) => {
    if (call.path !== path) return undefined;
    if (call.method === "GET" || call.method === "HEAD") return Promise.resolve(reply());
    const refusal = refuse({ code: "method_not_allowed", allow: ["GET", "HEAD"] });
    return Promise.resolve(problem(refusal, call.id, links));
  };

export const health = (links: ProblemLinks): Door =>
  document(ADDRESSES.health, links, () => jsonReply(200, { status: "ok" }, { "cache-control": "no-store" }));

export const home = (links: ProblemLinks): Door =>
  document(ADDRESSES.home, links, () => empty(302, { location: ADDRESSES.dashboard }));
