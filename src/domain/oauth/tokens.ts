// The authorization server's clients, grants and tokens (spec part 5, steps 2 and 3; contract part 5). A grant is the
// access that a user has given a client. Each token leads to its grant, and the grant, client and user are loaded at
// every use. Deleting any of them therefore takes effect with the next request. Secrets are stored as SHA-256 only.
import { parseIso, toIso } from "../../lib/clock.ts";
import { type Algorithm, type JwtFault, signJwt, verifyJwt } from "../../lib/jwt.ts";
import type { Infer } from "../../lib/schema.ts";
import { hasScope, sha256Base64url } from "../credentials.ts";
import { createCrudService } from "../crud.ts";
import { AppError, fail } from "../errors.ts";
import {
  type Expiring,
  expiryIndex,
  type OAuthClientRecord,
  oauthClient,
  oauthClients,
  SCOPES,
  type Scope,
  type UserRecord,
} from "../model.ts";
import { collection, type Reader, type Tx } from "../store.ts";
import {
  type TxContext,
  UnitOfWork,
  type UnitOfWorkDeps,
  type WithOptionalId,
} from "../unit-of-work.ts";
import { findUser } from "../users.ts";
import { getSigningKey } from "./signing-keys.ts";

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

interface VerifiedToken {
  readonly grantId: string;
  readonly scopes: readonly Scope[];
  /** Seconds since 1970, as in the token. */
  readonly exp: number;
}

const ACCESS_TOKEN_LIFETIME_S = 3_600;
const REFRESH_TOKEN_LIFETIME_MS = 30 * 86_400_000;
/** RFC 9068. */
const TYP = "at+jwt";
/** The client_id of tokens that the service issues without a client. */
const NO_CLIENT = "app-hosting-service";
/** When the cache is full, it is cleared and tokens are verified again. */
const CACHE_MAX = 10_000;

/** RFC 6749 4.1.2.1 and 5.2, RFC 8707 2. */
type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "unsupported_response_type";

const DESCRIPTION_MAX = 300;

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
const invalidGrant = (description: string) => new OAuthError("invalid_grant", description);

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

type ClientDraft = WithOptionalId<Infer<typeof oauthClient.createBody>> & {
  readonly client_secret?: string | undefined;
};

