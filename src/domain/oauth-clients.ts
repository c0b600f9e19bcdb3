// The applications that may ask users for access (spec part 5, OAuth 2.0; fields: contract, part 2). The secret of a
// confidential client is shown in the answer that makes it; only its SHA-256 is kept.
import { decide } from "../decisions.ts";
import { isLoopbackHost } from "../kit/loopback.ts";
import { flag, type Infer, list, object, type Schema, text, withDefault } from "../kit/schema.ts";
import { type Caller, sha256 } from "./access.ts";
import { type OAuthClientRecord, oauthClients, SCOPES, scope } from "./model.ts";
import { owned } from "./owned.ts";
import type { Unit, Work } from "./work.ts";

export const redirectUri: Schema<string> = text({ min: 1, max: 2_000, format: "uri", rule: unfitRedirect });

/** The characters of RFC 3986 behind the scheme. The text goes into Location as it stands, so nothing is repaired here. */
const WRITTEN_AS_URI = /^https?:\/\/[\w!#$%&'()*+,./:;=?@[\]~-]+$/i;

/** RFC 9700 2.1, 4.1: an exact URL; https, or http to this machine; never a fragment. */
function unfitRedirect(uri: string): string | undefined {
  if (!WRITTEN_AS_URI.test(uri) || !URL.canParse(uri))
    return "must be https, or http to a loopback address: an absolute URL in ASCII, without spaces";
  const url = new URL(uri);
  if (uri.includes("#")) return "must not have a fragment";
  if (url.username !== "" || url.password !== "") return "must not carry a user name or password";
  if (url.protocol === "https:") return undefined;
  return url.protocol === "http:" && isLoopbackHost(url.hostname)
    ? undefined
    : "must be https, or http to a loopback address";
}

export const oauthClientDraft = object({
  name: text({ min: 1, max: decide("8.field-lengths").name, notBlank: true }),
  redirect_uris: list(redirectUri, { min: 1, max: 20, distinct: true }),
  scopes: list(scope, { min: 1, max: SCOPES.length, distinct: true }),
  public: withDefault(flag, false),
});

export interface NewOAuthClient {
  readonly record: OAuthClientRecord;
  /** Null for a public client. */
  readonly secret: string | null;
}

const SECRET_BYTES = 32;

const own = owned(oauthClients, "OAuth client");
export const { get: getOAuthClient, list: listOAuthClients, remove: removeOAuthClient } = own;

type ClientDraft = Infer<typeof oauthClientDraft>;

export const createOAuthClient = (unit: Unit, caller: Caller, draft: ClientDraft) =>
  unit.transact<NewOAuthClient>((w) => addOAuthClient(w, caller.account.id, draft));

/** Makes a client; `given` are an id and a secret that a seed brings along. */
export async function addOAuthClient(
  w: Work,
  account_id: string,
  draft: ClientDraft,
  given: { readonly id?: string | undefined; readonly secret?: string | undefined } = {},
): Promise<NewOAuthClient> {
  const secret = draft.public ? null : (given.secret ?? w.ids.secret(SECRET_BYTES));
  const id = given.id ?? w.ids.next("cli_");
  const secret_hash = secret === null ? null : sha256(secret);
  const record = { id, ...draft, created_at: w.at, account_id, secret_hash };
  await w.tx.put(oauthClients, record);
  return { record, secret };
}
