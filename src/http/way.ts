// What everything that answers has in common: it is a row of a table, and a way leads to it. A way is a part of the
// addresses (contract, part 1) - the REST API, the test controls, the authorization server, the pages - and says who may
// come in, how a row of its kind runs, and how a refusal reads there. To find the row is the router's, for all of them.
import type { Refusal } from "../domain/refusal.ts";
import type { Call, Reply } from "./call.ts";

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
  /** Who calls: asked before anything is told of the path. */
  enter(call: Call): Promise<W | Refusal>;
  /** What keeps them out whatever they ask for. */
  admit?(who: W, call: Call): Answer | undefined;
  perform(row: R, request: Request<W>): Promise<Answer>;
  refused(refusal: Refusal, call: Call, who?: W): Reply;
  /** What every answer says to them. */
  leave?(reply: Reply, who: W): void;
}

interface Found<R> {
  /** By method. */
  readonly rows: ReadonlyMap<string, R>;
  readonly params: { readonly [name: string]: string };
}

interface Node<R> {
  readonly literal: Map<string, Node<R>>;
  parameter: Node<R> | undefined;
  readonly rows: Map<string, R>;
  /** The names of the parameters on the way here. */
  names: readonly string[];
}

const newNode = <R>(): Node<R> => ({ literal: new Map(), parameter: undefined, rows: new Map(), names: [] });

/** Finds the rows of a path in a table, in as many steps as the path has segments. */
export class RouteTree<R extends Row> {
  readonly rows: readonly R[];
  readonly #root = newNode<R>();

  constructor(rows: readonly R[]) {
    this.rows = rows;
    for (const row of rows) {
      const node = row.path.split("/").slice(1).reduce(step, this.#root);
      if (node.rows.has(row.method)) throw new Error(`${row.method} ${row.path} stands twice in the table`);
      node.rows.set(row.method, row);
      node.names = Array.from(row.path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
    }
  }

  find(path: string): Found<R> | undefined {
    const values: string[] = [];
    let node = path === "" || path.startsWith("/") ? this.#root : undefined;
    for (let at = 1, end = 0; at <= path.length && node; at = end + 1) {
      end = path.indexOf("/", at);
      if (end < 0) end = path.length;
      const segment = path.slice(at, end);
      const literal: Node<R> | undefined = node.literal.get(segment);
      if (literal === undefined) values.push(segment);
      node = literal ?? (segment === "" ? undefined : node.parameter);
    }
    if (node === undefined || node.rows.size === 0) return undefined;
    const params: Record<string, string> = {};
    for (let at = 0; at < values.length; at += 1) params[node.names[at] ?? ""] = values[at] ?? "";
    return { rows: node.rows, params };
  }
}

function step<R>(node: Node<R>, segment: string): Node<R> {
  if (segment.startsWith("{")) {
    node.parameter ??= newNode();
    return node.parameter;
  }
  const next = node.literal.get(segment) ?? newNode();
  node.literal.set(segment, next);
  return next;
}
