// What a fresh server starts with (contract, part 1): one account with its owner and one key, or what a seed says. A
// seed's members are those of the create bodies, checked by the same schemas, each with an optional id.

import {
  type Fault,
  type Infer,
  list,
  object,
  oneOf,
  optional,
  pointer,
  type Schema,
  text,
  withDefault,
} from "../kit/schema.ts";
import { addAccount, OWNER_EMAIL } from "./account.ts";
import { addApiKey, apiKeyDraft, pinnedKey } from "./api-keys.ts";
import { addApp, appDraft } from "./apps.ts";
import { addDataSource, type DataSourceDraft, dataSourceDraft } from "./data-sources.ts";
import { ACCOUNT_STATES, type AccountRecord } from "./model.ts";
import { addOAuthClient, oauthClientDraft } from "./oauth-clients.ts";
import { invalidField, Refusal } from "./refusal.ts";
import { addUser, userDraft } from "./users.ts";
import { addWebhook, type webhookDraft } from "./webhooks.ts";
import type { Unit, Work } from "./work.ts";

const ITEMS_MAX = 100_000;
/** Something to sign in to and a key that works: the first request succeeds without preparation. */
const ACCOUNT_NAME = "Example account";
export const FIRST_KEY = "Start-up key";

const idWith = (prefix: string) =>
  optional(
    text({
      min: 1,
      max: 64,
      pattern: new RegExp(`^${prefix}[0-9A-Za-z]+$`),
      says: `${prefix} and letters or digits`,
    }),
  );

/** A draft has one of two shapes here, so its id is taken aside before the draft is checked. */
const dataSourceSeed: Schema<{ readonly id: string | undefined; readonly draft: DataSourceDraft }> = {
  json: dataSourceDraft.json,
  check(value, path, faults) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    const { id, ...draft } = isObject ? { id: undefined, ...value } : { id: undefined };
    const given = id === undefined ? undefined : idWith("ds_").check(id, [...path, "id"], faults);
    return { id: given, draft: dataSourceDraft.check(isObject ? draft : value, path, faults) };
  },
};

const many = <T>(item: Schema<T>) => withDefault(list(item, { max: ITEMS_MAX }), []);

/** The seed's schema; a webhook's URL is judged by the policy in force. */
export const seedSchema = (webhook: ReturnType<typeof webhookDraft>): Schema<Seed> => {
  const members = seedMembers(webhook);
  return {
    ...members,
    check(value, path, faults) {
      const before = faults.length;
      const seed = members.check(value, path, faults);
      if (faults.length === before) faults.push(...clashes(seed));
      return seed;
    },
  };
};

const seedMembers = (webhook: ReturnType<typeof webhookDraft>) =>
  object({
    accounts: list(
      object({
        id: idWith("acc_"),
        name: text({ min: 1, max: 200, notBlank: true }),
        state: withDefault(oneOf(ACCOUNT_STATES), "active"),
        api_keys: many(object({ name: apiKeyDraft.members.name, key: pinnedKey })),
        users: many(object({ id: idWith("usr_"), ...userDraft.members })),
        oauth_clients: many(
          object({ id: idWith("cli_"), client_secret: optional(pinnedKey), ...oauthClientDraft.members }),
        ),
        apps: many(object({ id: idWith("app_"), ...appDraft.members })),
        data_sources: many(dataSourceSeed),
        webhooks: many(object({ id: idWith("wh_"), ...webhook.members })),
      }),
      { min: 1, max: ITEMS_MAX },
    ),
  });
export type Seed = Infer<ReturnType<typeof seedMembers>>;
type AccountSeed = Seed["accounts"][number];

/** What may bring its own id, so that a test can name what it will find. */
const WITH_IDS = ["users", "oauth_clients", "apps", "data_sources", "webhooks"] as const;

