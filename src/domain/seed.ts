// What a fresh server starts with (contract, part 1): one account with its owner and one key, or what a seed says. A
// seed's members are those of the create bodies, checked by the same schemas, each with an optional id.
import type { Fault, Infer, Members, Schema } from "../kit/schema.ts";
import { list, object, optional, pointer, text, withDefault } from "../kit/schema.ts";
import { addApp, appDraft } from "./apps.ts";
import { addApiKey, addOAuthClient, apiKeyDraft, oauthClientDraft, pinnedKey } from "./credentials.ts";
import { addDataSource, dataSourceSeed } from "./data-sources.ts";
import { accountState, accounts } from "./model.ts";
import { invalidField, Refusal } from "./refusal.ts";
import { addUser, userDraft } from "./users.ts";
import { addWebhook, type WebhookBodies } from "./webhooks.ts";
import type { Unit, Work } from "./work.ts";

const ITEMS_MAX = 100_000;
export const FIRST_KEY = "Start-up key";
/** example.com belongs to nobody, so nothing that is sent there reaches a stranger. */
const OWNER = { email: "owner@example.com", name: "Owner", permissions: ["admin"] } as const;

const idWith = (prefix: string) => {
  const says = `${prefix} and letters or digits`;
  return optional(text({ min: 1, max: 64, pattern: new RegExp(`^${prefix}[0-9A-Za-z]+$`), says }));
};

const many = <T>(item: Schema<T>) => withDefault(list(item, { max: ITEMS_MAX }), []);
const withIds = <M extends Members>(prefix: string, members: M) => many(object({ id: idWith(prefix), ...members }));

/** All that an account has but its webhooks, whose URLs are judged by the policy in force. */
const MEMBERS = {
  id: idWith("acc_"),
  name: text({ min: 1, max: 200, notBlank: true }),
  state: withDefault(accountState, "active"),
  api_keys: many(object({ ...apiKeyDraft.members, key: pinnedKey })),
  users: withIds("usr_", userDraft.members),
  oauth_clients: withIds("cli_", { client_secret: optional(pinnedKey), ...oauthClientDraft.members }),
  apps: withIds("app_", appDraft.members),
  data_sources: many(dataSourceSeed(idWith("ds_"))),
};
const accountSeed = ({ draft }: WebhookBodies) => object({ ...MEMBERS, webhooks: withIds("wh_", draft.members) });
type AccountSeed = Infer<ReturnType<typeof accountSeed>>;

type Seed = { readonly accounts: readonly AccountSeed[] };

const NONE = { id: undefined, api_keys: [], users: [], oauth_clients: [], apps: [], data_sources: [], webhooks: [] };
/** Something to sign in to and a key that works: the first request succeeds without preparation. */
export const DEFAULT_SEED: Seed = { accounts: [{ name: "Example account", state: "active", ...NONE }] };

/** The seed's schema; a webhook's URL is judged by the policy in force. */
export const seedSchema = (webhook: WebhookBodies): Schema<Seed> =>
  object({ accounts: list(accountSeed(webhook), { min: 1, max: ITEMS_MAX }) }, clashes);

const LISTS = ["api_keys", "users", "oauth_clients", "apps", "data_sources", "webhooks"] as const;

/** What no schema of one member sees: what stands twice (an id would replace the record before it), or ill together. */
function* clashes(seed: Seed): Generator<Fault> {
  const firstAt = new Map<string, Fault["path"]>();
  function* once(what: "id" | "key" | "e-mail address", value: string | undefined, path: Fault["path"]) {
    const before = firstAt.get(`${what} ${value}`);
    if (value === undefined) return;
    if (before) yield { path, detail: `is the same ${what} as ${pointer(before)}` };
    else firstAt.set(`${what} ${value}`, path);
  }
  for (const [at, account] of seed.accounts.entries()) {
    yield* once("id", account.id, ["accounts", at, "id"]);
    const apps = new Set([null, ...account.apps.map(({ id }) => id)]);
    for (const list of LISTS)
      for (const [n, item] of account[list].entries()) {
        const place = (member: string) => ["accounts", at, list, n, member];
        if ("id" in item) yield* once("id", item.id, place("id"));
        if ("key" in item) yield* once("key", item.key, place("key"));
        if ("email" in item) yield* once("e-mail address", `${at} ${item.email.toLowerCase()}`, place("email"));
        if ("app_id" in item && !apps.has(item.app_id))
          yield { path: place("app_id"), detail: "must be the id of one of the apps of this account, or null" };
        if ("client_secret" in item && item.client_secret !== undefined && item.public)
          yield { path: place("client_secret"), detail: "must not be given where public is true" };
      }
  }
}

/** Writes the whole seed in one transaction. Answers the first key of the first account: `key`, or one made for it. */
export const plant = (unit: Unit, seed: Seed, key: string | undefined) =>
  unit.transact(async (w) => {
    let first = "";
    for (const [at, planned] of seed.accounts.entries()) {
      if (at > 0 && planned.api_keys.some((each) => each.key === key))
        return invalidField(`#/accounts/${at}/api_keys`, "holds the key that is pinned for the first account");
      const planted = await plantAccount(w, planned, at === 0 ? key : undefined);
      if (planted instanceof Refusal) return planted;
      if (at === 0) first = planted;
    }
    return first;
  });

/** Answers its first key, in clear. */
async function plantAccount(w: Work, planned: AccountSeed, pinned: string | undefined) {
  const { id = w.ids.next("acc_"), name, state } = planned;
  await w.tx.put(accounts, { id, name, state, all: "accounts" });
  const given = planned.api_keys.filter(({ key }) => key !== pinned);
  const keys = pinned === undefined ? given : [{ name: FIRST_KEY, key: pinned }, ...given];
  const [first = { name: FIRST_KEY }, ...more] = keys;
  const { key } = await addApiKey(w, id, first);
  const add = async <D>(drafts: readonly D[], make: (w: Work, account_id: string, draft: D) => Promise<unknown>) => {
    for (const draft of drafts) {
      const made = await make(w, id, draft);
      if (made instanceof Refusal) return made;
    }
    return undefined;
  };
  return (
    (await add(more, addApiKey)) ??
    (await add(planned.users.length > 0 ? planned.users : [OWNER], addUser)) ??
    (await add(planned.oauth_clients, addOAuthClient)) ??
    (await add(planned.apps, addApp)) ??
    (await add(planned.data_sources, addDataSource)) ??
    (await add(planned.webhooks, addWebhook)) ??
    key
  );
}
