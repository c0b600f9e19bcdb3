// Reads and validates requests: size and form of the head, the body, JSON, headers and query (7.validation-status,
// 8.body-size, 8.bounds; RFC 9112). An operation's schemas validate query and body; one response lists all issues.
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { parseExactJson } from "../domain/columns.ts";
import { type AppError, appError, type FieldError } from "../domain/errors.ts";
import { type Issue, object, UNKNOWN_MEMBER } from "../lib/schema.ts";
import { type HttpRequest, JSON_TYPE } from "./message.ts";
import type { Operation } from "./operation.ts";

export const LIMITS = {
  url_bytes: 8_192,
  /** Node counts the request line, too. */
  header_bytes: 16_384,
  headers_ms: 10_000,
  request_ms: 30_000,
  /** Node can take twice as long to notice that a client has stopped reading. */
  unread_ms: 60_000,
  connections: 1_000,
};
export type Limits = Readonly<typeof LIMITS>;

const MIB = 1_048_576;
export const BODY_BYTES = MIB;
export const DATA_BODY_BYTES = 10 * MIB;
const NESTING_MAX = 64;
export const KEY_MAX = 255;
const MERGE_PATCH_TYPE = "application/merge-patch+json";
/** Node joins repeated headers with commas. */
const HOST = /^[^\s,/?#@]*$/;
/** Authority, path and query of a request target. Only the absolute form has an authority (RFC 9112 3.2.2). */
const TARGET = /^(?:https?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/i;
export const NO_QUERY = object({});

/** Parses the head of a request; the body stays unread until `readBody`. */
export function parseRequest(id: string, request: IncomingMessage): HttpRequest {
  const { method = "GET", url = "", headers, httpVersion } = request;
  const [, authority, path, query = ""] = TARGET.exec(url) ?? [];
  let protocolError: AppError | undefined;
  if (url.length > LIMITS.url_bytes) protocolError = tooLarge("uri_too_long", LIMITS.url_bytes);
  else if (!HOST.test(headers.host ?? (httpVersion === "1.1" ? "?" : "")))
    protocolError = badRequest("The Host header is missing, repeated or invalid.");
  return {
    id,
    method,
    path: path || "/",
    query,
    host: authority ?? headers.host ?? "",
    protocolError,
    // Node gives a list only for Set-Cookie, which nothing here reads.
    headers: headers as HttpRequest["headers"],
    responseHeaders: { "x-request-id": id },
    readBody: (limit_bytes) => readBody(request, limit_bytes),
  };
}

/** Reads the body; the rest of one that is too large is discarded, so that the client gets to read the response. */
function readBody(request: IncomingMessage, limit_bytes: number): Promise<Buffer | AppError> {
  return new Promise((resolve) => {
    const onAborted = () => resolve(badRequest("The connection ended before the body did."));
    // During an injected delay the connection may have closed.
    if (request.destroyed) return onAborted();
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= limit_bytes) chunks.push(chunk);
      else resolve(tooLarge("payload_too_large", limit_bytes));
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", onAborted);
  });
}

/** Converts a parse or timeout error of Node to the error to send. */
export function parserErrorToAppError(error: NodeJS.ErrnoException): AppError {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return appError({ code: "request_timeout" });
  if (error.code !== "HPE_HEADER_OVERFLOW") return badRequest("This is not an HTTP/1.1 request.");
  const { rawPacket } = error as { rawPacket?: Buffer };
  const hasFullLine = rawPacket?.subarray(0, LIMITS.header_bytes).includes("\r\n");
  return hasFullLine
    ? tooLarge("headers_too_large", LIMITS.header_bytes)
    : tooLarge("uri_too_long", LIMITS.url_bytes);
}

const badRequest = (detail: string): AppError => appError({ code: "invalid_request", detail });

const tooLarge = (
  code: "payload_too_large" | "uri_too_long" | "headers_too_large",
  limit_bytes: number,
): AppError => appError({ code, detail: `The limit is ${limit_bytes} bytes.` });

/** The entity tags of If-Match and If-None-Match, or "*" alone; undefined if the header is absent. */
export interface Preconditions {
  readonly ifMatch: readonly string[] | undefined;
  readonly ifNoneMatch: readonly string[] | undefined;
}

/** "*", or entity tags with commas between them (RFC 9110 8.8.3 and 13.1). */
const ENTITY_TAGS = /^(\*|([ \t,]*(W\/)?"[!#-~\x80-\xff]*"[ \t]*(,|$))+[ \t,]*)$/;

/** Parses headers and query, or returns one error for all unknown, repeated and invalid values. */
export function parseInput({ query: schema = NO_QUERY }: Operation, request: HttpRequest) {
  const { headers } = request;
  const errors: FieldError[] = [];
  const values = new Map<string, string>();
  // URLSearchParams drops a leading `?`.
  for (const [name, value] of request.query ? new URLSearchParams(`?${request.query}`) : []) {
    if (values.has(name) && Object.hasOwn(schema.members, name))
      errors.push({ parameter: name, detail: "is given more than once" });
    values.set(name, value);
  }
  const issues: Issue[] = [];
  const query = schema.check(Object.fromEntries(values), [], issues);
  for (const { path, detail } of issues)
    errors.push({
      parameter: String(path[0]),
      detail: detail.replace(UNKNOWN_MEMBER, "is not a parameter of this operation"),
    });
  const idempotencyKey = request.method === "POST" ? headers["idempotency-key"] : undefined;
  if (idempotencyKey === "" || Number(idempotencyKey?.length) > KEY_MAX)
    errors.push({ header: "Idempotency-Key", detail: `must have 1 to ${KEY_MAX} characters` });
  const preconditions: Preconditions = {
    ifMatch: parseEntityTags("If-Match", headers["if-match"], errors),
    ifNoneMatch: parseEntityTags("If-None-Match", headers["if-none-match"], errors),
  };
  if (errors.length > 0) {
    const hasHeader = errors.some(({ header }) => header !== undefined);
    return appError({ code: hasHeader ? "invalid_header" : "invalid_parameter", errors });
  }
  return { query, idempotencyKey, preconditions };
}

function parseEntityTags(header: string, value: string | undefined, errors: FieldError[]) {
  if (value === undefined) return undefined;
  if (!ENTITY_TAGS.test(value))
    errors.push({ header, detail: 'must be * or a list of entity tags such as "a"' });
  return value.match(/^\*$|(W\/)?"[^"]*"/g) ?? [];
}

/** Evaluates If-Match by strong and If-None-Match by weak comparison (RFC 9110 13.1.1, 13.1.2). */
export function evaluatePreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  etag: string,
): "failed" | "not modified" | undefined {
  if (ifMatch?.every((tag) => tag !== "*" && tag !== etag)) return "failed";
  return ifNoneMatch?.some((tag) => ["*", etag, `W/${etag}`].includes(tag))
    ? "not modified"
    : undefined;
}

