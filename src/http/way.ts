// What everything that answers has in common: it is a row of a table, and a way leads to it. A way is a part of the
// addresses (contract, part 1) - the REST API, the test controls, the authorization server, the pages - and says who may
// come in, how a row of its kind runs, and how a refusal reads there. To find the row, 404, 405 and what went wrong
// unforeseen are the router's, once for all of them: one visible list of steps (contract, part 5).
import { decide } from "../decisions.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { isStoreError } from "../domain/store.ts";
import { type Call, empty, type Handler, hostOf, jsonReply, type Reply, VERSION_PREFIX } from "./call.ts";
import { ADDRESSES } from "./links.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Row {
  /** HEAD comes with GET. */
  readonly method: Method;
  /** Behind what its way shares; a segment in braces is a parameter. */
  readonly path: string;
}

export type Answer = Reply | Refusal;

export interface Request<W> {
  readonly call: Call;
  readonly who: W;
  readonly params: { readonly [name: string]: string };
}

/** `R` are its rows, `W` is what it knows of who calls; the router hands it nothing else. */
export interface Way<R extends Row = Row, W = unknown> {
  /** What all paths below it share; "" where each row has an address of its own. */
  readonly under: string;
  readonly tree: RouteTree<R>;
  /**
   * Who calls, or what keeps them out whatever they ask for: judged before anything is told of the path. What is put into
   * `said` goes out with every answer.
   */
  enter(call: Call, said: Reply["headers"]): Promise<{ readonly who: W } | Answer>;
  perform(row: R, request: Request<W>): Promise<Answer>;
  refused(refusal: Refusal, call: Call, who?: W): Reply;
}

export interface Found<R> {
  /** By method. */
  readonly rows: ReadonlyMap<string, R>;
  readonly params: { readonly [name: string]: string };
}

/** Finds the rows of a path in a table. */
export class RouteTree<R extends Row> {
  /** Those without parameters. */
  readonly #plain = new Map<string, Found<R>>();
  readonly #named: { readonly pattern: RegExp; readonly rows: Found<R>["rows"] }[] = [];

  constructor(readonly rows: readonly R[]) {
    // A brace comes behind every letter: of two paths that fit, the one with the word is found first.
    for (const path of [...new Set(rows.map((row) => row.path))].sort()) {
      const all = rows.filter((row) => row.path === path);
      const there = new Map(all.map((row) => [row.method, row]));
      if (there.size < all.length) throw new Error(`Of the rows for ${path} two have the same method`);
      const pattern = path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
      if (pattern === path) this.#plain.set(path, { rows: there, params: {} });
      else this.#named.push({ pattern: new RegExp(`^${pattern}$`), rows: there });
    }
  }

  find(path: string): Found<R> | undefined {
    const plain = this.#plain.get(path);
    if (plain !== undefined) return plain;
    for (const { pattern, rows } of this.#named) {
      const fitting = pattern.exec(path);
      if (fitting) return { rows, params: fitting.groups ?? {} };
    }
    return undefined;
  }
}

/** A row that is for anybody and answers a call by itself: a document, an endpoint of the authorization server. */
export interface OpenRow extends Row {
  answer(call: Call): Reply | Promise<Reply>;
}

export const openWay = (rows: readonly OpenRow[], refused: Way["refused"]): Way<OpenRow, null> => ({
  under: "",
  tree: new RouteTree(rows),
  enter: async () => ({ who: null }),
  perform: async (row, { call }) => row.answer(call),
  refused,
});

export const document = (path: string, answer: OpenRow["answer"]): OpenRow => ({ method: "GET", path, answer });

export const PLAIN_DOCUMENTS = [
  document(ADDRESSES.health, () => jsonReply(200, { status: "ok" }, { "cache-control": "no-store" })),
  document(ADDRESSES.home, () => empty(302, { location: ADDRESSES.dashboard })),
];

interface RouterParts {
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
interface Place {
  readonly way: Way;
  readonly found?: Found<Row>;
}

export function routing({ rest, ways, later, siteOf, onError }: RouterParts): Handler {
  /** The first that has the path answers. */
  let known = [...ways, rest];
  let whole: Promise<void> | undefined;

  function find(path: string): Place {
    let owner = rest;
    for (const way of known) {
      const found = path.startsWith(way.under) ? way.tree.find(path.slice(way.under.length)) : undefined;
      if (found) return { way, found };
      if (way.under !== "" && `${path}/`.startsWith(`${way.under}/`)) owner = way;
    }
    return { way: owner };
  }

  /** The addresses of the server answer on every host; whatever else a host has is its site's. */
  const isNamed = ({ way, found }: Place, { path }: Call) => path !== "/" && (way !== rest || found !== undefined);

  async function elsewhere(call: Call): Promise<Place> {
    whole ??= later().then((more) => {
      known = [...known, ...more];
    });
    await whole;
    const place = find(call.path);
    const site = isNamed(place, call) ? undefined : await siteOf(hostOf(call));
    return site === undefined ? place : find(site + call.path);
  }

  /** Of an address that is nearly one of ours, the one that was probably meant. */
  function unknown(path: string): string {
    if (/^\/v(?!1(\/|$))\d+(\/|$)/.test(path)) return OTHER_VERSION;
    const bare = path.endsWith("/") ? path.slice(0, -1) : path;
    const near = [bare, VERSION_PREFIX + bare].find((each) => each !== path && find(each).found);
    return `There is no such path${near === undefined ? "." : `; did you mean ${near}?`}`;
  }

  async function answered({ way, found }: Place, call: Call, who: unknown): Promise<Answer> {
    if (found === undefined) return refuse({ code: "not_found", detail: unknown(call.path) });
    const { rows, params } = found;
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
