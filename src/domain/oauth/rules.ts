// OAuth 2.0 rules (spec part 5; RFC 6749, 7636, 8252): errors, scope arithmetic, redirect URIs, client authentication
// and PKCE. PKCE supports S256 only, because `plain` would reveal the verifier to anyone who sees the request.
import { hash, timingSafeEqual } from "node:crypto";
import { decide } from "../../former-decisions.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { suggest, unsafeCast } from "../../lib/schema.ts";
import { sha256 } from "../credentials.ts";
import { oauthClients, SCOPES, type Scope } from "../model.ts";
import type { Reader } from "../store.ts";

/** The errors of RFC 6749 4.1.2.1 and 5.2, and of RFC 8707 2. */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied";

/**
 * An OAuth error, returned as a value. The description names the exact cause in printable ASCII without quotes, as the
 * RFC requires.
 */
export class OAuthError {
  constructor(
    readonly error: OAuthErrorCode,
    readonly description: string,
  ) {}
}

const createError = (error: OAuthErrorCode) => (description: string) =>
  new OAuthError(error, description);
export const invalidRequest = createError("invalid_request");
export const invalidClient = createError("invalid_client");
export const invalidGrant = createError("invalid_grant");
export const invalidScope = createError("invalid_scope");
export const accessDenied = createError("access_denied");

/** Separators that clients use by mistake; `%20` and `+` are spaces that were encoded twice. */
const WRONG_SEPARATOR = /[,;|+\s]|%20/;

/** Returns the distinct scopes of a space-separated list, or an error sentence about the first unknown name. */
export function parseScope(list: string): readonly Scope[] | string {
  const names = [...new Set(list.split(" ").filter((part) => part !== ""))];
  const unknown = names.find((name) => !SCOPES.some((scope) => scope === name));
  if (unknown === undefined) return unsafeCast<readonly Scope[]>(names);
  const advice = WRONG_SEPARATOR.test(unknown)
    ? "; separate scopes with spaces."
    : suggest(unknown, SCOPES);
  return `${printable(unknown)} is not a scope${advice || `; the scopes are ${SCOPES.join(", ")}.`}`;
}

/** RFC 6749 allows printable ASCII without quotes and backslash in a description. */
export const printable = (text: string): string =>
  text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, 64);

/** RFC 8707: the tokens are for the REST API, so no other resource can be asked for. */
export function unknownTarget(
  resources: readonly string[],
  audience: string,
): OAuthError | undefined {
  return resources.every((resource) => resource === audience)
    ? undefined
    : new OAuthError("invalid_target", `The resource must be ${audience}.`);
}

/** Returns the requested scopes that are held, in the order requested; `admin` contains the rest. */
export function intersectScopes(asked: readonly Scope[], held: readonly Scope[]): readonly Scope[] {
  if (held.includes("admin")) return asked;
  return asked.includes("admin") ? held : asked.filter((scope) => held.includes(scope));
}

export const isSubset = (asked: readonly Scope[], held: readonly Scope[]): boolean =>
  held.includes("admin") || asked.every((scope) => held.includes(scope));

export const CHALLENGE_METHOD = decide("5.pkce");
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export function validateChallenge(
  challenge: string | null,
  method: string | undefined,
): string | undefined {
  if (challenge === null)
    return method === undefined
      ? undefined
      : "There is a code_challenge_method without a code_challenge.";
  if (method !== CHALLENGE_METHOD)
    return "The code_challenge_method must be S256; plain is not supported.";
  return CHALLENGE.test(challenge)
    ? undefined
    : "The code_challenge must be 43 characters of base64url.";
}

export function verifyCodeVerifier(
  challenge: string | null,
  verifier: string | undefined,
): string | undefined {
  if (challenge === null)
    return verifier === undefined
      ? undefined
      : "A code_verifier was sent, but the code was asked for without PKCE.";
  if (verifier === undefined) return "The code_verifier is missing.";
  return VERIFIER.test(verifier) && sameHash(hash("sha256", verifier, "base64url"), challenge)
    ? undefined
    : "The code_verifier does not fit the code_challenge.";
}

/** Compares two hashes of one kind in constant time. */
const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a), Buffer.from(b));

/**
 * Compares redirect URIs as text, except that the port of a loopback address may vary (RFC 8252 7.3). A native
 * application learns its port only when it starts to listen.
 */
export const matchesRedirectUri = (uris: readonly string[], given: string): boolean =>
  uris.map(withoutPort).includes(withoutPort(given));

/** Removes the port from an http URL of a loopback address; returns any other text unchanged. */
function withoutPort(uri: string): string {
  const { protocol, hostname = "" } = URL.canParse(uri) ? new URL(uri) : {};
  const varies = protocol === "http:" && isLoopbackHost(hostname);
  return varies ? uri.replace(/^(http:\/\/[^/?]*?):\d+(?=[/?]|$)/i, "$1") : uri;
}

/** Appends parameters to the query of a redirect URI and leaves the rest unchanged. */
export function appendQuery(
  uri: string,
  parameters: { readonly [name: string]: string | null },
): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== null) added.append(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added}`;
}

export type ClientCredentials = { readonly [part in "id" | "secret"]: string | undefined };

/**
 * Authenticates the client (RFC 6749 2.3); a confidential client must send its secret. Errors name the exact problem:
 * client ids are not secret, and a developer who mistyped one should not have to guess.
 */
export async function authenticateClient(reader: Reader, sent: ClientCredentials) {
  const client = await identifyClient(reader, sent);
  if (client === null)
    return invalidClient("The client credentials are missing: send client_id and client_secret.");
  if ("error" in client || client.public || sent.secret !== undefined) return client;
  return invalidClient("The client credentials are not complete: client_secret is missing.");
}

/** Returns the client that the credentials name, or null if there are none. A secret must be correct if it is sent. */
export async function identifyClient(reader: Reader, { id, secret }: ClientCredentials) {
  if (id === undefined)
    return secret === undefined
      ? null
      : invalidClient("A client_secret came without its client_id.");
  const client = await reader.get(oauthClients, id);
  if (client === undefined)
    return invalidClient("The client credentials are not valid: there is no such client.");
  if (secret === undefined) return client;
  return client.secret_hash !== null && sameHash(client.secret_hash, sha256(secret))
    ? client
    : invalidClient("The client credentials are not valid: the client_secret is wrong.");
}
