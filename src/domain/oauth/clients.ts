// Who the client is (RFC 6749 2.3): a confidential client proves itself with its secret, a public one can only say who
// it is. Whatever is sent must be right, also where nothing had to be sent.
import { sha256 } from "../access.ts";
import { type OAuthClientRecord, oauthClients } from "../model.ts";
import type { Reader } from "../store.ts";
import { invalidClient, type OAuthError } from "./error.ts";
import { sameHash } from "./hash.ts";

export interface ClientCredentials {
  readonly id: string | undefined;
  readonly secret: string | undefined;
}

/**
 * The client whose credentials these are; one that has a secret must have sent it. The answers say what is wrong in words:
 * client ids are no secret, and a developer who mistyped one should not have to guess.
 */
export async function authenticated(reader: Reader, sent: ClientCredentials): Promise<OAuthClientRecord | OAuthError> {
  const client = await identified(reader, sent);
  if (client === undefined)
    return invalidClient("The client credentials are missing: send client_id and client_secret.");
  if ("error" in client || client.public || sent.secret !== undefined) return client;
  return invalidClient("The client credentials are not complete: client_secret is missing.");
}

/** The client that these credentials name; undefined where none were sent. A secret that was sent must be right. */
export async function identified(
  reader: Reader,
  { id, secret }: ClientCredentials,
): Promise<OAuthClientRecord | OAuthError | undefined> {
  if (id === undefined)
    return secret === undefined ? undefined : invalidClient("A client_secret came without its client_id.");
  const client = await reader.get(oauthClients, id);
  if (client === undefined) return invalidClient("The client credentials are not valid: there is no such client.");
  if (secret === undefined) return client;
  return client.secret_hash !== null && sameHash(client.secret_hash, sha256(secret))
    ? client
    : invalidClient("The client credentials are not valid: the client_secret is wrong.");
}
