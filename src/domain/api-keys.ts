// API keys (spec part 5: a key opens the whole account). The key is shown in the answer that makes it and never again.
import { decide } from "../decisions.ts";
import { type Infer, object, text } from "../kit/schema.ts";
import { type Caller, KEY_PREFIX, sha256 } from "./access.ts";
import { type ApiKeyRecord, apiKeys } from "./model.ts";
import { owned } from "./owned.ts";
import type { Unit, Work } from "./work.ts";

export const apiKeyDraft = object({ name: text({ min: 1, max: decide("8.field-lengths").name, notBlank: true }) });

/** A key chosen by a person (flag or seed): only characters that need no quoting in a header, a URL or a shell. */
export const pinnedKey = text({
  min: 8,
  max: 200,
  pattern: /^[A-Za-z0-9._~-]+$/,
  says: "made of letters, digits and - . _ ~",
});

const KEY_BYTES = 32;

export const { get: getApiKey, list: listApiKeys, remove: removeApiKey } = owned(apiKeys, "API key");

export interface NewApiKey {
  readonly record: ApiKeyRecord;
  readonly key: string;
}

export const createApiKey = (unit: Unit, caller: Caller, draft: Infer<typeof apiKeyDraft>) =>
  unit.transact<NewApiKey>((w) => addApiKey(w, caller.account.id, draft.name));

/** Makes a key, or takes the one given. */
export async function addApiKey(
  w: Work,
  account_id: string,
  name: string,
  key = KEY_PREFIX + w.ids.secret(KEY_BYTES),
): Promise<NewApiKey> {
  const id = w.ids.next("key_");
  const last_four = key.slice(-4);
  const record = { id, name, last_four, created_at: w.at, last_used_at: null, account_id, hash: sha256(key) };
  await w.tx.put(apiKeys, record);
  return { record, key };
}
