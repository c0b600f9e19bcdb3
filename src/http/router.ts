// What everything that answers has in common: it is a row of a table, and a way leads to it. A way is a part of the
// addresses (contract, part 1) - the REST API, the test controls, the authorization server, the pages - and says who may
// come in, how a row of its kind runs, and how a refusal reads there. To find the row, 404, 405 and what went wrong
// unforeseen are the router's, once for all of them: one visible list of steps (contract, part 5).
import { decide } from "../decisions.ts";
import { AppError, fail } from "../domain/errors.ts";
import { isStoreError } from "../domain/store.ts";
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
  /** HEAD comes with GET. */
  readonly method: Method;
  /** Behind what its way shares; a segment in braces is a parameter. */
  readonly path: string;
}

export type Result = HttpResponse | AppError;

export interface RoutedRequest<W> {
  readonly request: HttpRequest;
  readonly caller: W;
  readonly params: { readonly [name: string]: string };
}

/** `R` are its rows, `W` is what it knows of who calls; the router hands it nothing else. */
export interface Router<R extends RouteKey = RouteKey, W = unknown> {
  /** What all paths below it share; "" where each row has an address of its own. */
  readonly basePath: string;
  readonly routes: RouteTable<R>;
  /**
   * Who calls, or what keeps them out whatever they ask for: judged before anything is told of the path. What is put into
   * `said` goes out with every answer.
   */
  authenticate(
    call: HttpRequest,
    said: HttpResponse["headers"],
  ): Promise<{ readonly who: W } | Result>;
  handle(route: R, request: RoutedRequest<W>): Promise<Result>;
  onError(error: AppError, call: HttpRequest, who?: W): HttpResponse;
}

export interface Match<R> {
  /** By method. */
  readonly methods: ReadonlyMap<string, R>;
  readonly params: { readonly [name: string]: string };
}

/** Finds the rows of a path in a table. */
export class RouteTable<R extends RouteKey> {
  /** Those without parameters. */
  readonly #exact = new Map<string, Match<R>>();
  readonly #patterns: { readonly pattern: RegExp; readonly routes: Match<R>["methods"] }[] = [];

  constructor(readonly routes: readonly R[]) {
    // A brace comes behind every letter: of two paths that fit, the one with the word is found first.
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

/** A row that is for anybody and answers a call by itself: a document, an endpoint of the authorization server. */
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
  /** Answers what lies at no other address. */
  readonly fallback: Router;
  readonly routers: readonly Router[];
  /** The ways that are loaded when somebody asks for more: a start need not wait for them. */
  readonly lazyRouters: () => Promise<readonly Router[]>;
  /** The path under which the site of a host is found; undefined where the host is the server itself. */
  readonly findSitePath: (host: string) => Promise<string | undefined>;
  readonly onError: (error: unknown, requestId: string) => void;
}

/** Where nothing is, the way is the one that has all that lies below. */
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
  /** The first that has the path answers. */
  let routers_ = [...ways, rest];
  let lazyLoaded: Promise<void> | undefined;

  function find(path: string): RouteMatch {
    let owner = rest;
    for (const router of routers_) {
      const match = path.startsWith(router.basePath)
        ? router.routes.find(path.slice(router.basePath.length))
        : undefined;
      if (match) return { router, match };
      if (router.basePath !== "" && `${path}/`.startsWith(`${router.basePath}/`)) owner = router;
    }
    return { router: owner };
  }

  /** The addresses of the server answer on every host; whatever else a host has is its site's. */
  const hasRoute = ({ router: way, match: found }: RouteMatch, { path }: HttpRequest) =>
    path !== "/" && (way !== rest || found !== undefined);

  async function matchByHost(call: HttpRequest): Promise<RouteMatch> {
    lazyLoaded ??= later().then((more) => {
      routers_ = [...routers_, ...more];
    });
    await lazyLoaded;
    const place = find(call.path);
    const site = hasRoute(place, call) ? undefined : await siteOf(hostname(call));
    return site === undefined ? place : find(site + call.path);
  }

  /** Of an address that is nearly one of ours, the one that was probably meant. */
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

  /** The one catch: an exception that nobody foresaw is logged whole and answered bare. */
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
