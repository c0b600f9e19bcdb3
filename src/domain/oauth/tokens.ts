// The token endpoint (spec part 5, steps 2 and 3; RFC 6749 4.1.3 and 6) and revocation (RFC 7009). A code and a refresh
// token can be used once, and the store's transaction decides which use is first. A second use revokes the grant with
// all its tokens (RFC 9700 4.14), because it means that one was stolen.
import { hash } from "node:crypto";
import { parseIso, toIso } from "../../lib/clock.ts";
import type { JwtKey } from "../../lib/jwt.ts";
import { intersectScopes, isSameHash, isSubset, sha256 } from "../credentials.ts";
import { AppError } from "../errors.ts";
import type { OAuthClientRecord, Scope, UserRecord } from "../model.ts";
import type { Tx } from "../store.ts";
import { type TxContext, UnitOfWork } from "../unit-of-work.ts";
import {
  ACCESS_TOKEN_LIFETIME_S,
  type AuthorizationServer,
  loadActiveGrant,
  signAccessToken,
  verifySignature,
} from "./access-tokens.ts";
import { invalidClient, invalidGrant, invalidScope, OAuthError, parseScope } from "./errors.ts";
import { type GrantRecord, grants, REFRESH_TOKEN_LIFETIME_MS, refreshTokens } from "./grants.ts";

const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: "Bearer";
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

/**
 * Exchanges an authorization code for tokens; `client` is already authenticated. Errors other than reuse leave the code
 * usable: a stranger who has seen a code must not be able to invalidate it. Reuse is checked before expiry and binding
 * (RFC 6749 4.1.3, RFC 7636 4.6), so that it is always detected.
 */
export const authorizationCodeGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord,
  secret: string,
  parameters: URLSearchParams,
): Promise<TokenResponse> =>
  runGrant(server, async (ctx, key) => {
    const { tx, now } = ctx;
    const grant = await tx.find(grants, "code", [sha256(secret)]);
    if (!grant?.code) throw invalidGrant("The code is not known, or its access has been revoked.");
    if (grant.client_id !== client.id) throw invalidGrant("The code was issued to another client.");
    const { code } = grant;
    if (code.used) return revokeOnReuse(tx, grant.id, "code");
    if (now >= parseIso(code.expires_at)) throw invalidGrant("The code has expired.");
    const redirectUri = parameters.get("redirect_uri");
    if (redirectUri === null) throw invalidGrant("The redirect_uri is missing.");
    if (redirectUri !== code.redirect_uri)
      throw invalidGrant("The redirect_uri is not the one that was authorized.");
    checkCodeVerifier(code.challenge, parameters.get("code_verifier"));
    const { scopes } = await loadGrantedAccess(tx, grant.id);
    const expires_at = toIso(now + REFRESH_TOKEN_LIFETIME_MS);
    await tx.put(grants, { ...grant, expires_at, code: { ...code, used: true } });
    return issueTokens(ctx, server, key, grant, scopes);
  });

/**
 * Exchanges a refresh token for the next one. `client` is null if no credentials were sent, which the spec allows.
 * Expiry is checked before the grant's existence, because an expired token's grant may be deleted already and would
 * look revoked.
 */
export const refreshTokenGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
  scope: string | null,
): Promise<TokenResponse> =>
  runGrant(server, async (ctx, key) => {
    const { tx, now } = ctx;
    const refreshToken = await tx.get(refreshTokens, sha256(token));
    if (refreshToken === undefined) throw invalidGrant("The refresh token is not known.");
    const storedGrant = await tx.get(grants, refreshToken.grant_id);
    if (storedGrant && client && storedGrant.client_id !== client.id)
      throw invalidGrant("The refresh token was issued to another client.");
    if (storedGrant && refreshToken.used) return revokeOnReuse(tx, storedGrant.id, "refresh token");
    if (now >= parseIso(refreshToken.expires_at))
      throw invalidGrant("The refresh token has expired.");
    const { grant, scopes: heldScopes } = await loadGrantedAccess(tx, refreshToken.grant_id);
    const scopes =
      scope === null ? heldScopes : narrowScopes(parseScope(scope), grant.scopes, heldScopes);
    await tx.put(refreshTokens, { ...refreshToken, used: true });
    await tx.put(grants, { ...grant, expires_at: toIso(now + REFRESH_TOKEN_LIFETIME_MS) });
    return issueTokens(ctx, server, key, grant, scopes);
  });

