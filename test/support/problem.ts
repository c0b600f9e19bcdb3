// The format of every error response (spec part 7 leaves the shape open; contract, part 7: RFC 9457).
import assert from "node:assert/strict";
import { type Answer, type Members, members, str } from "./client.ts";

/** The contract's table: the status of each code. */
const STATUS: { readonly [code: string]: number } = {
  invalid_json: 400,
  invalid_parameter: 400,
  invalid_header: 400,
  invalid_request: 400,
  request_timeout: 408,
  missing_credential: 401,
  malformed_credential: 401,
  invalid_credential: 401,
  expired_credential: 401,
  insufficient_scope: 403,
  account_suspended: 403,
  account_limited: 403,
  rate_limit_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  domain_taken: 409,
  email_taken: 409,
  last_admin: 409,
  idempotency_in_progress: 409,
  idempotency_key_reused: 422,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  validation_failed: 422,
  headers_too_large: 431,
  internal_error: 500,
  not_implemented: 501,
  storage_unavailable: 503,
};

/** Asserts a whole problem document with this code and its status; returns it. */
export function problem(answer: Answer, code: string): Members {
  const status = STATUS[code];
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers["content-type"], "application/problem+json");
  const body = answer.json;
  assert.equal(body.code, code, answer.text);
  assert.equal(body.status, status);
  assert.match(String(body.type), /^https?:\/\/.+\/docs/);
  for (const text of [body.title, body.detail]) assert.match(str(text), /./);
  assert.equal(body.instance, answer.headers["x-request-id"]);
  return body;
}

/** The entries of `errors`: at least one, each with a detail and one of pointer, parameter and header. */
export function errorsOf(body: Members): readonly Members[] {
  const { errors } = body;
  assert.ok(Array.isArray(errors) && errors.length > 0, JSON.stringify(body));
  const entries = errors.map(members);
  for (const entry of entries) {
    assert.ok(typeof entry.detail === "string" && entry.detail !== "");
    const places = ["pointer", "parameter", "header"].filter(
      (name) => typeof entry[name] === "string",
    );
    assert.equal(places.length, 1, JSON.stringify(entry));
  }
  return entries;
}

/** Asserts that the response has this code and names exactly these places, in any order. */
function names(answer: Answer, code: string, kind: string, places: readonly string[]): Members {
  const body = problem(answer, code);
  const named = errorsOf(body).map((entry) => String(entry[kind]));
  assert.deepEqual(named.sort(), [...places].sort(), answer.text);
  return body;
}

/** 422 with exactly these places in the body. */
export const invalid = (answer: Answer, ...pointers: readonly string[]): Members =>
  names(answer, "validation_failed", "pointer", pointers);

/** 400 with exactly these query parameters. */
export const badParameter = (answer: Answer, ...parameters: readonly string[]): Members =>
  names(answer, "invalid_parameter", "parameter", parameters);

/** 400 with exactly this header. */
export const badHeader = (answer: Answer, name: string): Members =>
  names(answer, "invalid_header", "header", [name]);
