// Variants: other readings of the gaps in the specification (the `variant` of a decision), so that a client can be
// tested against every common one. Besides these functions, only the documents that describe the service follow them.
import { LIMIT_MAX, paginationParameters } from "../domain/crud.ts";
import { object, type Schema, strip } from "../lib/schema.ts";
import {
  type HttpResponse,
  JSON_TYPE,
  jsonResponse,
  type RequestHandler,
  VERSION_PREFIX,
} from "./message.ts";
import type { Operation } from "./operation.ts";
import { PROBLEM_TYPE } from "./problem.ts";
import { NO_QUERY } from "./request.ts";
import { RouteTable } from "./router.ts";

/** The name of each variant and its value. */
export const ALL_VARIANTS = {
  "list-shape": "bare",
  "create-status": "200",
  "delete-response": "body",
  "error-body": "flat",
  "validation-status": "400",
  "rate-headers": "x-ratelimit",
  "max-limit": "cut",
  "unknown-members": "ignored",
} as const;

export type Variants = { readonly [N in keyof typeof ALL_VARIANTS]?: (typeof ALL_VARIANTS)[N] };

const { limit } = paginationParameters;
const { maximum: _, ...unlimited } = limit.json;
/** Clamps a larger limit to the maximum. */
const clampedLimit: Schema<number> = {
  ...limit,
  json: unlimited,
  check(value, path, issues) {
    const isTooLarge = /^[1-9]\d*$/.test(String(value)) && Number(value) > LIMIT_MAX;
    return limit.check(isTooLarge ? String(LIMIT_MAX) : value, path, issues);
  },
};

const isEmpty = (variants: Variants): boolean => Object.keys(variants).length === 0;

/** Applies the variants that change what a route accepts or returns. */
export const applyVariants = (
  table: RouteTable<Operation>,
  variants: Variants,
): RouteTable<Operation> =>
  isEmpty(variants)
    ? table
    : new RouteTable(table.routes.map((route) => toVariant(route, variants)));

function toVariant(route: Operation, variants: Variants): Operation {
  const { method, status, query = NO_QUERY, body, loads } = route;
  let result = route;
  if (variants["max-limit"] && "limit" in query.members)
    result = { ...result, query: object({ ...query.members, limit: clampedLimit }) };
  if (variants["unknown-members"])
    result = {
      ...result,
      query: strip(result.query ?? NO_QUERY),
      ...(body && { body: strip(body) }),
    };
  if (variants["create-status"] && status === 201) result = { ...result, status: 200 };
  if (variants["delete-response"] && method === "DELETE" && loads?.serializer)
    result = { ...result, status: 200, serializer: { ...loads.serializer, kind: "plain" } };
  return result;
}

const EXPOSED = "access-control-expose-headers";
const VARIANT_HEADERS =
  "X-Total-Count, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset";

/** Applies the variants that change responses to everything under /v1, after CORS. */
export function withVariants(handle: RequestHandler, variants: Variants): RequestHandler {
  if (isEmpty(variants)) return handle;
  return async (request) => {
    let response = await handle(request);
    if (!request.path.startsWith(`${VERSION_PREFIX}/`)) return response;
    if (variants["list-shape"]) response = toBareList(response);
    // First, because `toFlatError` replaces the body that this reads.
    if (variants["validation-status"]) response = toBadRequest(response);
    if (variants["error-body"]) response = toFlatError(response);
    const { responseHeaders } = request;
    if (variants["rate-headers"]) renameRateLimit(responseHeaders);
    if (EXPOSED in responseHeaders) responseHeaders[EXPOSED] += `, ${VARIANT_HEADERS}`;
    return response;
  };
}

function toBareList(response: HttpResponse): HttpResponse {
  if (response.headers["content-type"] !== JSON_TYPE) return response;
  const { data, total }: { data?: unknown; total?: unknown } = JSON.parse(response.body);
  if (!Array.isArray(data) || total === undefined) return response;
  const headers = { ...response.headers, "x-total-count": String(total) };
  return { ...response, headers, body: JSON.stringify(data) };
}

const parseProblem = ({ headers, body }: HttpResponse): { code?: string; detail?: string } =>
  headers["content-type"] === PROBLEM_TYPE ? JSON.parse(body) : {};

function toBadRequest(response: HttpResponse): HttpResponse {
  const problem = parseProblem(response);
  return problem.code === "validation_failed"
    ? { ...response, status: 400, body: JSON.stringify({ ...problem, status: 400 }) }
    : response;
}

function toFlatError(response: HttpResponse): HttpResponse {
  const { code, detail: message } = parseProblem(response);
  return code === undefined
    ? response
    : jsonResponse(
        response.status,
        { error: { code, message } },
        { ...response.headers, "content-type": JSON_TYPE },
      );
}

function renameRateLimit(headers: Record<string, string>): void {
  const { ratelimit = "", "ratelimit-policy": policy = "" } = headers;
  const [, limit, remaining = "", reset = ""] =
    /q=(\d+).*r=(\d+);t=(\d+)/.exec(policy + ratelimit) ?? [];
  if (limit === undefined) return;
  delete headers.ratelimit;
  delete headers["ratelimit-policy"];
  Object.assign(headers, {
    "x-ratelimit-limit": limit,
    "x-ratelimit-remaining": remaining,
    "x-ratelimit-reset": reset,
  });
}
