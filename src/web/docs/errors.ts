// The errors in /docs: the `type` of a problem leads to its entry here, so each code is an anchor. The statuses and titles
// are the table that the server answers from; here stands what to do about each.
import type { Code } from "../../domain/refusal.ts";
import { trusted } from "../../kit/schema.ts";
import { type Html, html } from "../html.ts";

/** A code that is missing here does not compile. */
const ADVICE: { readonly [C in Code]: string } = {
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
  validation_failed: "Look at the member errors: all faults are listed, each with a JSON pointer to its place.",
  idempotency_key_reused: "Use a new key for another request.",
  headers_too_large: "The headers hold 16 KiB.",
  internal_error: "Tell whoever runs this server the request id: its log has the cause.",
  storage_unavailable: "Nothing was changed. Try again in a moment; reading goes on.",
};

export type Problems = { readonly [C in Code]: { readonly status: number; readonly title: string } };

export function errorsSection(problems: Problems, links: { problemType(code: Code): string }): Html {
  const example = {
    type: links.problemType("validation_failed"),
    title: problems.validation_failed.title,
    status: problems.validation_failed.status,
    detail: "#/title is required.",
    instance: "req_0Ub4aF…",
    code: "validation_failed",
    errors: [{ pointer: "#/title", detail: "is required" }],
  };
  return html`<h2 id="errors">Errors</h2>
<p class="lead">Every error is RFC 9457 problem details, <code>application/problem+json</code>. Programs look at <code>code</code>, people at <code>detail</code>; <code>instance</code> is the request id, which every answer carries in <code>X-Request-Id</code>.</p>
<pre>${JSON.stringify(example, null, 2)}</pre>
<dl class="card entries">${CODES.map((code) => entry(code, problems))}</dl>`;
}

/** The keys of a table that has every code and nothing else. */
const CODES = trusted<readonly Code[]>(Object.keys(ADVICE));

const entry = (code: Code, problems: Problems): Html =>
  html`<div id="${code}"><dt><code>${code}</code> <span class="badge">${problems[code].status}</span></dt><dd>${problems[code].title}. ${ADVICE[code]}</dd></div>`;
