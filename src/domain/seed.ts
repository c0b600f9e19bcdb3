// Seed of a fresh server (contract, part 1): one account with its owner and one key, or a custom seed. A seed uses the
// schemas of the create bodies, each with an optional id.
import type { Infer, Members, Schema } from "../lib/schema.ts";
import { array, OptionError, object, optional, text, withDefault } from "../lib/schema.ts";
import { createApp } from "./apps.ts";
import { createApiKey, createOAuthClient } from "./credentials.ts";
import { createDataSource } from "./data-sources.ts";
import { AppError } from "./errors.ts";
import {
  type AccountRecord,
  accountState,
  accounts,
  apiKey,
  app,
  dataSource,
  findDataIssues,
  findRedirectIssues,
  oauthClient,
  user,
  type WebhookSchemas,
} from "./model.ts";
import type { TxContext, UnitOfWork } from "./unit-of-work.ts";
import { createUser } from "./users.ts";
import { name, pinnedKey } from "./validators.ts";
import { createWebhook } from "./webhooks.ts";

const ITEMS_MAX = 100_000;
export const FIRST_KEY = "Start-up key";
/** example.com is reserved, so nothing sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;
/** An account with a user and a key, so that the first request succeeds without preparation. */
export const DEFAULT_SEED = { accounts: [{ name: "Example account" }] };

const withId = <M extends Members>(prefix: string, members: M) => ({
  id: optional(
    text({
      max: 64,
      pattern: new RegExp(`^${prefix}_[0-9A-Za-z]+$`),
      says: `${prefix}_ and letters or digits`,
    }),
  ),
  ...members,
});
const optionalList = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

/** The address policy in force validates webhook URLs. */
const accountSeed = (webhook: WebhookSchemas) =>
  object(
    withId("acc", {
      name,
      state: withDefault(accountState, "active"),
      api_keys: optionalList(
        object(withId("key", { ...apiKey.createBody.members, key: pinnedKey })),
      ),
      users: optionalList(object(withId("usr", user.createBody.members))),
      oauth_clients: optionalList(
        object(
          withId("cli", {
            ...oauthClient.createBody.members,
            client_secret: optional(pinnedKey),
          }),
          findRedirectIssues,
        ),
      ),
      apps: optionalList(object(withId("app", app.createBody.members))),
      data_sources: optionalList(
        object(withId("ds", dataSource.createBody.members), findDataIssues),
      ),
      webhooks: optionalList(object(withId("wh", webhook.createBody.members))),
    }),
  );
type AccountSeed = Infer<ReturnType<typeof accountSeed>>;

export const seedSchema = (webhook: WebhookSchemas) =>
  object({ accounts: array(accountSeed(webhook), { min: 1, max: ITEMS_MAX }) });

/**
 * Writes the whole seed in one transaction. Returns the first account's first key. Throws an OptionError for duplicate
 * ids, keys and addresses.
 */
export const applySeed = (
  unit: UnitOfWork,
  seed: { readonly accounts: readonly AccountSeed[] },
  startupKey: string | null,
) =>
  unit.run(async (ctx) => {
    const uniqueValues = new Set<string>();
    const keys: string[] = [];
    for (const [position, account] of seed.accounts.entries()) {
      const path = `The seed is wrong: #/accounts/${position}`;
      keys.push(
        await insertAccount(ctx, account, path, uniqueValues, keys.length > 0 ? null : startupKey),
      );
    }
    return keys[0] ?? "";
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

  function assertUnique(value: string | undefined, place: string): void {
    if (value === undefined) return;
    if (uniqueValues.has(value)) throw new OptionError(`${place} is the same as an earlier one`);
    uniqueValues.add(value);
  }

  async function insert<D extends { readonly id?: string | undefined; readonly key?: string }>(
    list: string,
    drafts: readonly D[],
    create: (ctx: TxContext, id: string, draft: D, account: AccountRecord) => Promise<unknown>,
  ): Promise<void> {
    for (const [at, draft] of drafts.entries()) {
      const place = `${path}/${list}/${at}`;
      assertUnique(draft.id, `${place}/id`);
      assertUnique(draft.key, `${place}/key`);
      const result = await create(ctx, id, draft, account);
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
      ? await createApiKey(ctx, id, { name: FIRST_KEY, key: startupKey ?? undefined })
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
