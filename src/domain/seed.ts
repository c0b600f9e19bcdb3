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
import { ACCOUNT_STATES, type AccountRecord, PREFIX } from "./model.ts";
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
    const given = id === undefined ? undefined : idWith(PREFIX.dataSource).check(id, [...path, "id"], faults);
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
      if (faults.length === before) faults.push(...repeats(seed), ...unfitTogether(seed));
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
        users: many(object({ id: idWith(PREFIX.user), ...userDraft.members })),
        oauth_clients: many(
          object({ id: idWith(PREFIX.oauthClient), client_secret: optional(pinnedKey), ...oauthClientDraft.members }),
        ),
        apps: many(object({ id: idWith("app_"), ...appDraft.members })),
        data_sources: many(dataSourceSeed),
        webhooks: many(object({ id: idWith(PREFIX.webhook), ...webhook.members })),
      }),
      { min: 1, max: ITEMS_MAX },
    ),
  });
export type Seed = Infer<ReturnType<typeof seedMembers>>;
type AccountSeed = Seed["accounts"][number];

/** What may bring its own id, so that a test can name what it will find. */
const WITH_IDS = ["users", "oauth_clients", "apps", "data_sources", "webhooks"] as const;

/** What may stand once in the whole seed and stands there again: an id would replace the record before it. */
function repeats(seed: Seed): Fault[] {
  const faults: Fault[] = [];
  const firstAt = new Map<string, Fault["path"]>();
  const once = (what: "id" | "key" | "e-mail address", value: string | undefined, path: Fault["path"]) => {
    if (value === undefined) return;
    const before = firstAt.get(`${what} ${value}`);
    if (before === undefined) firstAt.set(`${what} ${value}`, path);
    else faults.push({ path, detail: `is the same ${what} as ${pointer(before)}` });
  };
  seed.accounts.forEach((account, at) => {
    once("id", account.id, ["accounts", at, "id"]);
    account.api_keys.forEach(({ key }, n) => {
      once("key", key, ["accounts", at, "api_keys", n, "key"]);
    });
    account.users.forEach(({ email }, n) => {
      once("e-mail address", `${at} ${email.toLowerCase()}`, ["accounts", at, "users", n, "email"]);
    });
    for (const list of WITH_IDS)
      account[list].forEach(({ id }, n) => {
        once("id", id, ["accounts", at, list, n, "id"]);
      });
  });
  return faults;
}

/** Members that are right each by itself, but not beside the others of their account. */
function unfitTogether(seed: Seed): Fault[] {
  return seed.accounts.flatMap((account, at) => {
    const apps = new Set(account.apps.map(({ id }) => id));
    const sources = account.data_sources.map(({ draft: { app_id } }, n): Fault[] => {
      const detail = "must be the id of one of the apps of this account, or null";
      return app_id === null || apps.has(app_id)
        ? []
        : [{ path: ["accounts", at, "data_sources", n, "app_id"], detail }];
    });
    const clients = account.oauth_clients.map((client, n): Fault[] => {
      const detail = "must not be given where public is true";
      return client.public && client.client_secret !== undefined
        ? [{ path: ["accounts", at, "oauth_clients", n, "client_secret"], detail }]
        : [];
    });
    return [...sources, ...clients].flat();
  });
}

export const DEFAULT_SEED: Seed = {
  accounts: [
    {
      id: undefined,
      name: ACCOUNT_NAME,
      state: "active",
      api_keys: [],
      users: [],
      oauth_clients: [],
      apps: [],
      data_sources: [],
      webhooks: [],
    },
  ],
};

export interface Planted {
  readonly account: AccountRecord;
  /** The first key of the first account, in clear. */
  readonly key: string;
}

/** Writes the whole seed in one transaction. `key` is the first key of the first account; made where nobody gives one. */
export const plant = (unit: Unit, seed: Seed, key: string | undefined) =>
  unit.transact<Planted>(async (w) => {
    const elsewhere = seed.accounts.findIndex(
      ({ api_keys }, at) => at > 0 && api_keys.some((each) => each.key === key),
    );
    if (elsewhere > 0)
      return invalidField(
        pointer(["accounts", elsewhere, "api_keys"]),
        "holds the key that is pinned for the first account",
      );
    let first: Planted | undefined;
    for (const [at, planned] of seed.accounts.entries()) {
      const account = await addAccount(w, planned.name, planned.state, planned.id);
      const held = await plantKeys(w, account.id, planned, at === 0 ? key : undefined);
      const refused = await plantAccount(w, account.id, planned);
      if (refused) return refused;
      first ??= { account, key: held };
    }
    return first ?? invalidField("#/accounts", "must not be empty");
  });

/** Answers the account's first key in clear. */
async function plantKeys(
  w: Work,
  accountId: string,
  planned: AccountSeed,
  pinned: string | undefined,
): Promise<string> {
  const given = [...(pinned === undefined ? [] : [{ name: FIRST_KEY, key: pinned }]), ...planned.api_keys];
  const [first, ...more] = given;
  const { key } = await addApiKey(w, accountId, first?.name ?? FIRST_KEY, first?.key);
  for (const other of more) if (other.key !== key) await addApiKey(w, accountId, other.name, other.key);
  return key;
}

async function plantAccount(w: Work, accountId: string, planned: AccountSeed): Promise<Refusal | undefined> {
  const owner = { id: undefined, email: OWNER_EMAIL, name: "Owner", permissions: ["admin"] as const };
  for (const { id, ...user } of planned.users.length > 0 ? planned.users : [owner]) {
    const added = await addUser(w, accountId, user, id);
    if (added instanceof Refusal) return added;
  }
  for (const { id, client_secret: secret, ...client } of planned.oauth_clients)
    await addOAuthClient(w, accountId, client, { id, secret });
  for (const { id, ...app } of planned.apps) await addApp(w, accountId, app, id);
  for (const { id, draft } of planned.data_sources) {
    const added = await addDataSource(w, accountId, draft, id);
    if (added instanceof Refusal) return added;
  }
  for (const { id, ...webhook } of planned.webhooks) await addWebhook(w, accountId, webhook, id);
  return undefined;
}
