// The authorization request (spec part 5, step 1; RFC 6749 4.1.1): validated completely before the user sees it, then
// allowed or denied. An unregistered redirect URI never receives a redirect: such a request ends on an error page.
import { toIso } from "../../lib/clock.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { intersectScopes, isSubset, sha256 } from "../credentials.ts";
import {
  type AccountRecord,
  type OAuthClientRecord,
  oauthClients,
  type Scope,
  type UserRecord,
} from "../model.ts";
import type { Reader } from "../store.ts";
import { UnitOfWork } from "../unit-of-work.ts";
import type { AuthorizationServer } from "./access-tokens.ts";
import {
  checkRepeated,
  checkResource,
  invalidRequest,
  invalidScope,
  OAuthError,
  parseParameters,
  parseScope,
} from "./errors.ts";
import { CODE_LIFETIME_MS, CODE_RETENTION_MS, grants } from "./grants.ts";

export const RESPONSE_TYPE = "code";
/** `plain` is not supported, because it reveals the verifier to anyone who sees the request. */
export const CODE_CHALLENGE_METHOD = "S256";
const CODE_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** Limits the URI shown on the error page. */
const SHOWN_URI_MAX = 1_000;

interface RedirectTarget {
  readonly client: OAuthClientRecord;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly Scope[];
  readonly codeChallenge: string | null;
}

/** What the user is asked to allow; `scopes` are the requested ones that the user holds. */
export interface Consent {
  readonly request: AuthorizationRequest;
  readonly user: UserRecord;
  readonly account: AccountRecord;
  readonly scopes: readonly Scope[];
}

export interface ErrorPage {
  readonly page: string;
  readonly client?: OAuthClientRecord;
}

export interface Redirect {
  readonly redirect: string;
}

/** Validates an authorization request. Runs before sign-in, so that an invalid request fails without it. */
export async function validateAuthorizationRequest(
  server: AuthorizationServer,
  query: string,
): Promise<AuthorizationRequest | ErrorPage | Redirect> {
  const parameters = parseParameters(new URLSearchParams(query));
  const target = await findRedirectTarget(server.store, parameters);
  if ("page" in target) return target;
  try {
    return { ...target, ...parseTerms(parameters, target.client, server.audience) };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return redirectError(server, target, error);
  }
}

/** Limits the requested scopes to the user's permissions (contract, part 5); nothing left is an error. */
export function prepareConsent(
  server: AuthorizationServer,
  request: AuthorizationRequest,
  { user, account }: { readonly user: UserRecord; readonly account: AccountRecord },
): Consent | Redirect {
  if (account.state === "suspended")
    return denyRequest(server, request, "The account of the user is suspended.");
  const scopes = intersectScopes(request.scopes, user.permissions);
  return scopes.length === 0
    ? denyRequest(server, request, "The user holds none of the permissions that were asked for.")
    : { request, user, account, scopes };
}

export const denyRequest = (
  server: AuthorizationServer,
  request: AuthorizationRequest,
  reason = "The user did not allow it.",
): Redirect => redirectError(server, request, new OAuthError("access_denied", reason));

/** Creates a grant in the user's own account and returns the redirect with its code. */
export async function issueCode(
  server: AuthorizationServer,
  { request, user, scopes }: Consent,
): Promise<Redirect> {
  const code = server.ids.secret();
  await new UnitOfWork(server).run(({ tx, now, ids }) =>
    tx.put(grants, {
      id: ids.next("gra_"),
      user_id: user.id,
      client_id: request.client.id,
      scopes,
      code: {
        redirect_uri: request.redirectUri,
        challenge: request.codeChallenge,
        expires_at: toIso(now + CODE_LIFETIME_MS),
        used: false,
      },
      code_hash: sha256(code),
      expires_at: toIso(now + CODE_LIFETIME_MS + CODE_RETENTION_MS),
      partition: "grants",
    }),
  );
  return redirectTo(server, request, { code });
}

