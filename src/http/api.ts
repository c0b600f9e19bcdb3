// REST API pipeline in the order of the contract (part 5). `authenticate` checks the credential, the account state and
// the rate limit, and adds the rate limit headers. After routing come scope, headers and query, body, idempotency,
// resource and fields. The handler comes last and checks states. The dashboard calls `invoke` with form input, so it is
// allowed no more than a request and shows the same.
import { type Caller, checkAccountState, hasScope } from "../domain/credentials.ts";
import { clampedLimit, type Page } from "../domain/crud.ts";
import { AppError, type FieldError, fail } from "../domain/errors.ts";
import { UnitOfWork, type UnitOfWorkDeps } from "../domain/unit-of-work.ts";
import { DEFAULT_DECIDE, type Decide } from "../domain/variants.ts";
import { object, passthrough, type Schema, unsafeCast } from "../lib/schema.ts";
import { accountRoutes } from "./account-routes.ts";
import { appRoutes } from "./app-routes.ts";
import type { Authenticate } from "./authenticate.ts";
import { parseIdempotencyKey, withIdempotency } from "./idempotency.ts";
import {
  emptyResponse,
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  VERSION_PREFIX,
} from "./message.ts";
import { problemResponse } from "./problem.ts";
import { RATE_WINDOW_S, type Rate, type RateLimiter } from "./rate-limit.ts";
import type { AppContext, HandlerContext, Operation } from "./route.ts";
import { type Result, type RoutedRequest, type Router, RouteTable } from "./router.ts";
import { createTemplate, type ResponseCache } from "./serializers.ts";
import {
  checkMediaType,
  evaluatePreconditions,
  invalidInput,
  PRECONDITION_FAILED,
  parseJson,
  parsePreconditions,
  validateBody,
  validateQuery,
} from "./validation.ts";

export interface OperationDeps {
  readonly unit: UnitOfWorkDeps;
  readonly services: AppContext;
  readonly responseCache: ResponseCache;
}

export interface ApiDeps extends OperationDeps {
  readonly authenticate: Authenticate;
  readonly limiter: RateLimiter;
  /** Fault injection for tests: a fault replaces the operation. */
  readonly faults: {
    apply(request: HttpRequest, row: Operation, goOn: () => Promise<Result>): Promise<Result>;
  };
}

/** Applies the selected variants to the route table. */
function applyVariants(rows: readonly Operation[], decide: Decide): readonly Operation[] {
  const taken = <S extends Schema<unknown>>(schema: S): S =>
    decide("2.unknown-members") ? passthrough(schema) : schema;
  const isCut = decide("8.max-limit").over === "cut";
  const gone = decide("4.delete-response");
  return rows.map((row): Operation => {
    const { body, location, method, loads: target, headers } = row;
    const query =
      isCut && "limit" in row.query.members
        ? object({ ...row.query.members, limit: clampedLimit })
        : row.query;
    const other = {
      ...row,
      query: taken(query),
      ...(body && { body: (services: AppContext) => taken(body(services)) }),
    };
    if (location) return { ...other, status: decide("4.create-status") };
    if (method !== "DELETE" || !target?.serializer || gone === 204) return other;
    const serializer = { ...target.serializer, kind: "plain" } as const;
    return {
      ...other,
      status: gone,
      serializer,
      headers: { ...headers, "content-type": JSON_TYPE },
    };
  });
}

/** The route table (spec part 4; contract, part 4) with the default variants. */
export const API = new RouteTable(applyVariants([...appRoutes, ...accountRoutes], DEFAULT_DECIDE));

export function createApiRouter(deps: ApiDeps): Router<Operation, Caller> {
  const { decide, urls } = deps.services;
  const { limiter } = deps;
  // Constant values are filled in once, the remaining quota per response. Existing members are overwritten, because
  // adding a member to an object costs ten times as much.
  const fixed = {
    limit: limiter.limit,
    window: RATE_WINDOW_S,
    remaining: "<remaining>",
    reset: "<reset>",
  };
  const reported = Object.entries(decide("8.rate-headers")).map(
    ([name, text]) => [name, createTemplate(text)(fixed)] as const,
  );
  const rateHeaders = Object.fromEntries(reported);
  const counted = reported
    .filter(([, text]) => text.includes("<"))
    .map(([name, text]) => [name, createTemplate(text)] as const);
  /** Adds the rate limit headers; returns an error if the limit is exceeded. */
  function applyRateLimit(
    { remaining, reset_s, exceeded }: Rate,
    said: HttpResponse["headers"],
  ): AppError | undefined {
    Object.assign(said, rateHeaders);
    for (const [name, filled] of counted) said[name] = filled({ remaining, reset: reset_s });
    return exceeded ? fail({ code: "rate_limit_exceeded", retry_after_s: reset_s }) : undefined;
  }
  return {
    basePath: VERSION_PREFIX,
    routes: decide === DEFAULT_DECIDE ? API : new RouteTable(applyVariants(API.routes, decide)),
    async authenticate(call, said) {
      const who = await deps.authenticate(call.header("authorization"));
      if (who instanceof AppError) return who;
      const invalid = checkAccountState(who.account, call.method);
      const rate = await limiter.count(who.account.id, invalid ? 0 : 1);
      const over = rate && applyRateLimit(rate, said); // sent with every response that has an account
      return invalid ?? over ?? { who };
    },
    async handle(row, request) {
      const { request: call, caller: who } = request;
      const { scope } = row;
      if (scope !== null && !hasScope(who.scopes, scope)) {
        const has = who.scopes.join(", ") || "none that its user still holds";
        return fail({
          code: "insufficient_scope",
          scope,
          detail: `This needs the scope ${scope}; the token has ${has}.`,
        });
      }
      return deps.faults.apply(call, row, () => handleOperation(deps, row, request));
    },
    onError: (error, call) => problemResponse(error, call.id, urls, decide),
  };
}

