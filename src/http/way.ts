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
  readonly rows: readonly R[];
  /** Who calls: asked before anything is told of the path. */
  enter(call: Call): Promise<W | Refusal>;
  /** What keeps them out whatever they ask for. */
  admit?(who: W, call: Call): Answer | undefined;
  perform(row: R, request: Request<W>): Promise<Answer>;
  refused(refusal: Refusal, call: Call, who?: W): Reply;
  /** What every answer says to them. */
  leave?(reply: Reply, who: W): void;
}