/** Every redirect carries the issuer (RFC 9207), so that a client of several servers cannot mix up their responses. */
function redirectTo(
  server: AuthorizationServer,
  { redirectUri, state }: RedirectTarget,
  parameters: { readonly [name: string]: string },
): Redirect {
  const query = new URLSearchParams(parameters);
  if (state !== undefined) query.set("state", state);
  query.set("iss", server.issuer);
  return { redirect: `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${query}` };
}

const redirectError = (
  server: AuthorizationServer,
  target: RedirectTarget,
  error: OAuthError,
): Redirect => redirectTo(server, target, { error: error.code, error_description: error.message });

/** Returns the client and its redirect URI, or the error page if a redirect would be unsafe. */
async function findRedirectTarget(
  reader: Reader,
  parameters: URLSearchParams,
): Promise<RedirectTarget | ErrorPage> {
  const [clientId, ...otherIds] = parameters.getAll("client_id");
  if (otherIds.length > 0) return { page: "The request has more than one client_id." };
  if (clientId === undefined) return { page: "The request has no client_id." };
  const client = await reader.get(oauthClients, clientId);
  if (client === undefined)
    return {
      page: "The application that sent you here is not registered: its client_id is unknown.",
    };
  const [redirectUri, ...otherUris] = parameters.getAll("redirect_uri");
  if (otherUris.length > 0) return { page: "The request has more than one redirect_uri.", client };
  if (redirectUri === undefined) return { page: "The request has no redirect_uri.", client };
  if (!client.redirect_uris.some((uri) => isSameRedirectUri(uri, redirectUri))) {
    const shownUri = redirectUri.slice(0, SHOWN_URI_MAX);
    return { page: `The redirect_uri is not registered for ${client.name}: ${shownUri}`, client };
  }
  // If `state` is repeated, neither value is known to be the client's, so the redirect carries none.
  const [state, ...otherStates] = parameters.getAll("state");
  return { client, redirectUri, state: otherStates.length > 0 ? undefined : state };
}

/**
 * Compares redirect URIs as text, except that the port of a loopback address may vary (RFC 8252 7.3). A native
 * application learns its port only when it starts to listen.
 */
const isSameRedirectUri = (one: string, other: string): boolean =>
  withoutLoopbackPort(one) === withoutLoopbackPort(other);

function withoutLoopbackPort(uri: string): string {
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  return url?.protocol === "http:" && isLoopbackHost(url.hostname)
    ? uri.replace(/^(http:\/\/[^/?]*?):\d+(?=[/?]|$)/i, "$1")
    : uri;
}

/** Validates the other parameters, in the order in which a developer would fix the errors. */
function parseTerms(parameters: URLSearchParams, client: OAuthClientRecord, audience: string) {
  checkRepeated(parameters);
  const responseType = parameters.get("response_type");
  if (responseType === null) throw invalidRequest("The response_type is missing.");
  if (responseType !== RESPONSE_TYPE)
    throw new OAuthError("unsupported_response_type", "The response_type must be code.");
  const codeChallenge = parameters.get("code_challenge");
  checkCodeChallenge(codeChallenge, parameters.get("code_challenge_method"));
  if (client.public && codeChallenge === null)
    throw invalidRequest("A public client must send a code_challenge (PKCE, S256).");
  checkResource(parameters, audience);
  const scopes = parseScope(parameters.get("scope") ?? "");
  // No default: a client that names no scope would be granted more, or less, than it intended.
  if (scopes.length === 0) throw invalidScope("The scope is missing; there is no default.");
  if (!isSubset(scopes, client.scopes))
    throw invalidScope("The scope goes beyond what this client is registered for.");
  return { scopes, codeChallenge };
}

/** PKCE (RFC 7636 4.3). */
function checkCodeChallenge(challenge: string | null, method: string | null): void {
  if (challenge === null && method === null) return;
  if (challenge === null)
    throw invalidRequest("There is a code_challenge_method without a code_challenge.");
  if (method !== CODE_CHALLENGE_METHOD)
    throw invalidRequest("The code_challenge_method must be S256; plain is not supported.");
  if (!CODE_CHALLENGE.test(challenge))
    throw invalidRequest("The code_challenge must be 43 characters of base64url.");
}
