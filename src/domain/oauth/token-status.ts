// What becomes of a token after it was handed out: revoking it (RFC 7009) and asking about it (RFC 7662). Both take access
// and refresh tokens alike; token_type_hint is not needed, since the two cannot be mistaken for each other.
import { type Clock, instant } from "../../kit/clock.ts";
import { decide } from "../../kit/decisions.ts";
import type { OAuthClientRecord } from "../model.ts";
import { Refusal } from "../refusal.ts";
import type { Store } from "../store.ts";
import type { AccessTokens } from "./access-tokens.ts";
import { invalidClient, invalidGrant, type OAuthError } from "./error.ts";
import { findRefreshToken, getGrant, revokeGrant, type Standing, standingGrant } from "./grants.ts";
import { cut } from "./scopes.ts";

const REVOKES = decide("5.revocation-reach", "grant", {
  open: "what revoking one token ends",
  why: "whoever revokes means the access: the grant ends with every access and refresh token of it (RFC 7009 2.1)",
});
const SEEN_BY = decide("5.introspection-reach", "own client", {
  open: "who may ask about a token",
  why: "a confidential client learns about its own tokens; to any other a token is not active (RFC 7662 4)",
});

export type Introspection = { readonly active: false } | { readonly active: true; readonly [member: string]: unknown };

const INACTIVE: Introspection = { active: false };

export interface TokenStatusParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly accessTokens: AccessTokens;
  readonly issuer: string;
  readonly audience: string;
}

export class TokenStatus {
  readonly #parts: TokenStatusParts;

  constructor(parts: TokenStatusParts) {
    this.#parts = parts;
  }

  /**
   * Revokes the grant of the token. A token that is not known, or over already, is no error: what was asked for is so (RFC 7009 2.2).
   * Without a client only a token that belongs to none can be revoked, one of `signIn`; about any other such a request is
   * told nothing, not even whether the token exists.
   */
  async revoke(client: OAuthClientRecord | null, token: string): Promise<OAuthError | undefined> {
    const { store } = this.#parts;
    const grantId = await this.#grantOf(token);
    const grant = grantId === undefined ? undefined : await getGrant(store, grantId);
    if (client === null && grant?.client_id !== null)
      return invalidClient("The client credentials are missing: a token is revoked by the client that holds it.");
    if (grant === undefined) return undefined;
    if (client !== null && grant.client_id !== client.id)
      return invalidGrant("The token was issued to another client.");
    if (REVOKES === "grant") await store.transact((tx) => revokeGrant(tx, grant.id));
    return undefined;
  }

  /** One answer for everything that opens nothing, so that it tells nobody why. */
  async introspect(client: OAuthClientRecord, token: string): Promise<Introspection> {
    const access = await this.#parts.accessTokens.use(token);
    if (!(access instanceof Refusal)) {
      const { facts, effective, standing } = access;
      return this.#seen(client, standing, effective, {
        token_type: "Bearer",
        jti: facts.jti,
        iat: facts.iat,
        exp: facts.exp,
      });
    }
    const record = await findRefreshToken(this.#parts.store, token);
    if (!record || record.used || this.#parts.clock.now() >= instant(record.expires_at)) return INACTIVE;
    const standing = await standingGrant(this.#parts.store, record.grant_id);
    if (typeof standing === "string") return INACTIVE;
    const times = { iat: seconds(record.issued_at), exp: seconds(record.expires_at) };
    return this.#seen(client, standing, cut(standing.grant.scopes, standing.user.permissions), times);
  }

  /** The scopes are those in force now, not those that were granted: that is what a resource server wants to know. */
  #seen(
    client: OAuthClientRecord,
    { user, account, grant }: Standing,
    scopes: readonly string[],
    times: { readonly [member: string]: unknown },
  ): Introspection {
    const own = SEEN_BY === "own client" && grant.client_id === client.id;
    if (!own || account.state === "suspended") return INACTIVE;
    const { issuer: iss, audience: aud } = this.#parts;
    const scope = scopes.join(" ");
    return { active: true, scope, client_id: client.id, username: user.email, sub: user.id, iss, aud, ...times };
  }

  /** An expired access token leads nowhere: it has nothing left to revoke, and its refresh token does. */
  async #grantOf(token: string): Promise<string | undefined> {
    const facts = await this.#parts.accessTokens.facts(token);
    return facts instanceof Refusal ? (await findRefreshToken(this.#parts.store, token))?.grant_id : facts.grantId;
  }
}

const seconds = (at: string): number => Math.floor(instant(at) / 1_000);
