// Cross-origin resource sharing (Fetch standard; contract, part 4): which responses a page of another origin may read.
// They are the endpoints with a bearer token or client credentials and the documents that describe them, errors
// included. A server that only this machine reaches allows only origins of this machine. Otherwise every web page could
// use a start-up key such as `test`.
import { isLoopbackHost } from "../lib/loopback.ts";
import { emptyResponse, type Handler, type HttpRequest, type HttpResponse } from "./message.ts";

const SHARED_PATHS =
  /^(\/v1(\/.*)?|\/oauth\/(token|revoke|jwks)|\/\.well-known\/.*|\/openapi\.json)$/;

const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match",
  "access-control-max-age": "600",
};
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

/** Adds the CORS headers to the responses of `handle` and responds to preflight requests. */
export function withCors(handle: Handler, onlyLoopback: boolean): Handler {
  function originHeaders(request: HttpRequest): Record<string, string> {
    if (!onlyLoopback) return { "access-control-allow-origin": "*" };
    const [origin = "", ...others] = request.header("origin");
    // Sent to other origins too, or a cache could serve their response to an allowed one.
    const vary = { vary: "Origin" };
    return others.length === 0 && isLoopbackOrigin(origin)
      ? { ...vary, "access-control-allow-origin": origin }
      : vary;
  }

  return async function handleWithCors(request) {
    if (!SHARED_PATHS.test(request.path)) return handle(request);
    const headers = originHeaders(request);
    const isAllowed = "access-control-allow-origin" in headers;
    if (isPreflight(request))
      return emptyResponse(204, { ...headers, ...(isAllowed && PREFLIGHT_HEADERS) });
    const response = await handle(request);
    if (isPage(response)) return response;
    const exposed = isAllowed && { "access-control-expose-headers": exposedHeaders(response) };
    return { ...response, headers: { ...response.headers, ...headers, ...exposed } };
  };
}

/** Accepts a scheme, a loopback host and an optional port, as browsers write them; neither `null` nor a list. */
function isLoopbackOrigin(origin: string): boolean {
  const [, host] =
    /^[a-z][a-z\d+.-]*:\/\/(\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)*\.?)(?::\d{1,5})?$/.exec(origin) ?? [];
  return host !== undefined && isLoopbackHost(host);
}

const isPreflight = ({ method, protocolError, header }: HttpRequest): boolean =>
  method === "OPTIONS" &&
  protocolError === undefined &&
  header("origin").length > 0 &&
  header("access-control-request-method").length > 0;

/** A deployed app may have a page below /.well-known under its custom domain. */
const isPage = ({ headers }: HttpResponse): boolean =>
  headers["content-type"]?.startsWith("text/html") === true;

/** Variants add headers such as X-Total-Count. */
const exposedHeaders = ({ headers }: HttpResponse): string =>
  [...EXPOSED_HEADERS, ...Object.keys(headers).filter((name) => name.startsWith("x-"))].join(", ");
