// Access tokens: JWTs after RFC 9068 (spec part 5; contract part 5). The signature of a token is checked once and then
// remembered; its key, grant, client, user and account are looked up at every use, so that whatever ends one of them is
// felt at the very next call. Its scopes are cut to what its user may do at that moment.
import type { Clock } from "../../kit/clock.ts";
import { decide } from "../../kit/decisions.ts";
import type { Ids } from "../../kit/ids.ts";
import { type JwtFault, signJwt, verifyJwt } from "../../kit/jwt.ts";
import type { Caller } from "../access.ts";
import type { Scope, UserRecord } from "../model.ts";
import { Refusal, refuse } from "../refusal.ts";
import type { Store } from "../store.ts";
import { type Standing, standingGrant } from "./grants.ts";
import type { GrantRecord } from "./model.ts";
import { cut, scopesIn } from "./scopes.ts";
import type { SigningKeys } from "./signing-keys.ts";

export const ACCESS_S = decide("5.access-token-lifetime", 3_600, {
  open: "the lifetime of access tokens",
  why: "an hour spares clients a refresh at every step; revoking needs no shorter one, since it is felt at once",
});
const TYP = decide("5.access-token-format", "at+jwt", {
  open: "what is in the JWT tokens",
  why: "RFC 9068 is the profile that resource servers and libraries know",
});
/** RFC 9068 requires a client_id: the one of tokens that the service hands out itself, without a client. */
const NO_CLIENT = "app-hosting-service";
/** Verified tokens kept in mind; beyond that the one noted first is forgotten and would be verified again. */
const REMEMBERED_MAX = 10_000;

/** What a well-signed token says. Its subject and client are the grant's, so they are not read from it again. */
export interface TokenFacts {
  readonly kid: string;
  readonly grantId: string;
  readonly scopes: readonly Scope[];
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}

interface Remembered {
  readonly facts: TokenFacts;
  /** What the token opened for its user when it was last used: the same as long as the user's record is. */
  opened: { readonly user: UserRecord; readonly scopes: ReadonlySet<Scope> } | undefined;
}

export interface Usable {
  readonly standing: Standing;
  readonly facts: TokenFacts;
  /** What the token opens at this moment. */
  readonly effective: readonly Scope[];
}

export interface AccessTokenParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly keys: SigningKeys;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
}

export class AccessTokens {
  readonly #parts: AccessTokenParts;
  readonly #remembered = new Map<string, Remembered>();

  constructor(parts: AccessTokenParts) {
    this.#parts = parts;
  }

  /** The grant's id opens the jti: so the token leads to its grant without a record or a claim of its own. */
  async issue(grant: GrantRecord, scopes: readonly Scope[]): Promise<string> {
    const { clock, ids, keys, issuer, audience } = this.#parts;
    const iat = Math.floor(clock.now() / 1_000);
    return signJwt(await keys.signing(), TYP, {
      iss: issuer,
      sub: grant.user_id,
      aud: audience,
      client_id: grant.client_id ?? NO_CLIENT,
      scope: scopes.join(" "),
      jti: `${grant.id}.${ids.next("")}`,
      iat,
      exp: iat + ACCESS_S,
    });
  }

  /** The `TokenCheck` of the REST API. Not by way of `use`, which every request would wait for twice more. */
  readonly check = async (token: string): Promise<Caller | Refusal> => {
    const known = this.#remembered.get(token) ?? (await this.#verified(token));
    if (known instanceof Refusal) return known;
    const { facts } = known;
    const { store, keys } = this.#parts;
    if (this.#isOver(facts)) return UNUSABLE.expired;
    const standing = (await keys.standing(facts.kid)) && (await standingGrant(store, facts.grantId));
    if (typeof standing !== "object") return fallen(standing);
    const { account, grant, user } = standing;
    if (known.opened?.user !== user) known.opened = { user, scopes: new Set(cut(facts.scopes, user.permissions)) };
    return { account, scopes: known.opened.scopes, credential: grant.id };
  };

  /** What the token opens now, and for whom; or why it opens nothing. */
  async use(token: string): Promise<Usable | Refusal> {
    const facts = await this.facts(token);
    if (facts instanceof Refusal) return facts;
    const { store, keys } = this.#parts;
    const standing = (await keys.standing(facts.kid)) && (await standingGrant(store, facts.grantId));
    if (typeof standing !== "object") return fallen(standing);
    return { standing, facts, effective: cut(facts.scopes, standing.user.permissions) };
  }

  /** What a token of ours says, if it has not expired. */
  async facts(token: string): Promise<TokenFacts | Refusal> {
    const known = this.#remembered.get(token) ?? (await this.#verified(token));
    if (known instanceof Refusal) return known;
    return this.#isOver(known.facts) ? UNUSABLE.expired : known.facts;
  }

  #isOver({ exp }: TokenFacts): boolean {
    return this.#parts.clock.now() >= exp * 1_000;
  }

  /** Checks the signature. Only tokens that this server signed are remembered, so strangers cannot fill the memory. */
  async #verified(token: string): Promise<Remembered | Refusal> {
    const { clock, keys, issuer, audience } = this.#parts;
    const expected = { typ: TYP, iss: issuer, aud: audience, now: clock.now() };
    const verdict = verifyJwt(token, await keys.checking(), expected);
    if ("fault" in verdict) return UNUSABLE[verdict.fault];
    const facts = factsOf(verdict.kid, verdict.claims);
    if (facts === undefined) return UNUSABLE.foreign;
    const [oldest] = this.#remembered.size < REMEMBERED_MAX ? [] : this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
    const remembered: Remembered = { facts, opened: undefined };
    this.#remembered.set(token, remembered);
    return remembered;
  }
}

/** The claims that `issue` wrote; undefined where one is not as it writes them. */
function factsOf(kid: string, claims: { readonly [name: string]: unknown }): TokenFacts | undefined {
  const { scope, jti, iat, exp } = claims;
  if (typeof scope !== "string" || typeof jti !== "string" || typeof iat !== "number" || typeof exp !== "number")
    return undefined;
  const listed = scopesIn(scope);
  const [grantId = ""] = jti.split(".");
  return "unknown" in listed ? undefined : { kid, grantId, scopes: listed.scopes, jti, iat, exp };
}

const bad = (detail: string): Refusal => refuse({ code: "invalid_credential", detail });

/** What the token hung on is not there any more: its key, or what the sentence says. */
const fallen = (sentence: string | undefined): Refusal => (sentence === undefined ? UNUSABLE.untrusted : bad(sentence));

const UNUSABLE: { readonly [F in JwtFault]: Refusal } = {
  malformed: bad("The access token is not a well-formed JWT."),
  untrusted: bad("The access token was not signed by this service."),
  foreign: bad("The access token was made for another use: its typ, iss, aud or claims do not fit."),
  expired: refuse({ code: "expired_credential", detail: "The access token has expired." }),
};
