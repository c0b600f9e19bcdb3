// Issues access and refresh tokens (spec part 5, steps 2 and 3; 5.token-lifetimes), in the order of a code exchange:
// the client authenticates, its code is redeemed, and tokens are signed. Each token leads to its grant, which is the
// access that a user has given a client. The grant, client and user are loaded at every use, so that deleting one of
// them takes effect with the next request. Secrets are stored as SHA-256 only.
import { parseIso, toIso } from "../../lib/clock.ts";
import { sha256Base64url } from "../../lib/ids.ts";
import {
  type Algorithm,
  generatePrivateKey,
  type JwtKey,
  signJwt,
  toJwtKey,
  toPublicJwk,
} from "../../lib/jwt.ts";
import { type GrantRecord, grants, refreshTokens, signingKeys } from "../collections.ts";
import { hasScope } from "../credentials.ts";
import {
  type OAuthClientRecord,
  oauthClients,
  SCOPES,
  type Scope,
  type UserRecord,
} from "../model.ts";
import type { Reader, Store, Tx } from "../store.ts";
import { type TxContext, UnitOfWork, type UnitOfWorkDeps } from "../unit-of-work.ts";
import { findUser } from "../users.ts";

/** Dependencies of the authorization server, created once the public address is known. */
export interface AuthorizationServer extends UnitOfWorkDeps {
  /** Signs new tokens. */
  readonly algorithm: Algorithm;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
  /** Cache of verified access tokens: verifying a signature takes longer than the rest of a request. */
  readonly verifiedTokens: Map<string, VerifiedToken>;
}

export interface VerifiedToken {
  readonly grantId: string;
  readonly scopes: readonly Scope[];
  /** Seconds since 1970, as in the token. */
  readonly exp: number;
}

const ACCESS_TOKEN_LIFETIME_S = 3_600;
const REFRESH_TOKEN_LIFETIME_MS = 30 * 86_400_000;
/** The `typ` of an access token (RFC 9068). */
export const TOKEN_TYPE = "at+jwt";
/** The client_id of tokens that the service issues without a client. */
const NO_CLIENT = "app-hosting-service";
const DESCRIPTION_MAX = 300;

/** RFC 6749 4.1.2.1 and 5.2, RFC 8707 2. */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "unsupported_response_type";

