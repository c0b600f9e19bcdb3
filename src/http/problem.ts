// Errors at the wire: the status, title and advice of each code, and problem details (RFC 9457). The specification
// defines 401 and 403 (part 7), the decision 7.validation-status the rest. A code that is missing here does not
// compile.
import type { AppError, ErrorCode, ErrorDetails, FieldError } from "../domain/errors.ts";
import { ISSUES_MAX } from "../lib/schema.ts";
import { type HttpResponse, jsonResponse, type ServiceUrls } from "./message.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** Status, title and advice of each error code. */
export const PROBLEMS: {
  readonly [C in ErrorCode]: readonly [status: number, title: string, advice: string];
} = {
  invalid_json: [
    400,
    "The body is not valid JSON",
    "Send one JSON value in UTF-8 without a byte order mark, nested at most 64 levels.",
  ],
  invalid_parameter: [
    400,
    "A query parameter is wrong",
    "Each parameter must be known, valid and sent once.",
  ],
  invalid_header: [400, "A header is wrong", "Correct each header that the errors name."],
  invalid_request: [
    400,
    "This is not a valid HTTP request",
    "It breaks HTTP/1.1. Check the client and any proxy.",
  ],
  missing_credential: [
    401,
    "No credential was sent",
    "Send Authorization: Bearer and an API key or access token.",
  ],
  malformed_credential: [
    401,
    "The credential has the wrong format",
    "Send the word Bearer, a space and one token.",
  ],
  invalid_credential: [
    401,
    "The credential is not valid",
    "The key was deleted, or the token was revoked or is from another server.",
  ],
  expired_credential: [
    401,
    "The credential has expired",
    "Refresh the access token. API keys do not expire.",
  ],
  insufficient_scope: [
    403,
    "A scope is missing",
    "Request the scope; the user needs the permission as well.",
  ],
  account_suspended: [
    403,
    "The account is suspended",
    "Nothing can be read or changed until it is active again.",
  ],
  account_limited: [
    403,
    "The account is limited to reading",
    "Nothing can be changed until it is active again.",
  ],
  rate_limit_exceeded: [
    403,
    "The rate limit is exceeded",
    "Wait for the seconds in Retry-After. RateLimit shows the requests that remain.",
  ],
  not_found: [
    404,
    "Not found",
    "Check the path and the id. Resources of other accounts do not exist for you.",
  ],
  method_not_allowed: [
    405,
    "The method is not allowed here",
    "Allow lists the methods of this path.",
  ],
  request_timeout: [
    408,
    "The request took too long",
    "Send the headers within 10 seconds and the whole request within 30.",
  ],
  domain_taken: [
    409,
    "The custom domain belongs to another app",
    "It is free once no live deployment holds it.",
  ],
  email_taken: [
    409,
    "The e-mail address belongs to another user",
    "Upper and lower case make no difference.",
  ],
  last_admin: [
    409,
    "The last user with the permission admin must stay",
    "Give another user the permission first.",
  ],
  idempotency_in_progress: [
    409,
    "The first request with this key is still running",
    "Wait for its response, then repeat the request.",
  ],
  precondition_failed: [
    412,
    "The precondition does not hold",
    "Read the resource again and use its new ETag.",
  ],
  payload_too_large: [
    413,
    "The body is too large",
    "The limit is 1 MiB, or 10 MiB for a data source.",
  ],
  uri_too_long: [414, "The URL is too long", "The limit is 8 KiB."],
  unsupported_media_type: [
    415,
    "The body's media type is not supported",
    "Send application/json without a content coding.",
  ],
  validation_failed: [
    422,
    "The body breaks a rule",
    "Correct each field that the errors name by its JSON pointer; at most 20 are listed.",
  ],
  idempotency_key_reused: [
    422,
    "The Idempotency-Key was used for another request",
    "Use a new key for a new request.",
  ],
  headers_too_large: [431, "The headers are too large", "The limit is 16 KiB."],
  internal_error: [
    500,
    "Something went wrong on the server",
    "Give the operator the request id; the log has the details.",
  ],
  storage_unavailable: [
    503,
    "The storage is not available",
    "Nothing was changed. Try again soon; reading may still work.",
  ],
};

export const CODES = Object.keys(PROBLEMS) as ErrorCode[];

/** Describes the error for people; pages show this instead of the problem's JSON. */
export function explain({ details }: AppError) {
  const [status, title, advice] = PROBLEMS[details.code];
  let detail = `${title}. ${advice}`;
  if ("detail" in details) detail = details.detail;
  else if ("errors" in details) detail = summarize(details.errors);
  else if ("allow" in details) detail = `Allowed here: ${details.allow.join(", ")}.`;
  return { title, status, detail };
}

/** The first issue, how many more there are, and how many of those are not listed. */
function summarize(errors: readonly FieldError[]): string {
  const { detail, ...place } = truncateNames(errors[0] ?? { detail: "is wrong" });
  const unlisted = errors.length - ISSUES_MAX;
  const note = unlisted > 0 ? `, ${unlisted} of them not listed` : "";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more${note})` : "";
  const text = `${Object.values(place)} ${detail}${more}`;
  return text.endsWith("?") ? text : `${text}.`;
}

/** Pointers and parameters quote input; truncated, no problem is larger than 16 KiB. */
const QUOTED_CHARS_MAX = 100;

const truncateNames = (error: FieldError): FieldError => ({
  ...error,
  ...(error.pointer && { pointer: error.pointer.slice(0, QUOTED_CHARS_MAX) }),
  ...(error.parameter && { parameter: error.parameter.slice(0, QUOTED_CHARS_MAX).toWellFormed() }),
});

/** Headers that the error requires: RFC 6750 3, RFC 9110 15.5.6, Retry-After. */
export function errorHeaders(details: ErrorDetails, metadataUrl: string): Record<string, string> {
  const challenge = (error = "") => ({
    "www-authenticate": `Bearer realm="app-hosting", resource_metadata="${metadataUrl}"${error}`,
  });
  switch (details.code) {
    case "missing_credential":
      return challenge();
    case "malformed_credential":
      return challenge(details.scheme === "bearer" ? ', error="invalid_request"' : "");
    case "invalid_credential":
    case "expired_credential":
      return challenge(', error="invalid_token"');
    case "insufficient_scope":
      return challenge(`, error="insufficient_scope", scope="${details.scope}"`);
    case "method_not_allowed":
      return { allow: details.allow.join(", ") };
    case "rate_limit_exceeded":
      return { "retry-after": String(details.retry_after_s) };
    default:
      return {};
  }
}

export function problemResponse(
  error: AppError,
  requestId: string,
  urls: ServiceUrls,
): HttpResponse {
  const { details } = error;
  const { title, status, detail } = explain(error);
  const problem = {
    type: urls.problemType(details.code),
    title,
    status,
    detail,
    instance: requestId,
    code: details.code,
    ...("errors" in details && { errors: details.errors.slice(0, ISSUES_MAX).map(truncateNames) }),
  };
  const headers = errorHeaders(details, urls.resourceMetadata);
  return jsonResponse(status, problem, { ...headers, "content-type": PROBLEM_TYPE });
}
