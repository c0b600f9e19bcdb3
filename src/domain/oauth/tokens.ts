// The token endpoint (spec part 5, steps 2 and 3; RFC 6749 4.1.3 and 6): a code or a refresh token becomes an access token
// and the next refresh token. Each can be used once; the store's transaction decides who was first, and a second use ends
// the grant with every token of it (RFC 9700 4.14), because one of the two users must be a thief.
import { decide } from "../../decisions.ts";
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
 * A code becomes tokens. `client` has been authenticated. What fails here, save a second use, leaves the code usable: a
 * stranger who has seen a code must not be able to spoil it, and a client may correct its mistake. A second use is judged
 * before expiry and binding (RFC 6749 4.1.3, RFC 7636 4.6), so that it is noticed however the code comes back.
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
 * A refresh token becomes the next one. `client` is null where no credentials were sent, which the spec allows. The three
 * causes of failure that the spec names are told apart here: expiry is judged before the grant is looked at, because an
 * expired token's grant may be forgotten already and would pass for revoked.
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
    // RFC 6749 6: a refresh may ask for less than was granted, never for more. What its user has lost since is no more.
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

/** Tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
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
 * Runs the work in one transaction and signs afterwards, since signing cannot be undone or run twice. Of parallel uses
 * exactly one finds its code or token unused. A text says why nothing can be handed out: `invalid_grant`.
 */
async function issueTokens(
  context: AuthorizationServer,
  work: (ctx: TxContext) => Promise<ActiveGrant | OAuthError | string>,
) {
  await context.keys.signingKey(); // before anything is used up: a key that cannot be stored must not cost a code
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
 * An error as the answer and yet a change to keep: the transaction commits, and with it the end of the grant. Its refresh
 * tokens stay behind as they are: without their grant they open nothing, and they remember that they did.
 */
async function revokeOnReuse(tx: Tx, grantId: string, what: string): Promise<string> {
  await tx.remove(grants, grantId);
  return `The ${what} has been used before, so the access that it stood for is now revoked.`;
}

/**
 * What of the grant can be handed out now; a suspended account gets nothing. Where the user holds none of it any more the
 * token stays unused, since permissions can be given back.
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
