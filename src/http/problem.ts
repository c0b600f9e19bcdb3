// The error codes - status, title, what to do - and the error body (spec part 7: 401 and 403; contract part 7: the rest),
// which is RFC 9457 problem details. A code that is missing here does not compile.

import { decide } from "../decisions.ts";
import type { Code, FieldError, Reason, Refusal } from "../domain/refusal.ts";
import { FAULTS_MAX } from "../kit/schema.ts";
import type { Reply } from "./call.ts";

export const PROBLEM_TYPE = decide("7.error-body");
/** The member that names the exact cause for programs; `detail` is for people. */
export const CODE_MEMBER = decide("7.error-codes");

export const PROBLEMS: { readonly [C in Code]: { readonly status: number; readonly title: string } } = {
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_parameter: { status: 400, title: "A query parameter is wrong" },
  invalid_header: { status: 400, title: "A header is wrong" },
  invalid_request: { status: 400, title: "This is not a valid HTTP request" },
  missing_credential: { status: 401, title: "No credential was sent" },
  malformed_credential: { status: 401, title: "The credential has the wrong format" },
  invalid_credential: { status: 401, title: "The credential is not valid" },
  expired_credential: { status: 401, title: "The credential has expired" },
  insufficient_scope: { status: 403, title: "The credential's scopes do not suffice" },
  account_suspended: { status: 403, title: "The account is suspended" },
  account_limited: { status: 403, title: "The account is limited to reading" },
  rate_limit_exceeded: { status: 403, title: "The rate limit is exceeded" },
  not_found: { status: 404, title: "Nothing is here" },
  method_not_allowed: { status: 405, title: "The method is not allowed here" },
  request_timeout: { status: 408, title: "The request took too long" },
  domain_taken: { status: decide("3.custom-domain"), title: "The custom domain belongs to another app" },
  email_taken: { status: 409, title: "The e-mail address belongs to another user" },
  last_admin: { status: 409, title: "The last user with the permission admin cannot be removed or lose it" },
  idempotency_in_progress: { status: 409, title: "The first request with this Idempotency-Key is still running" },
  precondition_failed: { status: 412, title: "The precondition does not hold" },
  payload_too_large: { status: 413, title: "The body is too large" },
  uri_too_long: { status: 414, title: "The URL is too long" },
  unsupported_media_type: { status: 415, title: "The body's media type is not supported" },
  validation_failed: { status: decide("7.validation-status"), title: "The body breaks a rule" },
  idempotency_key_reused: { status: 422, title: "The Idempotency-Key was used for another request" },
  headers_too_large: { status: 431, title: "The headers are too large" },
  internal_error: { status: 500, title: "Something went wrong on the server" },
  not_implemented: { status: 501, title: "The transfer coding is not known" },
  storage_unavailable: { status: 503, title: "The change could not be stored" },
};

/** What to do about each. */
export const ADVICE: { readonly [C in Code]: string } = {
  invalid_json: "Send UTF-8 without a byte order mark, and one JSON value nested no deeper than 64 levels.",
  invalid_parameter: "Look at the member errors: each names a parameter. Unknown and repeated ones are refused, too.",
  invalid_header: "Look at the member errors: each names a header, such as Idempotency-Key or If-Match.",
  invalid_request:
    "What arrived breaks HTTP/1.1 itself, or its body ended too early. Look at the client or at a proxy.",
  missing_credential: "Send Authorization: Bearer with an API key or an access token.",
  malformed_credential: "The header must be the word Bearer, a space and one token.",
  invalid_credential: "The key was deleted, or the token is not one of this server or was revoked.",
  expired_credential: "Refresh the access token; API keys do not expire.",
  insufficient_scope: "Ask for the scope that the detail names, and see that the user has that permission.",
  account_suspended: "Nothing can be read or changed until the account is active again.",
  account_limited: "Reading goes on; changes are refused until the account is active again.",
  rate_limit_exceeded: "Wait as many seconds as Retry-After says. RateLimit tells beforehand how much is left.",
  not_found: "Check the id. What belongs to another account answers the same.",
  method_not_allowed: "Allow lists the methods of this path.",
  request_timeout: "Send the whole request within 30 seconds, its headers within 10.",
  domain_taken:
    "Another app has a live deployment under this domain. It is free again when that one is replaced or deleted.",
  email_taken: "An e-mail address is one user of the account, however it is capitalised.",
  last_admin: "Give somebody else the permission admin first.",
  idempotency_in_progress: "Wait for the answer to the first request, then repeat this one.",
  precondition_failed: "Read the resource again, look at what changed, and repeat with its new ETag.",
  payload_too_large: "Send less: a body holds 1 MiB, that of a data source 10 MiB.",
  uri_too_long: "A URL holds 8 KiB.",
  unsupported_media_type: "Send Content-Type: application/json, without a content coding.",
  validation_failed:
    "Look at the member errors: each has a JSON pointer to its place. Twenty are listed, the others counted.",
  idempotency_key_reused: "Use a new key for another request.",
  headers_too_large: "The headers hold 16 KiB.",
  internal_error: "Tell whoever runs this server the request id: its log has the cause.",
  not_implemented: "Send the body as it is or chunked, without another Transfer-Encoding.",
  storage_unavailable: "Nothing was changed. Try again in a moment; reading goes on.",
};

