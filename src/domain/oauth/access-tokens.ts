// Access tokens: JWTs after RFC 9068 (spec part 5; contract part 5), from being issued to being revoked (RFC 7009) and
// asked about (RFC 7662). The signature of a token is checked once and then remembered; its key, grant, client, user and
// account are looked up at every use, so that whatever ends one of them is felt at the very next call. Its scopes are cut
// to what its user may do at that moment.
import { decide } from "../../decisions.ts";
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

/** What the authorization server works with: handed to each of its functions, made once the public address is known. */
export interface AuthorizationServer extends UnitOfWorkDeps {
  readonly keys: SigningKeys;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
  /** Access tokens whose signature has been checked. */
  readonly verified: Map<string, VerifiedToken>;
}

export const ACCESS_TOKEN_LIFETIME_S = decide("5.token-lifetimes").access_h * 3_600;
/** RFC 9068. */
const TYP = "at+jwt";
/** RFC 9068 requires a client_id: the one of tokens that the service hands out itself, without a client. */
const NO_CLIENT = "app-hosting-service";
/** Verified tokens kept in mind; beyond that all are forgotten and would be verified again. */
const CACHE_MAX = 10_000;

/** The grant's id opens the jti: so the token leads to its grant without a record or a claim of its own. */
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

/** Who calls the REST API with the token, and what it opens now; or why it opens nothing. */
export async function verifyAccessToken(context: AuthorizationServer, token: string) {
  const verified = await verifyToken(context, token);
  if (verified instanceof AppError) return verified;
  if ((await context.store.get(signingKeys, verified.kid)) === undefined)
    return tokenError("untrusted");
  const standing = await loadActiveGrant(context.store, verified.grantId);
  if (typeof standing === "string") return invalidCredential(standing);
  // Not a copy by spread: that cost each request a quarter of its time.
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
 * What a token of ours says, if it has not expired: as `issue` wrote it, for no other has the key. Subject and client are
 * the grant's, so they are not read from the token again. Only such tokens are remembered, so strangers cannot fill the
 * memory.
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

/** What is neither form, signature nor age is the member that does not fit. */
function tokenError(fault: JwtFault): AppError {
  const detail = "The access token has expired; POST its refresh_token to /oauth/token.";
  if (fault === "expired") return fail({ code: "expired_credential", detail });
  if (fault === "malformed") return invalidCredential("The access token is not a well-formed JWT.");
  if (fault === "untrusted")
    return invalidCredential("The access token was not signed by this service.");
  return invalidCredential(`The access token was made for another use: its ${fault} does not fit.`);
}

/**
 * Revokes the grant of the token, since whoever revokes means the access (RFC 7009 2.1). A token that is not known, or over
 * already, is no error: what was asked for is so (2.2). Access and refresh tokens cannot be mistaken for each other, so
 * token_type_hint is not needed. Without a client only a token that belongs to none can be revoked, one of `signIn`; about
 * any other such a request is told nothing, not even whether the token exists.
 */
export async function revoke(
  context: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
) {
  const { store } = context;
  const facts = await verifyToken(context, token);
  // An expired access token leads nowhere: it has nothing left to revoke, and its refresh token does.
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
 * What a client learns about its own tokens: of their scopes those in force now, as a resource server wants to know. To
 * any other client, and where a token opens nothing, all it hears is no.
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
