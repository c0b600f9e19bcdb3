// Validates a request's headers, query and body. Preconditions (RFC 9110 13) are If-Match and If-None-Match against the
// strong ETag of one resource. The operation's schema validates the query and the JSON body (RFC 8259 8.1). One
// response lists all issues (contract, parts 2, 4 and 8).
import { isUtf8 } from "node:buffer";
import { AppError, type FieldError, fail, invalidField } from "../domain/errors.ts";
import { decide } from "../former-decisions.ts";
import { type KeepNumbers, parseJsonKeeping } from "../lib/numbers.ts";
import type { Issue, ObjectSchema, Schema } from "../lib/schema.ts";
import { OMITTED, pointer, UNKNOWN_MEMBER } from "../lib/schema.ts";
import { type HttpRequest, JSON_TYPE } from "./message.ts";

const MIB = 1_048_576;
const { any_mib, data_mib } = decide("8.body-size");
export const BODY_BYTES = any_mib * MIB;
export const DATA_BODY_BYTES = data_mib * MIB;
/** No resource is nested deeper than four levels; the limit keeps hostile input from exhausting the stack. */
const NESTING_MAX = decide("8.bounds").nesting;

/** RFC 9110 5.6.1, 8.8.3: empty list members are ignored. */
const ENTITY_TAGS = /^[\t ,]*((W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(,[\t ,]*|$))+$/;

/** The listed tags of each header, or "*" alone; undefined if the header is absent. */
type Preconditions = { readonly [header in "match" | "noneMatch"]: readonly string[] | undefined };

/** Returns undefined without preconditions, so that no ETag is computed needlessly. */
export function parsePreconditions(
  request: HttpRequest,
  issues: FieldError[],
): Preconditions | undefined {
  const match = parseEntityTags(request, "if-match", "If-Match", issues);
  const noneMatch = parseEntityTags(request, "if-none-match", "If-None-Match", issues);
  return match || noneMatch ? { match, noneMatch } : undefined;
}

/** `key` is the lower-case header name; converting `name` at each request would cost more than the look-up. */
function parseEntityTags(
  request: HttpRequest,
  key: string,
  name: string,
  issues: FieldError[],
): readonly string[] | undefined {
  const values = request.header(key);
  if (values.length === 0) return undefined;
  const given = values.join();
  if (given !== "*" && !ENTITY_TAGS.test(given))
    issues.push({ header: name, detail: "must be * or a list of entity tags in double quotes" });
  return given.match(/(W\/)?"[^"]*"|\*/g) ?? [];
}

/** RFC 9110 13.1.1: an update based on an older version must not take effect. */
export const PRECONDITION_FAILED = fail({ code: "precondition_failed" });

/** Evaluates the preconditions for `etag`: returns undefined to proceed, or `known` if the caller has this version. */
export function evaluatePreconditions<K>(
  { match, noneMatch }: Preconditions,
  etag: string,
  known: K,
): AppError | K | undefined {
  const names = (tag: string) => tag === "*" || tag === etag;
  if (match && !match.some(names)) return PRECONDITION_FAILED;
  return noneMatch?.some((tag) => names(tag) || tag === `W/${etag}`) ? known : undefined;
}

/** Parses the query; adds unknown, repeated and invalid parameters to `errors`. */
export function validateQuery(
  schema: ObjectSchema<unknown>,
  raw: string,
  errors: FieldError[],
): unknown {
  const given: Record<string, string> = raw === "" ? {} : Object.create(null);
  // Skip parsing for an empty query, the usual case. URLSearchParams drops the `?` that is added in front.
  for (const [name, value] of raw === "" ? [] : new URLSearchParams(`?${raw}`)) {
    if (schema.allowsUnknown && !Object.hasOwn(schema.members, name)) continue;
    if (name in given) errors.push({ parameter: name, detail: "is given more than once" });
    given[name] = value;
  }
  const issues: Issue[] = [];
  const query = schema.check(given, [], issues);
  for (const { path, detail } of issues) {
    const said = detail.replace(UNKNOWN_MEMBER, "is not a parameter of this operation");
    errors.push({ parameter: String(path[0]), detail: said });
  }
  return query;
}

/** Returns one error for all header and parameter issues. */
export function invalidInput(errors: readonly FieldError[]): AppError {
  const code = errors.some((error) => error.header !== undefined)
    ? "invalid_header"
    : "invalid_parameter";
  return fail({ code, errors });
}

/** Returns the accepted value, or an error with all issues. */
export async function validateBody(schema: Schema<unknown>, sent: unknown): Promise<unknown> {
  const issues: Issue[] = [];
  const value = schema.check(sent, [], issues);
  if (issues.length === 0) return value;
  const errors = issues.map((fault) =>
    fault === OMITTED ? fault : { pointer: pointer(fault.path), detail: fault.detail },
  );
  return fail({ code: "validation_failed", errors });
}

/** Several headers count as an unknown type. */
function contentType(request: HttpRequest): string {
  const [only = "", ...more] = request.header("content-type");
  return more.length === 0 ? only : "";
}

/** Returns the media type and each parameter as `name=value`, in lower case. */
export const parseMediaType = (request: HttpRequest): readonly string[] =>
  contentType(request)
    .split(";")
    .map((part) => part.trim().toLowerCase());

export const MERGE_PATCH_TYPE = "application/merge-patch+json";

/**
 * Requires application/json, or for PATCH also a merge patch (RFC 7396), without content coding. Parameters have no
 * effect, including charset (RFC 8259 11).
 */
export function checkMediaType(request: HttpRequest): AppError | undefined {
  const unsupported = (detail: string) => fail({ code: "unsupported_media_type", detail });
  if (request.header("content-encoding").length > 0)
    return unsupported("A Content-Encoding is not supported.");
  if (contentType(request) === JSON_TYPE) return undefined;
  const [type] = parseMediaType(request);
  const types = request.method === "PATCH" ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE];
  return types.some((each) => each === type)
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
  const invalid = checkJsonShape(bytes);
  if (invalid !== undefined) return invalid;
  try {
    return parseJsonKeeping(text, keepNumbers);
  } catch (error) {
    const cause = error instanceof SyntaxError ? error.message : "unknown fault";
    return invalidJson(`The body is not valid JSON: ${cause}`);
  }
}

const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d] as const;
/** Braces differ from brackets in this bit only; clearing it turns no other byte of UTF-8 into a bracket. */
const BRACE_BIT = 0x20;
/** More than any body of 1 MiB has; a valid body has at most a hundred. */
const MEMBERS_MAX = 250_000;

/** Checks the bytes before parsing: endless nesting or members would block the server for seconds. */
function checkJsonShape(bytes: Buffer): AppError | undefined {
  let depth = 0;
  let inString = false;
  /** Member count at each depth; an array may have any number of items. */
  const members: number[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) inString = !inString;
    else if (inString) at += byte === BACKSLASH ? 1 : 0;
    else if ((byte & ~BRACE_BIT) === CLOSE) depth -= 1;
    else if ((byte & ~BRACE_BIT) === OPEN) {
      if (depth === NESTING_MAX)
        return invalidJson(`The body is nested deeper than ${NESTING_MAX} levels.`);
      members[++depth] = byte === OPEN ? -Infinity : 1;
    } else if (byte === COMMA) {
      const count = (members[depth] ?? -Infinity) + 1;
      if (count > MEMBERS_MAX)
        return invalidField("#", `has an object of over ${MEMBERS_MAX} members`);
      members[depth] = count;
    }
  }
  return undefined;
}
