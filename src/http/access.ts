// Access control: the Authorization header (spec part 5; RFC 6750 2.1), the rate limit (8.rate-limit; spec part 8:
// exceeding it is a 403) and cross-origin resource sharing (Fetch standard).
import type { Caller } from "../domain/credentials.ts";
import { AppError, appError } from "../domain/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { sha256 } from "../lib/ids.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { emptyResponse, type RequestHandler } from "./message.ts";

/** A JWT, even a truncated one, starts with a JSON object in base64url; a pinned key may do so too. */
const JWT = /^eyJ[^.]*\./;

/** Returns the token of the Authorization header. */
export function bearerToken(header: string | undefined): string | AppError {
  if (header === undefined)
    return appError({
      code: "missing_credential",
      detail: "The Authorization header is missing; send Bearer and an API key or access token.",
    });
  const [, token] = /^bearer +([\w.~+/-]+=*)$/i.exec(header) ?? [];
  if (token !== undefined) return token;
  const isBearer = /^bearer( |$)/i.test(header);
  return appError({
    code: "malformed_credential",
    scheme: isBearer ? "bearer" : "other",
    detail: isBearer
      ? "After Bearer there must be one token of letters, digits and -._~+/ with = at its end. If nothing follows it, your variable is empty."
      : "The Authorization header's scheme must be Bearer.",
  });
}

export type Authenticate = ReturnType<typeof createAuthenticator>;

/** Returns the function that finds the caller of an Authorization header. */
export function createAuthenticator(
  authenticateKey: (hash: string) => Promise<Caller | AppError>,
  authenticateToken: (token: string) => Promise<Caller | AppError>,
) {
  /** The hashes of valid keys: hashing takes 15 % of a GET (Node 20). */
  const hashes = new Map<string, string>();
  return async function authenticate(header: string | undefined): Promise<Caller | AppError> {
    const token = bearerToken(header);
    if (token instanceof AppError) return token;
    const tokenCaller = JWT.test(token) ? await authenticateToken(token) : undefined;
    if (tokenCaller && !(tokenCaller instanceof AppError)) return tokenCaller;
    const hash = hashes.get(token) ?? sha256(token);
    const holder = await authenticateKey(hash);
    if (holder instanceof AppError) return tokenCaller ?? holder;
    hashes.set(token, hash);
    return holder;
  };
}

export const RATE_LIMIT = 6_000;
export const RATE_WINDOW_S = 60;
const WINDOW_MS = RATE_WINDOW_S * 1_000;

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Counts requests per account, in memory, in fixed windows that start with the account's first request. `limit` is
 * requests per window, null for none.
 */
export function createRateLimiter(clock: Clock, limit: number | null) {
  const windows = new Map<string, { endsAt: number; requests: number }>();
  clock.onSetBack((by_ms) => {
    for (const window of windows.values()) window.endsAt -= by_ms;
  });
  return {
    /** Counts a request. Returns undefined without a limit. */
    count(accountId: string) {
      if (limit === null) return undefined;
      const now = clock.now();
      let window = windows.get(accountId);
      if (window === undefined || now >= window.endsAt) {
        window = { endsAt: now + WINDOW_MS, requests: 0 };
        windows.set(accountId, window);
      }
      window.requests += 1;
      const remaining = Math.max(limit - window.requests, 0);
      const reset_s = Math.ceil((window.endsAt - now) / 1_000);
      return {
        exceeded: window.requests > limit,
        reset_s,
        /** As in draft-ietf-httpapi-ratelimit-headers. */
        headers: {
          "ratelimit-policy": `"default";q=${limit};w=${RATE_WINDOW_S}`,
          ratelimit: `"default";r=${remaining};t=${reset_s}`,
        },
      };
    },

    clear: () => windows.clear(),
  };
}

/** Endpoints with a bearer token or client credentials, and the documents that describe them. */
const CORS_PATHS =
  /^(\/v1(\/.*)?|\/oauth\/(token|revoke|jwks)|\/\.well-known\/.*|\/openapi\.json)$/;

const PREFLIGHT_HEADERS = {
  "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers":
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match",
  "access-control-max-age": "600",
};
const EXPOSED_HEADERS =
  "Location, ETag, Link, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, X-Request-Id, Idempotency-Replayed";

/**
 * Adds the CORS headers to the responses of `handle` and responds to preflight requests. A server that only this machine
 * reaches allows only origins of this machine; otherwise any web page could use a guessable start-up key.
 */
export function withCors(handle: RequestHandler, onlyLoopback: boolean): RequestHandler {
  return async function handleWithCors(request) {
    const { path, method, headers, responseHeaders } = request;
    if (!CORS_PATHS.test(path)) return handle(request);
    const { origin = "" } = headers;
    const isPreflight = method === "OPTIONS" && "access-control-request-method" in headers;
    const response = isPreflight ? emptyResponse(204) : await handle(request);
    // A deployed app may have a page below /.well-known under its custom domain.
    if (response.headers["content-type"]?.startsWith("text/html")) return response;
    // Sent to other origins too, or a cache could serve their response to an allowed one.
    if (onlyLoopback) responseHeaders.vary = "Origin";
    if (onlyLoopback && !isLoopbackOrigin(origin)) return response;
    responseHeaders["access-control-allow-origin"] = onlyLoopback ? origin : "*";
    if (isPreflight) Object.assign(responseHeaders, PREFLIGHT_HEADERS);
    else responseHeaders["access-control-expose-headers"] = EXPOSED_HEADERS;
    return response;
  };
}

/** Accepts a scheme, a loopback host and an optional port, as browsers write them; neither `null` nor a list. */
function isLoopbackOrigin(origin: string): boolean {
  const [, host] = /^[a-z][a-z\d+.-]*:\/\/(\[[\da-f:]+\]|[\w.-]+)(?::\d{1,5})?$/.exec(origin) ?? [];
  return host !== undefined && isLoopbackHost(host);
}
