// A request and its answer as plain data. What handles calls sees no socket and no node:http object; the listener alone
// turns bytes into a Call and a Reply into bytes.
import type { Refusal } from "../domain/refusal.ts";

export interface Call {
  /** `req_` and an id: the X-Request-Id of the answer. */
  readonly id: string;
  readonly method: string;
  /** The path without the query, percent-encoded but for the characters that need not be (RFC 3986 2.3). */
  readonly path: string;
  /** What follows the first `?`, "" without one. */
  readonly query: string;
  /** The host that it came to, with its port; "" where none was named. */
  readonly host: string;
  /** Why it is refused wherever it leads: too large, or not in the form of a request. */
  readonly unfit?: Refusal | undefined;
  /** Every value that was sent for the header, in order; its name is in lower case. */
  values(name: string): readonly string[];
  /** Reads the body, `limit_bytes` at most; asked for once. What is unfit for another reason is not read at all. */
  body(limit_bytes: number, unfit?: Refusal): Promise<Buffer | Refusal>;
}

/** Ends a connection without an answer: by a reset, or in good order. The status is 0 then. */
export type Cut = "reset" | "empty";

export interface Reply {
  readonly status: number;
  /** Instead of an answer; only a test that asked for it sees this. */
  readonly cut?: Cut;
  /** Whoever makes a reply gives this away with it: what passes it on may add to it. */
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The path segment of the version (spec part 9). */
export const VERSION_PREFIX = "/v1";

export type Handler = (call: Call) => Promise<Reply>;

export const JSON_TYPE = "application/json";

export const jsonReply = (status: number, value: unknown, headers: Reply["headers"] = {}): Reply => ({
  status,
  headers: { "content-type": JSON_TYPE, ...headers },
  body: JSON.stringify(value),
});

export const empty = (status: number, headers: Reply["headers"] = {}): Reply => ({ status, headers, body: "" });

/** The query with its mark, "" without one: to be put behind another path. */
export const queryOf = ({ query }: Pick<Call, "query">): string => query && `?${query}`;

/** HEAD is answered as GET is. */
export const isRead = ({ method }: Call): boolean => method === "GET" || method === "HEAD";

/** The port of the Host, "" without one. */
export const portOf = ({ host }: Pick<Call, "host">): string => /:(\d*)$/.exec(host)?.[1] ?? "";

/** In lower case, without its port and the dot that a full name ends with. */
export const hostOf = ({ host }: Call): string => host.toLowerCase().replace(/\.?(:\d*)?$/, "");
