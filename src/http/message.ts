// Requests and responses as plain data. Handlers see no socket and no node:http object; only the server converts between
// bytes and these types.
import type { AppError } from "../domain/errors.ts";

export interface HttpRequest {
  /** The X-Request-Id of the response: `req_` and an id. */
  readonly id: string;
  readonly method: string;
  /** Path without the query; unreserved characters are decoded (RFC 3986 2.3). */
  readonly path: string;
  /** Text after the first `?`, or "". */
  readonly query: string;
  /** The requested host with its port, or "" if none was sent. */
  readonly host: string;
  /** Error that applies to every route: the request is too large or malformed. */
  readonly protocolError?: AppError | undefined;
  /** Returns every value of the header, in order; `name` is in lower case. */
  header(name: string): readonly string[];
  /** Returns the names of all headers, in lower case. */
  headerNames(): readonly string[];
  /**
   * Reads at most `limit_bytes`; may be called once. Returns `otherError` without reading the body, unless the
   * Content-Length is already too large.
   */
  readBody(limit_bytes: number, otherError?: AppError): Promise<Buffer | AppError>;
}

/** How to end a connection without a response: by a reset or an orderly close. The status is then 0. */
export type ConnectionFault = "reset" | "empty";

export interface HttpResponse {
  readonly status: number;
  /** Replaces the response; used only for fault injection in tests. */
  readonly connectionFault?: ConnectionFault;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Path prefix of the API version (spec part 9). */
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

/** Returns the query with its leading `?`, or "", to append to another path. */
export const search = ({ query }: Pick<HttpRequest, "query">): string => query && `?${query}`;

/** HEAD is handled like GET. */
export const isSafeMethod = ({ method }: HttpRequest): boolean =>
  method === "GET" || method === "HEAD";

/** Returns the port of the Host header, or "". */
export const getPort = ({ host }: Pick<HttpRequest, "host">): string =>
  /:(\d*)$/.exec(host)?.[1] ?? "";

/** Returns the host in lower case, without its port and trailing dot. */
export const hostname = ({ host }: HttpRequest): string =>
  host.toLowerCase().replace(/\.?(:\d*)?$/, "");