/** Thrown. The message is the `error_description`: ASCII without quotes and backslash (RFC 6749 5.2). */
export class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    description: string,
  ) {
    super(description.slice(0, DESCRIPTION_MAX).replace(/[^ !#-[\]-~]/g, "?"));
  }
}

export const invalidRequest = (description: string) =>
  new OAuthError("invalid_request", description);
export const invalidClient = (description: string) => new OAuthError("invalid_client", description);
export const invalidGrant = (description: string) => new OAuthError("invalid_grant", description);

/** Only resource may be repeated (RFC 8707 2). */
export function checkRepeated(parameters: URLSearchParams): void {
  const names = new Set<string>();
  for (const name of parameters.keys()) {
    if (names.has(name) && name !== "resource")
      throw invalidRequest(`${name} is given more than once.`);
    names.add(name);
  }
}

/** RFC 8707: the tokens are for the REST API, so no other resource can be requested. */
export function checkResource(parameters: URLSearchParams, audience: string): void {
  if (parameters.getAll("resource").some((resource) => resource !== audience))
    throw new OAuthError("invalid_target", `The resource must be ${audience}.`);
}

export interface ClientCredentials {
  readonly id: string | null;
  readonly secret: string | null;
}

/** Authenticates the client (RFC 6749 2.3). A confidential client must send its secret. */
export async function authenticateClient(reader: Reader, credentials: ClientCredentials) {
  const client = await identifyClient(reader, credentials);
  if (client === null || (!client.public && credentials.secret === null))
    throw invalidClient("Send client_id and client_secret.");
  return client;
}

/** Returns the client that the credentials name, or null without credentials. A secret that is sent must be right. */
export async function identifyClient(reader: Reader, { id, secret }: ClientCredentials) {
  if (id === null && secret === null) return null;
  const client = await reader.get(oauthClients, id ?? "");
  if (client === undefined) throw invalidClient("There is no client with this client_id.");
  if (secret !== null && client.secret_hash !== sha256Base64url(secret))
    throw invalidClient("The client_secret is wrong.");
  return client;
}

/**
 * Exchanges an authorization code for tokens; `client` is already authenticated. Errors other than reuse leave the code
 * usable: a stranger who has seen a code must not be able to invalidate it.
 */
export const authorizationCodeGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord,
  code: string,
  parameters: URLSearchParams,
) =>
  issueTokens(server, async ({ tx, now }, expires_at) => {
    const storedGrant = await tx.find(grants, "code", [sha256Base64url(code)]);
    if (storedGrant?.client_id !== client.id)
      throw invalidGrant("The code is not known, has expired or was issued to another client.");
    if (storedGrant.is_code_used) return revokeOnReuse(tx, storedGrant.id, "code");
    if (now >= parseIso(storedGrant.expires_at)) throw invalidGrant("The code has expired.");
    if (parameters.get("redirect_uri") !== storedGrant.redirect_uri)
      throw invalidGrant("The redirect_uri is not the one that was authorized.");
    const verifier = parameters.get("code_verifier");
    if (storedGrant.code_challenge !== (verifier && sha256Base64url(verifier)))
      throw invalidGrant("The code_verifier is missing, wrong or unexpected.");
    const { grant, scopes } = await loadAccess(tx, storedGrant);
    await tx.put(grants, { ...grant, is_code_used: true, expires_at });
    return { grant, scopes };
  });

/** Exchanges a refresh token for the next one. `client` is null if no credentials were sent, which the spec allows. */
export const refreshTokenGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
  scope: string | null,
) =>
  issueTokens(server, async ({ tx, now }, expires_at) => {
    const refreshToken = await tx.get(refreshTokens, sha256Base64url(token));
    if (refreshToken === undefined || now >= parseIso(refreshToken.expires_at))
      throw invalidGrant("The refresh token is not known or has expired.");
    const storedGrant = await tx.get(grants, refreshToken.grant_id);
    if (storedGrant && client && storedGrant.client_id !== client.id)
      throw invalidGrant("The refresh token was issued to another client.");
    if (storedGrant && refreshToken.is_used)
      return revokeOnReuse(tx, storedGrant.id, "refresh token");
    const access = await loadAccess(tx, storedGrant, scope);
    await tx.put(refreshTokens, { ...refreshToken, is_used: true });
    await tx.put(grants, { ...access.grant, expires_at });
    return access;
  });

/** Issues tokens without a browser, for tests (1.test-controls). The grant belongs to no client. */
export const issueForUser = (
  server: AuthorizationServer,
  user: UserRecord,
  requestedScopes: readonly Scope[],
) =>
  issueTokens(server, async ({ tx, ids }, expires_at) => {
    const scopes = intersectScopes(requestedScopes, user.permissions);
    if (scopes.length === 0) throw invalidGrant("The user holds none of these scopes.");
    const grant: GrantRecord = {
      id: ids.next("gra_"),
      user_id: user.id,
      client_id: null,
      scopes,
      code_hash: null,
      is_code_used: false,
      redirect_uri: null,
      code_challenge: null,
      expires_at,
    };
    await tx.put(grants, grant);
    return { grant, scopes };
  });

/**
 * Redeems a code or token and issues the next tokens, in one transaction: the store decides which of two concurrent
 * uses is first. `redeem` stores the use and the grant's new expiry. An error that it returns is thrown after the
 * commit; one that it throws rolls back.
 */
async function issueTokens(
  server: AuthorizationServer,
  redeem: (
    ctx: TxContext,
    expires_at: string,
  ) => Promise<OAuthError | { readonly grant: GrantRecord; readonly scopes: readonly Scope[] }>,
) {
  // The key may have to be stored first. If that fails, the code stays unused.
  const key = await getSigningKey(server);
  const result = await new UnitOfWork(server).run(async (ctx) => {
    const { tx, now, ids } = ctx;
    const expires_at = toIso(now + REFRESH_TOKEN_LIFETIME_MS);
    const access = await redeem(ctx, expires_at);
    if (access instanceof OAuthError) return access;
    const { grant, scopes } = access;
    // The prefix lets people and secret scanners recognize the token.
    const refresh_token = `ahr_${ids.secret()}`;
    const id = sha256Base64url(refresh_token);
    await tx.put(refreshTokens, { id, grant_id: grant.id, is_used: false, expires_at });
    const scope = scopes.join(" ");
    const iat = Math.floor(now / 1_000);
    const access_token = signJwt(key, TOKEN_TYPE, {
      iss: server.issuer,
      sub: grant.user_id,
      aud: server.audience,
      client_id: grant.client_id ?? NO_CLIENT,
      scope,
      jti: `${grant.id}.${ids.next("")}`, // leads to the grant without another claim
      iat,
      exp: iat + ACCESS_TOKEN_LIFETIME_S,
    });
    const expires_in = ACCESS_TOKEN_LIFETIME_S;
    return { access_token, token_type: "Bearer", expires_in, refresh_token, scope };
  });
  if (result instanceof OAuthError) throw result;
  return result;
}
export type TokenResponse = Awaited<ReturnType<typeof issueTokens>>;

