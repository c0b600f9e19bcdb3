// Requests and responses as plain data, and the service's addresses. Handlers see no socket and no node:http object;
// only the server converts between bytes and these types.
import type { AppError, ErrorCode } from "../domain/errors.ts";

export interface HttpRequest {
  /** The X-Request-Id of the response: `req_` and an id. */
  readonly id: string;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Text after the first `?`, or "". */
  readonly query: string;
  /** The Host header: a name with its port, or "". */
  readonly host: string;
  /** Error that applies to every route: the request is too large or malformed. */
  readonly protocolError?: AppError | undefined;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The headers of every response to this request, errors included. */
  readonly responseHeaders: Record<string, string>;
  /** Reads the body; may be called once. */
  readBody(limit_bytes: number): Promise<Buffer | AppError>;
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

export type RequestHandler = (request: HttpRequest) => Promise<HttpResponse>;

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
export const queryString = ({ query }: HttpRequest): string => query && `?${query}`;

/** HEAD is handled like GET. */
export const isSafeMethod = ({ method }: HttpRequest): boolean =>
  method === "GET" || method === "HEAD";

/** Returns the port of the Host header, or "". */
export const getPort = ({ host }: HttpRequest): string => /:(\d*)$/.exec(host)?.[1] ?? "";

/** Returns the host in lower case, without its port and trailing dot. */
export const hostname = ({ host }: HttpRequest): string =>
  host.toLowerCase().replace(/\.?(:\d*)?$/, "");

/** Path prefix of the API version (spec part 9). */
export const VERSION_PREFIX = "/v1";
export const CONTROL_PATH = "/_control";

/** Base URL and authorization server share one origin, so that users need only one address. */
export const PATHS = {
  home: "/",
  dashboard: "/dashboard",
  sign_in: "/dashboard/sign-in",
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  sites: "/sites",
  docs: "/docs",
  openapi: "/openapi.json",
  health: "/healthz",
  resource_metadata: `/.well-known/oauth-protected-resource${VERSION_PREFIX}`,
} as const;

export type ServiceUrls = ReturnType<typeof createUrls>;

/** Builds every absolute URL of the service. */
export function createUrls(publicUrl: string) {
  /** `authUrl`: `{auth_url}`, in the one spelling that browsers send as Origin. */
  const { origin: authUrl, hostname: publicHost } = new URL(publicUrl);
  const site = (deploymentId: string): string => `${authUrl}${PATHS.sites}/${deploymentId}/`;
  return {
    authUrl,
    site,
    /** `{base_url}`, which ends in /v1. */
    baseUrl: authUrl + VERSION_PREFIX,
    /** RFC 9728 metadata of the REST API. */
    resourceMetadata: authUrl + PATHS.resource_metadata,
    /** Documentation URL of an error code. */
    problemType: (code: ErrorCode): string => `${authUrl}${PATHS.docs}/errors#${code}`,
    /** Takes a lower-case host name. */
    isOwnHost: (host: string): boolean => host === publicHost.toLowerCase(),
  };
}
