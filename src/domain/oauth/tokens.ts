// The token endpoint (spec part 5, steps 2 and 3; RFC 6749 4.1.3 and 6): exchanges a code or refresh token for new
// tokens. Each can be used once, and the store's transaction decides which use is first. A second use revokes the grant
// with all its tokens (RFC 9700 4.14), because it means that one was stolen.
import { decide } from "../../former-decisions.ts";
import { parseIso } from "../../lib/clock.ts";
import type { FormFields } from "../../lib/urlencoded.ts";
import { sha256 } from "../credentials.ts";
import type { OAuthClientRecord, Scope, UserRecord } from "../model.ts";
import type { Tx } from "../store.ts";
import { type TxContext, UnitOfWork } from "../unit-of-work.ts";
import {
  ACCESS_TOKEN_LIFETIME_S,
  type AuthorizationServer,
  signAccessToken,
} from "./access-tokens.ts";
import {
  createGrant,
  createRefreshToken,
  type GrantRecord,
  grants,
  loadActiveGrant,
  refreshTokens,
} from "./grants.ts";
import {
  intersectScopes,
  invalidGrant,
  invalidScope,
  isSubset,
  OAuthError,
  parseScope,
  verifyCodeVerifier,
} from "./rules.ts";

const TOKEN_TYPE = decide("5.token-response");

interface ActiveGrant {
  readonly grant: GrantRecord;
  readonly scopes: readonly Scope[];
}

/**
 * Exchanges an authorization code for tokens; `client` is already authenticated. Errors other than reuse leave the code
 * usable: a stranger who has seen a code must not be able to invalidate it. A client may correct its mistake. Reuse is
 * checked before expiry and binding (RFC 6749 4.1.3, RFC 7636 4.6), so that it is always detected.
 */
export const authorizationCodeGrant = (
  context: AuthorizationServer,
  client: OAuthClientRecord,
  secret: string,
  sent: FormFields["values"],
) =>
  issueTokens(context, async ({ tx, now }) => {
    const { id = "", client_id, code } = (await tx.find(grants, "code", [sha256(secret)])) ?? {};
    if (!code) return "The code is not known, or its access has been revoked.";
    if (client_id !== client.id) return "The code was issued to another client.";
    if (code.used) return revokeOnReuse(tx, id, "code");
    if (now >= parseIso(code.expires_at)) return "The code has expired.";
    if (!sent.has("redirect_uri")) return "The redirect_uri is missing.";
    if (sent.get("redirect_uri") !== code.redirect_uri)
      return "The redirect_uri is not the one that was authorized.";
    const invalid = verifyCodeVerifier(code.challenge, sent.get("code_verifier"));
    if (invalid !== undefined) return invalid;
    const granted = await loadGrantedScopes(tx, id);
    return typeof granted === "string"
      ? granted
      : { ...granted, grant: { ...granted.grant, code: { ...code, used: true } } };
  });

/**
 * Exchanges a refresh token for the next one. `client` is null if no credentials were sent, which the spec allows. Each
 * of the three failures in the spec has its own error. Expiry is checked before the grant's existence, because an
 * expired token's grant may be deleted already and would look revoked.
 */
export const refreshTokenGrant = (
  context: AuthorizationServer,
  client: OAuthClientRecord | null,
  token: string,
  scope: string | undefined,
) =>
  issueTokens(context, async ({ tx, now }) => {
    const record = await tx.get(refreshTokens, sha256(token));
    if (record === undefined) return "The refresh token is not known.";
    const grant = await tx.get(grants, record.grant_id);
    if (grant && client && grant.client_id !== client.id)
      return "The refresh token was issued to another client.";
    if (grant && record.used) return revokeOnReuse(tx, grant.id, "refresh token");
    if (now >= parseIso(record.expires_at)) return "The refresh token has expired.";
    const granted = await loadGrantedScopes(tx, record.grant_id);
    if (typeof granted === "string") return granted;
    // RFC 6749 6: a refresh may request fewer scopes than were granted, never more. Permissions lost since are
    // excluded.
    const asked = scope === undefined ? granted.scopes : parseScope(scope);
    if (typeof asked === "string") return invalidScope(asked);
    if (asked.length === 0 || !isSubset(asked, granted.grant.scopes))
      return invalidScope("The scope goes beyond what was granted.");
    const scopes = intersectScopes(asked, granted.scopes);
    if (scopes.length === 0)
      return "The user no longer holds any of the permissions that were asked for.";
    await tx.put(refreshTokens, { ...record, used: true });
    return { ...granted, scopes };
  });

/** Issues tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
export const issueForUser = (
  context: AuthorizationServer,
  user: UserRecord,
  asked: readonly Scope[],
) =>
  issueTokens(context, async (ctx) => {
    const { id: user_id, permissions } = user;
    const scopes = intersectScopes(asked, permissions);
    if (scopes.length === 0) return invalidScope("The user holds none of these scopes.");
    return { ...(await createGrant(ctx, { user_id, client_id: null, scopes })), scopes };
  });

/**
 * Runs `work` in one transaction and signs the token afterwards, because signing cannot be undone. Of parallel uses
 * exactly one finds its code or token unused. A string from `work` is the description of `invalid_grant`.
 */
async function issueTokens(
  context: AuthorizationServer,
  work: (ctx: TxContext) => Promise<ActiveGrant | OAuthError | string>,
) {
  await context.keys.signingKey(); // first: if the key cannot be stored, the code stays unused
  const settled = await new UnitOfWork(context).run(async (w) => {
    const granted = await work(w);
    if (typeof granted === "string") return invalidGrant(granted);
    if (granted instanceof OAuthError) return granted;
    return { ...granted, refresh_token: await createRefreshToken(w, granted.grant) };
  });
  if (settled instanceof OAuthError) return settled;
  const { grant, scopes, refresh_token } = settled;
  const access_token = await signAccessToken(context, grant, scopes);
  return {
    access_token,
    token_type: TOKEN_TYPE,
    expires_in: ACCESS_TOKEN_LIFETIME_S,
    refresh_token,
    scope: scopes.join(" "),
  };
}
export type TokenResponse = Readonly<Exclude<Awaited<ReturnType<typeof issueTokens>>, OAuthError>>;

/**
 * Revokes the grant and returns the error description as a string, so that the transaction commits. Its refresh tokens
 * are retained: without the grant they give no access, but their reuse is still detected.
 */
async function revokeOnReuse(tx: Tx, grantId: string, what: string): Promise<string> {
  await tx.remove(grants, grantId);
  return `The ${what} has been used before, so the access that it stood for is now revoked.`;
}

/**
 * Returns the scopes that can be issued now, or an error sentence. A suspended account gets none. If the user no longer
 * holds any of them the token stays unused, because permissions can be restored.
 */
async function loadGrantedScopes(tx: Tx, grantId: string): Promise<ActiveGrant | string> {
  const standing = await loadActiveGrant(tx, grantId);
  if (typeof standing === "string") return standing;
  const { grant, user, account } = standing;
  if (account.state === "suspended") return "The account is suspended.";
  const scopes = intersectScopes(grant.scopes, user.permissions);
  return scopes.length > 0
    ? { grant, scopes }
    : "The user no longer holds any of the permissions that were granted.";
}