/** The refusal for people: what pages show instead of the problem's JSON. */
export const explain = ({ reason }: Refusal) => ({ ...PROBLEMS[reason.code], detail: detailOf(reason) });

function detailOf(reason: Reason): string {
  if ("detail" in reason && reason.detail !== undefined) return cut(reason.detail, DETAIL_MAX);
  switch (reason.code) {
    case "insufficient_scope":
      return `This needs the scope ${reason.scope}.`;
    case "rate_limit_exceeded":
      return `Too many requests; the next window starts in ${reason.retry_after_s} s.`;
    case "method_not_allowed":
      return `Allowed here: ${reason.allow.join(", ")}.`;
    case "domain_taken":
      return `${reason.domain} is held by a live deployment of another app.`;
    case "email_taken":
      return `${reason.email} is already a user of this account.`;
    case "payload_too_large":
    case "uri_too_long":
    case "headers_too_large":
      return `At most ${reason.limit_bytes} bytes are read.`;
    case "invalid_parameter":
    case "invalid_header":
    case "validation_failed":
      return summary(reason.errors);
    default:
      return `${PROBLEMS[reason.code].title}. ${ADVICE[reason.code]}`;
  }
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors.slice(0, 1).map(short);
  const where = first?.pointer ?? first?.parameter ?? first?.header ?? "";
  const others = errors.length - FAULTS_MAX;
  const unlisted = others > 0 ? `, ${others} of them not listed` : "";
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more${unlisted})` : "";
  const said = `${where} ${first?.detail ?? "is wrong"}${rest}`;
  return said.endsWith("?") ? said : `${said}.`;
}

/** What was sent stands in a refusal, and no refusal is larger than 16 KiB. */
const DETAIL_MAX = 1_000;
const NAME_MAX = 200;
const cut = (text: string, max = NAME_MAX): string =>
  text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;

function short(error: FieldError): FieldError {
  const { pointer = "", parameter = "" } = error;
  if (pointer.length <= NAME_MAX && parameter.length <= NAME_MAX) return error;
  return { ...error, ...(pointer ? { pointer: cut(pointer) } : { parameter: cut(parameter) }) };
}

/** Headers that the cause itself asks for: RFC 6750 3, RFC 9110 15.5.6, Retry-After. */
export function headersOf(reason: Reason, metadataUrl: string): Record<string, string> {
  switch (reason.code) {
    case "missing_credential":
      return { "www-authenticate": challenge(metadataUrl) };
    case "malformed_credential":
      return { "www-authenticate": challenge(metadataUrl, reason.scheme === "bearer" && `error="invalid_request"`) };
    case "invalid_credential":
    case "expired_credential":
      return { "www-authenticate": challenge(metadataUrl, `error="invalid_token"`) };
    case "insufficient_scope":
      return { "www-authenticate": challenge(metadataUrl, `error="insufficient_scope", scope="${reason.scope}"`) };
    case "method_not_allowed":
      return { allow: reason.allow.join(", ") };
    case "rate_limit_exceeded":
      return { "retry-after": String(reason.retry_after_s) };
    case "request_timeout":
      return { connection: "close" };
    default:
      return {};
  }
}

const challenge = (metadataUrl: string, error: string | false = false): string =>
  `Bearer realm="app-hosting", resource_metadata="${metadataUrl}"${error ? `, ${error}` : ""}`;

export interface ProblemLinks {
  /** `{auth_url}/docs/errors#{code}`: where the error is explained. */
  problemType(code: Code): string;
  /** RFC 9728 metadata of the REST API. */
  readonly resourceMetadata: string;
}

export function problem(refusal: Refusal, requestId: string, links: ProblemLinks): Reply {
  const { reason } = refusal;
  const { status, title } = PROBLEMS[reason.code];
  const errors = "errors" in reason ? reason.errors?.slice(0, FAULTS_MAX).map(short) : undefined;
  const [type, detail] = [links.problemType(reason.code), detailOf(reason)];
  const body = { type, title, status, detail, instance: requestId, [CODE_MEMBER]: reason.code, errors };
  return {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headersOf(reason, links.resourceMetadata) },
    body: JSON.stringify(body),
  };
}
