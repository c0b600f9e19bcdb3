// The one table from refusals to statuses, and the error body (spec part 7: 401 and 403; contract part 7: the rest).
// The body is RFC 9457 problem details. A code that is missing here does not compile.

import { decide } from "../decisions.ts";
import { type Code, type FieldError, type Reason, type Refusal, refuse } from "../domain/refusal.ts";
import type { Reply } from "./call.ts";

export const PROBLEM_TYPE = decide("7.error-body");
/** The member that names the exact cause for programs; `detail` is for people. */
export const CODE_MEMBER = decide("7.error-codes");

interface Entry {
  readonly status: number;
  readonly title: string;
}

export const PROBLEMS: { readonly [C in Code]: Entry } = {
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
  last_admin: { status: 409, title: "The account would be left without an admin" },
  idempotency_in_progress: { status: 409, title: "The first request with this Idempotency-Key is still running" },
  precondition_failed: { status: 412, title: "The precondition does not hold" },
  payload_too_large: { status: 413, title: "The body is too large" },
  uri_too_long: { status: 414, title: "The URL is too long" },
  unsupported_media_type: { status: 415, title: "The body's media type is not supported" },
  validation_failed: { status: decide("7.validation-status"), title: "The body breaks a rule" },
  idempotency_key_reused: { status: 422, title: "The Idempotency-Key was used for another request" },
  headers_too_large: { status: 431, title: "The headers are too large" },
  internal_error: { status: 500, title: "Something went wrong on the server" },
  storage_unavailable: { status: 503, title: "The change could not be stored" },
};

const DETAILS: { readonly [C in Code]?: string } = {
  account_suspended: "The account is suspended; nothing can be read or changed.",
  account_limited: "The account is limited; it can be read but not changed.",
  request_timeout: "The request did not arrive whole within its time limit.",
  last_admin: "The account's last user with the permission admin cannot be removed or lose it.",
  idempotency_in_progress:
    "A request with this Idempotency-Key is still being handled; ask again when it has been answered.",
  idempotency_key_reused:
    "This Idempotency-Key came with another path or body within the last 24 hours; use a new key.",
  precondition_failed: "The resource has changed since, or does not match the condition in If-Match or If-None-Match.",
  internal_error: "The request could not be handled. The log of the server has the cause under this request id.",
  storage_unavailable: "The change was not kept, because the storage refused it. Nothing was changed; try again later.",
};

/** The refusal for people: what pages show instead of the problem's JSON. */
export const explain = ({ reason }: Refusal) => ({ ...PROBLEMS[reason.code], detail: detailOf(reason) });

function detailOf(reason: Reason): string {
  if ("detail" in reason && reason.detail !== undefined) return reason.detail;
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
    case "validation_failed":
      return summary(reason.errors);
    default:
      return DETAILS[reason.code] ?? PROBLEMS[reason.code].title;
  }
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors;
  const where = first?.pointer ?? first?.parameter ?? first?.header ?? "";
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return `${where} ${first?.detail ?? "is wrong"}${rest}.`;
}

/** Headers that the cause itself asks for: RFC 6750 3, RFC 9110 15.5.6, Retry-After. */
function headersOf(reason: Reason, metadataUrl: string): Record<string, string> {
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
  /** `{auth_url}/docs#{code}`: where the error is explained. */
  problemType(code: Code): string;
  /** RFC 9728 metadata of the REST API. */
  readonly resourceMetadata: string;
}

export function problem(refusal: Refusal, requestId: string, links: ProblemLinks): Reply {
  const { reason } = refusal;
  const { status, title } = PROBLEMS[reason.code];
  const errors = "errors" in reason && reason.errors ? { errors: reason.errors } : {};
  const type = links.problemType(reason.code);
  const body = {
    type,
    title,
    status,
    detail: detailOf(reason),
    instance: requestId,
    [CODE_MEMBER]: reason.code,
    ...errors,
  };
  return {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headersOf(reason, links.resourceMetadata) },
    body: JSON.stringify(body),
  };
}

export const internalError = refuse({ code: "internal_error" });
