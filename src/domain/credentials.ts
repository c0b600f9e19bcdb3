// What programs call with (fields: contract, part 2): API keys, which open the whole account (spec part 5), and the OAuth
// clients that may ask users for access. What is secret is shown in the answer that makes it and never again; only its
// SHA-256 is kept.
import { decide } from "../decisions.ts";
import { isLoopbackHost } from "../kit/loopback.ts";
import { flag, type Infer, list, object, text, withDefault } from "../kit/schema.ts";
import { sha256 } from "./access.ts";
import { owned } from "./lists.ts";
import { apiKeys, oauthClients, SCOPES, scope } from "./model.ts";
import type { Seeded, Work } from "./work.ts";

const name = text({ min: 1, max: decide("8.field-lengths").name, notBlank: true });

export const apiKeyDraft = object({ name });

/** A key chosen by a person (flag or seed): only characters that need no quoting in a header, a URL or a shell. */
export const pinnedKey = text({
  min: 8,
  max: 200,
  pattern: /^[A-Za-z0-9._~-]+$/,
  says: "made of letters, digits and - . _ ~",
});

type KeyDraft = Infer<typeof apiKeyDraft> & { readonly key?: string | undefined };

/** Makes a key, or takes the one given. Its beginning lets people and secret scanners recognise it. */
export async function addApiKey(w: Work, account_id: string, { name, key = `ahs_${w.ids.secret()}` }: KeyDraft) {
  const id = w.ids.next("key_");
  const last_four = key.slice(-4);
  const record = { id, name, last_four, created_at: w.at, last_used_at: null, account_id, hash: sha256(key) };
  await w.tx.put(apiKeys, record);
  return { ...record, key };
}

export const keys = owned(apiKeys, "API key", { adding: addApiKey });

export const redirectUri = text({ min: 1, max: 2_000, format: "uri", rule: unfitRedirect });

/** The characters of RFC 3986 behind the scheme. The text goes into Location as it stands, so nothing is repaired here. */
const WRITTEN_AS_URI = /^https?:\/\/(?!\/)[\w!#$%&'()*+,./:;=?@[\]~-]+$/i;
const UNSAFE = "must be https, or http to a loopback address";

/** RFC 9700 2.1, 4.1: an exact URL; https, or http to this machine; never a fragment. */
function unfitRedirect(uri: string): string | undefined {
  if (!WRITTEN_AS_URI.test(uri) || !URL.canParse(uri)) return `${UNSAFE}: an absolute URL in ASCII, without spaces`;
  const { protocol, hostname, username, password } = new URL(uri);
  if (uri.includes("#")) return "must not have a fragment";
  if (username !== "" || password !== "") return "must not carry a user name or password";
  return protocol === "https:" || isLoopbackHost(hostname) ? undefined : UNSAFE;
}

export const oauthClientDraft = object({
  name,
  redirect_uris: list(redirectUri, { min: 1, max: 20, distinct: true }),
  scopes: list(scope, { min: 1, max: SCOPES.length, distinct: true }),
  public: withDefault(flag, false),
});

type ClientDraft = Seeded<Infer<typeof oauthClientDraft>> & { readonly client_secret?: string | undefined };

/** Makes a client; a seed may bring its secret along. A public client has none. */
export async function addOAuthClient(w: Work, account_id: string, { id, client_secret, ...draft }: ClientDraft) {
  const secret = draft.public ? null : (client_secret ?? w.ids.secret());
  const secret_hash = secret === null ? null : sha256(secret);
  const record = { id: id ?? w.ids.next("cli_"), ...draft, created_at: w.at, account_id, secret_hash };
  await w.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const clients = owned(oauthClients, "OAuth client", { adding: addOAuthClient });
