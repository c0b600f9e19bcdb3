// Seed of a fresh server (contract, part 1): one account with its owner and one key, or a custom seed. A seed uses the
// schemas of the create bodies, each with an optional id.
import type { KeepNumbers } from "../lib/numbers.ts";
import type { Infer, Issue, Members, ObjectSchema, Schema } from "../lib/schema.ts";
import { array, object, optional, pointer, text, withDefault } from "../lib/schema.ts";
import { addApp } from "./apps.ts";
import { createApiKey, createOAuthClient } from "./credentials.ts";
import { createDataSource, keepNumbersOfDraft, withDataValidation } from "./data-sources.ts";
import {
  accountState,
  accounts,
  apiKey,
  app,
  dataSource,
  oauthClient,
  redirectFaults,
  user,
  type WebhookSchemas,
} from "./model.ts";
import type { TxContext, UnitOfWork } from "./unit-of-work.ts";
import { insertUser } from "./users.ts";
import { name, pinnedKey } from "./validators.ts";
import { createWebhook } from "./webhooks.ts";

const ITEMS_MAX = 100_000;
export const FIRST_KEY = "Start-up key";
/** example.com is reserved, so nothing sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;

const idWith = (prefix: string) => {
  const says = `${prefix}_ and letters or digits`;
  return optional(text({ min: 1, max: 64, pattern: new RegExp(`^${prefix}_[0-9A-Za-z]+$`), says }));
};
const withId = <M extends Members>({
  prefix,
  createBody,
}: {
  prefix: string;
  createBody: ObjectSchema<unknown, M>;
}) => ({
  id: idWith(prefix),
  ...createBody.members,
});
const listOfItems = <T>(item: Schema<T>) => withDefault(array(item, { max: ITEMS_MAX }), []);

const MEMBERS = {
  id: idWith("acc"),
  name,
  state: withDefault(accountState, "active"),
  api_keys: listOfItems(object({ ...withId(apiKey), key: pinnedKey })),
  users: listOfItems(object(withId(user))),
  oauth_clients: listOfItems(
    object({ ...withId(oauthClient), client_secret: optional(pinnedKey) }, redirectFaults),
  ),
  apps: listOfItems(object(withId(app))),
  data_sources: listOfItems(withDataValidation(object(withId(dataSource)))),
};
/** The address policy in force validates webhook URLs. */
const accountSeed = (webhook: WebhookSchemas) =>
  object({ ...MEMBERS, webhooks: listOfItems(object(withId(webhook))) });
type AccountSeed = Infer<ReturnType<typeof accountSeed>>;

type Seed = { readonly accounts: readonly AccountSeed[] };

/** An account with a user and a key, so that the first request succeeds without preparation. */
export const DEFAULT_SEED = { accounts: [{ name: "Example account" }] };

/** `pinned` is a key that the first account gets in addition to its seed. */
export const seedSchema = (webhook: WebhookSchemas, pinned: string | null): Schema<Seed> =>
  object({ accounts: array(accountSeed(webhook), { min: 1, max: ITEMS_MAX }) }, (seed) =>
    crossValidate(seed, pinned),
  );

/** Preserves the numbers of data sources in a seed's text as POST /data-sources does. */
export const keepNumbersOfSeed: KeepNumbers = (seed, written) => {
  const entries = (of: unknown, list: "accounts" | "data_sources"): unknown[] =>
    [Object(of)[list] ?? []].flat();
  const sources = (of: unknown) =>
    entries(of, "accounts").flatMap((account) => entries(account, "data_sources"));
  const asWritten = sources(written);
  for (const [at, source] of sources(seed).entries()) keepNumbersOfDraft(source, asWritten[at]);
};

const LISTS = ["api_keys", "users", "oauth_clients", "apps", "data_sources", "webhooks"] as const;

/**
 * Validates across members: duplicate ids, keys and addresses, unknown app ids, and conflicting fields. Without the
 * check, a duplicate id would replace the earlier record.
 */
function* crossValidate(seed: Seed, pinned: string | null): Generator<Issue> {
  const firstAt = new Map<string, Issue["path"]>();
  function* once(
    what: "id" | "key" | "e-mail address",
    value: string | undefined,
    path: Issue["path"],
  ) {
    const before = firstAt.get(`${what} ${value}`);
    if (value === undefined) return;
    if (before) yield { path, detail: `is the same ${what} as ${pointer(before)}` };
    else firstAt.set(`${what} ${value}`, path);
  }
  for (const [at, account] of seed.accounts.entries()) {
    yield* once("id", account.id, ["accounts", at, "id"]);
    if (at > 0 && account.api_keys.some(({ key }) => key === pinned))
      yield {
        path: ["accounts", at, "api_keys"],
        detail: "holds the key that is pinned for the first account",
      };
    const apps = new Set([null, ...account.apps.map(({ id }) => id)]);
    for (const list of LISTS)
      for (const [n, item] of account[list].entries()) {
        const place = (member: string) => ["accounts", at, list, n, member];
        if ("id" in item) yield* once("id", item.id, place("id"));
        if ("key" in item) yield* once("key", item.key, place("key"));
        if ("email" in item)
          yield* once("e-mail address", `${at} ${item.email.toLowerCase()}`, place("email"));
        if ("app_id" in item && !apps.has(item.app_id))
          yield {
            path: place("app_id"),
            detail: "must be the id of one of the apps of this account, or null",
          };
        if ("client_secret" in item && item.client_secret !== undefined && item.public)
          yield { path: place("client_secret"), detail: "must not be given where public is true" };
      }
  }
}

/**
 * Writes the whole seed in one transaction. Returns the first account's first key: `pinned`, a seeded one or a
 * generated one.
 */
export const applySeed = (unit: UnitOfWork, seed: Seed, pinnedKey: string | null) =>
  unit.run(async (ctx) => {
    const firsts: string[] = [];
    for (const [at, account] of seed.accounts.entries())
      firsts.push(await insertAccount(ctx, account, at === 0 ? pinnedKey : null));
    return firsts[0] ?? "";
  });

/** Creates the account and returns its first key in clear text. The schema has already validated the seed. */
async function insertAccount(ctx: TxContext, seed: AccountSeed, pinned: string | null) {
  const { id = ctx.ids.next("acc_"), name, state, users } = seed;
  await ctx.tx.put(accounts, { id, name, state, partition: "accounts" });
  const given = seed.api_keys.filter(({ key }) => key !== pinned);
  const keys = pinned === null ? given : [{ name: FIRST_KEY, key: pinned }, ...given];
  const [first = { name: FIRST_KEY }, ...more] = keys;
  const { key } = await createApiKey(ctx, id, first);
  for (const each of more) await createApiKey(ctx, id, each);
  for (const each of users.length > 0 ? users : [OWNER]) await insertUser(ctx, id, each);
  for (const each of seed.oauth_clients) await createOAuthClient(ctx, id, each);
  for (const each of seed.apps) await addApp(ctx, id, each);
  for (const each of seed.data_sources) await createDataSource(ctx, id, each);
  for (const each of seed.webhooks) await createWebhook(ctx, id, each);
  return key;
}
