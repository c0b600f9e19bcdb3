// Cross-origin resource sharing (Fetch standard; contract, part 4): which responses a page of another origin may read. Those
// are what authenticates by bearer token or client credentials and the documents that describe it, errors included; never
// pages, consent or the test controls, and never with credentials. A server that only this machine reaches allows only
// origins of this machine, so that a start-up key such as `test` is not a credential for every web page.
import { isLoopbackHost } from "../lib/loopback.ts";
import { emptyResponse, type Handler, type HttpRequest, type HttpResponse } from "./message.ts";

const SHARED_PATHS =
  /^(\/v1(\/.*)?|\/oauth\/(token|revoke|jwks)|\/\.well-known\/.*|\/openapi\.json)$/;

const ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const ALLOWED_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match";
const EXPOSED_HEADERS = [
  "Location",
  "ETag",
  "Link",
  "Retry-After",
  "RateLimit",
  "RateLimit-Policy",
  "WWW-Authenticate",
  "X-Request-Id",
  "Idempotency-Replayed",
];
const PREFLIGHT_MAX_AGE_S = "600";

/** Adds the CORS headers to the replies of `handle` and answers preflight requests. */
export function withCors(handle: Handler, onlyLoopback: boolean): Handler {
  // Also on what other origins get, or a cache could hand that to an allowed one.
  const vary = onlyLoopback && { vary: "Origin" };

  function allowedOrigin([origin = "", ...others]: readonly string[]): string | undefined {
    if (!onlyLoopback) return "*";
    return others.length === 0 && isLoopbackOrigin(origin) ? origin : undefined;
  }

  return async (request) => {
    if (!SHARED_PATHS.test(request.path)) return handle(request);
    const origin = allowedOrigin(request.header("origin"));
    if (isPreflight(request))
      return emptyResponse(204, { ...vary, ...(origin && preflightHeaders(origin)) });
    const response = await handle(request);
    if (isPage(response)) return response;
    Object.assign(response.headers, vary, origin && exposingHeaders(origin, response));
    return response;
  };
}

/** A scheme, a host of this machine and perhaps a port, as browsers write it; neither `null` nor a list. */
function isLoopbackOrigin(origin: string): boolean {
  const [, host] =
    /^[a-z][a-z\d+.-]*:\/\/(\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)*\.?)(?::\d{1,5})?$/.exec(origin) ?? [];
  return host !== undefined && isLoopbackHost(host);
}

const isPreflight = ({ method, protocolError: invalid, header: values }: HttpRequest): boolean =>
  method === "OPTIONS" &&
  invalid === undefined &&
  values("origin").length > 0 &&
  values("access-control-request-method").length > 0;

/** Below /.well-known there may be a page of a deployed app under its custom domain. */
const isPage = ({ headers }: HttpResponse): boolean =>
  headers["content-type"]?.startsWith("text/html") === true;

const preflightHeaders = (origin: string): HttpResponse["headers"] => ({
  "access-control-allow-origin": origin,
  "access-control-allow-methods": ALLOWED_METHODS,
  "access-control-allow-headers": ALLOWED_HEADERS,
  "access-control-max-age": PREFLIGHT_MAX_AGE_S,
});

/** Other readings of the gaps have headers of their own, such as X-Total-Count. */
const exposingHeaders = (origin: string, { headers }: HttpResponse): HttpResponse["headers"] => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": [
    ...EXPOSED_HEADERS,
    ...Object.keys(headers).filter(isExtension),
  ].join(", "),
});

const isExtension = (name: string): boolean => name.startsWith("x-");
