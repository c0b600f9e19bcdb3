// Validates a request's headers, query and body. The operation's schemas validate the query and the JSON body. One
// response lists all issues (contract, parts 2, 4 and 8).
import { isUtf8 } from "node:buffer";
import { AppError, type FieldError, fail } from "../domain/errors.ts";
import { type KeepNumbers, parseJsonKeeping } from "../lib/numbers.ts";
import {
  type Issue,
  type ObjectSchema,
  OMITTED,
  object,
  pointer,
  type Schema,
  UNKNOWN_MEMBER,
} from "../lib/schema.ts";
import { KEY_MAX } from "./idempotency.ts";
import { type HttpRequest, JSON_TYPE } from "./message.ts";
import type { Operation } from "./route.ts";

const MIB = 1_048_576;
export const BODY_BYTES = MIB;
export const DATA_BODY_BYTES = 10 * MIB;
const NESTING_MAX = 64;
export const MERGE_PATCH_TYPE = "application/merge-patch+json";
export const NO_QUERY = object({});

/** The listed entity tags of If-Match and If-None-Match, or "*" alone; undefined if the header is absent. */
export interface Preconditions {
  readonly ifMatch: readonly string[] | undefined;
  readonly ifNoneMatch: readonly string[] | undefined;
}

/** Parses headers and query, or returns one error for all their issues. */
export function parseInput({ query: schema = NO_QUERY }: Operation, request: HttpRequest) {
  const errors: FieldError[] = [];
  const preconditions = {
    ifMatch: parseEntityTags(request, "If-Match", errors),
    ifNoneMatch: parseEntityTags(request, "If-None-Match", errors),
  };
  const idempotencyKey = parseIdempotencyKey(request, errors);
  const query = parseQuery(schema, request.query, errors);
  if (errors.length === 0) return { preconditions, idempotencyKey, query };
  const isHeader = errors.some(({ header }) => header !== undefined);
  return fail({ code: isHeader ? "invalid_header" : "invalid_parameter", errors });
}

