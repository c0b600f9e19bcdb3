// Grants: the access that users have given clients (spec part 5; contract part 5), and the refresh tokens of each. Every
// token depends on its grant, client, user and account. Codes and refresh tokens are stored as SHA-256 only.
import { type Expiring, expiryIndex, type Scope } from "../model.ts";
import { collection } from "../store.ts";

/** A client exchanges its code at once. One minute gives a thief less time than the ten minutes of RFC 6749. */
export const CODE_LIFETIME_MS = 60_000;
/** Retention of an expired code, so that a late client gets an error that says so. */
export const CODE_RETENTION_MS = 10 * 60_000;
export const REFRESH_TOKEN_LIFETIME_MS = 30 * 86_400_000;
/** Retention after expiry, so that the client gets an error saying expired, not unknown. */
export const REFRESH_TOKEN_RETENTION_MS = REFRESH_TOKEN_LIFETIME_MS;

interface AuthorizationCode {
  readonly redirect_uri: string;
  /** The S256 challenge of RFC 7636, or null. */
  readonly challenge: string | null;
  readonly expires_at: string;
  /** Stays in the grant when used, so that reuse is detected while there is access to revoke. */
  readonly used: boolean;
}

/** Revocation removes the record. It expires with the last of its tokens. */
export interface GrantRecord extends Expiring<"grants"> {
  readonly user_id: string;
  /** Null if the service itself signed the user in, without a client (contract, part 10: signIn). */
  readonly client_id: string | null;
  readonly scopes: readonly Scope[];
  readonly code: AuthorizationCode | null;
  /** SHA-256 of the code, hexadecimal. */
  readonly code_hash: string | null;
}
export const grants = collection<GrantRecord>()("grants", expiryIndex, { code: ["code_hash"] });

/** The id is the SHA-256 of the token, hexadecimal. Used tokens are retained, so that reuse is detected. */
interface RefreshTokenRecord extends Expiring<"refresh_tokens"> {
  readonly grant_id: string;
  readonly used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", expiryIndex);
