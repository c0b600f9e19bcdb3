// Cross-origin resource sharing (Fetch standard; contract, part 4): which responses a page of another origin may read.
// They are the endpoints with a bearer token or client credentials and the documents that describe them, errors
// included. Pages, consent, the test controls and browser credentials are excluded. A server that only this machine
// reaches allows only origins of this machine. Otherwise every web page could use a start-up key such as `test`.
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

/** Adds the CORS headers to the responses of `handle` and responds to preflight requests. */
export function withCors(handle: Handler, onlyLoopback: boolean): Handler {
  // Sent to other origins too, or a cache could serve their response to an allowed one.
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

/** Accepts a scheme, a loopback host and an optional port, as browsers write them; neither `null` nor a list. */
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

/** A deployed app may have a page below /.well-known under its custom domain. */
const isPage = ({ headers }: HttpResponse): boolean =>
  headers["content-type"]?.startsWith("text/html") === true;

const preflightHeaders = (origin: string): HttpResponse["headers"] => ({
  "access-control-allow-origin": origin,
  "access-control-allow-methods": ALLOWED_METHODS,
  "access-control-allow-headers": ALLOWED_HEADERS,
  "access-control-max-age": PREFLIGHT_MAX_AGE_S,
});

/** Variants can add headers, such as X-Total-Count. */
const exposingHeaders = (origin: string, { headers }: HttpResponse): HttpResponse["headers"] => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": [
    ...EXPOSED_HEADERS,
    ...Object.keys(headers).filter(isExtension),
  ].join(", "),
});

const isExtension = (name: string): boolean => name.startsWith("x-");
