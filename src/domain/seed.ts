// Seed of a fresh server (contract, part 1): one account with its owner and one key, or a custom seed. A seed uses the
// schemas of the create bodies, each with an optional id.
import type { Infer, Members, ObjectSchema, Schema } from "../lib/schema.ts";
import { array, extend, OptionError, object, optional, text, withDefault } from "../lib/schema.ts";
import { createApp } from "./apps.ts";
import { createApiKey, createOAuthClient } from "./credentials.ts";
import { createDataSource } from "./data-sources.ts";
import { AppError } from "./errors.ts";
import {
  accountState,
  accounts,
  apiKey,
  app,
  dataSource,
  oauthClient,
  user,
  type WebhookSchemas,
} from "./model.ts";
import type { AccountContext, TxContext, UnitOfWork } from "./unit-of-work.ts";
import { createUser } from "./users.ts";
import { name, pinnedKey } from "./validators.ts";
import { createWebhook } from "./webhooks.ts";

const ITEMS_MAX = 100_000;
export const FIRST_KEY = "Start-up key";
/** example.com is reserved, so nothing sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;
/** An account with a user and a key, so that the first request succeeds without preparation. */
export const DEFAULT_SEED = { accounts: [{ name: "Example account" }] };

const withId = <M extends Members>(prefix: string, body: ObjectSchema<unknown, M>) => {
  const pattern = new RegExp(`^${prefix}_[0-9A-Za-z]+$`);
  const says = `${prefix}_ and letters or digits`;
  return extend(body, { id: optional(text({ max: 64, pattern, says })) });
};
const listOf = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

/** The address policy in force validates webhook URLs. */
const accountSeed = (webhook: WebhookSchemas) => {
  const apiKeySeed = extend(apiKey.createBody, { key: pinnedKey });
  const clientSeed = extend(oauthClient.createBody, { client_secret: optional(pinnedKey) });
  return withId(
    "acc",
    object({
      name,
      state: withDefault(accountState, "active"),
      api_keys: listOf(withId("key", apiKeySeed)),
      users: listOf(withId("usr", user.createBody)),
      oauth_clients: listOf(withId("cli", clientSeed)),
      apps: listOf(withId("app", app.createBody)),
      data_sources: listOf(withId("ds", dataSource.createBody)),
      webhooks: listOf(withId("wh", webhook.createBody)),
    }),
  );
};
type AccountSeed = Infer<ReturnType<typeof accountSeed>>;

export const seedSchema = (webhook: WebhookSchemas) =>
  object({ accounts: array(accountSeed(webhook), { min: 1, max: ITEMS_MAX }) });

/**
 * Writes the whole seed in one transaction. Returns the first account's first key, which is the start-up key if there
 * is one. Throws an OptionError for duplicate ids, keys and addresses.
 */
export const applySeed = (
  unit: UnitOfWork,
  { accounts }: { readonly accounts: readonly AccountSeed[] },
  startupKey: string | null,
) =>
  unit.run(async (ctx) => {
    const uniqueValues = new Set<string>();
    let firstKey = "";
    for (const [at, account] of accounts.entries()) {
      const path = `The seed is wrong: #/accounts/${at}`;
      const key = await insertAccount(
        ctx,
        account,
        path,
        uniqueValues,
        at === 0 ? startupKey : null,
      );
      if (at === 0) firstKey = key;
    }
    return firstKey;
  });

async function insertAccount(
  ctx: TxContext,
  seed: AccountSeed,
  path: string,
  uniqueValues: Set<string>,
  startupKey: string | null,
) {
  const { id = ctx.ids.next("acc_"), name, state } = seed;
  const account = { id, name, state };
  const accountContext = { ...ctx, account };

  function assertUnique(value: string | undefined, place: string): void {
    if (value === undefined) return;
    if (uniqueValues.has(value)) throw new OptionError(`${place} is the same as an earlier one`);
    uniqueValues.add(value);
  }

  async function insert<D extends { readonly id?: string | undefined; readonly key?: string }>(
    list: string,
    drafts: readonly D[],
    create: (ctx: AccountContext, draft: D) => Promise<unknown>,
  ): Promise<void> {
    for (const [at, draft] of drafts.entries()) {
      const place = `${path}/${list}/${at}`;
      assertUnique(draft.id, `${place}/id`);
      assertUnique(draft.key, `${place}/key`);
      const result = await create(accountContext, draft);
      if (result instanceof AppError)
        throw new OptionError(`${place}: ${JSON.stringify(result.details)}`);
    }
  }

  assertUnique(id, `${path}/id`);
  await ctx.tx.put(accounts, account);
  const [firstKey] = seed.api_keys;
  const otherKeys = seed.api_keys.filter(({ key }) => key !== startupKey);
  const { key } =
    startupKey !== null || firstKey === undefined
      ? await createApiKey(accountContext, { name: FIRST_KEY, key: startupKey ?? undefined })
      : firstKey;
  if (startupKey !== null) uniqueValues.add(startupKey);
  await insert("api_keys", otherKeys, createApiKey);
  await insert("users", seed.users.length > 0 ? seed.users : [OWNER], createUser);
  await insert("oauth_clients", seed.oauth_clients, createOAuthClient);
  await insert("apps", seed.apps, createApp);
  await insert("data_sources", seed.data_sources, createDataSource);
  await insert("webhooks", seed.webhooks, createWebhook);
  return key;
}