/** Issues tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
export const issueForUser = (
  server: AuthorizationServer,
  user: UserRecord,
  requestedScopes: readonly Scope[],
): Promise<TokenResponse> =>
  runGrant(server, async (ctx, key) => {
    const scopes = intersectScopes(requestedScopes, user.permissions);
    if (scopes.length === 0) throw invalidScope("The user holds none of these scopes.");
    const grant: GrantRecord = {
      id: ctx.ids.next("gra_"),
      user_id: user.id,
      client_id: null,
      scopes,
      code: null,
      code_hash: null,
      expires_at: toIso(ctx.now + REFRESH_TOKEN_LIFETIME_MS),
      partition: "grants",
    };
    await ctx.tx.put(grants, grant);
    return issueTokens(ctx, server, key, grant, scopes);
  });

/**
 * Revokes the token's grant, because a client that revokes a token means the access (RFC 7009 2.1). An unknown or
 * expired token is not an error (RFC 7009 2.2), and needs no token_type_hint. Without a client, only tokens from
 * `signIn` can be revoked. The error for any other does not reveal whether the token exists.
 */
export async function revokeToken(
  server: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
): Promise<void> {
  const verified = await verifySignature(server, token);
  const grantId =
    verified instanceof AppError
      ? (await server.store.get(refreshTokens, sha256(token)))?.grant_id
      : verified.grantId;
  const grant = grantId === undefined ? undefined : await server.store.get(grants, grantId);
  if (client === null && grant?.client_id !== null)
    throw invalidClient(
      "The client credentials are missing: a token is revoked by the client that holds it.",
    );
  if (grant === undefined) return;
  if (client !== null && grant.client_id !== client.id)
    throw invalidGrant("The token was issued to another client.");
  await server.store.transact((tx) => tx.remove(grants, grant.id));
}

/** Runs a grant in one transaction. A returned error is thrown after the commit, a thrown one rolls back. */
async function runGrant(
  server: AuthorizationServer,
  grant: (ctx: TxContext, key: JwtKey) => Promise<TokenResponse | OAuthError>,
): Promise<TokenResponse> {
  // The key may have to be stored first. If that fails, the code stays unused.
  const key = await server.keys.signingKey();
  const result = await new UnitOfWork(server).run((ctx) => grant(ctx, key));
  if (result instanceof OAuthError) throw result;
  return result;
}

/** Creates a refresh token and signs an access token. The prefix lets people and secret scanners recognise it. */
async function issueTokens(
  { tx, now, ids }: TxContext,
  server: AuthorizationServer,
  key: JwtKey,
  grant: GrantRecord,
  scopes: readonly Scope[],
): Promise<TokenResponse> {
  const refresh_token = `ahr_${ids.secret()}`;
  await tx.put(refreshTokens, {
    id: sha256(refresh_token),
    grant_id: grant.id,
    used: false,
    expires_at: toIso(now + REFRESH_TOKEN_LIFETIME_MS),
    partition: "refresh_tokens",
  });
  return {
    access_token: signAccessToken(server, key, grant, scopes),
    token_type: "Bearer",
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    refresh_token,
    scope: scopes.join(" "),
  };
}

/** Its refresh tokens are retained: without the grant they give no access, but their reuse is still detected. */
async function revokeOnReuse(tx: Tx, grantId: string, what: string): Promise<OAuthError> {
  await tx.remove(grants, grantId);
  return invalidGrant(
    `The ${what} has been used before, so the access that it stood for is now revoked.`,
  );
}

/** PKCE (RFC 7636 4.6). */
function checkCodeVerifier(challenge: string | null, verifier: string | null): void {
  if (challenge === null && verifier === null) return;
  if (challenge === null)
    throw invalidGrant("A code_verifier was sent, but the code was asked for without PKCE.");
  if (verifier === null) throw invalidGrant("The code_verifier is missing.");
  const hashedVerifier = hash("sha256", verifier, "base64url");
  if (!CODE_VERIFIER.test(verifier) || !isSameHash(hashedVerifier, challenge))
    throw invalidGrant("The code_verifier does not fit the code_challenge.");
}

/** Returns the grant with the scopes that its user still holds. Without any, the token stays usable for later. */
async function loadGrantedAccess(tx: Tx, grantId: string) {
  const active = await loadActiveGrant(tx, grantId);
  if (typeof active === "string") throw invalidGrant(active);
  const { grant, user, account } = active;
  if (account.state === "suspended") throw invalidGrant("The account is suspended.");
  const scopes = intersectScopes(grant.scopes, user.permissions);
  if (scopes.length === 0)
    throw invalidGrant("The user no longer holds any of the permissions that were granted.");
  return { grant, scopes };
}

/** RFC 6749 6: a refresh may request fewer scopes than were granted, never more. */
function narrowScopes(
  requestedScopes: readonly Scope[],
  grantedScopes: readonly Scope[],
  heldScopes: readonly Scope[],
): readonly Scope[] {
  if (requestedScopes.length === 0 || !isSubset(requestedScopes, grantedScopes))
    throw invalidScope("The scope goes beyond what was granted.");
  const scopes = intersectScopes(requestedScopes, heldScopes);
  if (scopes.length === 0)
    throw invalidGrant("The user no longer holds any of the permissions that were asked for.");
  return scopes;
}
