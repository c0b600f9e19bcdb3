// The format of every error response, a problem document of RFC 9457; spec part 7 leaves the shape open.
import assert from "node:assert/strict";
import { type Answer, type Members, members, str } from "./client.ts";

/** The codes of each status. */
const CODES: { [status: number]: string } = {
  400: "invalid_json invalid_parameter invalid_header invalid_request",
  401: "missing_credential malformed_credential invalid_credential expired_credential",
  403: "insufficient_scope account_suspended account_limited rate_limit_exceeded",
  404: "not_found",
  405: "method_not_allowed",
  408: "request_timeout",
  409: "domain_taken email_taken last_admin idempotency_in_progress",
  412: "precondition_failed",
  413: "payload_too_large",
  414: "uri_too_long",
  415: "unsupported_media_type",
  422: "validation_failed idempotency_key_reused",
  431: "headers_too_large",
  500: "internal_error",
  503: "storage_unavailable",
};

/** Asserts a whole problem document with this code and its status; returns it. */
export function problem(answer: Answer, code: string) {
  const { status } = answer;
  assert.ok(CODES[status]?.split(" ").includes(code), `${status} ${answer.text}`);
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
export function errorsOf(body: Members) {
  const { errors } = body;
  assert.ok(Array.isArray(errors) && errors.length > 0, JSON.stringify(body));
  const entries = errors.map(members);
  for (const { detail, ...place } of entries) {
    assert.ok(typeof detail === "string" && detail !== "");
    assert.match(Object.keys(place).join(), /^(pointer|parameter|header)$/);
  }
  return entries;
}

/** Asserts that the response has this code and names exactly these places, in any order. */
function names(answer: Answer, code: string, kind: string, places: readonly string[]) {
  const body = problem(answer, code);
  const named = errorsOf(body).map((entry) => String(entry[kind]));
  assert.deepEqual(named.sort(), [...places].sort(), answer.text);
  return body;
}

/** 422 with exactly these places in the body. */
export const invalid = (answer: Answer, ...pointers: readonly string[]) =>
  names(answer, "validation_failed", "pointer", pointers);

/** 400 with exactly these query parameters. */
export const badParameter = (answer: Answer, ...parameters: readonly string[]) =>
  names(answer, "invalid_parameter", "parameter", parameters);

/** 400 with exactly this header. */
export const badHeader = (answer: Answer, name: string) =>
  names(answer, "invalid_header", "header", [name]);
