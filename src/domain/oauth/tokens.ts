// The token endpoint (spec part 5, steps 2 and 3; RFC 6749 4.1.3 and 6): a code or a refresh token becomes an access token
// and the next refresh token. Each can be used once; the store's transaction decides who was first, and a second use ends
// the grant with every token of it (RFC 9700 4.14), because one of the two users must be a thief.

import { decide } from "../../decisions.ts";
import { instant } from "../../kit/clock.ts";
import { sha256 } from "../access.ts";
import type { AccountRecord, OAuthClientRecord, Scope, UserRecord } from "../model.ts";
import type { Tx } from "../store.ts";
import { ACCESS_S, issue } from "./access-tokens.ts";
import type { Context } from "./context.ts";
import { addRefreshToken, openGrant, standingGrant, type Writing } from "./grants.ts";
import { type CodeTerms, type GrantRecord, grants, refreshTokens } from "./model.ts";
import { cut, invalidGrant, invalidScope, OAuthError, scopesIn, unfitVerifier, within } from "./rules.ts";

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: typeof TOKEN_TYPE;
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

export interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string | undefined;
  readonly verifier: string | undefined;
}

/** What may be handed out. */
interface Granted {
  readonly grant: GrantRecord;
  readonly scopes: readonly Scope[];
}

const TOKEN_TYPE = decide("5.token-response");

/**
 * A code becomes tokens. `client` has been authenticated. What fails here, save a second use, leaves the code usable: a
 * stranger who has seen a code must not be able to spoil it, and a client may correct its mistake. A second use is judged
 * before expiry and binding, so that it is noticed however the code comes back.
 */
export const exchange = (context: Context, client: OAuthClientRecord, sent: CodeExchange) =>
  handOut(context, async ({ tx, now }) => {
    const grant = await tx.find(grants, "code", [sha256(sent.code)]);
    if (!grant?.code) return invalidGrant("The code is not known, or its access has been revoked.");
    if (grant.client_id !== client.id) return invalidGrant("The code was issued to another client.");
    if (grant.code.used) return endedBySecondUse(tx, grant.id, "code");
    const unfit = unfitExchange(grant.code, sent, now);
    if (unfit !== undefined) return invalidGrant(unfit);
    const granted = await grantedNow(tx, grant.id);
    if (granted instanceof OAuthError) return granted;
    return { grant: { ...grant, code: { ...grant.code, used: true } }, scopes: granted.scopes };
  });

/**
 * A refresh token becomes the next one. `client` is null where no credentials were sent, which the spec allows. The three
 * causes of failure that the spec names are told apart here: expiry is judged before the grant is looked at, because an
 * expired token's grant may be forgotten already and would pass for revoked.
 */
export const refresh = (context: Context, client: OAuthClientRecord | null, token: string, scope: string | undefined) =>
  handOut(context, async ({ tx, now }) => {
    const record = await tx.get(refreshTokens, sha256(token));
    if (record === undefined) return invalidGrant("The refresh token is not known.");
    const grant = await tx.get(grants, record.grant_id);
    if (grant && client && grant.client_id !== client.id)
      return invalidGrant("The refresh token was issued to another client.");
    if (grant && record.used) return endedBySecondUse(tx, grant.id, "refresh token");
    if (now >= instant(record.expires_at)) return invalidGrant("The refresh token has expired.");
    const granted = await grantedNow(tx, record.grant_id);
    if (granted instanceof OAuthError) return granted;
    const scopes = narrowed(scope, granted.scopes);
    if (scopes instanceof OAuthError) return scopes;
    await tx.put(refreshTokens, { ...record, used: true });
    return { ...granted, scopes };
  });

/** Tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
export const handOver = (context: Context, user: UserRecord, account: AccountRecord, asked: readonly Scope[]) =>
  handOut(context, async (w) => {
    const scopes = cut(asked, user.permissions);
    if (scopes.length === 0) return invalidScope("The user holds none of these scopes.");
    const terms = { account_id: account.id, user_id: user.id, client_id: null, scopes };
    return { grant: await openGrant(w, terms), scopes };
  });

/**
 * Runs the work in one transaction and signs afterwards, since signing cannot be undone or run twice. Of parallel uses
 * exactly one finds its code or token unused.
 */
async function handOut(
  context: Context,
  work: (w: Writing) => Promise<Granted | OAuthError>,
): Promise<TokenAnswer | OAuthError> {
  const { store, clock, ids, keys } = context;
  await keys.signing(); // before anything is used up: a key that cannot be stored must not cost a code
  const settled = await store.transact(async (tx) => {
    const w = { tx, now: clock.now(), ids };
    const granted = await work(w);
    if (granted instanceof OAuthError) return granted;
    return { ...granted, refresh_token: await addRefreshToken(w, granted.grant) };
  });
  if (settled instanceof OAuthError) return settled;
  const { grant, scopes, refresh_token } = settled;
  return {
    access_token: await issue(context, grant, scopes),
    token_type: TOKEN_TYPE,
    expires_in: ACCESS_S,
    refresh_token,
    scope: scopes.join(" "),
  };
}

/**
 * An error as the answer and yet a change to keep: the transaction commits, and with it the end of the grant. Its refresh
 * tokens stay behind as they are: without their grant they open nothing, and they remember that they did.
 */
async function endedBySecondUse(tx: Tx, grantId: string, what: string): Promise<OAuthError> {
  await tx.remove(grants, grantId);
  return invalidGrant(`The ${what} has been used before, so the access that it stood for is now revoked.`);
}

/** What of the request does not fit the one that the code was issued for (RFC 6749 4.1.3, RFC 7636 4.6). */
function unfitExchange(code: CodeTerms, sent: CodeExchange, now: number): string | undefined {
  if (now >= instant(code.expires_at)) return "The code has expired.";
  if (sent.redirectUri !== code.redirect_uri) return "The redirect_uri is not the one of the authorization request.";
  return unfitVerifier(code.challenge, sent.verifier);
}

/**
 * What of the grant can be handed out now; a suspended account gets nothing. Where the user holds none of it any more the
 * token stays unused, since permissions can be given back.
 */
async function grantedNow(tx: Tx, grantId: string): Promise<Granted | OAuthError> {
  const standing = await standingGrant(tx, grantId);
  if (typeof standing === "string") return invalidGrant(standing);
  const { grant, user, account } = standing;
  if (account.state === "suspended") return invalidGrant("The account is suspended.");
  const scopes = cut(grant.scopes, user.permissions);
  return scopes.length > 0
    ? { grant, scopes }
    : invalidGrant("The user no longer holds any of the permissions that were granted, so this access is revoked.");
}

/** RFC 6749 6: a refresh may ask for less than was granted, never for more. */
function narrowed(scope: string | undefined, held: readonly Scope[]): readonly Scope[] | OAuthError {
  if (scope === undefined) return held;
  const listed = scopesIn(scope);
  if ("unknown" in listed || listed.scopes.length === 0 || !within(listed.scopes, held))
    return invalidScope("The scope goes beyond what was granted.");
  return listed.scopes;
}
