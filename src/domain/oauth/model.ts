// The records behind OAuth 2.0 (spec part 5; contract part 5): the keys that sign access tokens, what users have granted
// to clients, refresh tokens and browser sessions. Codes, refresh tokens and sessions are kept as SHA-256 only, and each
// list that must be swept is ordered by the time at which its records may go.
import type { Algorithm } from "../../kit/jwt.ts";
import { byExpiry, type Passing, type Scope } from "../model.ts";
import { collection, type Stored } from "../store.ts";

/** The id is the `kid`: the RFC 7638 thumbprint of the public key, so that it never stands for another key. */
export interface SigningKeyRecord extends Stored {
  readonly alg: Algorithm;
  /** PKCS 8, PEM. */
  readonly private_key: string;
  readonly public_jwk: { readonly [member: string]: string };
  readonly created_at: string;
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys", {}, { alg: ["alg"] });

/** What the code of a grant is bound to. */
export interface CodeTerms {
  readonly redirect_uri: string;
  /** The S256 challenge of RFC 7636, or null. */
  readonly challenge: string | null;
  readonly expires_at: string;
  readonly used: boolean;
}

/**
 * What one user has allowed one client. Revoking removes the record: every token names its grant, so none outlives it.
 * The code stands inside, so that a second use is noticed for as long as there is something to revoke.
 */
export interface GrantRecord extends Passing<"grants"> {
  readonly account_id: string;
  readonly user_id: string;
  /** Null where the service itself signed the user in, without a client (contract, part 10: signIn). */
  readonly client_id: string | null;
  readonly scopes: readonly Scope[];
  readonly code: CodeTerms | null;
  /** SHA-256 of the code, hexadecimal. */
  readonly code_hash: string | null;
  readonly created_at: string;
}
/** A grant expires with the last of its tokens. */
export const grants = collection<GrantRecord>()("grants", byExpiry, { code: ["code_hash"] });

/** The id is the SHA-256 of the token, hexadecimal. Used ones stay, so that a second use is noticed. */
interface RefreshTokenRecord extends Passing<"refresh_tokens"> {
  readonly grant_id: string;
  readonly issued_at: string;
  readonly used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", byExpiry);

/** A browser in which a user is signed in; the id is the SHA-256 of the cookie's secret, hexadecimal. */
interface SessionRecord extends Passing<"sessions"> {
  readonly user_id: string;
  readonly created_at: string;
}
export const sessions = collection<SessionRecord>()("sessions", byExpiry);
