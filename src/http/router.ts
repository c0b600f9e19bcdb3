// The way through every request, as one visible list of steps (contract, part 5): who calls, whether they may come in, the
// path, the method, and then what the row does. How each is judged and how a refusal reads, the way says that the row
// belongs to; to find it, 404, 405 and what went wrong unforeseen are here, once.
import { decide } from "../decisions.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { isStoreError } from "../domain/store.ts";
import { type Call, empty, type Handler, hostOf, type Reply, VERSION_PREFIX } from "./call.ts";
import type { Answer, Found, Row, Way } from "./way.ts";

export interface RouterParts {
  /** Answers what lies at no other address. */
  readonly rest: Way;
  readonly ways: readonly Way[];
  /** The ways that are loaded when somebody asks for more: a start need not wait for them. */
  readonly later: () => Promise<readonly Way[]>;
  /** The path under which the site of a host is found; undefined where the host is the server itself. */
  readonly siteOf: (host: string) => Promise<string | undefined>;
  readonly onError: (error: unknown, requestId: string) => void;
}

/** Where nothing is, the way is the one that has all that lies below. */
interface Place extends Found<Row> {
  readonly way: Way;
}

export function routing({ rest, ways, later, siteOf, onError }: RouterParts): Handler {
  /** The first that has the path answers. */
  let known = [...ways, rest];
  let whole: Promise<void> | undefined;

  function find(path: string): Place {
    let owner = rest;
    for (const way of known) {
      const found = path.startsWith(way.under) ? way.tree.find(path.slice(way.under.length)) : undefined;
      if (found) return { way, rows: found.rows, params: found.params };
      if (way.under !== "" && `${path}/`.startsWith(`${way.under}/`)) owner = way;
    }
    return { way: owner, rows: new Map(), params: {} };
  }

  /** The addresses of the server answer on every host; whatever else a host has is its site's. */
  const isNamed = ({ way, rows }: Place, { path }: Call) => path !== "/" && (way !== rest || rows.size > 0);

  async function elsewhere(call: Call): Promise<Place> {
    whole ??= later().then((more) => {
      known = [...known, ...more];
    });
    await whole;
    const found = find(call.path);
    const site = isNamed(found, call) ? undefined : await siteOf(hostOf(call));
    return site === undefined ? found : find(site + call.path);
  }

  /** Of an address that is nearly one of ours, the one that was probably meant. */
  function unknown(path: string): string {
    if (/^\/v(?!1(\/|$))\d+(\/|$)/.test(path)) return OTHER_VERSION;
    const bare = path.endsWith("/") ? path.slice(0, -1) : path;
    const near = [bare, VERSION_PREFIX + bare].find((each) => each !== path && find(each).rows.size > 0);
    return `There is no such path${near === undefined ? "." : `; did you mean ${near}?`}`;
  }

  function answered({ way, rows, params }: Place, call: Call, who: unknown): Answer | Promise<Answer> {
    if (rows.size === 0) return refuse({ code: "not_found", detail: unknown(call.path) });
    const row = rows.get(call.method === "HEAD" ? "GET" : call.method);
    if (row) return way.perform(row, { call, who, params });
    const methods = [...rows.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    const allow = [...methods, "OPTIONS"];
    return call.method === "OPTIONS"
      ? empty(204, { allow: allow.join(", ") })
      : refuse({ code: "method_not_allowed", allow });
  }

  /** The one catch: an exception that nobody foresaw is logged whole and answered bare. */
  return async (call) => {
    let way = rest;
    let reply: Reply;
    const said: Reply["headers"] = {};
    try {
      const first = find(call.path);
      if (call.unfit) return first.way.refused(call.unfit, call);
      const place = isNamed(first, call) ? first : await elsewhere(call);
      way = place.way;
      const entered = await way.enter(call, said);
      const who = "who" in entered ? entered.who : undefined;
      const answer = "who" in entered ? await answered(place, call, who) : entered;
      reply = answer instanceof Refusal ? way.refused(answer, call, who) : answer;
    } catch (error) {
      onError(error, call.id);
      const isFull = isStoreError(error, "StorageUnavailable");
      reply = way.refused(refuse({ code: isFull ? "storage_unavailable" : "internal_error" }), call);
    }
    Object.assign(reply.headers, said);
    return reply;
  };
}

const OTHER_VERSION = decide("9.other-versions").replace("<version>", VERSION_PREFIX);
