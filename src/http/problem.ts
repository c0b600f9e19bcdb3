// Error codes with status, title and advice, and the error body: RFC 9457 problem details. The spec defines 401 and 403
// (part 7), the contract the rest (part 7). A code that is missing here does not compile.

import type { AppError, ErrorCode, ErrorDetails, FieldError } from "../domain/errors.ts";
import { DEFAULT_DECIDE, type Decide } from "../domain/variants.ts";
import { decide } from "../former-decisions.ts";
import { ISSUES_MAX, unsafeCast } from "../lib/schema.ts";
import { type HttpResponse, JSON_TYPE } from "./message.ts";
import type { ServiceUrls } from "./urls.ts";

/** Member that holds the exact error code for programs; `detail` is for people. */
export const CODE_FIELD = decide("7.error-codes");

const [TAKEN, INVALID] = [decide("3.custom-domain"), DEFAULT_DECIDE("7.validation-status")];

/** Status, title and advice of each error code. */
export const PROBLEMS: {
  readonly [C in ErrorCode]: readonly [status: number, title: string, advice: string];
} = {
  invalid_json: [
    400,
    "The body is not valid JSON",
    "Send UTF-8 without a BOM, one value nested 64 levels at most.",
  ],
  invalid_parameter: [
    400,
    "A query parameter is wrong",
    "The errors name each, unknown and repeated ones as well.",
  ],
  invalid_header: [
    400,
    "A header is wrong",
    "The errors name each, such as Idempotency-Key or If-Match.",
  ],
  invalid_request: [
    400,
    "This is not a valid HTTP request",
    "It breaks HTTP/1.1. Look at the client or a proxy.",
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
    "The key was deleted, or the token is revoked or not ours.",
  ],
  expired_credential: [
    401,
    "The credential has expired",
    "Refresh the access token; API keys do not expire.",
  ],
  insufficient_scope: [403, "A scope is missing", "Ask for the scope; the user needs it as well."],
  account_suspended: [
    403,
    "The account is suspended",
    "Nothing can be read or changed until it is active again.",
  ],
  account_limited: [
    403,
    "The account is limited to reading",
    "Changes are refused until it is active again.",
  ],
  rate_limit_exceeded: [
    403,
    "The rate limit is exceeded",
    "Wait for Retry-After. Headers tell beforehand.",
  ],
  not_found: [
    404,
    "Nothing is here",
    "Check the id. What belongs to another account answers the same.",
  ],
  method_not_allowed: [
    405,
    "The method is not allowed here",
    "Allow lists the methods of this path.",
  ],
  request_timeout: [
    408,
    "The request took too long",
    "Send all of it within 30 seconds, its headers within 10.",
  ],
  domain_taken: [
    TAKEN,
    "The custom domain belongs to another app",
    "It is free once no live deployment holds it.",
  ],
  email_taken: [
    409,
    "The e-mail address belongs to another user",
    "However it is capitalised, it is one user.",
  ],
  last_admin: [
    409,
    "The last user with the permission admin has to stay",
    "Give somebody else the permission first.",
  ],
  idempotency_in_progress: [
    409,
    "The first request with this key is running",
    "Wait for its answer, then repeat.",
  ],
  precondition_failed: [
    412,
    "The precondition does not hold",
    "Read it again, see what changed, use the new ETag.",
  ],
  payload_too_large: [
    413,
    "The body is too large",
    "A body holds 1 MiB, that of a data source 10 MiB.",
  ],
  uri_too_long: [414, "The URL is too long", "A URL holds 8 KiB."],
  unsupported_media_type: [
    415,
    "The body's media type is not supported",
    "Send application/json without a coding.",
  ],
  validation_failed: [
    INVALID,
    "The body breaks a rule",
    "The errors have a JSON pointer each; 20 are listed.",
  ],
  idempotency_key_reused: [
    422,
    "The Idempotency-Key was used for another request",
    "Use a new key for a new one.",
  ],
  headers_too_large: [431, "The headers are too large", "The headers hold 16 KiB."],
  internal_error: [
    500,
    "Something went wrong on the server",
    "Tell its operator the request id: the log has why.",
  ],
  not_implemented: [
    501,
    "The transfer coding is not known",
    "Send the body as it is or chunked, in no other coding.",
  ],
  storage_unavailable: [
    503,
    "The change could not be stored",
    "Nothing was changed. Reading goes on; try again soon.",
  ],
};

