// OAuth errors, thrown by domain/oauth, and the rules for parameters that both endpoints share (spec part 5).
import { suggest } from "../../lib/schema.ts";
import { SCOPES, type Scope } from "../model.ts";

/** RFC 6749 4.1.2.1 and 5.2, RFC 8707 2. */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied";

/** The message is the `error_description`: printable ASCII without quotes and backslash (RFC 6749 5.2). */
export class OAuthError extends Error {
  override readonly name = "OAuthError";

  constructor(
    readonly code: OAuthErrorCode,
    description: string,
  ) {
    super(description.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?"));
  }
}

export const invalidRequest = (description: string) =>
  new OAuthError("invalid_request", description);
export const invalidClient = (description: string) => new OAuthError("invalid_client", description);
export const invalidGrant = (description: string) => new OAuthError("invalid_grant", description);
export const invalidScope = (description: string) => new OAuthError("invalid_scope", description);

/** Drops parameters without a value, which count as not sent (RFC 6749 3.1). */
export const parseParameters = (pairs: Iterable<[name: string, value: string]>): URLSearchParams =>
  new URLSearchParams([...pairs].filter(([, value]) => value !== ""));

/** Only resource may be repeated (RFC 8707 2). */
export function checkRepeated(parameters: URLSearchParams): void {
  const names = new Set(["resource"]);
  for (const name of parameters.keys()) {
    if (names.has(name) && name !== "resource")
      throw invalidRequest(`${name.slice(0, NAME_MAX)} is given more than once.`);
    names.add(name);
  }
}

/** RFC 8707: the tokens are for the REST API, so no other resource can be requested. */
export function checkResource(parameters: URLSearchParams, audience: string): void {
  if (parameters.getAll("resource").some((resource) => resource !== audience))
    throw new OAuthError("invalid_target", `The resource must be ${audience}.`);
}

/** Limits names in descriptions. */
const NAME_MAX = 64;
/** Separators that clients use by mistake; `%20` and `+` are spaces that were encoded twice. */
const WRONG_SEPARATOR = /[,;|+\s]|%20/;

/** Returns the distinct scopes of a space-separated list. */
export function parseScope(list: string): readonly Scope[] {
  const names = new Set(list.split(" ").filter((part) => part !== ""));
  return [...names].map((name) => {
    const scope = SCOPES.find((each) => each === name);
    if (scope !== undefined) return scope;
    const advice = WRONG_SEPARATOR.test(name)
      ? "; separate scopes with spaces."
      : suggest(name, SCOPES) || `; the scopes are ${SCOPES.join(", ")}.`;
    throw invalidScope(`${name.slice(0, NAME_MAX)} is not a scope${advice}`);
  });
}
