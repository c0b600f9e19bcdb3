// Seed of a fresh server (contract, part 1): one account with its owner and one key, or a custom seed. A seed uses the
// schemas of the create bodies, each with an optional id.
import type { KeepNumbers } from "../lib/numbers.ts";
import type { Infer, Issue, Members, ObjectSchema, Schema } from "../lib/schema.ts";
import { array, object, optional, pointer, text, withDefault } from "../lib/schema.ts";
import { addApp } from "./apps.ts";
import { readMember } from "./columns.ts";
import { createApiKey } from "./credentials.ts";
import { createDataSource, keepNumbersOfDraft, withDataValidation } from "./data-sources.ts";
import {
  accountState,
  accounts,
  apiKey,
  app,
  dataSource,
  findRedirectIssues,
  oauthClient,
  user,
  type WebhookSchemas,
} from "./model.ts";
import { createOAuthClient } from "./oauth/tokens.ts";
import type { TxContext, UnitOfWork } from "./unit-of-work.ts";
import { insertUser } from "./users.ts";
import { name, pinnedKey, toEmailKey } from "./validators.ts";
import { createWebhook } from "./webhooks.ts";

const ITEMS_MAX = 100_000;
export const FIRST_KEY = "Start-up key";
/** example.com is reserved, so nothing sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;
/** An account with a user and a key, so that the first request succeeds without preparation. */
export const DEFAULT_SEED = { accounts: [{ name: "Example account" }] };

const seedId = (prefix: string) =>
  optional(
    text({
      max: 64,
      pattern: new RegExp(`^${prefix}_[0-9A-Za-z]+$`),
      says: `${prefix}_ and letters or digits`,
    }),
  );
const withId = <M extends Members>(prefix: string, { members }: ObjectSchema<unknown, M>) => ({
  id: seedId(prefix),
  ...members,
});
const listOf = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

/** The address policy in force validates webhook URLs. */
const accountSeed = (webhook: WebhookSchemas) =>
  object({
    id: seedId("acc"),
    name,
    state: withDefault(accountState, "active"),
    api_keys: listOf(object({ ...withId("key", apiKey.createBody), key: pinnedKey })),
    users: listOf(object(withId("usr", user.createBody))),
    oauth_clients: listOf(
      object(
        { ...withId("cli", oauthClient.createBody), client_secret: optional(pinnedKey) },
        findRedirectIssues,
      ),
    ),
    apps: listOf(object(withId("app", app.createBody))),
    data_sources: listOf(withDataValidation(object(withId("ds", dataSource.createBody)))),
    webhooks: listOf(object(withId("wh", webhook.createBody))),
  });
type AccountSeed = Infer<ReturnType<typeof accountSeed>>;
type Seed = { readonly accounts: readonly AccountSeed[] };

/** `startupKey` is a key that the first account gets in addition to its seed. */
export const seedSchema = (webhook: WebhookSchemas, startupKey: string | null): Schema<Seed> =>
  object({ accounts: array(accountSeed(webhook), { min: 1, max: ITEMS_MAX }) }, (seed) =>
    crossValidate(seed, startupKey),
  );

/** Preserves the numbers of data sources in a seed's text as POST /data-sources does. */
export const keepNumbersOfSeed: KeepNumbers = (seed, written) => {
  const writtenSources = findSources(written);
  for (const [at, source] of findSources(seed).entries())
    keepNumbersOfDraft(source, writtenSources[at]);
};

function findSources(seed: unknown): unknown[] {
  const list = (parent: unknown, name: string): unknown[] => {
    const items = readMember(parent, name);
    return Array.isArray(items) ? items : [];
  };
  return list(seed, "accounts").flatMap((account) => list(account, "data_sources"));
}

const LISTS = ["api_keys", "users", "oauth_clients", "apps", "data_sources", "webhooks"] as const;

/**
 * Validates across members: duplicate ids, keys and addresses, and unknown app ids. Without the check, a duplicate id
 * would replace the earlier record.
 */
function* crossValidate(seed: Seed, startupKey: string | null): Generator<Issue> {
  const firstUses = new Map([[`key ${startupKey}`, "the start-up key of the first account"]]);
  function* unique(path: Issue["path"], value: string | undefined) {
    const use = `${path.at(-1)} ${value}`;
    const first = firstUses.get(use);
    if (first === undefined) firstUses.set(use, pointer(path));
    else if (value !== undefined) yield { path, detail: `is the same as ${first}` };
  }
  for (const [at, account] of seed.accounts.entries()) {
    yield* unique(["accounts", at, "id"], account.id);
    const appIds = new Set([null, ...account.apps.map(({ id }) => id)]);
    for (const list of LISTS)
      for (const [n, item] of account[list].entries()) {
        const path = (member: string) => ["accounts", at, list, n, member];
        yield* unique(path("id"), item.id);
        if ("key" in item && (at > 0 || item.key !== startupKey))
          yield* unique(path("key"), item.key);
        if ("email" in item) yield* unique(path("email"), `${at} ${toEmailKey(item.email)}`);
        if ("app_id" in item && !appIds.has(item.app_id))
          yield {
            path: path("app_id"),
            detail: "must be the id of an app of this account, or null",
          };
        if ("client_secret" in item && item.client_secret !== undefined && item.public)
          yield { path: path("client_secret"), detail: "must be absent if public is true" };
      }
  }
}

/** Writes the whole seed in one transaction. Returns the first account's first key. */
export const applySeed = (unit: UnitOfWork, seed: Seed, startupKey: string | null) =>
  unit.run(async (ctx) => {
    const [first, ...others] = seed.accounts;
    const key = first ? await insertAccount(ctx, first, startupKey) : "";
    for (const account of others) await insertAccount(ctx, account, null);
    return key;
  });

/** Creates the account and returns its first key in clear text. The schema has already validated the seed. */
async function insertAccount(ctx: TxContext, seed: AccountSeed, startupKey: string | null) {
  const { id = ctx.ids.next("acc_"), name, state } = seed;
  await ctx.tx.put(accounts, { id, name, state, partition: "accounts" });
  const seedKeys = seed.api_keys.filter(({ key }) => key !== startupKey);
  const pinnedKeys = startupKey === null ? [] : [{ name: FIRST_KEY, key: startupKey }];
  const [firstKey = { name: FIRST_KEY }, ...otherKeys] = [...pinnedKeys, ...seedKeys];
  const { key } = await createApiKey(ctx, id, firstKey);
  for (const draft of otherKeys) await createApiKey(ctx, id, draft);
  for (const draft of seed.users.length > 0 ? seed.users : [OWNER])
    await insertUser(ctx, id, draft);
  for (const draft of seed.oauth_clients) await createOAuthClient(ctx, id, draft);
  for (const draft of seed.apps) await addApp(ctx, id, draft);
  for (const draft of seed.data_sources) await createDataSource(ctx, id, draft);
  for (const draft of seed.webhooks) await createWebhook(ctx, id, draft);
  return key;
}
