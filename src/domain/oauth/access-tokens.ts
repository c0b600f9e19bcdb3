// Access tokens: JWTs after RFC 9068 (spec part 5; contract part 5), with issue, revocation (RFC 7009) and
// introspection (RFC 7662). A token's signature is verified once and the result cached. Its key, grant, client, user
// and account are loaded at every use. Deleting any of them therefore takes effect with the next request. Scopes are
// limited to the user's current permissions.
import { decide } from "../../former-decisions.ts";
import { parseIso } from "../../lib/clock.ts";
import { type JwtFault, signJwt, verifyJwt } from "../../lib/jwt.ts";
import { unsafeCast } from "../../lib/schema.ts";
import { sha256 } from "../credentials.ts";
import { AppError, fail } from "../errors.ts";
import type { OAuthClientRecord, Scope } from "../model.ts";
import type { UnitOfWorkDeps } from "../unit-of-work.ts";
import { type GrantRecord, grants, loadActiveGrant, refreshTokens } from "./grants.ts";
import { intersectScopes, invalidClient, invalidGrant } from "./rules.ts";
import { type SigningKeys, signingKeys } from "./signing-keys.ts";

/** Dependencies of the authorization server, created once the public address is known. */
export interface AuthorizationServer extends UnitOfWorkDeps {
  readonly keys: SigningKeys;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
  /** Cache of access tokens whose signature has been verified. */
  readonly verified: Map<string, VerifiedToken>;
}

export const ACCESS_TOKEN_LIFETIME_S = decide("5.token-lifetimes").access_h * 3_600;
/** RFC 9068. */
const TYP = "at+jwt";
/** The client_id, which RFC 9068 requires, of tokens that the service issues itself, without a client. */
const NO_CLIENT = "app-hosting-service";
/** Maximum size of the token cache. When full, it is cleared and tokens are verified again. */
const CACHE_MAX = 10_000;

/**
 * Signs an access token. Its jti begins with the grant's id, so that the token leads to its grant without another claim
 * or record.
 */
export async function signAccessToken(
  context: AuthorizationServer,
  grant: GrantRecord,
  scopes: readonly Scope[],
) {
  const { clock, ids, keys, issuer: iss, audience: aud } = context;
  const iat = Math.floor(clock.now() / 1_000);
  const { user_id: sub, client_id } = grant;
  const jti = `${grant.id}.${ids.next("")}`;
  const times = { jti, iat, exp: iat + ACCESS_TOKEN_LIFETIME_S };
  const claims = {
    iss,
    sub,
    aud,
    client_id: client_id ?? NO_CLIENT,
    scope: scopes.join(" "),
    ...times,
  };
  return signJwt(await keys.signingKey(), TYP, claims);
}

/** Returns the token's user, account, grant and current scopes, or the error that makes it invalid. */
export async function verifyAccessToken(context: AuthorizationServer, token: string) {
  const verified = await verifyToken(context, token);
  if (verified instanceof AppError) return verified;
  if ((await context.store.get(signingKeys, verified.kid)) === undefined)
    return tokenError("untrusted");
  const standing = await loadActiveGrant(context.store, verified.grantId);
  if (typeof standing === "string") return invalidCredential(standing);
  // Copied by name: a spread took a quarter of each request's time.
  const { grant, user, account } = standing;
  return {
    grant,
    user,
    account,
    verified: verified,
    credential: grant.id,
    scopes: intersectScopes(verified.scopes, user.permissions),
  };
}

/**
 * Verifies signature and expiry and returns the claims that `signAccessToken` wrote. Subject and client come from the
 * grant instead. Only tokens that this service signed are cached, so that strangers cannot fill the memory.
 */
