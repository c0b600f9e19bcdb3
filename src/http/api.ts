// The REST API. A request passes the checks in a fixed order: `handleApiRequest` up to the scope, then `runOperation`.
// The dashboard checks permission and account state itself and enters at `callOperation`, so it gets the same errors.
import { idempotency } from "../domain/collections.ts";
import { type Caller, checkAccountState, hasScope } from "../domain/credentials.ts";
import type { ListPage } from "../domain/crud.ts";
import { AppError, appError, type FieldError } from "../domain/errors.ts";
import type { Tx } from "../domain/store.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { parseIso, toIso } from "../lib/clock.ts";
import { sha256 } from "../lib/ids.ts";
import { type Issue, pointer } from "../lib/schema.ts";
import type { Authenticate, RateLimiter } from "./access.ts";
import {
  emptyResponse,
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  VERSION_PREFIX,
} from "./message.ts";
import {
  type HandlerContext,
  type Operation,
  type RouteDeps,
  serializeOnce,
  type TextCache,
} from "./operation.ts";
import { problemResponse } from "./problem.ts";
import {
  evaluatePreconditions,
  type Preconditions,
  parseInput,
  parseJson,
  readRequestBody,
} from "./request.ts";
import { type Lookup, type Result, type RouteMatch, type Router, RouteTable } from "./router.ts";
import { apiRoutes } from "./routes.ts";

export interface OperationDeps {
  readonly unitOfWorkDeps: UnitOfWorkDeps;
  /** Ids of the idempotency keys whose first request is running. */
  readonly keysInProgress: Set<string>;
  readonly routeDeps: RouteDeps;
  readonly textCache: TextCache;
}

export interface ApiDeps extends OperationDeps {
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
  /** Fault injection for tests: a fault replaces the operation. */
  readonly faults: {
    apply(request: HttpRequest, route: Operation, next: () => Promise<Result>): Promise<Result>;
  };
}

/** The route table (spec part 4), without variants. */
export const API_ROUTES = new RouteTable(apiRoutes);

export const createApiRouter = (
  deps: ApiDeps,
  routes: RouteTable<Operation>,
): Router<Operation> => ({
  basePath: VERSION_PREFIX,
  routes,
  handle: (request, lookup) => handleApiRequest(deps, request, lookup),
  onError: (error, request) => problemResponse(error, request.id, deps.routeDeps.urls),
});

async function handleApiRequest(
  deps: ApiDeps,
  request: HttpRequest,
  lookup: Lookup<Operation>,
): Promise<Result> {
  // 401
  const caller = await deps.authenticate(request.headers.authorization);
  if (caller instanceof AppError) return caller;

  // 403: account state, then rate limit
  const stateError = checkAccountState(caller.account, request.method);
  const rate = deps.limiter.count(caller.account.id);
  Object.assign(request.responseHeaders, rate?.headers);
  if (stateError) return stateError;
  if (rate?.exceeded) return appError({ code: "rate_limit_exceeded", retry_after_s: rate.reset_s });

  // 404, 405
  if (lookup instanceof AppError) return lookup;

  // 403: scope
  const { scope } = lookup.route;
  if (scope !== null && !hasScope(caller.scopes, scope)) {
    const scopes = caller.scopes.join(", ") || "none";
    const detail = `This operation requires the scope ${scope}. The token's current scopes: ${scopes}.`;
    return appError({ code: "insufficient_scope", scope, detail });
  }

  const run = () => runOperation(deps, lookup, caller, request);
  return await deps.faults.apply(request, lookup.route, run);
}

/** Handles the request of an authorized caller. */
export async function runOperation(
  deps: OperationDeps,
  { route, params }: RouteMatch<Operation>,
  { account, user, credentialId }: Caller,
  request: HttpRequest,
): Promise<Result> {
  const { unitOfWorkDeps, routeDeps, textCache } = deps;
  // 400: headers and query
  const input = parseInput(route, request);
  if (input instanceof AppError) return input;
  const { query, idempotencyKey, preconditions } = input;

  // 413, 415, 400: body. With a key even an unused one is read, because it distinguishes requests.
  const isBodyRead = route.body !== undefined || idempotencyKey !== undefined;
  const bytes = isBodyRead ? await readRequestBody(route, request) : undefined;
  if (bytes instanceof AppError) return bytes;
  const json = route.body && bytes && parseJson(bytes, route.exactNumbers);
  if (json instanceof AppError) return json;

  let response: HttpResponse | undefined;
  async function execute(save?: SaveResponse): Promise<Result> {
    // 404, 422, 409, 412
    const result = await callOperation(route, {
      unitOfWork: new UnitOfWork(
        unitOfWorkDeps,
        request.id,
        save &&
          (({ tx }, value) => {
            response = serializeResponse(route, value, textCache, request);
            return save(tx, toReplay(route, response));
          }),
      ),
      account,
      user,
      params,
      routeDeps,
      query,
      body: json,
      precondition: (record) => checkPrecondition(textCache, route, preconditions, record),
    });
    if (result instanceof AppError) return result;
    response ??= serializeResponse(route, result, textCache, request);
    return route.method === "GET" ? evaluateRead(preconditions, response) : response;
  }

  return idempotencyKey === undefined
    ? await execute()
    : await withIdempotency(deps, idempotencyKey, credentialId, request, bytes, execute);
}

/**
 * Calls an operation without HTTP: loads the resource (404), validates the fields of `context.body` (422) and calls the
 * handler, which checks states (409, 412). Returns the handler's result or an error.
 */
