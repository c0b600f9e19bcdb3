// The token endpoint (spec part 5, steps 2 and 3; RFC 6749 4.1.3 and 6): a code or a refresh token becomes an access token
// and the next refresh token. Each can be used once; the store's transaction decides who was first, and a second use ends
// the grant with every token of it (RFC 9700 4.14), because one of the two users must be a thief.
import type { Clock } from "../../kit/clock.ts";
import { instant } from "../../kit/clock.ts";
import { decide } from "../../kit/decisions.ts";
import type { Ids } from "../../kit/ids.ts";
import type { AccountRecord, OAuthClientRecord, Scope, UserRecord } from "../model.ts";
import type { Store, Tx } from "../store.ts";
import { ACCESS_S, type AccessTokens } from "./access-tokens.ts";
import { invalidGrant, invalidScope, OAuthError } from "./error.ts";
import {
  addRefreshToken,
  findByCode,
  findRefreshToken,
  markUsed,
  openGrant,
  revokeGrant,
  standingGrant,
  type Writing,
} from "./grants.ts";
import { type GrantRecord, grants } from "./model.ts";
import { unfitVerifier } from "./pkce.ts";
import { cut, scopesIn, within } from "./scopes.ts";
import type { SigningKeys } from "./signing-keys.ts";

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

export interface TokenParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly keys: SigningKeys;
  readonly accessTokens: AccessTokens;
}

/** What a transaction settled; the access token is signed after it, since signing cannot be undone or run twice. */
interface Settled {
  readonly grant: GrantRecord;
  readonly scopes: readonly Scope[];
  readonly refreshToken: string;
}

const TOKEN_TYPE = decide("5.token-response", "Bearer", {
  open: "the shape of the token response",
  why: "RFC 6749 5.1, member for member: access_token, token_type, expires_in, refresh_token, scope",
});
const SECOND_USE = decide("5.second-use", "revokes the grant", {
  open: "what happens when a code or refresh token is used twice, also at the same moment",
  why: "RFC 6749 4.1.2 and RFC 9700 4.14: the first of parallel uses succeeds, and the others end what it received",
});

export class Tokens {
  readonly #parts: TokenParts;

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  /**
   * A code becomes tokens. `client` has been authenticated. What fails here, save a second use, leaves the code usable: a
   * stranger who has seen a code must not be able to spoil it, and a client may correct its mistake. A second use is judged
   * before expiry and binding, so that it is noticed however the code comes back.
   */
  exchange(client: OAuthClientRecord, sent: CodeExchange): Promise<TokenAnswer | OAuthError> {
    return this.#settle(async (w) => {
      const grant = await findByCode(w.tx, sent.code);
      if (!grant?.code) return invalidGrant("The code is not known, or its access has been revoked.");
      if (grant.client_id !== client.id) return invalidGrant("The code was issued to another client.");
      if (grant.code.used) return endedBySecondUse(w.tx, grant.id, "code");
      const unfit = unfitExchange(grant.code, sent, w.now);
      if (unfit !== undefined) return invalidGrant(unfit);
      const granted = await grantedNow(w.tx, grant.id);
      if (granted instanceof OAuthError) return granted;
      const used = { ...grant, code: { ...grant.code, used: true } };
      return { grant: used, scopes: granted.scopes, refreshToken: await addRefreshToken(w, used) };
    });
  }

  /**
   * A refresh token becomes the next one. `client` is null where no credentials were sent, which the spec allows. The three
   * causes of failure that the spec names are told apart here: expiry is judged before the grant is looked at, because an
   * expired token's grant may be forgotten already and would pass for revoked.
   */
  refresh(
    client: OAuthClientRecord | null,
    token: string,
    scope: string | undefined,
  ): Promise<TokenAnswer | OAuthError> {
    return this.#settle(async (w) => {
      const record = await findRefreshToken(w.tx, token);
      if (record === undefined) return invalidGrant("The refresh token is not known.");
      const grant = await w.tx.get(grants, record.grant_id);
      if (grant && client && grant.client_id !== client.id)
        return invalidGrant("The refresh token was issued to another client.");
      if (grant && record.used) return endedBySecondUse(w.tx, grant.id, "refresh token");
      if (w.now >= instant(record.expires_at)) return invalidGrant("The refresh token has expired.");
      const granted = await grantedNow(w.tx, record.grant_id);
      if (granted instanceof OAuthError) return granted;
      const scopes = narrowed(scope, granted.scopes);
      if (scopes instanceof OAuthError) return scopes;
      await markUsed(w.tx, record);
      return { grant: granted.grant, scopes, refreshToken: await addRefreshToken(w, granted.grant) };
    });
  }

  /** Tokens without a browser, for tests (contract, part 10). The grant belongs to no client. */
  handOver(user: UserRecord, account: AccountRecord, asked: readonly Scope[]): Promise<TokenAnswer | OAuthError> {
    const scopes = cut(asked, user.permissions);
    return this.#settle(async (w) => {
      if (scopes.length === 0) return invalidScope("The user holds none of these scopes.");
      const grant = await openGrant(w, { account_id: account.id, user_id: user.id, client_id: null, scopes });
      return { grant, scopes, refreshToken: await addRefreshToken(w, grant) };
    });
  }

  /**
   * Runs the work in one transaction and signs afterwards. Under contention the store runs `work` again, which then sees
   * what the faster one did: of parallel uses exactly one finds its code or token unused.
   */
  async #settle(work: (w: Writing) => Promise<Settled | OAuthError>): Promise<TokenAnswer | OAuthError> {
    const { store, clock, ids, keys, accessTokens } = this.#parts;
    await keys.signing(); // before anything is used up: a key that cannot be stored must not cost a code
    const settled = await store.transact((tx) => work({ tx, now: clock.now(), ids }));
    if (settled instanceof OAuthError) return settled;
    const { grant, scopes, refreshToken } = settled;
    return {
      access_token: await accessTokens.issue(grant, scopes),
      token_type: TOKEN_TYPE,
      expires_in: ACCESS_S,
      refresh_token: refreshToken,
      scope: scopes.join(" "),
    };
  }
}

/** An error as the answer and yet a change to keep: the transaction commits, and with it the end of the grant. */
async function endedBySecondUse(tx: Tx, grantId: string, what: string): Promise<OAuthError> {
  if (SECOND_USE === "revokes the grant") await revokeGrant(tx, grantId);
  return invalidGrant(`The ${what} has been used before, so the access that it stood for is now revoked.`);
}

/** What of the request does not fit the one that the code was issued for (RFC 6749 4.1.3, RFC 7636 4.6). */
function unfitExchange(code: NonNullable<GrantRecord["code"]>, sent: CodeExchange, now: number): string | undefined {
  if (now >= instant(code.expires_at)) return "The code has expired.";
  if (sent.redirectUri !== code.redirect_uri) return "The redirect_uri is not the one of the authorization request.";
  return unfitVerifier(code.challenge, sent.verifier);
}

/**
 * What of the grant can be handed out now; a suspended account gets nothing. Where the user holds none of it any more the
 * token stays unused, since permissions can be given back.
 */
async function grantedNow(tx: Tx, grantId: string): Promise<Pick<Settled, "grant" | "scopes"> | OAuthError> {
  const standing = await standingGrant(tx, grantId);
  if (typeof standing === "string") return invalidGrant(standing);
  if (standing.account.state === "suspended") return invalidGrant("The account is suspended.");
  const scopes = cut(standing.grant.scopes, standing.user.permissions);
  return scopes.length > 0
    ? { grant: standing.grant, scopes }
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
