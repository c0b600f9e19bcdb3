// Grants: what a user has allowed a client (spec part 5; contract part 5). Everything that a token opens hangs on its
// grant, client, user and account, which are looked up at each use: whatever ends one of them ends the token at once.
// Codes and refresh tokens are kept as SHA-256 only.
import { decide } from "../../decisions.ts";
import { toIso } from "../../lib/clock.ts";
import { sha256 } from "../credentials.ts";
import { type Expiring, expiryIndex, oauthClients, type Scope } from "../model.ts";
import { collection, type Reader } from "../store.ts";
import type { TxContext } from "../unit-of-work.ts";
import { loadUserWithAccount } from "../users.ts";

/** A client exchanges its code at once: a minute gives a thief less than the ten of RFC 6749. */
const CODE_MS = 60_000;
/** A client that comes too late learns that it was late. */
const CODE_RETENTION_MS = 10 * 60_000;
const REFRESH_MS = decide("5.token-lifetimes").refresh_d * 86_400_000;
/** As long again, so that its client hears expired and not unknown. */
export const REFRESH_TOKEN_RETENTION_MS = REFRESH_MS;

/** What the code of a grant is bound to. */
interface CodeBinding {
  readonly redirect_uri: string;
  /** The S256 challenge of RFC 7636, or null. */
  readonly challenge: string | null;
}

/**
 * What one user has allowed one client. Revoking removes the record: every token names its grant, so none outlives it.
 * The code stands inside, so that a second use is noticed for as long as there is something to revoke.
 */
export interface GrantRecord extends Expiring<"grants"> {
  readonly user_id: string;
  /** Null where the service itself signed the user in, without a client (contract, part 10: signIn). */
  readonly client_id: string | null;
  readonly scopes: readonly Scope[];
  readonly code: (CodeBinding & { readonly expires_at: string; readonly used: boolean }) | null;
  /** SHA-256 of the code, hexadecimal. */
  readonly code_hash: string | null;
}
/** A grant expires with the last of its tokens. */
export const grants = collection<GrantRecord>()("grants", expiryIndex, { code: ["code_hash"] });

/** The id is the SHA-256 of the token, hexadecimal. Used ones stay, so that a second use is noticed. */
interface RefreshTokenRecord extends Expiring<"refresh_tokens"> {
  readonly grant_id: string;
  readonly issued_at: string;
  readonly used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", expiryIndex);

/** The grant with what it hangs on, or what of it is gone, said in a sentence. */
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

/** A grant, which ends with the last of its tokens: it has none yet. Where it waits for a code, with the code in clear. */
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

/** A new refresh token, which its beginning lets people and scanners recognise; the grant lasts as long as it does. */
export async function createRefreshToken(ctx: TxContext, grant: GrantRecord) {
  const token = `ahr_${ctx.ids.secret()}`;
  const times = { issued_at: ctx.timestamp, expires_at: toIso(ctx.now + REFRESH_MS) };
  const unused = { grant_id: grant.id, used: false, partition: "refresh_tokens" } as const;
  await ctx.tx.put(refreshTokens, { id: sha256(token), ...unused, ...times });
  await ctx.tx.put(grants, { ...grant, expires_at: times.expires_at });
  return token;
}
