// Seed of a fresh server: one account with its owner, or a custom seed. A seed uses the schemas of the create bodies,
// each with an optional id.
import {
  array,
  extend,
  type Infer,
  type Members,
  type ObjectSchema,
  OptionError,
  object,
  optional,
  type Schema,
  text,
  withDefault,
} from "../lib/schema.ts";
import { createApp } from "./apps.ts";
import { createApiKey, createOAuthClient } from "./credentials.ts";
import { createDataSource } from "./data-sources.ts";
import { AppError, appError, type ErrorDetails } from "./errors.ts";
import {
  accountState,
  accounts,
  apiKey,
  app,
  dataSource,
  idPattern,
  oauthClient,
  user,
  webhook,
} from "./model.ts";
import type { AccountContext, UnitOfWork } from "./unit-of-work.ts";
import { createUser } from "./users.ts";
import { name, pinnedKey } from "./validators.ts";
import { type CheckUrl, createWebhook, findUrlErrors } from "./webhooks.ts";

const ITEMS_MAX = 100_000;
/** example.com is reserved, so nothing sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;
/** One account with its owner. It gets the start-up key, so that the first request succeeds without preparation. */
export const DEFAULT_SEED = { accounts: [{ name: "Example account" }] };

const withId = <M extends Members>(prefix: string, body: ObjectSchema<unknown, M>) => {
  const pattern = new RegExp(idPattern(prefix));
  const patternText = `${prefix}_ and letters or digits`;
  return extend(body, { id: optional(text({ max: 64, pattern, patternText })) });
};
const listOf = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

const apiKeySeed = extend(apiKey.createBody, { key: pinnedKey });
const clientSeed = extend(oauthClient.createBody, { client_secret: optional(pinnedKey) });
const accountSeed = object({
  name,
  state: withDefault(accountState, "active"),
  api_keys: listOf(withId("key", apiKeySeed)),
  users: listOf(withId("usr", user.createBody)),
  oauth_clients: listOf(withId("cli", clientSeed)),
  apps: listOf(withId("app", app.createBody)),
  data_sources: listOf(withId("ds", dataSource.createBody)),
  webhooks: listOf(withId("wh", webhook.createBody)),
});

export const seedSchema = object({
  accounts: array(withId("acc", accountSeed), { min: 1, max: ITEMS_MAX }),
});
export type Seed = Infer<typeof seedSchema>;

/** Returns the details of an error, each after the pointer of its field. */
function toWords(details: ErrorDetails): string {
  if (!("errors" in details)) return ` ${"detail" in details ? details.detail : details.code}`;
  return details.errors.map(({ pointer = "", detail }) => `${pointer.slice(1)} ${detail}`).join();
}

/**
 * Writes the whole seed in one transaction. Throws an OptionError for duplicate ids, keys and addresses. Only the
 * first account may list `startupKey`.
 */
export const applySeed = (
  unitOfWork: UnitOfWork,
  seed: Seed,
  startupKey: string | null,
  checkWebhookUrl: CheckUrl,
) =>
  unitOfWork.run(async (ctx) => {
    const usedValues = new Set<string>();

    function assertUnique(value: string | undefined, place: string): void {
      if (value === undefined) return;
      if (usedValues.has(value)) throw new OptionError(`${place} is the same as an earlier one`);
      usedValues.add(value);
    }

    for (const [
      index,
      { id = ctx.ids.next("acc_"), name, state, ...lists },
    ] of seed.accounts.entries()) {
      const path = `seed: #/accounts/${index}`;
      const account = { id, name, state };

      async function insert<D extends { readonly id?: string | undefined; readonly key?: string }>(
        list: keyof typeof lists,
        drafts: readonly D[],
        create: (ctx: AccountContext, draft: D) => Promise<unknown>,
      ): Promise<void> {
        for (const [index, draft] of drafts.entries()) {
          const place = `${path}/${list}/${index}`;
          assertUnique(draft.id, `${place}/id`);
          assertUnique(draft.key, `${place}/key`);
          const result = await create({ account, ...ctx }, draft);
          if (result instanceof AppError) throw new OptionError(place + toWords(result.details));
        }
      }

      assertUnique(id, `${path}/id`);
      if (index > 0 && lists.api_keys.some(({ key }) => key === startupKey))
        throw new OptionError(`${path}/api_keys has the start-up key of the first account`);
      await ctx.tx.put(accounts, account);
      await insert("api_keys", lists.api_keys, createApiKey);
      await insert("users", lists.users.length > 0 ? lists.users : [OWNER], createUser);
      await insert("oauth_clients", lists.oauth_clients, createOAuthClient);
      await insert("apps", lists.apps, createApp);
      await insert("data_sources", lists.data_sources, createDataSource);
      await insert("webhooks", lists.webhooks, async (ctx, draft) => {
        const errors = findUrlErrors(draft, checkWebhookUrl);
        return errors.length > 0
          ? appError({ code: "validation_failed", errors })
          : createWebhook(ctx, draft);
      });
    }
  });
