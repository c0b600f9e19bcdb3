// The authorization request (spec part 5, step 1; RFC 6749 4.1.1): validated completely before the user sees it, then
// allowed or denied. An unregistered redirect URI never receives a redirect: such a request ends on an error page.
import { toIso } from "../../lib/clock.ts";
import { sha256Base64url } from "../../lib/ids.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { grants } from "../collections.ts";
import { type OAuthClientRecord, oauthClients } from "../model.ts";
import type { Reader } from "../store.ts";
import { UnitOfWork } from "../unit-of-work.ts";
import type { SessionUser } from "../users.ts";
import {
  type AuthorizationServer,
  checkRepeated,
  checkResource,
  intersectScopes,
  invalidRequest,
  isSubset,
  OAuthError,
  parseScope,
} from "./tokens.ts";

/** A client exchanges its code at once. One minute gives a thief less time than the ten minutes of RFC 6749. */
const CODE_LIFETIME_MS = 60_000;
/** `plain` is not supported, because it reveals the verifier to anyone who sees the request. */
const CODE_CHALLENGE_METHOD = "S256";
const CODE_CHALLENGE = /^[\w-]{43}$/;

interface RedirectTarget {
  readonly client: OAuthClientRecord;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

export type AuthorizationRequest = RedirectTarget & ReturnType<typeof parseTerms>;

/** An error that only the user sees, about this client if it is known. */
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
  // A parameter without a value counts as not sent (RFC 6749 3.1).
  const pairs = [...new URLSearchParams(query)].filter(([, value]) => value !== "");
  const parameters = new URLSearchParams(pairs);
  const target = await findRedirectTarget(server.store, parameters);
  if ("page" in target) return target;
  try {
    return { ...target, ...parseTerms(parameters, target.client, server.audience) };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return redirectTo(server, target, { error: error.code, error_description: error.message });
  }
}

/** Returns the requested scopes that the user holds, which consent would grant, or the redirect with the error. */
export function findGrantableScopes(
  server: AuthorizationServer,
  request: AuthorizationRequest,
  { user, account }: SessionUser,
) {
  if (account.state === "suspended")
    return denyRequest(server, request, "The account is suspended.");
  const scopes = intersectScopes(request.scopes, user.permissions);
  return scopes.length > 0
    ? scopes
    : denyRequest(server, request, "The user holds none of these permissions.");
}

export const denyRequest = (
  server: AuthorizationServer,
  request: AuthorizationRequest,
  reason = "The user did not allow it.",
): Redirect => redirectTo(server, request, { error: "access_denied", error_description: reason });

/** Creates a grant in the user's own account and returns the redirect with its code. */
export async function issueCode(
  server: AuthorizationServer,
  request: AuthorizationRequest,
  user_id: string,
  scopes: AuthorizationRequest["scopes"],
): Promise<Redirect> {
  const code = server.ids.secret();
  await new UnitOfWork(server).run(({ tx, now, ids }) => {
    const expires_at = toIso(now + CODE_LIFETIME_MS);
    return tx.put(grants, {
      id: ids.next("gra_"),
      user_id,
      client_id: request.client.id,
      scopes,
      code_hash: sha256Base64url(code),
      is_code_used: false,
      redirect_uri: request.redirectUri,
      code_challenge: request.codeChallenge,
      expires_at,
    });
  });
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

/** Returns the client and its redirect URI, or the error page if a redirect would be unsafe. */
async function findRedirectTarget(
  reader: Reader,
  parameters: URLSearchParams,
): Promise<RedirectTarget | ErrorPage> {
  const [clientId = "", ...otherIds] = parameters.getAll("client_id");
  const client = await reader.get(oauthClients, clientId);
  if (client === undefined || otherIds.length > 0)
    return { page: "The client_id is missing, repeated or unknown." };
  const [redirectUri = "", ...otherUris] = parameters.getAll("redirect_uri");
  const isRegistered = client.redirect_uris.some(
    (uri) => withoutLoopbackPort(uri) === withoutLoopbackPort(redirectUri),
  );
  if (!isRegistered || otherUris.length > 0)
    return { page: `The redirect_uri is missing, repeated or not that of ${client.name}.`, client };
  // If `state` is repeated, neither value is known to be the client's, so the redirect carries none.
  const [state, ...otherStates] = parameters.getAll("state");
  return { client, redirectUri, state: otherStates.length > 0 ? undefined : state };
}

/** A native application learns its loopback port only when it starts to listen (RFC 8252 7.3). */
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
  if (responseType !== "code")
    throw new OAuthError("unsupported_response_type", "The response_type must be code.");
  const codeChallenge = parameters.get("code_challenge");
  const method = parameters.get("code_challenge_method");
  // PKCE (RFC 7636 4.3), which only a public client needs.
  if (
    codeChallenge === null ? client.public || method !== null : !CODE_CHALLENGE.test(codeChallenge)
  )
    throw invalidRequest("The code_challenge is missing or not 43 characters of base64url.");
  if (codeChallenge !== null && method !== CODE_CHALLENGE_METHOD)
    throw invalidRequest("The code_challenge_method must be S256.");
  checkResource(parameters, audience);
  // No default: a client that names no scope would be granted more, or less, than it intended.
  const scopes = parseScope(parameters.get("scope") ?? "");
  if (!isSubset(scopes, client.scopes))
    throw new OAuthError("invalid_scope", "The client is not registered for all of these scopes.");
  return { scopes, codeChallenge };
}
