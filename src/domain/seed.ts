// Seed of a fresh server (contract, part 1): one account with its owner and one key, or a custom seed. A seed uses the
// schemas of the create bodies, each with an optional id.
import type { Infer, Members, Schema } from "../lib/schema.ts";
import { array, OptionError, object, optional, text, withDefault } from "../lib/schema.ts";
import { createApp } from "./apps.ts";
import { createApiKey, createOAuthClient, findApiKey } from "./credentials.ts";
import { createDataSource } from "./data-sources.ts";
import { AppError, invalidField } from "./errors.ts";
import {
  type AccountRecord,
  accountState,
  accounts,
  apiKey,
  apiKeys,
  app,
  apps,
  dataSource,
  dataSources,
  findDataIssues,
  findRedirectIssues,
  oauthClient,
  oauthClients,
  user,
  users,
  type WebhookSchemas,
  webhooks,
} from "./model.ts";
import type { Collection } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";
import { createUser } from "./users.ts";
import { name, pinnedKey } from "./validators.ts";
import { createWebhook } from "./webhooks.ts";

const DUPLICATE = "is the same as an earlier one";
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
const listOf = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

/** The address policy in force validates webhook URLs. */
const accountSeed = (webhook: WebhookSchemas) =>
  object(
    withId("acc", {
      name,
      state: withDefault(accountState, "active"),
      api_keys: listOf(object(withId("key", { ...apiKey.createBody.members, key: pinnedKey }))),
      users: listOf(object(withId("usr", user.createBody.members))),
      oauth_clients: listOf(
        object(
          withId("cli", {
            ...oauthClient.createBody.members,
            client_secret: optional(pinnedKey),
          }),
          findRedirectIssues,
        ),
      ),
      apps: listOf(object(withId("app", app.createBody.members))),
      data_sources: listOf(object(withId("ds", dataSource.createBody.members), findDataIssues)),
      webhooks: listOf(object(withId("wh", webhook.createBody.members))),
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
  { accounts: [first, ...others] }: { readonly accounts: readonly AccountSeed[] },
  startupKey: string | null,
) =>
  unit.run(async (ctx) => {
    const key = first ? await insertAccount(ctx, first, 0, startupKey) : "";
    for (const [at, account] of others.entries()) await insertAccount(ctx, account, at + 1, null);
    return key;
  });

async function insertAccount(
  ctx: TxContext,
  seed: AccountSeed,
  position: number,
  startupKey: string | null,
) {
  const { tx } = ctx;
  const { id = ctx.ids.next("acc_"), name, state } = seed;
  const account = { id, name, state, partition: "accounts" } as const;
  const path = `The seed is wrong: #/accounts/${position}`;
  if (await tx.get(accounts, id)) throw new OptionError(`${path}/id ${DUPLICATE}`);
  await tx.put(accounts, account);

  async function insert<D extends object>(
    list: string,
    collection: Collection<never>,
    drafts: readonly WithOptionalId<D>[],
    create: (ctx: TxContext, id: string, draft: D, account: AccountRecord) => Promise<unknown>,
  ): Promise<void> {
    for (const [at, draft] of drafts.entries()) {
      const isDuplicate = draft.id && (await tx.get(collection, draft.id));
      const result = isDuplicate
        ? invalidField("#/id", DUPLICATE)
        : await create(ctx, id, draft, account);
      if (!(result instanceof AppError)) continue;
      const { details } = result;
      const [issue] = "errors" in details ? details.errors : [];
      const { pointer = "#", detail } = issue ?? { detail: `is invalid: ${details.code}` };
      throw new OptionError(`${path}/${list}/${at}${pointer.slice(1)} ${detail}`);
    }
  }

  const [firstKey] = seed.api_keys;
  const { key } =
    startupKey !== null || firstKey === undefined
      ? await createApiKey(ctx, id, { name: FIRST_KEY, key: startupKey ?? undefined })
      : firstKey;
  const otherKeys = seed.api_keys.filter((draft) => draft.key !== startupKey);
  await insert("api_keys", apiKeys, otherKeys, async (_ctx, _id, draft) =>
    (await findApiKey(tx, draft.key))
      ? invalidField("#/key", DUPLICATE)
      : createApiKey(ctx, id, draft),
  );
  await insert("users", users, seed.users.length > 0 ? seed.users : [OWNER], createUser);
  await insert("oauth_clients", oauthClients, seed.oauth_clients, createOAuthClient);
  await insert("apps", apps, seed.apps, createApp);
  await insert("data_sources", dataSources, seed.data_sources, createDataSource);
  await insert("webhooks", webhooks, seed.webhooks, createWebhook);
  return key;
}
