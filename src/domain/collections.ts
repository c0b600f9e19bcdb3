// Stored records that are not resources of the API, and the list of all collections that a store is opened with.
import type { Algorithm } from "../lib/jwt.ts";
import * as model from "./model.ts";
import { type AnyCollection, collection, type Entity } from "./store.ts";

/** A record that retention deletes at its expiry. */
export interface Expiring extends Entity {
  readonly expires_at: string;
}
const expiryIndex = { expiry: { by: [], order: ["expires_at"] } } as const;

/** The stored response to a request with an Idempotency-Key; the id is a hash of credential and key. */
interface IdempotencyRecord extends Expiring {
  /** Hash of path, query and body. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export const idempotency = collection<IdempotencyRecord>()("idempotency", expiryIndex);

/** The pending second step of a sign-in; the id is the SHA-256 of its one-time state, hexadecimal. */
interface SignInStateRecord extends Expiring {
  readonly key_id: string;
}
export const signInStates = collection<SignInStateRecord>()("sign_in_states", expiryIndex);

/** A browser session of a user; the id is the SHA-256 of the cookie's secret, hexadecimal. */
interface SessionRecord extends Expiring {
  readonly user_id: string;
  /** The API key that opened the session, if one did. */
  readonly key_id: string | null;
}
export const sessions = collection<SessionRecord>()("sessions", expiryIndex);

/**
 * The access that a user has given a client, and its authorization code. Revocation removes the record. It expires with
 * its code, and once that is used, with the last of its tokens.
 */
export interface GrantRecord extends Expiring {
  readonly user_id: string;
  /** Null if the service itself signed the user in, without a client or a code (`signIn` of the service handle). */
  readonly client_id: string | null;
  readonly scopes: readonly model.Scope[];
  readonly code_hash: string | null;
  /** A used code stays in the grant, so that reuse is detected while there is access to revoke. */
  readonly is_code_used: boolean;
  readonly redirect_uri: string | null;
  /** The S256 challenge of RFC 7636, or null. */
  readonly code_challenge: string | null;
}
export const grants = collection<GrantRecord>()("grants", expiryIndex, { code: ["code_hash"] });

/** The id is the hash of the token. Used tokens are retained, so that reuse is detected. */
interface RefreshTokenRecord extends Expiring {
  readonly grant_id: string;
  readonly is_used: boolean;
}
export const refreshTokens = collection<RefreshTokenRecord>()("refresh_tokens", expiryIndex);

/** The key that signs access tokens, so that they survive a restart but not a reset. */
interface SigningKeyRecord extends Entity {
  readonly id: Algorithm;
  /** PKCS 8, PEM. */
  readonly private_key: string;
}
export const signingKeys = collection<SigningKeyRecord>()("signing_keys");

/** The service's time at a snapshot; nothing else writes here. */
export const clockRecords = collection<Entity & { readonly at: string }>()("clock");

export const collections: readonly AnyCollection[] = [
  model.accounts,
  model.apps,
  model.deployments,
  model.dataSources,
  model.dataSourceContents,
  model.users,
  model.apiKeys,
  model.oauthClients,
  model.webhooks,
  model.events,
  model.deliveries,
  idempotency,
  signInStates,
  sessions,
  grants,
  refreshTokens,
  signingKeys,
  clockRecords,
];
