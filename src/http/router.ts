// The way through every request, as one visible list of steps (contract, part 5): who calls, whether they may come in, the
// path, the method, and then what the row does. How each is judged and how a refusal reads, the way says that the row
// belongs to; to find it, 404, 405 and what went wrong unforeseen are here, once.
import { decide } from "../decisions.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { isStoreError } from "../domain/store.ts";
import { type Call, empty, hostOf, type Reply, VERSION_PREFIX } from "./call.ts";
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

export class Router {
  /** The first that has the path answers. */
  #ways: readonly Way[];
  #whole: Promise<void> | undefined;

  constructor(private readonly parts: RouterParts) {
    this.#ways = [...parts.ways, parts.rest];
  }

  /** The one catch: an exception that nobody foresaw is logged whole and answered bare. */
  async handle(call: Call): Promise<Reply> {
    let way = this.parts.rest;
    let caller: unknown;
    try {
      if (call.unfit) return this.#find(call.path).way.refused(call.unfit, call);
      const first = this.#find(call.path);
      const place = this.#isNamed(first, call) ? first : await this.#elsewhere(call);
      way = place.way;
      const who = await way.enter(call);
      if (who instanceof Refusal) return way.refused(who, call);
      caller = who;
      const answer = way.admit?.(who, call) ?? (await this.#answered(place, call, who));
      const reply = answer instanceof Refusal ? way.refused(answer, call, who) : answer;
      way.leave?.(reply, who);
      return reply;
    } catch (error) {
      this.parts.onError(error, call.id);
      const isFull = isStoreError(error, "StorageUnavailable");
      const reply = way.refused(refuse({ code: isFull ? "storage_unavailable" : "internal_error" }), call);
      if (caller !== undefined) way.leave?.(reply, caller);
      return reply;
    }
  }

  /** The addresses of the server answer on every host; whatever else a host has is its site's. */
  #isNamed({ way, rows }: Place, { path }: Call): boolean {
    return path !== "/" && (way !== this.parts.rest || rows.size > 0);
  }

  async #elsewhere(call: Call): Promise<Place> {
    const { later, siteOf } = this.parts;
    this.#whole ??= later().then((ways) => {
      this.#ways = [...this.#ways, ...ways];
    });
    await this.#whole;
    const found = this.#find(call.path);
    const site = this.#isNamed(found, call) ? undefined : await siteOf(hostOf(call));
    return site === undefined ? found : this.#find(site + call.path);
  }

  #find(path: string): Place {
    let owner = this.parts.rest;
    for (const way of this.#ways) {
      const found = path.startsWith(way.under) ? way.tree.find(path.slice(way.under.length)) : undefined;
      if (found) return { way, ...found };
      if (way.under !== "" && `${path}/`.startsWith(`${way.under}/`)) owner = way;
    }
    return { way: owner, rows: new Map(), params: {} };
  }

  #answered({ way, rows, params }: Place, call: Call, who: unknown): Answer | Promise<Answer> {
    if (rows.size === 0) return refuse({ code: "not_found", detail: this.#unknown(call.path) });
    const row = rows.get(call.method === "HEAD" ? "GET" : call.method);
    if (row) return way.perform(row, { call, who, params });
    const methods = [...rows.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
    const allow = [...methods, "OPTIONS"];
    return call.method === "OPTIONS"
      ? empty(204, { allow: allow.join(", ") })
      : refuse({ code: "method_not_allowed", allow });
  }

  /** Of an address that is nearly one of ours, the one that was probably meant. */
  #unknown(path: string): string {
    if (/^\/v(?!1(\/|$))\d+(\/|$)/.test(path)) return OTHER_VERSION;
    const bare = path.endsWith("/") ? path.slice(0, -1) : path;
    const near = [bare, VERSION_PREFIX + bare].find((each) => each !== path && this.#find(each).rows.size > 0);
    return `There is no such path${near === undefined ? "." : `; did you mean ${near}?`}`;
  }
}

const OTHER_VERSION = decide("9.other-versions").replace("<version>", VERSION_PREFIX);
