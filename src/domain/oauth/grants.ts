// Grants: the access that a user has given a client (spec part 5; contract part 5). Every token depends on its grant,
// client, user and account. They are loaded at each use, so that deleting any of them ends the token at once. Codes and
// refresh tokens are stored as SHA-256 only.
import { decide } from "../../former-decisions.ts";
import { toIso } from "../../lib/clock.ts";
import { sha256 } from "../credentials.ts";
import { type Expiring, expiryIndex, oauthClients, type Scope } from "../model.ts";
import { collection, type Reader } from "../store.ts";
import type { TxContext } from "../unit-of-work.ts";
import { loadUserWithAccount } from "../users.ts";

/** A client exchanges its code at once. One minute gives a thief less time than the ten minutes of RFC 6749. */
const CODE_MS = 60_000;
/** Retention of an expired code, so that a late client gets an error that says so. */
const CODE_RETENTION_MS = 10 * 60_000;
const REFRESH_MS = decide("5.token-lifetimes").refresh_d * 86_400_000;
/** Retention after expiry, so that the client gets an error saying expired, not unknown. */
export const REFRESH_TOKEN_RETENTION_MS = REFRESH_MS;

/** The values that an authorization code is bound to. */
interface CodeBinding {
  readonly redirect_uri: string;
  /** The S256 challenge of RFC 7636, or null. */
  readonly challenge: string | null;
}

/**
 * The access that one user has given one client. Revocation removes the record; every token names its grant, so none
 * outlives it. The code is part of the grant, so that its reuse is detected while there is access to revoke.
 */
export interface GrantRecord extends Expiring<"grants"> {
  readonly user_id: string;
  /** Null if the service itself signed the user in, without a client (contract, part 10: signIn). */
  readonly client_id: string | null;
  readonly scopes: readonly Scope[];
  readonly code: (CodeBinding & { readonly expires_at: string; readonly used: boolean }) | null;
  /** SHA-256 of the code, hexadecimal. */
  readonly code_hash: string | null;
}
/** A grant expires with the last of its tokens. */
export const grants = collection<GrantRecord>()("grants", expiryIndex, { code: ["code_hash"] });

/** The id is the SHA-256 of the token, hexadecimal. Used tokens are retained, so that reuse is detected. */
interface RefreshTokenRecord extends Expiring<"refresh_tokens"> {
  readonly grant_id: string;
  readonly issued_at: string;
  readonly used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", expiryIndex);

/** Loads the grant with its user and account, or returns a sentence saying which part was deleted. */
export async function loadActiveGrant(reader: Reader, id: string) {
  const grant = await reader.get(grants, id);
  if (grant === undefined) return "The access of this application has been revoked.";
  if (grant.client_id !== null && (await reader.get(oauthClients, grant.client_id)) === undefined)
    return "The application was deleted, so its access has been revoked.";
  const holder = await loadUserWithAccount(reader, grant.user_id);
  return holder
    ? { grant, ...holder }
    : "The user was deleted, so the access of this application has been revoked.";
}

type NewGrant = Pick<GrantRecord, "user_id" | "client_id" | "scopes">;

/** Creates a grant. If it is bound to a code, the returned `secret` is the code in clear text. */
export async function createGrant(ctx: TxContext, terms: NewGrant, binding?: CodeBinding) {
  const secret = binding ? ctx.ids.secret() : "";
  const code = binding ? { ...binding, expires_at: toIso(ctx.now + CODE_MS), used: false } : null;
  const expires_at = binding ? toIso(ctx.now + CODE_MS + CODE_RETENTION_MS) : ctx.timestamp;
  const kept = {
    code,
    code_hash: binding ? sha256(secret) : null,
    expires_at,
    partition: "grants",
  } as const;
  const grant: GrantRecord = { id: ctx.ids.next("gra_"), ...terms, ...kept };
  await ctx.tx.put(grants, grant);
  return { grant, secret };
}

/**
 * Creates a refresh token and extends the grant to its expiry. The prefix lets people and secret scanners recognise it.
 */
export async function createRefreshToken(ctx: TxContext, grant: GrantRecord) {
  const token = `ahr_${ctx.ids.secret()}`;
  const times = { issued_at: ctx.timestamp, expires_at: toIso(ctx.now + REFRESH_MS) };
  const unused = { grant_id: grant.id, used: false, partition: "refresh_tokens" } as const;
  await ctx.tx.put(refreshTokens, { id: sha256(token), ...unused, ...times });
  await ctx.tx.put(grants, { ...grant, expires_at: times.expires_at });
  return token;
}
