// What becomes of a token after it was handed out: revoking it (RFC 7009) and asking about it (RFC 7662). Both take access
// and refresh tokens alike; token_type_hint is not needed, since the two cannot be mistaken for each other.
import { instant } from "../../kit/clock.ts";
import { sha256 } from "../access.ts";
import type { OAuthClientRecord } from "../model.ts";
import { Refusal } from "../refusal.ts";
import { factsOf, use } from "./access-tokens.ts";
import type { Context } from "./context.ts";
import { type Standing, standingGrant } from "./grants.ts";
import { grants, refreshTokens } from "./model.ts";
import { cut, invalidClient, invalidGrant, type OAuthError } from "./rules.ts";

/**
 * Revokes the grant of the token, since whoever revokes means the access (RFC 7009 2.1). A token that is not known, or over
 * already, is no error: what was asked for is so (2.2). Without a client only a token that belongs to none can be revoked,
 * one of `signIn`; about any other such a request is told nothing, not even whether the token exists.
 */
export async function revoke(
  context: Context,
  client: OAuthClientRecord | null,
  token: string,
): Promise<OAuthError | undefined> {
  const { store } = context;
  const facts = await factsOf(context, token);
  // An expired access token leads nowhere: it has nothing left to revoke, and its refresh token does.
  const held = facts instanceof Refusal ? await store.get(refreshTokens, sha256(token)) : { grant_id: facts.grantId };
  const grant = held && (await store.get(grants, held.grant_id));
  if (client === null && grant?.client_id !== null)
    return invalidClient("The client credentials are missing: a token is revoked by the client that holds it.");
  if (grant === undefined) return undefined;
  if (client !== null && grant.client_id !== client.id) return invalidGrant("The token was issued to another client.");
  await store.transact((tx) => tx.remove(grants, grant.id));
  return undefined;
}

export type Introspection = { readonly active: false } | { readonly active: true; readonly [member: string]: unknown };

/** What a client learns about its own tokens. To any other, and where a token opens nothing, all it hears is no. */
export async function introspect(context: Context, client: OAuthClientRecord, token: string): Promise<Introspection> {
  const asked = (await accessToken(context, token)) ?? (await refreshToken(context, token));
  if (asked?.grant.client_id !== client.id || asked.account.state === "suspended") return { active: false };
  const { issuer: iss, audience: aud } = context;
  const { user, members } = asked;
  return { active: true, client_id: client.id, username: user.email, sub: user.id, iss, aud, ...members };
}

interface Asked extends Standing {
  /** The scopes are those in force now, not those that were granted: that is what a resource server wants to know. */
  readonly members: { readonly scope: string; readonly [member: string]: unknown };
}

async function accessToken(context: Context, token: string): Promise<Asked | undefined> {
  const used = await use(context, token);
  if (used instanceof Refusal) return undefined;
  const { jti, iat, exp } = used.facts;
  return { ...used, members: { scope: used.scopes.join(" "), token_type: "Bearer", jti, iat, exp } };
}

async function refreshToken({ store, clock }: Context, token: string): Promise<Asked | undefined> {
  const record = await store.get(refreshTokens, sha256(token));
  if (!record || record.used || clock.now() >= instant(record.expires_at)) return undefined;
  const standing = await standingGrant(store, record.grant_id);
  if (typeof standing === "string") return undefined;
  const scope = cut(standing.grant.scopes, standing.user.permissions).join(" ");
  return { ...standing, members: { scope, iat: seconds(record.issued_at), exp: seconds(record.expires_at) } };
}

const seconds = (at: string): number => Math.floor(instant(at) / 1_000);
