// Verifies access tokens and revokes access (spec part 5; RFC 7009).
import { sha256Base64url } from "../../lib/ids.ts";
import { type JwtError, verifyJwt } from "../../lib/jwt.ts";
import { grants, refreshTokens } from "../collections.ts";
import { AppError, appError } from "../errors.ts";
import type { OAuthClientRecord } from "../model.ts";
import {
  type AuthorizationServer,
  getSigningKey,
  intersectScopes,
  invalidClient,
  invalidGrant,
  loadActiveGrant,
  parseScope,
  TOKEN_TYPE,
  type VerifiedToken,
} from "./tokens.ts";

/** When the cache is full, it is cleared and tokens are verified again. */
const CACHE_MAX = 10_000;

/** Returns the token's user, account and current scopes as the caller, or the error that makes it invalid. */
export async function verifyAccessToken(server: AuthorizationServer, token: string) {
  const verifiedToken = await verifyToken(server, token);
  if (verifiedToken instanceof AppError) return verifiedToken;
  const { store } = server;
  const storedGrant = await store.get(grants, verifiedToken.grantId);
  const activeGrant = await loadActiveGrant(store, storedGrant);
  if (typeof activeGrant === "string")
    return appError({ code: "invalid_credential", detail: activeGrant });
  const { grant, user, account } = activeGrant;
  const scopes = intersectScopes(verifiedToken.scopes, user.permissions);
  return { account, user, scopes, credentialId: grant.id };
}

/** Verifies signature, claims and expiry. Only valid tokens are cached, so that strangers cannot fill the memory. */
async function verifyToken(
  server: AuthorizationServer,
  token: string,
): Promise<VerifiedToken | AppError> {
  const { issuer, audience, verifiedTokens, clock } = server;
  const now = clock.now();
  const cachedToken = verifiedTokens.get(token);
  if (cachedToken !== undefined)
    return now < cachedToken.exp * 1_000 ? cachedToken : tokenError("expired");
  const expected = { typ: TOKEN_TYPE, iss: issuer, aud: audience, now };
  const claims = verifyJwt(token, await getSigningKey(server), expected);
  if (typeof claims === "string") return tokenError(claims);
  // A valid signature means that `issueTokens` wrote the claims.
  const { jti, scope, exp } = claims;
  const [grantId = ""] = String(jti).split(".");
  const verifiedToken = { grantId, scopes: parseScope(String(scope)), exp: Number(exp) };
  if (verifiedTokens.size >= CACHE_MAX) verifiedTokens.clear();
  verifiedTokens.set(token, verifiedToken);
  return verifiedToken;
}

/** Any other error is the name of the member that does not match. */
const JWT_ERROR_DETAILS: { readonly [E in JwtError]?: string } = {
  expired: "The access token has expired; POST its refresh_token to /oauth/token.",
  malformed: "The access token is not a well-formed JWT.",
  untrusted: "The access token was not signed by this service.",
};

const tokenError = (error: JwtError): AppError =>
  appError({
    code: error === "expired" ? "expired_credential" : "invalid_credential",
    detail:
      JWT_ERROR_DETAILS[error] ?? `The access token is for another use: its ${error} is wrong.`,
  });

/**
 * Revokes the token's grant, because a client that revokes a token means the access (RFC 7009 2.1). An unknown token is
 * not an error (RFC 7009 2.2). Without a client, only tokens from `signIn` can be revoked.
 */
export async function revokeToken(
  server: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
): Promise<void> {
  const { store } = server;
  const verifiedToken = await verifyToken(server, token);
  const grantId =
    verifiedToken instanceof AppError
      ? (await store.get(refreshTokens, sha256Base64url(token)))?.grant_id
      : verifiedToken.grantId;
  const grant = await store.get(grants, grantId ?? "");
  if (grant === undefined) return;
  if (grant.client_id !== (client?.id ?? null))
    throw client
      ? invalidGrant("The token was issued to another client.")
      : invalidClient("Send client_id and client_secret of the client that holds the token.");
  await store.transact((tx) => tx.remove(grants, grant.id));
}