/** A second use means that the code or token was stolen, so the grant ends with all its tokens (RFC 9700 4.14). */
async function revokeOnReuse(tx: Tx, grantId: string, what: string): Promise<OAuthError> {
  await tx.remove(grants, grantId);
  return invalidGrant(`The ${what} has been used before, so its access is now revoked.`);
}

/** Returns the grant with the scopes that its user still holds. A refresh may request fewer (RFC 6749 6). */
async function loadAccess(
  tx: Tx,
  storedGrant: GrantRecord | undefined,
  scope: string | null = null,
) {
  const activeGrant = await loadActiveGrant(tx, storedGrant);
  if (typeof activeGrant === "string") throw invalidGrant(activeGrant);
  const { grant, user, account } = activeGrant;
  if (account.state === "suspended") throw invalidGrant("The account is suspended.");
  const requestedScopes = scope === null ? grant.scopes : parseScope(scope);
  if (scope !== null && !isSubset(requestedScopes, grant.scopes))
    throw new OAuthError("invalid_scope", "The scope goes beyond what was granted.");
  const scopes = intersectScopes(requestedScopes, user.permissions);
  if (scopes.length === 0) throw invalidGrant("The user no longer holds any of these permissions.");
  return { grant, scopes };
}

/** Returns the grant with its user and account, or a sentence that says which part was deleted. */
export async function loadActiveGrant(reader: Reader, grant: GrantRecord | undefined) {
  if (grant === undefined) return "The access of this application has been revoked.";
  if (grant.client_id !== null && !(await reader.get(oauthClients, grant.client_id)))
    return "The application was deleted, so its access has been revoked.";
  const holder = await findUser(reader, grant.user_id);
  return holder
    ? { grant, ...holder }
    : "The user was deleted, so the access of this application has been revoked.";
}

/** Returns the distinct scopes of a space-separated list. */
export function parseScope(list: string): readonly Scope[] {
  const names = new Set(list.split(" ").filter(Boolean));
  if (names.size === 0) throw new OAuthError("invalid_scope", "The scope is missing.");
  return [...names].map((name) => {
    const scope = SCOPES.find((each) => each === name);
    if (scope !== undefined) return scope;
    throw new OAuthError(
      "invalid_scope",
      `${name} is not a scope. Separate scopes with spaces; they are ${SCOPES.join(", ")}.`,
    );
  });
}

export const isSubset = (scopes: readonly Scope[], held: readonly Scope[]): boolean =>
  scopes.every((scope) => hasScope(held, scope));

/** Returns the requested scopes that are held; all that are held if `admin` is requested in vain. */
export function intersectScopes(
  requested: readonly Scope[],
  held: readonly Scope[],
): readonly Scope[] {
  if (held.includes("admin")) return requested;
  return requested.includes("admin") ? held : requested.filter((scope) => held.includes(scope));
}

/** Returns the key that signs access tokens. It is generated on first use: an RSA key takes longer than a start. */
export async function getSigningKey({ store, algorithm }: AuthorizationServer): Promise<JwtKey> {
  const { private_key } =
    (await store.get(signingKeys, algorithm)) ?? (await createSigningKey(store, algorithm));
  return toJwtKey(algorithm, private_key);
}

async function createSigningKey(store: Store, id: Algorithm) {
  const newKey = { id, private_key: await generatePrivateKey(id) };
  return store.transact(async (tx) => {
    // A concurrent first use may have stored its key already.
    const record = (await tx.get(signingKeys, id)) ?? newKey;
    await tx.put(signingKeys, record);
    return record;
  });
}

/** Returns the public key as a JWK set (RFC 7517), which clients fetch before the first token. */
export const getPublicKeys = async (server: AuthorizationServer) => ({
  keys: [toPublicJwk(await getSigningKey(server))],
});
