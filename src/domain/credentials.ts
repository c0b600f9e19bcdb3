// What programs call with (fields: contract, part 2): API keys, which open the whole account (spec part 5), and the OAuth
// clients that may ask users for access. What is secret is shown in the answer that makes it and never again; only its
// SHA-256 is kept.
import type { Infer } from "../kit/schema.ts";
import { sha256 } from "./access.ts";
import { owned } from "./lists.ts";
import { apiKey, apiKeys, oauthClient, oauthClients } from "./model.ts";
import type { Seeded, Work } from "./work.ts";

type KeyDraft = Infer<typeof apiKey.draft> & { readonly key?: string | undefined };

/** Makes a key, or takes the one given. Its beginning lets people and secret scanners recognise it. */
export async function addApiKey(w: Work, account_id: string, { name, key = `ahs_${w.ids.secret()}` }: KeyDraft) {
  const id = w.ids.next("key_");
  const last_four = key.slice(-4);
  const record = { id, name, last_four, created_at: w.at, last_used_at: null, account_id, hash: sha256(key) };
  await w.tx.put(apiKeys, record);
  return { ...record, key };
}

export const keys = owned(apiKeys, "API key", apiKey, { adding: addApiKey });

type ClientDraft = Seeded<Infer<typeof oauthClient.draft>> & { readonly client_secret?: string | undefined };

/** Makes a client; a seed may bring its secret along. A public client has none. */
export async function addOAuthClient(w: Work, account_id: string, { id, client_secret, ...draft }: ClientDraft) {
  const secret = draft.public ? null : (client_secret ?? w.ids.secret());
  const secret_hash = secret === null ? null : sha256(secret);
  const record = { id: id ?? w.ids.next("cli_"), ...draft, created_at: w.at, account_id, secret_hash };
  await w.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const clients = owned(oauthClients, "OAuth client", oauthClient, { adding: addOAuthClient });
