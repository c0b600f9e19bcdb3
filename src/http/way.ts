// What everything that answers has in common: it is a row of a table, and a way leads to it. A way is a part of the
// addresses (contract, part 1) - the REST API, the test controls, the authorization server, the pages - and says who may
// come in, how a row of its kind runs, and how a refusal reads there. To find the row is the router's, for all of them.
import type { Refusal } from "../domain/refusal.ts";
import { type Call, empty, jsonReply, type Reply } from "./call.ts";
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
  perform(row: R, request: Request<W>): Answer | Promise<Answer>;
  refused(refusal: Refusal, call: Call, who?: W): Reply;
}

/** Where nothing is: no rows. */
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
      const there = new Map(rows.filter((row) => row.path === path).map((row) => [row.method, row]));
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
  perform: (row, { call }) => row.answer(call),
  refused,
});

export const document = (path: string, answer: OpenRow["answer"]): OpenRow => ({ method: "GET", path, answer });

export const PLAIN_DOCUMENTS = [
  document(ADDRESSES.health, () => jsonReply(200, { status: "ok" }, { "cache-control": "no-store" })),
  document(ADDRESSES.home, () => empty(302, { location: ADDRESSES.dashboard })),
];
