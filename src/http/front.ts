// The front door: which part of the server a path belongs to (contract, part 1). Each part is asked in turn; what none
// of them knows is a 404. Nothing here looks further than the host and the path.
import { decide } from "../decisions.ts";
import { domains } from "../domain/model.ts";
import { refuse } from "../domain/refusal.ts";
import type { Reader } from "../domain/store.ts";
import { type Call, empty, type Handler, jsonReply, type Reply, VERSION_PREFIX } from "./call.ts";
import { ADDRESSES, type ServiceLinks } from "./links.ts";
import { type ProblemLinks, problem } from "./problem.ts";
import { template } from "./template.ts";

/** Undefined where the call is not for it, which the path tells at once. */
export type Door = (call: Call) => Promise<Reply> | undefined;
/** The same of a part that is loaded when first asked, and so knows only later. */
export type LateDoor = (call: Call) => Promise<Reply | undefined>;

/** Asks the `late` ones where no other door is the right one. */
export function front(doors: readonly Door[], late: readonly LateDoor[], links: ProblemLinks): Handler {
  return (call) => {
    for (const door of doors) {
      const coming = door(call);
      if (coming !== undefined) return coming;
    }
    return afterwards(late, links, call);
  };
}

async function afterwards(late: readonly LateDoor[], links: ProblemLinks, call: Call): Promise<Reply> {
  for (const door of late) {
    const reply = await door(call);
    if (reply !== undefined) return reply;
  }
  return problem(refuse({ code: "not_found", detail: unknownPath(call.path) }), call.id, links);
}

const OTHER_VERSION = template(decide("9.other-versions"))({ version: VERSION_PREFIX });

const unknownPath = (path: string): string => (/^\/v\d+(\/|$)/.test(path) ? OTHER_VERSION : "There is no such path.");

/** No domain ends in a number (domain/host-name); the usual client of a server on loopback names 127.0.0.1. */
const ADDRESS = /\.\d+$/;

/** A custom domain that is live is a host of its own: `site` is asked about everything under it before `inside`. */
export const unlessDomain =
  (store: Reader, links: ServiceLinks, site: LateDoor, inside: Handler): Handler =>
  (call) => {
    const isOwn = !call.host.includes(".") || call.host === links.host() || ADDRESS.test(call.host);
    return isOwn ? inside(call) : leadsToSite(store, site, call).then((reply) => reply ?? inside(call));
  };

async function leadsToSite(store: Reader, site: LateDoor, call: Call): Promise<Reply | undefined> {
  const known = await store.get(domains, call.host.replace(/\.$/, ""));
  return known && site(call);
}

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
