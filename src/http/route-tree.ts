// Finds the rows of a path in as many steps as the path has segments. Built once from the route table.
import type { Row } from "./route.ts";

export interface Found {
  /** The rows of the path by method. */
  readonly rows: ReadonlyMap<string, Row>;
  /** The values of the path's parameters, in order. */
  readonly values: readonly string[];
  readonly allow: readonly string[];
}

interface Node {
  readonly literal: Map<string, Node>;
  parameter: Node | undefined;
  readonly rows: Map<string, Row>;
  allow: readonly string[];
}

const newNode = (): Node => ({ literal: new Map(), parameter: undefined, rows: new Map(), allow: [] });

export class RouteTree {
  readonly #root = newNode();

  constructor(rows: readonly Row[]) {
    for (const row of rows) {
      let node = this.#root;
      for (const segment of row.path.split("/").slice(1)) node = step(node, segment);
      if (node.rows.has(row.method)) throw new Error(`${row.method} ${row.path} stands twice in the route table`);
      node.rows.set(row.method, row);
      node.allow = allowed(node.rows);
    }
  }

  /** The rows for a path such as `/apps/app_1`, which starts at `from`; undefined where no row has it. */
  find(path: string, from = 0): Found | undefined {
    const values: string[] = [];
    let node: Node | undefined = this.#root;
    for (let at = from + 1, end = 0; at <= path.length && node; at = end + 1) {
      end = path.indexOf("/", at);
      if (end < 0) end = path.length;
      const segment = path.slice(at, end);
      // Behind a collection's name there is only a parameter: what it is need not be looked up.
      const literal: Node | undefined = node.literal.size === 0 ? undefined : node.literal.get(segment);
      if (literal === undefined) values.push(segment);
      node = literal ?? (segment === "" ? undefined : node.parameter);
    }
    return node && node.rows.size > 0 ? { rows: node.rows, values, allow: node.allow } : undefined;
  }
}

function step(node: Node, segment: string): Node {
  if (segment.startsWith("{")) {
    node.parameter ??= newNode();
    return node.parameter;
  }
  const next = node.literal.get(segment) ?? newNode();
  node.literal.set(segment, next);
  return next;
}

function allowed(rows: ReadonlyMap<string, Row>): string[] {
  const methods = [...rows.keys()];
  return [...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])), "OPTIONS"];
}