export async function callOperation(route: Operation, context: HandlerContext): Promise<unknown> {
  const resource = route.loads && (await route.loads.handler(context));
  if (resource instanceof AppError) return resource;
  const issues: Issue[] = [];
  const body = route.body?.check(context.body, [], issues);
  const errors = issues.map(({ path, detail }): FieldError => ({ pointer: pointer(path), detail }));
  // After the schema, because an overlong URL would block the process.
  if (route.fieldErrors)
    errors.push(...(await route.fieldErrors({ ...context, body: Object(body) })));
  if (errors.length > 0) return appError({ code: "validation_failed", errors });
  return await route.handler({ ...context, body });
}

const REPLAY_MS = 24 * 3_600_000;

const KEY_REUSED = appError({
  code: "idempotency_key_reused",
  errors: [
    {
      header: "Idempotency-Key",
      detail: "was used for another request; use a new key for a new one",
    },
  ],
});

/** Stores the response to replay. */
type SaveResponse = (tx: Tx, response: HttpResponse) => Promise<void>;

/**
 * Replays the stored response for this Idempotency-Key, or runs the operation, which stores its response with `save` in
 * the transaction of the change. Keys of different credentials are unrelated.
 */
async function withIdempotency(
  { unitOfWorkDeps: { store, clock }, keysInProgress }: OperationDeps,
  key: string,
  credentialId: string,
  { path, query }: HttpRequest,
  body: Buffer | undefined,
  run: (save: SaveResponse) => Promise<Result>,
): Promise<Result> {
  const id = sha256(`${credentialId} ${key}`);
  const fingerprint = sha256([path, query, body?.toString("latin1")].join(" "));
  const isFirst = !keysInProgress.has(id);
  keysInProgress.add(id);
  try {
    const stored = await store.get(idempotency, id);
    if (stored && parseIso(stored.expires_at) > clock.now()) {
      if (stored.fingerprint !== fingerprint) return KEY_REUSED;
      const { status, headers, body } = stored;
      return { status, headers: { ...headers, "idempotency-replayed": "true" }, body };
    }
    if (!isFirst) return appError({ code: "idempotency_in_progress" });
    return await run(async (tx, response) =>
      tx.put(idempotency, {
        ...response,
        id,
        fingerprint,
        expires_at: toIso(clock.now() + REPLAY_MS),
      }),
    );
  } finally {
    if (isFirst) keysInProgress.delete(id);
  }
}

const PRECONDITION_FAILED = appError({ code: "precondition_failed" });

/** Evaluates If-Match and If-None-Match of a change for the current record. */
function checkPrecondition(
  textCache: TextCache,
  { loads }: Operation,
  preconditions: Preconditions,
  record: object,
): AppError | undefined {
  const { ifMatch, ifNoneMatch } = preconditions;
  if (!loads?.serializer || !(ifMatch || ifNoneMatch)) return undefined;
  const { etag } = textCache.serialize(loads.serializer, record);
  return evaluatePreconditions(preconditions, etag) && PRECONDITION_FAILED;
}

/** Evaluates If-Match and If-None-Match of a read: 412, 304 or the response. */
function evaluateRead(preconditions: Preconditions, response: HttpResponse): Result {
  const { etag } = response.headers;
  const outcome = etag && evaluatePreconditions(preconditions, etag);
  if (outcome === "failed") return PRECONDITION_FAILED;
  return etag && outcome === "not modified" ? emptyResponse(304, { etag }) : response;
}

/** Serializes the result of an operation. */
export function serializeResponse(
  { method, status, serializer, location, shownOnce }: Operation,
  result: unknown,
  textCache: TextCache,
  request: Pick<HttpRequest, "path" | "query">,
): HttpResponse {
  if (!serializer) return emptyResponse(status);
  const headers: Record<string, string> = { "content-type": JSON_TYPE };
  if (shownOnce !== undefined) headers["cache-control"] = "no-store";
  if (serializer.kind !== "one") {
    if (serializer.kind === "page")
      Object.assign(
        headers,
        paginationLinks(result as ListPage<unknown>, textCache.urls.authUrl, request),
      );
    return { status, headers, body: serializer.toJson(result, textCache) };
  }
  const record = result as Record<string, unknown>;
  // A record that was just written may never be read: caching its text costs a tenth of a create.
  const { text, etag } =
    method === "GET"
      ? textCache.serialize(serializer, record)
      : serializeOnce(serializer, record, textCache);
  headers.etag = etag;
  if (location) headers.location = textCache.urls.baseUrl + location(record);
  const body = shownOnce === undefined ? text : withMember(text, shownOnce, record[shownOnce]);
  return { status, headers, body };
}

/** Returns the response to store: in a replay the value that is shown once is null. */
const toReplay = ({ shownOnce }: Operation, response: HttpResponse): HttpResponse =>
  shownOnce === undefined
    ? response
    : { ...response, body: withMember(response.body, shownOnce, null) };

const withMember = (json: string, name: string, value: unknown): string =>
  JSON.stringify({ ...JSON.parse(json), [name]: value });

/** Returns the Link header for the next and previous page (RFC 8288), if there is one. */
function paginationLinks(
  { total, range: { limit, offset } }: ListPage<unknown>,
  authUrl: string,
  { path, query }: Pick<HttpRequest, "path" | "query">,
): { link?: string } {
  const createLink = (pageOffset: number, rel: "next" | "prev") => {
    const parameters = new URLSearchParams(query);
    parameters.set("limit", String(limit));
    parameters.set("offset", String(pageOffset));
    return `<${authUrl}${path}?${parameters}>; rel="${rel}"`;
  };
  const links: string[] = [];
  if (offset + limit < total) links.push(createLink(offset + limit, "next"));
  if (offset > 0) links.push(createLink(Math.max(Math.min(offset, total) - limit, 0), "prev"));
  return links.length > 0 ? { link: links.join(", ") } : {};
}
