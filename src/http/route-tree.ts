// Finds the rows of a path, and the way that leads there, in as many steps as the path has segments.
import type { Row, Way } from "./way.ts";

export interface Found {
  /** Where no row has the path: the way that has all that lies below. */
  readonly way: Way;
  /** By method. */
  readonly rows: ReadonlyMap<string, Row>;
  readonly params: { readonly [name: string]: string };
}

interface Node {
  readonly literal: Map<string, Node>;
  parameter: Node | undefined;
  way: Way | undefined;
  readonly rows: Map<string, Row>;
  /** The names of the parameters on the way here. */
  names: readonly string[];
}

const newNode = (): Node => ({ literal: new Map(), parameter: undefined, way: undefined, rows: new Map(), names: [] });

export class RouteTree {
  readonly #root = newNode();
  readonly #rest: Way;

  /** `rest` has all that lies below no other. */
  constructor(rest: Way) {
    this.#rest = rest;
    this.add(rest);
  }

  add(way: Way): void {
    if (way.under !== "") this.#at(way.under).way = way;
    for (const row of way.rows) {
      const path = way.under + row.path;
      const node = this.#at(path);
      if (node.rows.has(row.method)) throw new Error(`${row.method} ${path} stands twice in the tables`);
      node.rows.set(row.method, row);
      node.way = way;
      node.names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
    }
  }

  find(path: string): Found {
    const values: string[] = [];
    let way = this.#rest;
    let node = path.startsWith("/") ? this.#root : undefined;
    for (let at = 1, end = 0; at <= path.length && node; at = end + 1) {
      end = path.indexOf("/", at);
      if (end < 0) end = path.length;
      const segment = path.slice(at, end);
      const literal: Node | undefined = node.literal.get(segment);
      if (literal === undefined) values.push(segment);
      node = literal ?? (segment === "" ? undefined : node.parameter);
      way = node?.way ?? way;
    }
    const params: Record<string, string> = {};
    for (let at = 0; node && at < values.length; at += 1) params[node.names[at] ?? ""] = values[at] ?? "";
    return { way, rows: node?.rows ?? NO_ROWS, params };
  }

  #at(path: string): Node {
    return path.split("/").slice(1).reduce(step, this.#root);
  }
}

const NO_ROWS: ReadonlyMap<string, Row> = new Map();

function step(node: Node, segment: string): Node {
  if (segment.startsWith("{")) {
    node.parameter ??= newNode();
    return node.parameter;
  }
  const next = node.literal.get(segment) ?? newNode();
  node.literal.set(segment, next);
  return next;
}