/** What no schema of one member sees: what stands twice (an id would replace the record before it), or ill together. */
function* clashes(seed: Seed): Generator<Fault> {
  const firstAt = new Map<string, Fault["path"]>();
  function* once(what: "id" | "key" | "e-mail address", value: string | undefined, path: Fault["path"]) {
    const before = firstAt.get(`${what} ${value}`);
    if (value !== undefined && before) yield { path, detail: `is the same ${what} as ${pointer(before)}` };
    if (value !== undefined && !before) firstAt.set(`${what} ${value}`, path);
  }
  for (const [at, account] of seed.accounts.entries()) {
    const here = ["accounts", at];
    yield* once("id", account.id, [...here, "id"]);
    for (const [n, { key }] of account.api_keys.entries()) yield* once("key", key, [...here, "api_keys", n, "key"]);
    for (const [n, { email }] of account.users.entries())
      yield* once("e-mail address", `${at} ${email.toLowerCase()}`, [...here, "users", n, "email"]);
    for (const list of WITH_IDS)
      for (const [n, { id }] of account[list].entries()) yield* once("id", id, [...here, list, n, "id"]);
    const apps = new Set(account.apps.map(({ id }) => id));
    for (const [n, { draft }] of account.data_sources.entries())
      if (draft.app_id !== null && !apps.has(draft.app_id))
        yield { path: [...here, "data_sources", n, "app_id"], detail: FOREIGN_APP };
    for (const [n, client] of account.oauth_clients.entries())
      if (client.public && client.client_secret !== undefined)
        yield {
          path: [...here, "oauth_clients", n, "client_secret"],
          detail: "must not be given where public is true",
        };
  }
}

const FOREIGN_APP = "must be the id of one of the apps of this account, or null";

export const DEFAULT_SEED = { accounts: [{ name: ACCOUNT_NAME }] };

interface Planted {
  readonly account: AccountRecord;
  /** The first key of the account, in clear. */
  readonly key: string;
}

/** Writes the whole seed in one transaction. `key` is the first key of the first account; made where nobody gives one. */
export const plant = (unit: Unit, seed: Seed, key: string | undefined) =>
  unit.transact<Planted>(async (w) => {
    let first: Planted | undefined;
    for (const [at, planned] of seed.accounts.entries()) {
      if (at > 0 && planned.api_keys.some((each) => each.key === key))
        return invalidField(
          pointer(["accounts", at, "api_keys"]),
          "holds the key that is pinned for the first account",
        );
      const planted = await plantAccount(w, planned, at === 0 ? key : undefined);
      if (planted instanceof Refusal) return planted;
      first ??= planted;
    }
    return first ?? invalidField("#/accounts", "must not be empty");
  });

async function plantAccount(w: Work, planned: AccountSeed, pinned: string | undefined): Promise<Planted | Refusal> {
  const account = await addAccount(w, planned.name, planned.state, planned.id);
  const given = [...(pinned === undefined ? [] : [{ name: FIRST_KEY, key: pinned }]), ...planned.api_keys];
  const [first, ...more] = given;
  const { key } = await addApiKey(w, account.id, first?.name ?? FIRST_KEY, first?.key);
  for (const other of more) if (other.key !== key) await addApiKey(w, account.id, other.name, other.key);
  const owner = { id: undefined, email: OWNER_EMAIL, name: "Owner", permissions: ["admin"] as const };
  for (const { id, ...user } of planned.users.length > 0 ? planned.users : [owner]) {
    const added = await addUser(w, account.id, user, id);
    if (added instanceof Refusal) return added;
  }
  for (const { id, client_secret: secret, ...client } of planned.oauth_clients)
    await addOAuthClient(w, account.id, client, { id, secret });
  for (const { id, ...app } of planned.apps) await addApp(w, account.id, app, id);
  for (const { id, draft } of planned.data_sources) {
    const added = await addDataSource(w, account.id, draft, id);
    if (added instanceof Refusal) return added;
  }
  for (const { id, ...webhook } of planned.webhooks) await addWebhook(w, account.id, webhook, id);
  return { account, key };
}
