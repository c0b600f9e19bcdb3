// Every way in which the service says no, as one closed union. A refusal is a value that a function answers, never an
// exception; what HTTP status it becomes is known to http/problem alone (spec part 7; contract part 7).
import type { Scope } from "./model.ts";

export interface FieldError {
  /** Where in the body (`#/title`), or the name of the query parameter or header. Exactly one of the three. */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly header?: string;
  readonly detail: string;
}

export type Reason =
  | {
      readonly code: "invalid_json" | "invalid_request";
      readonly detail: string;
      readonly errors?: readonly FieldError[];
    }
  | {
      readonly code: "invalid_parameter" | "invalid_header" | "validation_failed" | "idempotency_key_reused";
      readonly detail?: string;
      readonly errors: readonly FieldError[];
    }
  | {
      readonly code: "missing_credential" | "malformed_credential" | "invalid_credential" | "expired_credential";
      readonly detail: string;
      readonly scheme?: "bearer" | "other";
    }
  | { readonly code: "insufficient_scope"; readonly scope: Scope; readonly detail?: string }
  | { readonly code: "account_suspended" | "account_limited" }
  | { readonly code: "rate_limit_exceeded"; readonly retry_after_s: number }
  | { readonly code: "not_found"; readonly detail: string }
  | { readonly code: "method_not_allowed"; readonly allow: readonly string[] }
  | { readonly code: "request_timeout" }
  | { readonly code: "domain_taken"; readonly domain: string }
  | { readonly code: "email_taken"; readonly email: string }
  | { readonly code: "last_admin" | "idempotency_in_progress" | "precondition_failed" }
  | { readonly code: "payload_too_large" | "uri_too_long" | "headers_too_large"; readonly limit_bytes: number }
  | { readonly code: "unsupported_media_type"; readonly detail: string }
  | { readonly code: "not_implemented" | "internal_error" | "storage_unavailable" };

export type Code = Reason["code"];

export class Refusal {
  constructor(readonly reason: Reason) {}
}

export const refuse = (reason: Reason): Refusal => new Refusal(reason);

/** What another account owns does not exist: the same words as for an id that never was. */
export const notFound = (what: string): Refusal => refuse({ code: "not_found", detail: `There is no such ${what}.` });

export const invalidField = (pointer: string, detail: string): Refusal =>
  refuse({ code: "validation_failed", errors: [{ pointer, detail }] });

/** A caller's precondition: what it says to the record as it stands. */
export type Expect<R> = (record: R) => Refusal | undefined;
