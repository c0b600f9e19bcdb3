// API keys, which open the whole account, OAuth clients, scopes and account states (spec part 5; 3.account-states,
// 5.scope-per-endpoint). A secret is shown only in the response that creates it; the store holds its SHA-256.
import { toIso } from "../lib/clock.ts";
import { type Ids, sha256, sha256Base64url } from "../lib/ids.ts";
import type { Infer } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createCrudService, toNewRecord } from "./crud.ts";
import { type AppError, appError, notFound } from "./errors.ts";
import {
  type AccountRecord,
  type AccountState,
  accounts,
  apiKey,
  apiKeys,
  oauthClient,
  oauthClients,
  SCOPES,
  type Scope,
  type UserRecord,
} from "./model.ts";
import type { Reader } from "./store.ts";
import type { AccountContext, UnitOfWork, UnitOfWorkDeps, WithOptionalId } from "./unit-of-work.ts";

export interface Caller {
  readonly account: AccountRecord;
  /** The user that the access token belongs to; an API key belongs to no user. */
  readonly user?: UserRecord;
  readonly scopes: readonly Scope[];
  /** Id of the API key or of the access token's grant. Idempotency keys are scoped to it. */
  readonly credentialId: string;
}

/** `admin` contains the other scopes (spec part 5: full account access). */
export const hasScope = (scopes: readonly string[], scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** The end of a timestamp at the start of a minute. */
const MINUTE_START = ":00.000Z";

/** Returns a function that authenticates by key hash. It queries the store at every use, so that a deletion counts. */
export function createApiKeyAuthenticator({ store, clock }: UnitOfWorkDeps, tasks: TaskTracker) {
  const recordUse = (id: string, last_used_at: string): Promise<void> =>
    store.transact(async (tx) => {
      const record = await tx.get(apiKeys, id);
      if (record) await tx.put(apiKeys, { ...record, last_used_at });
    });

  return async (keyHash: string): Promise<Caller | AppError> => {
    const key = await store.find(apiKeys, "hash", [keyHash]);
    const account = key && (await store.get(accounts, key.account_id));
    if (!account)
      return appError({
        code: "invalid_credential",
        detail: "The credential is no known API key or access token. Check that it is complete.",
      });
    // To the minute, so that a read seldom causes a write.
    const last_used_at = toIso(clock.now()).slice(0, -MINUTE_START.length) + MINUTE_START;
    // In the background: the request neither waits for it nor fails with it.
    if (key.last_used_at !== last_used_at)
      tasks.run("recording the use of an API key", () => recordUse(key.id, last_used_at));
    return { account, scopes: SCOPES, credentialId: key.id };
  };
}

export const findApiKey = (reader: Reader, key: string) =>
  reader.find(apiKeys, "hash", [sha256(key)]);

/** Returns the error if the account's state forbids this method (spec part 5: suspended or limited account). */
export function checkAccountState(account: AccountRecord, method: string): AppError | undefined {
  const isRead = ["GET", "HEAD", "OPTIONS"].includes(method);
  if (account.state === "suspended") return appError({ code: "account_suspended" });
  return account.state === "limited" && !isRead ? appError({ code: "account_limited" }) : undefined;
}

export const setAccountState = (unitOfWork: UnitOfWork, id: string, state: AccountState) =>
  unitOfWork.run(async ({ tx }) => {
    const account = await tx.get(accounts, id);
    if (account === undefined) return notFound("account");
    const changed = { ...account, state };
    await tx.put(accounts, changed);
    return changed;
  });

type KeyDraft = WithOptionalId<Infer<typeof apiKey.createBody>> & {
  readonly key?: string | undefined;
};

/** The prefix lets people and secret scanners recognize a key. */
export const generateApiKey = (ids: Ids): string => `ahs_${ids.secret()}`;

export async function createApiKey(
  ctx: AccountContext,
  { key = generateApiKey(ctx.ids), ...draft }: KeyDraft,
) {
  const record = {
    ...toNewRecord(ctx, "key_", draft),
    last_four: key.slice(-4),
    last_used_at: null,
    hash: sha256(key),
  };
  await ctx.tx.put(apiKeys, record);
  return { ...record, key };
}

export const apiKeyService = createCrudService(apiKeys, "API key", apiKey, {
  onCreate: createApiKey,
});

type ClientDraft = WithOptionalId<Infer<typeof oauthClient.createBody>> & {
  readonly client_secret?: string | undefined;
};

/** Creates a client; a seed may supply its secret. A public client has none. */
export async function createOAuthClient(
  ctx: AccountContext,
  { client_secret = ctx.ids.secret(), ...draft }: ClientDraft,
) {
  const secret = draft.public ? null : client_secret;
  const record = {
    ...toNewRecord(ctx, "cli_", draft),
    secret_hash: secret && sha256Base64url(secret),
  };
  await ctx.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const oauthClientService = createCrudService(oauthClients, "OAuth client", oauthClient, {
  onCreate: createOAuthClient,
});
