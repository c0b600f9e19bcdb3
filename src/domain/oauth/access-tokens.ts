// Access tokens: JWTs after RFC 9068 (spec part 5; contract part 5). The signature of a token is checked once and then
// remembered; its key, grant, client, user and account are looked up at every use, so that whatever ends one of them is
// felt at the very next call. Its scopes are cut to what its user may do at that moment.
import { decide } from "../../decisions.ts";
import { type JwtFault, signJwt, verifyJwt } from "../../kit/jwt.ts";
import type { Caller } from "../access.ts";
import type { Scope } from "../model.ts";
import { Refusal, refuse } from "../refusal.ts";
import type { Context, TokenFacts } from "./context.ts";
import { type Standing, standingGrant } from "./grants.ts";
import { type GrantRecord, signingKeys } from "./model.ts";
import { cut, scopesIn } from "./rules.ts";

export const ACCESS_S = decide("5.token-lifetimes").access_h * 3_600;
/** RFC 9068. */
const TYP = "at+jwt";
/** RFC 9068 requires a client_id: the one of tokens that the service hands out itself, without a client. */
const NO_CLIENT = "app-hosting-service";
/** Verified tokens kept in mind; beyond that all are forgotten and would be verified again. */
const REMEMBERED_MAX = 10_000;

/** The grant's id opens the jti: so the token leads to its grant without a record or a claim of its own. */
export async function issue(context: Context, grant: GrantRecord, scopes: readonly Scope[]): Promise<string> {
  const { clock, ids, keys, issuer, audience } = context;
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

/** The `TokenCheck` of the REST API. */
export async function check(context: Context, token: string): Promise<Caller | Refusal> {
  const used = await use(context, token);
  if (used instanceof Refusal) return used;
  return { account: used.account, scopes: new Set(used.scopes), credential: used.grant.id };
}

export interface Usable extends Standing {
  readonly facts: TokenFacts;
  /** What the token opens at this moment. */
  readonly scopes: readonly Scope[];
}

/** What the token opens now, and for whom; or why it opens nothing. */
export async function use(context: Context, token: string): Promise<Usable | Refusal> {
  const facts = await factsOf(context, token);
  if (facts instanceof Refusal) return facts;
  if ((await context.store.get(signingKeys, facts.kid)) === undefined) return UNUSABLE.untrusted;
  const standing = await standingGrant(context.store, facts.grantId);
  if (typeof standing === "string") return bad(standing);
  return { ...standing, facts, scopes: cut(facts.scopes, standing.user.permissions) };
}

/** What a token of ours says, if it has not expired. */
export async function factsOf(context: Context, token: string): Promise<TokenFacts | Refusal> {
  const facts = context.verified.get(token) ?? (await verified(context, token));
  return "exp" in facts && context.clock.now() >= facts.exp * 1_000 ? UNUSABLE.expired : facts;
}

/** Checks the signature. Only tokens that this server signed are remembered, so strangers cannot fill the memory. */
async function verified(context: Context, token: string): Promise<TokenFacts | Refusal> {
  const { clock, keys, issuer, audience } = context;
  const expected = { typ: TYP, iss: issuer, aud: audience, now: clock.now() };
  const verdict = verifyJwt(token, await keys.checking(), expected);
  if ("fault" in verdict) return UNUSABLE[verdict.fault];
  const facts = claimed(verdict.kid, verdict.claims);
  if (facts === undefined) return UNUSABLE.foreign;
  if (context.verified.size >= REMEMBERED_MAX) context.verified.clear();
  context.verified.set(token, facts);
  return facts;
}

/** The claims that `issue` wrote; undefined where one is not as it writes them. */
function claimed(kid: string, claims: { readonly [name: string]: unknown }): TokenFacts | undefined {
  const { scope, jti, iat, exp } = claims;
  if (typeof scope !== "string" || typeof jti !== "string" || typeof iat !== "number" || typeof exp !== "number")
    return undefined;
  const listed = scopesIn(scope);
  const [grantId = ""] = jti.split(".");
  return "unknown" in listed ? undefined : { kid, grantId, scopes: listed.scopes, jti, iat, exp };
}

const bad = (detail: string): Refusal => refuse({ code: "invalid_credential", detail });

const UNUSABLE: { readonly [F in JwtFault]: Refusal } = {
  malformed: bad("The access token is not a well-formed JWT."),
  untrusted: bad("The access token was not signed by this service."),
  foreign: bad("The access token was made for another use: its typ, iss, aud or claims do not fit."),
  expired: refuse({ code: "expired_credential", detail: "The access token has expired." }),
};