async function verifyToken(
  context: AuthorizationServer,
  token: string,
): Promise<VerifiedToken | AppError> {
  const { keys, issuer, audience, verified } = context;
  const now = context.clock.now();
  const known = verified.get(token);
  if (known !== undefined) return now < known.exp * 1_000 ? known : tokenError("expired");
  const verdict = verifyJwt(token, await keys.verificationKeys(), {
    typ: TYP,
    iss: issuer,
    aud: audience,
    now,
  });
  if ("fault" in verdict) return tokenError(verdict.fault);
  const { scope, jti, iat, exp } = unsafeCast<IssuedClaims>(verdict.claims);
  const [grantId = ""] = jti.split(".");
  const facts = {
    kid: verdict.kid,
    grantId,
    scopes: unsafeCast<Scope[]>(scope.split(" ")),
    jti,
    iat,
    exp,
  };
  if (verified.size >= CACHE_MAX) verified.clear();
  verified.set(token, facts);
  return facts;
}

type IssuedClaims = { readonly [text in "scope" | "jti"]: string } & {
  readonly [time_s in "iat" | "exp"]: number;
};
type VerifiedToken = Omit<IssuedClaims, "scope"> & {
  readonly kid: string;
  readonly grantId: string;
  readonly scopes: readonly Scope[];
};

const invalidCredential = (detail: string): AppError =>
  fail({ code: "invalid_credential", detail });

/** Converts a JWT fault to an error. Any other fault is the name of the claim that does not match. */
function tokenError(fault: JwtFault): AppError {
  const detail = "The access token has expired; POST its refresh_token to /oauth/token.";
  if (fault === "expired") return fail({ code: "expired_credential", detail });
  if (fault === "malformed") return invalidCredential("The access token is not a well-formed JWT.");
  if (fault === "untrusted")
    return invalidCredential("The access token was not signed by this service.");
  return invalidCredential(`The access token was made for another use: its ${fault} does not fit.`);
}

/**
 * Revokes the token's grant, because a client that revokes a token means the access (RFC 7009 2.1). An unknown or
 * expired token is not an error (RFC 7009 2.2). token_type_hint is not needed, because the two kinds of token differ in
 * form. Without a client, only tokens from `signIn` can be revoked. The error for any other does not reveal whether the
 * token exists.
 */
export async function revoke(
  context: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
) {
  const { store } = context;
  const facts = await verifyToken(context, token);
  // An expired access token has nothing to revoke; its refresh token still does.
  const held =
    facts instanceof AppError
      ? await store.get(refreshTokens, sha256(token))
      : { grant_id: facts.grantId };
  const grant = held && (await store.get(grants, held.grant_id));
  if (client === null && grant?.client_id !== null)
    return invalidClient(
      "The client credentials are missing: a token is revoked by the client that holds it.",
    );
  if (grant === undefined) return undefined;
  if (client !== null && grant.client_id !== client.id)
    return invalidGrant("The token was issued to another client.");
  await store.transact((tx) => tx.remove(grants, grant.id));
  return undefined;
}

/**
 * Token introspection for the client that owns the token, with the scopes currently in force. Any other client, and any
 * token that is no longer valid, gets `active: false`.
 */
export async function introspect(
  context: AuthorizationServer,
  client: OAuthClientRecord,
  token: string,
): Promise<object> {
  const used = await verifyAccessToken(context, token);
  const asked =
    used instanceof AppError
      ? await refreshable(context, token)
      : { ...used.verified, ...used, token_type: "Bearer" };
  if (asked?.grant.client_id !== client.id || asked.account.state === "suspended")
    return { active: false };
  const { issuer: iss, audience: aud } = context;
  const { user, scopes, token_type, jti, iat, exp } = asked;
  const whose = { client_id: client.id, username: user.email, sub: user.id, iss, aud };
  return { active: true, ...whose, scope: scopes.join(" "), token_type, jti, iat, exp };
}

async function refreshable({ store, clock }: AuthorizationServer, token: string) {
  const record = await store.get(refreshTokens, sha256(token));
  if (!record || record.used || clock.now() >= parseIso(record.expires_at)) return undefined;
  const standing = await loadActiveGrant(store, record.grant_id);
  if (typeof standing === "string") return undefined;
  const scopes = intersectScopes(standing.grant.scopes, standing.user.permissions);
  const [iat, exp] = [seconds(record.issued_at), seconds(record.expires_at)];
  return { ...standing, scopes, token_type: undefined, jti: undefined, iat, exp };
}

const seconds = (at: string): number => Math.floor(parseIso(at) / 1_000);
