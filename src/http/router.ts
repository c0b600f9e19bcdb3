// Router. Every endpoint is a route in a table. Each router owns a part of the paths (contract, part 1): the REST API,
// the test controls, the authorization server, the pages. A router defines its authentication, handling and error
// format. Route lookup, 404, 405 and unexpected exceptions are handled here once for all routers (contract, part 5).

import { AppError, fail } from "../domain/errors.ts";
import { isStoreError } from "../domain/store.ts";
import { decide } from "../former-decisions.ts";
import {
  emptyResponse,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  hostname,
  jsonResponse,
  VERSION_PREFIX,
} from "./message.ts";
import { PATHS } from "./urls.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface RouteKey {
  /** GET includes HEAD. */
  readonly method: Method;
  /** Relative to the router's `basePath`; a segment in braces is a parameter. */
  readonly path: string;
}

export type Result = HttpResponse | AppError;

export interface RoutedRequest<W> {
  readonly request: HttpRequest;
  readonly caller: W;
  readonly params: { readonly [name: string]: string };
}

/** `R` is the route type, `W` the caller type. */
export interface Router<R extends RouteKey = RouteKey, W = unknown> {
  /** Prefix of all paths of the router; "" if each route has a full path. */
  readonly basePath: string;
  readonly routes: RouteTable<R>;
  /**
   * Authenticates the caller, or returns the response or error to send. Runs before 404 and 405, so that the response
   * does not reveal whether the path exists. Headers added to `said` are sent with every response.
   */
  authenticate(
    call: HttpRequest,
    said: HttpResponse["headers"],
  ): Promise<{ readonly who: W } | Result>;
  handle(route: R, request: RoutedRequest<W>): Promise<Result>;
  onError(error: AppError, call: HttpRequest, who?: W): HttpResponse;
}

export interface Match<R> {
  /** Routes by method. */
  readonly methods: ReadonlyMap<string, R>;
  readonly params: { readonly [name: string]: string };
}

/** Finds the routes of a path. */
export class RouteTable<R extends RouteKey> {
  /** Paths without parameters. */
  readonly #exact = new Map<string, Match<R>>();
  readonly #patterns: { readonly pattern: RegExp; readonly routes: Match<R>["methods"] }[] = [];

  constructor(readonly routes: readonly R[]) {
    // A brace sorts after every letter, so that of two matching paths the literal one is found first.
    for (const path of [...new Set(routes.map((route) => route.path))].sort()) {
      const all = routes.filter((row) => row.path === path);
      const there = new Map(all.map((row) => [row.method, row]));
      if (there.size < all.length)
        throw new Error(`Of the rows for ${path} two have the same method`);
      const pattern = path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
      if (pattern === path) this.#exact.set(path, { methods: there, params: {} });
      else this.#patterns.push({ pattern: new RegExp(`^${pattern}$`), routes: there });
    }
  }

  find(path: string): Match<R> | undefined {
    const plain = this.#exact.get(path);
    if (plain !== undefined) return plain;
    for (const { pattern, routes: methods } of this.#patterns) {
      const fitting = pattern.exec(path);
      if (fitting) return { methods, params: fitting.groups ?? {} };
    }
    return undefined;
  }
}