/** Reads the body after a check of its size and, if the operation uses it, its media type. */
export function readRequestBody(
  { method, body, bodyLimit = BODY_BYTES }: Operation,
  request: HttpRequest,
): Promise<Buffer | AppError> | AppError {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit)
    return tooLarge("payload_too_large", bodyLimit);
  const types = bodyTypes(method);
  if (body && !types.includes(getMediaType(request))) {
    const detail = `The Content-Type must be ${types.join(" or ")}.`;
    return appError({ code: "unsupported_media_type", detail });
  }
  return request.readBody(bodyLimit);
}

/** A PATCH also takes a merge patch (RFC 7396). */
export const bodyTypes = (method: string): readonly string[] =>
  method === "PATCH" ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];

/** Returns the media type in lower case. Parameters have no effect, including charset (RFC 8259 11). */
export const getMediaType = ({ headers }: HttpRequest): string =>
  headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";

/** The issue concerns the body as a whole. */
const invalidJson = (detail: string): AppError =>
  appError({ code: "invalid_json", detail, errors: [{ pointer: "#", detail }] });

/** Parses the body as JSON or returns an error. */
export function parseJson(bytes: Buffer, exactNumbers = false): unknown {
  if (!isUtf8(bytes)) return invalidJson("The body is not valid UTF-8.");
  try {
    const text = bytes.toString();
    const json = exactNumbers ? parseExactJson(text) : JSON.parse(text);
    return isNestedDeeper(json, NESTING_MAX)
      ? invalidJson(`The body is nested deeper than ${NESTING_MAX} levels.`)
      : json;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return invalidJson(`The body is not valid JSON: ${error.message}`);
  }
}

const isNestedDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((member) => isNestedDeeper(member, levels - 1)));
