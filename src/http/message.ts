// A request and its answer as plain data. What handles calls sees no socket and no node:http object; the listener alone
// turns bytes into a Call and a Reply into bytes.
import type { AppError } from "../domain/errors.ts";

export interface HttpRequest {
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
  readonly protocolError?: AppError | undefined;
  /** Every value that was sent for the header, in order; its name is in lower case. */
  header(name: string): readonly string[];
  /** Reads the body, `limit_bytes` at most; asked for once. What is unfit for another reason is not read at all. */
  readBody(limit_bytes: number, protocolError?: AppError): Promise<Buffer | AppError>;
}

/** Ends a connection without an answer: by a reset, or in good order. The status is 0 then. */
export type ConnectionFault = "reset" | "empty";

export interface HttpResponse {
  readonly status: number;
  /** Instead of an answer; only a test that asked for it sees this. */
  readonly connectionFault?: ConnectionFault;
  /** Whoever makes a reply gives this away with it: what passes it on may add to it. */
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The path segment of the version (spec part 9). */
export const VERSION_PREFIX = "/v1";

export type Handler = (request: HttpRequest) => Promise<HttpResponse>;

export const JSON_TYPE = "application/json";

export const jsonResponse = (
  status: number,
  value: unknown,
  headers: HttpResponse["headers"] = {},
): HttpResponse => ({
  status,
  headers: { "content-type": JSON_TYPE, ...headers },
  body: JSON.stringify(value),
});

export const emptyResponse = (
  status: number,
  headers: HttpResponse["headers"] = {},
): HttpResponse => ({ status, headers, body: "" });

/** The query with its mark, "" without one: to be put behind another path. */
export const search = ({ query }: Pick<HttpRequest, "query">): string => query && `?${query}`;

/** HEAD is answered as GET is. */
export const isSafeMethod = ({ method }: HttpRequest): boolean =>
  method === "GET" || method === "HEAD";

/** The port of the Host, "" without one. */
export const portOf = ({ host }: Pick<HttpRequest, "host">): string =>
  /:(\d*)$/.exec(host)?.[1] ?? "";

/** In lower case, without its port and the dot that a full name ends with. */
export const hostname = ({ host }: HttpRequest): string =>
  host.toLowerCase().replace(/\.?(:\d*)?$/, "");