/** Creates a client; a seed may supply its secret. A public client has none. */
export async function createOAuthClient(
  ctx: TxContext,
  account_id: string,
  { id = ctx.ids.next("cli_"), client_secret = ctx.ids.secret(), ...fields }: ClientDraft,
) {
  const secret = fields.public ? null : client_secret;
  const record = {
    id,
    ...fields,
    created_at: ctx.timestamp,
    account_id,
    secret_hash: secret && sha256Base64url(secret),
  };
  await ctx.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const oauthClientService = createCrudService(oauthClients, "OAuth client", oauthClient, {
  onCreate: createOAuthClient,
});

export interface ClientCredentials {
  readonly id: string | null;
  readonly secret: string | null;
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

/** Authenticates the client (RFC 6749 2.3). A confidential client must send its secret. */
export async function authenticateClient(reader: Reader, credentials: ClientCredentials) {
  const client = await identifyClient(reader, credentials);
  if (client === null || (!client.public && credentials.secret === null))
    throw invalidClient("Send client_id and client_secret.");
  return client;
}

interface AuthorizationCode {
  readonly redirect_uri: string;
  /** The S256 challenge of RFC 7636, or null. */
  readonly challenge: string | null;
  /** Stays in the grant when used, so that reuse is detected while there is access to revoke. */
  readonly used: boolean;
}

/** Revocation removes the record. It expires with its code, and once that is used, with the last of its tokens. */
export interface GrantRecord extends Expiring<"grants"> {
  readonly user_id: string;
  /** Null if the service itself signed the user in, without a client (contract, part 10: signIn). */
  readonly client_id: string | null;
  readonly scopes: readonly Scope[];
  readonly code: AuthorizationCode | null;
  readonly code_hash: string | null;
}
export const grants = collection<GrantRecord>()("grants", expiryIndex, { code: ["code_hash"] });

/** The id is the hash of the token. Used tokens are retained, so that reuse is detected. */
interface RefreshTokenRecord extends Expiring<"refresh_tokens"> {
  readonly grant_id: string;
  readonly used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", expiryIndex);

/** Returns the grant with its user and account, or a sentence that says which part was deleted. */
async function loadActiveGrant(reader: Reader, grant: GrantRecord | undefined) {
  if (grant === undefined) return "The access of this application has been revoked.";
  if (grant.client_id !== null && !(await reader.get(oauthClients, grant.client_id)))
    return "The application was deleted, so its access has been revoked.";
  const holder = await findUser(reader, grant.user_id);
  return holder
    ? { grant, ...holder }
    : "The user was deleted, so the access of this application has been revoked.";
}

/**
 * Exchanges an authorization code for tokens; `client` is already authenticated. Errors other than reuse leave the code
 * usable: a stranger who has seen a code must not be able to invalidate it.
 */
export const authorizationCodeGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord,
  secret: string,
  parameters: URLSearchParams,
) =>
  issueTokens(server, async ({ tx, now }) => {
    const storedGrant = await tx.find(grants, "code", [sha256Base64url(secret)]);
    if (!storedGrant?.code || storedGrant.client_id !== client.id)
      throw invalidGrant("The code is not known, has expired or was issued to another client.");
    const { code } = storedGrant;
    if (code.used) return revokeOnReuse(tx, storedGrant.id, "code");
    if (now >= parseIso(storedGrant.expires_at)) throw invalidGrant("The code has expired.");
    if (parameters.get("redirect_uri") !== code.redirect_uri)
      throw invalidGrant("The redirect_uri is not the one that was authorized.");
    const verifier = parameters.get("code_verifier");
    if (code.challenge !== (verifier && sha256Base64url(verifier)))
      throw invalidGrant("The code_verifier is missing, wrong or unexpected.");
    const { grant, scopes } = await loadAccess(tx, storedGrant);
    return { grant: { ...grant, code: { ...code, used: true } }, scopes };
  });

/** Exchanges a refresh token for the next one. `client` is null if no credentials were sent, which the spec allows. */
export const refreshTokenGrant = (
  server: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
  scope: string | null,
) =>
  issueTokens(server, async ({ tx, now }) => {
    const refreshToken = await tx.get(refreshTokens, sha256Base64url(token));
    if (refreshToken === undefined || now >= parseIso(refreshToken.expires_at))
      throw invalidGrant("The refresh token is not known or has expired.");
    const storedGrant = await tx.get(grants, refreshToken.grant_id);
    if (storedGrant && client && storedGrant.client_id !== client.id)
      throw invalidGrant("The refresh token was issued to another client.");
    if (storedGrant && refreshToken.used) return revokeOnReuse(tx, storedGrant.id, "refresh token");
    const access = await loadAccess(tx, storedGrant, scope);
    await tx.put(refreshTokens, { ...refreshToken, used: true });
    return access;
  });

/** Issues tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
export const issueForUser = (
  server: AuthorizationServer,
  user: UserRecord,
  requestedScopes: readonly Scope[],
) =>
  issueTokens(server, async ({ ids, timestamp }) => {
    const scopes = intersectScopes(requestedScopes, user.permissions);
    if (scopes.length === 0) throw invalidGrant("The user holds none of these scopes.");
    const grant: GrantRecord = {
      id: ids.next("gra_"),
      user_id: user.id,
      client_id: null,
      scopes,
      code: null,
      code_hash: null,
      expires_at: timestamp,
      partition: "grants",
    };
    return { grant, scopes };
  });

/**
 * Redeems a code or token and issues the next tokens, in one transaction: the store decides which of two concurrent
 * uses is first. A returned error is thrown after the commit; a thrown one rolls back.
 */
async function issueTokens(
  server: AuthorizationServer,
  redeem: (
    ctx: TxContext,
  ) => Promise<OAuthError | { readonly grant: GrantRecord; readonly scopes: readonly Scope[] }>,
) {
  const { issuer, audience } = server;
  // The key may have to be stored first. If that fails, the code stays unused.
  const key = await getSigningKey(server.store, server.algorithm);
  const result = await new UnitOfWork(server).run(async (ctx) => {
    const access = await redeem(ctx);
    if (access instanceof OAuthError) return access;
    const { tx, now, ids } = ctx;
    const { grant, scopes } = access;
    const expires_at = toIso(now + REFRESH_TOKEN_LIFETIME_MS);
    await tx.put(grants, { ...grant, expires_at });
    // The prefix lets people and secret scanners recognise the token.
    const refresh_token = `ahr_${ids.secret()}`;
    await tx.put(refreshTokens, {
      id: sha256Base64url(refresh_token),
      grant_id: grant.id,
      used: false,
      expires_at,
      partition: "refresh_tokens",
    });
    const scope = scopes.join(" ");
    const iat = Math.floor(now / 1_000);
    const access_token = signJwt(key, TYP, {
      iss: issuer,
      sub: grant.user_id,
      aud: audience,
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

/** Returns the token's user, account and current scopes as the caller, or the error that makes it invalid. */
export async function verifyAccessToken(server: AuthorizationServer, token: string) {
  const verifiedToken = await verifyToken(server, token);
  if (verifiedToken instanceof AppError) return verifiedToken;
  const { store } = server;
  const storedGrant = await store.get(grants, verifiedToken.grantId);
  const activeGrant = await loadActiveGrant(store, storedGrant);
  if (typeof activeGrant === "string")
    return fail({ code: "invalid_credential", detail: activeGrant });
  const { grant, user, account } = activeGrant;
  const scopes = intersectScopes(verifiedToken.scopes, user.permissions);
  return { account, user, scopes, credential: grant.id };
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
  const expected = { typ: TYP, iss: issuer, aud: audience, now };
  const result = verifyJwt(token, [await getSigningKey(server.store, server.algorithm)], expected);
  if ("fault" in result) return tokenError(result.fault);
  // A valid signature means that `issueTokens` wrote the claims.
  const { jti, scope, exp } = result.claims;
  const [grantId = ""] = String(jti).split(".");
  const verifiedToken = { grantId, scopes: parseScope(String(scope)), exp: Number(exp) };
  if (verifiedTokens.size >= CACHE_MAX) verifiedTokens.clear();
  verifiedTokens.set(token, verifiedToken);
  return verifiedToken;
}

/** Converts a JWT fault to an error. Any other fault is the name of the member that does not match. */
function tokenError(fault: JwtFault): AppError {
  if (fault === "expired")
    return fail({
      code: "expired_credential",
      detail: "The access token has expired; POST its refresh_token to /oauth/token.",
    });
  const details: { readonly [F in JwtFault]?: string } = {
    malformed: "The access token is not a well-formed JWT.",
    untrusted: "The access token was not signed by this service.",
  };
  const detail = details[fault] ?? `The access token is for another use: its ${fault} is wrong.`;
  return fail({ code: "invalid_credential", detail });
}
