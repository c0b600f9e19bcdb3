// API keys, which open the whole account (spec part 5), and OAuth clients (fields: contract, part 2); API key
// authentication and account states. A secret is shown only in the response that creates it; the store holds its
// SHA-256. Access tokens are in domain/oauth.
import { hash as digest } from "node:crypto";
import { decide } from "../former-decisions.ts";
import { toIso } from "../lib/clock.ts";
import type { Infer } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createCrudService } from "./crud.ts";
import { type AppError, fail } from "./errors.ts";
import type { AccountRecord, AccountState, ApiKeyRecord, Scope, UserRecord } from "./model.ts";
import { accounts, apiKey, apiKeys, oauthClient, oauthClients, SCOPES } from "./model.ts";
import type { Reader } from "./store.ts";
import type { TxContext, UnitOfWork, UnitOfWorkDeps, WithOptionalId } from "./unit-of-work.ts";

export interface Caller {
  readonly account: AccountRecord;
  /** The user that the access token belongs to; an API key belongs to no user. */
  readonly user?: UserRecord;
  readonly scopes: readonly Scope[];
  /** Id of the API key or of the access token's grant. Idempotency keys are scoped to it. */
  readonly credential: string;
}

export const sha256 = (text: string): string => digest("sha256", text, "hex");

/** `admin` contains the other scopes (spec part 5: full account access). */
export const hasScope = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** `last_used_at` is rounded down to the minute, so that a read seldom causes a write. */
const LAST_USED_RESOLUTION_MS = 60_000;

const UNKNOWN_KEY = fail({
  code: "invalid_credential",
  detail: "It is no access token and no API key that is known: mistyped, or deleted.",
});

/** Compares for equality, because a later time may be stored if the clock was set back. */
const isRecorded = ({ last_used_at }: ApiKeyRecord, minute: string) => last_used_at === minute;

/**
 * Returns a function that authenticates by key hash. It queries the store at every use, so that deleting a key takes
 * effect at once.
 */
export function createApiKeyAuthenticator(
  { store, clock }: UnitOfWorkDeps,
  background: TaskTracker,
) {
  /** Updates `last_used_at` in the background: the request neither waits for it nor fails with it. */
  const recordUse = (id: string, minute: string) =>
    background.run("noting the use of an API key", () =>
      store.transact(async (tx) => {
        const key = await tx.get(apiKeys, id);
        if (key && !isRecorded(key, minute))
          await tx.put(apiKeys, { ...key, last_used_at: minute });
      }),
    );

  return async (hash: string): Promise<Caller | AppError> => {
    const key = await store.find(apiKeys, "hash", [hash]);
    const account = key && (await store.get(accounts, key.account_id));
    if (!key || !account) return UNKNOWN_KEY;
    const minute = toIso(
      Math.floor(clock.now() / LAST_USED_RESOLUTION_MS) * LAST_USED_RESOLUTION_MS,
    );
    if (!isRecorded(key, minute)) recordUse(key.id, minute);
    return { account, scopes: SCOPES, credential: key.id };
  };
}

export const findApiKey = (reader: Reader, key: string): Promise<ApiKeyRecord | undefined> =>
  reader.find(apiKeys, "hash", [sha256(key)]);

const METHODS_WHILE_LIMITED: ReadonlySet<string> = new Set(decide("3.account-states"));

/** Returns the error if the account's state forbids this method (spec part 5: suspended or limited account). */
export function checkAccountState(account: AccountRecord, method: string): AppError | undefined {
  if (account.state === "suspended") return fail({ code: "account_suspended" });
  if (account.state === "limited" && !METHODS_WHILE_LIMITED.has(method))
    return fail({ code: "account_limited" });
  return undefined;
}

export const setAccountState = (unit: UnitOfWork, accountId: string, state: AccountState) =>
  unit.run(async (ctx) => {
    const account = await ctx.tx.get(accounts, accountId);
    if (account === undefined) throw new Error("The account is gone");
    await ctx.tx.put(accounts, { ...account, state });
  });

type KeyDraft = WithOptionalId<Infer<typeof apiKey.createBody>> & {
  readonly key?: string | undefined;
};

/** Creates a key, generated unless given. Its prefix lets people and secret scanners recognise it. */
export async function createApiKey(ctx: TxContext, account_id: string, draft: KeyDraft) {
  const { id = ctx.ids.next("key_"), name, key = `ahs_${ctx.ids.secret()}` } = draft;
  const last_four = key.slice(-4);
  const record = {
    id,
    name,
    last_four,
    created_at: ctx.timestamp,
    last_used_at: null,
    account_id,
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
  ctx: TxContext,
  account_id: string,
  { id, client_secret, ...draft }: ClientDraft,
) {
  const secret = draft.public ? null : (client_secret ?? ctx.ids.secret());
  const secret_hash = secret === null ? null : sha256(secret);
  const record = {
    id: id ?? ctx.ids.next("cli_"),
    ...draft,
    created_at: ctx.timestamp,
    account_id,
    secret_hash,
  };
  await ctx.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const oauthClientService = createCrudService(oauthClients, "OAuth client", oauthClient, {
  onCreate: createOAuthClient,
});