/** Safe: the table has every code and no other key. */
export const CODES = unsafeCast<readonly ErrorCode[]>(Object.keys(PROBLEMS));

/** Returns the status of a code under the selected variants. */
export const statusOf = (code: ErrorCode, decide: Decide): number =>
  code === "validation_failed" ? decide("7.validation-status") : PROBLEMS[code][0];

/** Describes the error for people; pages show this instead of the problem's JSON. */
export function explain({ details: reason }: AppError, decide = DEFAULT_DECIDE) {
  const [, title] = PROBLEMS[reason.code];
  return { title, status: statusOf(reason.code, decide), detail: detailOf(reason) };
}

function detailOf(reason: ErrorDetails): string {
  if ("detail" in reason) return truncate(reason.detail, DETAIL_MAX);
  if ("errors" in reason) return summary(reason.errors);
  switch (reason.code) {
    case "rate_limit_exceeded":
      return `Too many requests; the next window starts in ${reason.retry_after_s} s.`;
    case "method_not_allowed":
      return `Allowed here: ${reason.allow.join(", ")}.`;
    default:
      return PROBLEMS[reason.code].slice(1).join(". ");
  }
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors;
  const where = truncate(first?.pointer ?? first?.parameter ?? first?.header ?? "");
  const others = errors.length - ISSUES_MAX;
  const unlisted = others > 0 ? `, ${others} of them not listed` : "";
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more${unlisted})` : "";
  const said = `${where || '""'} ${first?.detail ?? "is wrong"}${rest}`;
  return said.endsWith("?") ? said : `${said}.`;
}

/** Errors quote input, so it is truncated: no error is larger than 16 KiB. */
const DETAIL_MAX = 1_000;
const NAME_MAX = 100;
const truncate = (text: string, max = NAME_MAX): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

const short = ({ pointer, parameter, header, detail }: FieldError) => ({
  pointer: pointer && truncate(pointer),
  parameter: parameter && truncate(parameter),
  header,
  detail,
});

/** Headers that the error requires: RFC 6750 3, RFC 9110 15.5.6, Retry-After. */
export function errorHeaders(reason: ErrorDetails, metadataUrl: string): Record<string, string> {
  const challenge = (error = "") => ({
    "www-authenticate": `Bearer realm="app-hosting", resource_metadata="${metadataUrl}"${error}`,
  });
  switch (reason.code) {
    case "missing_credential":
      return challenge();
    case "malformed_credential":
      return challenge(reason.scheme === "bearer" ? ', error="invalid_request"' : "");
    case "invalid_credential":
    case "expired_credential":
      return challenge(', error="invalid_token"');
    case "insufficient_scope":
      return challenge(`, error="insufficient_scope", scope="${reason.scope}"`);
    case "method_not_allowed":
      return { allow: reason.allow.join(", ") };
    case "rate_limit_exceeded":
      return { "retry-after": String(reason.retry_after_s) };
    default:
      return {};
  }
}

export function problemResponse(
  error: AppError,
  requestId: string,
  links: ServiceUrls,
  decide = DEFAULT_DECIDE,
): HttpResponse {
  const { details: reason } = error;
  const type = links.problemType(reason.code);
  const errors = "errors" in reason ? reason.errors.slice(0, ISSUES_MAX).map(short) : undefined;
  const { title, status, detail } = explain(error, decide);
  const reported = {
    type,
    title,
    status,
    detail,
    instance: requestId,
    [CODE_FIELD]: reason.code,
    errors,
  };
  return errorResponse(reported, errorHeaders(reason, links.resourceMetadata), decide);
}

type ProblemBody = ReturnType<typeof explain> & Record<typeof CODE_FIELD, string>;

/** Problem details have their own media type; in plain JSON an error is only its code and a message. */
export function errorResponse(
  reported: ProblemBody,
  headers: HttpResponse["headers"],
  decide: Decide,
): HttpResponse {
  const type = decide("7.error-body");
  const body =
    type === JSON_TYPE
      ? { error: { [CODE_FIELD]: reported[CODE_FIELD], message: reported.detail } }
      : reported;
  headers["content-type"] = type;
  return { status: reported.status, headers, body: JSON.stringify(body) };
}