/** RFC 9110 5.6.1, 8.8.3: empty list members are ignored. */
const ENTITY_TAGS = /^[\t ,]*((W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(,[\t ,]*|$))+$/;

function parseEntityTags(
  request: HttpRequest,
  name: string,
  errors: FieldError[],
): Preconditions["ifMatch"] {
  const values = request.header(name.toLowerCase());
  if (values.length === 0) return undefined;
  const list = values.join();
  if (list !== "*" && !ENTITY_TAGS.test(list))
    errors.push({ header: name, detail: "must be * or a list of entity tags in double quotes" });
  return list.match(/(W\/)?"[^"]*"|\*/g) ?? [];
}

/** Only a POST has a key. */
function parseIdempotencyKey(request: HttpRequest, errors: FieldError[]): string | undefined {
  const [key, ...others] = request.method === "POST" ? request.header("idempotency-key") : [];
  if (key === undefined) return undefined;
  if (others.length > 0 || key.length < 1 || key.length > KEY_MAX)
    errors.push({
      header: "Idempotency-Key",
      detail: `must be sent once, with 1 to ${KEY_MAX} characters`,
    });
  return key;
}

/** Adds unknown, repeated and invalid parameters to `errors`. */
function parseQuery(
  schema: ObjectSchema<unknown>,
  queryText: string,
  errors: FieldError[],
): unknown {
  const values: Record<string, string> = Object.create(null);
  // URLSearchParams drops a leading `?`.
  for (const [name, value] of new URLSearchParams(`?${queryText}`)) {
    if (name in values && Object.hasOwn(schema.members, name))
      errors.push({ parameter: name, detail: "is given more than once" });
    values[name] = value;
  }
  const issues: Issue[] = [];
  const query = schema.check(values, [], issues);
  for (const { path, detail } of issues)
    errors.push({
      parameter: String(path[0]),
      detail: detail.replace(UNKNOWN_MEMBER, "is not a parameter of this operation"),
    });
  return query;
}

/** RFC 9110 13.1.1: strong comparison, so that an update based on an older version does not take effect. */
export const failsIfMatch = ({ ifMatch }: Preconditions, etag: string): boolean =>
  ifMatch !== undefined && !ifMatch.some((tag) => tag === "*" || tag === etag);

/** RFC 9110 13.1.2: weak comparison. */
export const failsIfNoneMatch = ({ ifNoneMatch = [] }: Preconditions, etag: string): boolean =>
  ifNoneMatch.some((tag) => tag === "*" || tag === etag || tag === `W/${etag}`);

/** Returns the accepted value, or an error with all issues. */
export function validateBody(schema: Schema<unknown>, body: unknown): unknown {
  const issues: Issue[] = [];
  const value = schema.check(body, [], issues);
  if (issues.length === 0) return value;
  const errors = issues.map((issue) =>
    issue === OMITTED ? issue : { pointer: pointer(issue.path), detail: issue.detail },
  );
  return fail({ code: "validation_failed", errors });
}

/**
 * Reads the body: its bytes, and the JSON value that the operation takes. With an idempotency key even an unused body is
 * read, because it distinguishes requests.
 */
export async function readRequestBody(
  { body, bodyLimit = BODY_BYTES, keepNumbers }: Operation,
  request: HttpRequest,
  idempotencyKey: string | undefined,
): Promise<{ bytes?: Buffer; json?: unknown } | AppError> {
  if (!body && idempotencyKey === undefined) return {};
  const bytes = await request.readBody(bodyLimit, body && checkMediaType(request));
  if (bytes instanceof AppError) return bytes;
  const json = body && parseJson(bytes, keepNumbers);
  return json instanceof AppError ? json : { bytes, json };
}

/** Several headers count as an unknown type. */
function contentType(request: HttpRequest): string {
  const [type = "", ...others] = request.header("content-type");
  return others.length === 0 ? type : "";
}

/** Returns the media type and each parameter as `name=value`, in lower case. */
export const parseMediaType = (request: HttpRequest): readonly string[] =>
  contentType(request)
    .split(";")
    .map((part) => part.trim().toLowerCase());

/**
 * Requires application/json, or for PATCH also a merge patch (RFC 7396), without content coding. Parameters have no
 * effect, including charset (RFC 8259 11).
 */
export function checkMediaType(request: HttpRequest): AppError | undefined {
  const unsupported = (detail: string) => fail({ code: "unsupported_media_type", detail });
  if (request.header("content-encoding").length > 0)
    return unsupported("A Content-Encoding is not supported.");
  const [type = ""] = parseMediaType(request);
  const types = request.method === "PATCH" ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];
  return types.includes(type)
    ? undefined
    : unsupported(`The Content-Type must be ${types.join(" or ")}.`);
}

/** The issue concerns the body as a whole. */
const invalidJson = (detail: string): AppError =>
  fail({ code: "invalid_json", detail, errors: [{ pointer: "#", detail }] });

/** Decodes the body; rejects invalid UTF-8 and a byte order mark. */
export function decodeUtf8(bytes: Buffer): string | AppError {
  if (!isUtf8(bytes)) return invalidJson("The body is not valid UTF-8.");
  const text = bytes.toString();
  return text.startsWith("\ufeff") ? invalidJson("The body starts with a byte order mark.") : text;
}

/** Parses the body as JSON or returns an error; `validateBody` checks the fields. */
export function parseJson(bytes: Buffer, keepNumbers?: KeepNumbers): unknown {
  const text = decodeUtf8(bytes);
  if (text instanceof AppError) return text;
  if (text.trim() === "") return invalidJson("The body is empty; a JSON object is expected.");
  if (isNestedTooDeep(text))
    return invalidJson(`The body is nested deeper than ${NESTING_MAX} levels.`);
  try {
    return keepNumbers ? parseJsonKeeping(text, keepNumbers) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError)
      return invalidJson(`The body is not valid JSON: ${error.message}`);
    throw error;
  }
}

function isNestedTooDeep(json: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') inString = !inString;
    else if (inString) at += character === "\\" ? 1 : 0;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    if (depth > NESTING_MAX) return true;
  }
  return false;
}
