// Router. Every endpoint is a route in a table. Each router owns a part of the paths and has its own authentication and
// error format. Route lookup, 404, 405 and unexpected exceptions are handled here for all routers.
import { AppError, appError } from "../domain/errors.ts";
import { isStoreError } from "../domain/store.ts";
import {
  emptyResponse,
  type HttpRequest,
  type HttpResponse,
  hostname,
  jsonResponse,
  PATHS,
  type RequestHandler,
  VERSION_PREFIX,
} from "./message.ts";

export interface RouteKey {
  /** GET includes HEAD. */
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Relative to the router's `basePath`; a segment in braces is a parameter. */
  readonly path: string;
}

export type Result = HttpResponse | AppError;

export type PathParams = Readonly<Record<string, string>>;

export interface RouteMatch<R> {
  readonly route: R;
  readonly params: PathParams;
}

/** The route of a request, or the error if there is none: 404 or 405. */
export type Lookup<R> = RouteMatch<R> | AppError;

export interface Router<R extends RouteKey = RouteKey> {
  /** Prefix of all paths of the router; "" if each route has a full path. */
  readonly basePath: string;
  readonly routes: RouteTable<R>;
  /**
   * Handles a request to a path of the router. A `lookup` without a route is returned after authentication, so that
   * the response does not reveal which paths exist.
   */
  handle(request: HttpRequest, lookup: Lookup<R>): Promise<Result>;
  onError(error: AppError, request: HttpRequest): HttpResponse;
}

/** The routes of a path. */
interface PathMatch<R> {
  readonly methods: ReadonlyMap<string, R>;
  readonly params: PathParams;
}

/** Finds the routes of a path. */
export class RouteTable<R extends RouteKey> {
  readonly #paths: { readonly pattern: RegExp; readonly methods: PathMatch<R>["methods"] }[] = [];

  constructor(readonly routes: readonly R[]) {
    const byPath = new Map<string, Map<string, R>>();
    for (const route of routes)
      byPath.set(route.path, (byPath.get(route.path) ?? new Map()).set(route.method, route));
    // A brace sorts after every letter, so that of two matching paths the literal one is found first.
    for (const [path, methods] of [...byPath].sort(([a], [b]) => (a < b ? -1 : 1)))
      this.#paths.push({
        pattern: new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`),
        methods,
      });
  }

  find(path: string): PathMatch<R> | undefined {
    for (const { pattern, methods } of this.#paths) {
      const match = pattern.exec(path);
      if (match) return { methods, params: match.groups ?? {} };
    }
    return undefined;
  }
}

/** A route without authentication: a document, or an endpoint of the authorization server. */
export interface PublicRoute extends RouteKey {
  handler(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}

export const publicRouter = (
  routes: readonly PublicRoute[],
  onError: Router["onError"],
): Router<PublicRoute> => ({
  basePath: "",
  routes: new RouteTable(routes),
  handle: async (request, lookup) =>
    lookup instanceof AppError ? lookup : lookup.route.handler(request),
  onError,
});

export const publicGet = (path: string, handler: PublicRoute["handler"]): PublicRoute => ({
  method: "GET",
  path,
  handler,
});

export const ROOT_ROUTES = [
  publicGet(PATHS.health, () =>
    jsonResponse(200, { status: "ok" }, { "cache-control": "no-store" }),
  ),
  publicGet(PATHS.home, () => emptyResponse(302, { location: PATHS.dashboard })),
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

/** The router of a path; without a match it owns the prefix. */
interface RouteOwner {
  readonly router: Router;
  readonly match?: PathMatch<RouteKey>;
}

export function createRequestHandler(deps: RouterDeps): RequestHandler {
  const { fallback } = deps;
  let routers = [...deps.routers, fallback];
  let lazyLoaded: Promise<void> | undefined;

  /** The first router with a matching route handles the request. */
  function findOwner(path: string): RouteOwner {
    for (const router of routers) {
      const { basePath, routes } = router;
      const match = path.startsWith(basePath) && routes.find(path.slice(basePath.length));
      if (match) return { router, match };
    }
    const prefixOwner = routers.find(
      ({ basePath }) => basePath !== "" && `${path}/`.startsWith(`${basePath}/`),
    );
    return { router: prefixOwner ?? fallback };
  }

  /** The server's own paths work on every host; all other paths of a host belong to its site. */
  const isOwnPath = ({ router, match }: RouteOwner, { path }: HttpRequest) =>
    path !== PATHS.home && (router !== fallback || match !== undefined);

  async function findOwnerByHost(request: HttpRequest): Promise<RouteOwner> {
    lazyLoaded ??= deps.lazyRouters().then((more) => {
      routers = [...routers, ...more];
    });
    await lazyLoaded;
    const owner = findOwner(request.path);
    if (isOwnPath(owner, request)) return owner;
    const sitePath = await deps.findSitePath(hostname(request));
    return sitePath === undefined ? owner : findOwner(sitePath + request.path);
  }

  /** The only catch of unexpected exceptions: logs them in full and responds without their details. */
  return async function handleRequest(request) {
    let owner = findOwner(request.path);
    let result: Result;
    try {
      if (request.protocolError) return owner.router.onError(request.protocolError, request);
      if (!isOwnPath(owner, request)) owner = await findOwnerByHost(request);
      const lookup = findRoute(owner.match, request);
      result = await owner.router.handle(request, lookup);
    } catch (error) {
      deps.onError(error, request.id);
      const isUnavailable = isStoreError(error, "StorageUnavailable");
      result = appError({ code: isUnavailable ? "storage_unavailable" : "internal_error" });
    }
    return result instanceof AppError ? owner.router.onError(result, request) : result;
  };
}

function findRoute(match: RouteOwner["match"], { method, path }: HttpRequest): Lookup<RouteKey> {
  if (!match) {
    const isOtherVersion =
      /^\/v\d+(\/|$)/.test(path) && !`${path}/`.startsWith(`${VERSION_PREFIX}/`);
    const detail = isOtherVersion
      ? `This server speaks ${VERSION_PREFIX} only.`
      : "There is no such path.";
    return appError({ code: "not_found", detail });
  }
  const { methods, params } = match;
  const route = methods.get(method === "HEAD" ? "GET" : method);
  if (route) return { route, params };
  const allow = [...methods.keys()].flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : each));
  return appError({ code: "method_not_allowed", allow });
}