/** Validates the request of an authorized caller and runs the operation. */
export async function handleOperation(
  { services, responseCache, unit: deps }: OperationDeps,
  row: Operation,
  { request, caller, params }: RoutedRequest<Caller>,
): Promise<Result> {
  const wrong: FieldError[] = [];
  const conditions = parsePreconditions(request, wrong);
  const key = parseIdempotencyKey(request, wrong);
  const query = validateQuery(row.query, request.query, wrong);
  if (wrong.length > 0) return invalidInput(wrong);
  const there = row.loads?.serializer;
  const precondition = (record: object) =>
    there &&
    conditions &&
    evaluatePreconditions(
      conditions,
      responseCache.serialize(there, record).etag,
      PRECONDITION_FAILED,
    );
  const perform = async (sent: unknown, unit: UnitOfWork): Promise<Result> => {
    const { account, user } = caller;
    const context = {
      unitOfWork: unit,
      account,
      user,
      params,
      services,
      query,
      request,
      precondition,
      body: undefined,
    };
    const result = await invoke(row, context, sent);
    if (result instanceof AppError) return result;
    const response = serializeResponse(row, result, responseCache, request);
    const { etag } = response.headers;
    const isRead = etag !== undefined && row.method === "GET";
    return (
      (isRead &&
        conditions &&
        evaluatePreconditions(conditions, etag, emptyResponse(304, { etag }))) ||
      response
    );
  };
  // With an idempotency key even an unused body is read: it distinguishes requests with the same key.
  const isWanted = row.body !== undefined || key !== undefined;
  const body = isWanted
    ? await request.readBody(row.bodyLimit, row.body && checkMediaType(request))
    : undefined;
  if (body instanceof AppError) return body;
  const sent = row.body && body && parseJson(body, row.keepNumbers);
  if (sent instanceof AppError) return sent;
  if (key === undefined) return perform(sent, new UnitOfWork(deps, request.id));
  return withIdempotency(deps, { caller, key, call: request, body }, (keep) =>
    perform(
      sent,
      new UnitOfWork(deps, request.id, ({ tx }, value) =>
        keep(tx, serializeResponse(row, value, responseCache, request, true)),
      ),
    ),
  );
}

/** Loads the resource, validates the fields, then runs the handler, which checks states. */
export async function invoke(
  row: Operation,
  asked: HandlerContext & { body: unknown },
  sent: unknown,
): Promise<unknown> {
  const there = row.loads && (await row.loads.handler(asked));
  if (there instanceof AppError) return there;
  asked.body = row.body && (await validateBody(row.body(asked.services), sent));
  return asked.body instanceof AppError ? asked.body : await row.handler(asked);
}

/** Serializes a successful result. `isKept`: as stored for idempotent replay, without values that are shown once. */
export function serializeResponse(
  { status, headers: own, serializer, location, shownOnce: once, method }: Operation,
  result: unknown,
  responseCache: ResponseCache,
  { path, query }: Pick<HttpRequest, "path" | "query">,
  isKept = false,
): HttpResponse {
  // A spread would cost each request 10 µs.
  const headers: HttpResponse["headers"] = Object.assign({}, own);
  if (serializer === undefined) return { status, headers, body: "" };
  const { links: urls } = responseCache;
  if (serializer.kind === "page") {
    const link = paginationLinks(unsafeCast(result), urls.authUrl + path, query);
    if (link !== "") headers.link = link;
    if (responseCache.isTotalInHeader)
      headers["x-total-count"] = String(unsafeCast<Page<unknown>>(result).total);
  }
  if (serializer.kind !== "one")
    return { status, headers, body: serializer.text(result, responseCache) };
  const record = unsafeCast<object>(result);
  const { text, etag } =
    method === "GET"
      ? responseCache.serialize(serializer, record)
      : responseCache.serializeUncached(serializer, record);
  headers.etag = etag;
  if (location) headers.location = urls.baseUrl + location(record);
  if (once === undefined) return { status, headers, body: text };
  const shown = Object.entries(once).map(([name, of]) => [name, isKept ? null : of(record, urls)]);
  return {
    status,
    headers,
    body: `${text.slice(0, -1)},${JSON.stringify(Object.fromEntries(shown)).slice(1)}`,
  };
}

/** Returns the Link header for the next and previous page (RFC 8288). */
function paginationLinks(
  { total, range: { limit, offset } }: Page<unknown>,
  url: string,
  query: string,
): string {
  const to = (at: number, rel: "next" | "prev") => {
    const given = new URLSearchParams(query);
    given.set("limit", String(limit));
    given.set("offset", String(at));
    return `<${url}?${given}>; rel="${rel}"`;
  };
  const found: string[] = [];
  if (offset + limit < total) found.push(to(offset + limit, "next"));
  if (offset > 0) found.push(to(Math.max(Math.min(offset, total) - limit, 0), "prev"));
  return found.join(", ");
}
