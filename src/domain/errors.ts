// Errors of the service as one closed union. Functions return an error as a value instead of throwing it. Only
// http/problem maps an error to its HTTP status (spec part 7; 7.error-codes).
import type { Scope } from "./model.ts";

export interface FieldError {
  /**
   * JSON pointer into the body (`#/title`), or the name of the query parameter or header. Exactly one of the three is
   * set.
   */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly header?: string;
  readonly detail: string;
}

/** The error code with its details: a text, or the values of response headers. */
export type ErrorDetails = Readonly<
  | {
      code:
        | "missing_credential"
        | "invalid_credential"
        | "expired_credential"
        | "invalid_request"
        | "not_found"
        | "domain_taken"
        | "email_taken"
        | "unsupported_media_type"
        | "payload_too_large"
        | "uri_too_long"
        | "headers_too_large";
      detail: string;
    }
  | { code: "malformed_credential"; detail: string; scheme: "bearer" | "other" }
  | { code: "invalid_json"; detail: string; errors: readonly FieldError[] }
  | {
      code: "invalid_parameter" | "invalid_header" | "validation_failed" | "idempotency_key_reused";
      errors: readonly FieldError[];
    }
  | { code: "insufficient_scope"; scope: Scope; detail: string }
  | { code: "rate_limit_exceeded"; retry_after_s: number }
  | { code: "method_not_allowed"; allow: readonly string[] }
  | { code: "account_suspended" | "account_limited" | "last_admin" | "precondition_failed" }
  | { code: "idempotency_in_progress" | "request_timeout" }
  | { code: "internal_error" | "storage_unavailable" }
>;

export type ErrorCode = ErrorDetails["code"];

export class AppError {
  constructor(readonly details: ErrorDetails) {}
}

export const appError = (details: ErrorDetails): AppError => new AppError(details);

/** Records of other accounts get the same error as an id that never existed. */
export const notFound = (resourceName: string): AppError =>
  appError({ code: "not_found", detail: `There is no such ${resourceName}.` });

export const invalidField = (pointer: string, detail: string): AppError =>
  appError({ code: "validation_failed", errors: [{ pointer, detail }] });