/** A route without authentication: a document, or an endpoint of the authorization server. */
export interface PublicRoute extends RouteKey {
  handler(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}

export const publicRouter = (
  rows: readonly PublicRoute[],
  onError: Router["onError"],
): Router<PublicRoute, null> => ({
  basePath: "",
  routes: new RouteTable(rows),
  authenticate: async () => ({ who: null }),
  handle: async (route, { request }) => route.handler(request),
  onError,
});

export const getRoute = (path: string, handler: PublicRoute["handler"]): PublicRoute => ({
  method: "GET",
  path,
  handler,
});

export const ROOT_ROUTES = [
  getRoute(PATHS.health, () =>
    jsonResponse(200, { status: "ok" }, { "cache-control": "no-store" }),
  ),
  getRoute(PATHS.home, () => emptyResponse(302, { location: PATHS.dashboard })),
];

interface RouterDeps {
  /** Handles paths that no other router owns. */
  readonly fallback: Router;
  readonly routers: readonly Router[];
  /** Routers loaded on first use, so that start-up need not wait for them. */
  readonly lazyRouters: () => Promise<readonly Router[]>;
  /** Returns the path of a host's site, or undefined if the host is the server itself. */
  readonly findSitePath: (host: string) => Promise<string | undefined>;
  readonly onError: (error: unknown, requestId: string) => void;
}

/** Without a match, `router` is the owner of the path prefix. */
interface RouteMatch {
  readonly router: Router;
  readonly match?: Match<RouteKey>;
}

export function createRequestHandler({
  fallback: rest,
  routers: ways,
  lazyRouters: later,
  findSitePath: siteOf,
  onError,
}: RouterDeps): Handler {
  /** The first router with a matching route handles the request. */
  let loadedRouters = [...ways, rest];
  let lazyLoaded: Promise<void> | undefined;

  function find(path: string): RouteMatch {
    let owner = rest;
    for (const router of loadedRouters) {
      const match = path.startsWith(router.basePath)
        ? router.routes.find(path.slice(router.basePath.length))
        : undefined;
      if (match) return { router, match };
      if (router.basePath !== "" && `${path}/`.startsWith(`${router.basePath}/`)) owner = router;
    }
    return { router: owner };
  }

  /** The server's own paths work on every host; all other paths of a host belong to its site. */
  const hasRoute = ({ router: way, match: found }: RouteMatch, { path }: HttpRequest) =>
    path !== "/" && (way !== rest || found !== undefined);

  async function matchByHost(call: HttpRequest): Promise<RouteMatch> {
    lazyLoaded ??= later().then((more) => {
      loadedRouters = [...loadedRouters, ...more];
    });
    await lazyLoaded;
    const place = find(call.path);
    const site = hasRoute(place, call) ? undefined : await siteOf(hostname(call));
    return site === undefined ? place : find(site + call.path);
  }

  /** Suggests the path that was probably meant, if a similar one exists. */
  function notFoundDetail(path: string): string {
    if (/^\/v(?!1(\/|$))\d+(\/|$)/.test(path)) return OTHER_VERSION;
    const bare = path.endsWith("/") ? path.slice(0, -1) : path;
    const near = [bare, VERSION_PREFIX + bare].find((each) => each !== path && find(each).match);
    return `There is no such path${near === undefined ? "." : `; did you mean ${near}?`}`;
  }

  async function dispatch(
    { router: way, match: found }: RouteMatch,
    request: HttpRequest,
    caller: unknown,
  ): Promise<Result> {
    if (found === undefined)
      return fail({ code: "not_found", detail: notFoundDetail(request.path) });
    const { methods: rows, params } = found;
    const route = rows.get(request.method === "HEAD" ? "GET" : request.method);
    if (route) return way.handle(route, { request, caller, params });
    const methods = [...rows.keys()].flatMap((method) =>
      method === "GET" ? ["GET", "HEAD"] : [method],
    );
    const allow = [...methods, "OPTIONS"];
    return request.method === "OPTIONS"
      ? emptyResponse(204, { allow: allow.join(", ") })
      : fail({ code: "method_not_allowed", allow });
  }

  /** The only catch: logs an unexpected exception in full and responds without its details. */
  return async (call) => {
    let way = rest;
    let response: HttpResponse;
    const said: HttpResponse["headers"] = {};
    try {
      const first = find(call.path);
      if (call.protocolError) return first.router.onError(call.protocolError, call);
      const place = hasRoute(first, call) ? first : await matchByHost(call);
      way = place.router;
      const entered = await way.authenticate(call, said);
      const who = "who" in entered ? entered.who : undefined;
      const answer = "who" in entered ? await dispatch(place, call, who) : entered;
      response = answer instanceof AppError ? way.onError(answer, call, who) : answer;
    } catch (error) {
      onError(error, call.id);
      const isFull = isStoreError(error, "StorageUnavailable");
      response = way.onError(
        fail({ code: isFull ? "storage_unavailable" : "internal_error" }),
        call,
      );
    }
    Object.assign(response.headers, said);
    return response;
  };
}

const OTHER_VERSION = decide("9.other-versions").replace("<version>", VERSION_PREFIX);
