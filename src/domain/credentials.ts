// Credentials: API keys, which open the whole account, OAuth clients, scopes and account states (spec part 5; contract,
// parts 2 and 5). A secret is shown only in the response that creates it; the store holds its SHA-256.
import { hash, timingSafeEqual } from "node:crypto";
import { toIso } from "../lib/clock.ts";
import type { Infer } from "../lib/schema.ts";
import type { TaskTracker } from "../lib/tasks.ts";
import { createCrudService } from "./crud.ts";
import { type AppError, fail } from "./errors.ts";
import {
  type AccountRecord,
  type AccountState,
  type ApiKeyRecord,
  accounts,
  apiKey,
  apiKeys,
  type OAuthClientRecord,
  oauthClient,
  oauthClients,
  SCOPES,
  type Scope,
  type UserRecord,
} from "./model.ts";
import { invalidClient } from "./oauth/errors.ts";
import type { Reader, Store } from "./store.ts";
import type { TxContext, UnitOfWork, UnitOfWorkDeps, WithOptionalId } from "./unit-of-work.ts";

export interface Caller {
  readonly account: AccountRecord;
  /** The user that the access token belongs to; an API key belongs to no user. */
  readonly user?: UserRecord;
  readonly scopes: readonly Scope[];
  /** Id of the API key or of the access token's grant. Idempotency keys are scoped to it. */
  readonly credential: string;
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** Compares two hashes of one kind in constant time. */
export const isSameHash = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** `admin` contains the other scopes (spec part 5: full account access). */
export const hasScope = (scopes: readonly string[], scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

export const isSubset = (scopes: readonly Scope[], heldScopes: readonly string[]): boolean =>
  scopes.every((scope) => hasScope(heldScopes, scope));

/** Returns the requested scopes that are held, in the order requested. */
export function intersectScopes(
  requestedScopes: readonly Scope[],
  heldScopes: readonly Scope[],
): readonly Scope[] {
  return requestedScopes.includes("admin") && !heldScopes.includes("admin")
    ? heldScopes
    : requestedScopes.filter((scope) => hasScope(heldScopes, scope));
}

/** `last_used_at` is rounded down to the minute, so that a read seldom causes a write. */
const LAST_USED_RESOLUTION_MS = 60_000;

const UNKNOWN_CREDENTIAL = fail({
  code: "invalid_credential",
  detail:
    "The credential is no known API key or access token. Check that it is complete and not deleted.",
});

/** Returns a function that authenticates by key hash. It queries the store at every use, so that a deletion counts. */
export function createApiKeyAuthenticator({ store, clock }: UnitOfWorkDeps, tasks: TaskTracker) {
  return async (keyHash: string): Promise<Caller | AppError> => {
    const key = await store.find(apiKeys, "hash", [keyHash]);
    const account = key && (await store.get(accounts, key.account_id));
    if (!account) return UNKNOWN_CREDENTIAL;
    const minutes = Math.floor(clock.now() / LAST_USED_RESOLUTION_MS);
    const minute = toIso(minutes * LAST_USED_RESOLUTION_MS);
    // In the background: the request neither waits for it nor fails with it.
    if (key.last_used_at !== minute)
      tasks.run("recording the use of an API key", () => recordUse(store, key.id, minute));
    return { account, scopes: SCOPES, credential: key.id };
  };
}

const recordUse = (store: Store, id: string, minute: string): Promise<void> =>
  store.transact(async (tx) => {
    const key = await tx.get(apiKeys, id);
    if (key && key.last_used_at !== minute) await tx.put(apiKeys, { ...key, last_used_at: minute });
  });

export const findApiKey = (reader: Reader, key: string): Promise<ApiKeyRecord | undefined> =>
  reader.find(apiKeys, "hash", [sha256(key)]);

/** Returns the error if the account's state forbids this method (spec part 5: suspended or limited account). */
export function checkAccountState(account: AccountRecord, method: string): AppError | undefined {
  const isRead = ["GET", "HEAD", "OPTIONS"].includes(method);
  if (account.state === "suspended") return fail({ code: "account_suspended" });
  return account.state === "limited" && !isRead ? fail({ code: "account_limited" }) : undefined;
}

export const setAccountState = (
  unitOfWork: UnitOfWork,
  accountId: string,
  state: AccountState,
): Promise<void> =>
  unitOfWork.run(async ({ tx }) => {
    const account = await tx.get(accounts, accountId);
    if (account === undefined) throw new Error("The account was deleted");
    await tx.put(accounts, { ...account, state });
  });

type KeyDraft = WithOptionalId<Infer<typeof apiKey.createBody>> & {
  readonly key?: string | undefined;
};

/** Creates a key, generated unless given. Its prefix lets people and secret scanners recognise it. */
export async function createApiKey(ctx: TxContext, account_id: string, draft: KeyDraft) {
  const { id = ctx.ids.next("key_"), name, key = `ahs_${ctx.ids.secret()}` } = draft;
  const record = {
    id,
    name,
    last_four: key.slice(-4),
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
  const record = {
    id: id ?? ctx.ids.next("cli_"),
    ...draft,
    created_at: ctx.timestamp,
    account_id,
    secret_hash: secret === null ? null : sha256(secret),
  };
  await ctx.tx.put(oauthClients, record);
  return { ...record, client_secret: secret };
}

export const oauthClientService = createCrudService(oauthClients, "OAuth client", oauthClient, {
  onCreate: createOAuthClient,
});

export interface ClientCredentials {
  readonly id: string | null;
  readonly secret: string | null;
}

/** Authenticates the client (RFC 6749 2.3). A confidential client must send its secret. */
export async function authenticateClient(
  reader: Reader,
  credentials: ClientCredentials,
): Promise<OAuthClientRecord> {
  const client = await identifyClient(reader, credentials);
  if (client === null)
    throw invalidClient("The client credentials are missing: send client_id and client_secret.");
  if (!client.public && credentials.secret === null)
    throw invalidClient("The client credentials are not complete: client_secret is missing.");
  return client;
}

/** Returns the client that the credentials name, or null if there are none. A secret must be correct if it is sent. */
export async function identifyClient(
  reader: Reader,
  { id, secret }: ClientCredentials,
): Promise<OAuthClientRecord | null> {
  if (id === null && secret === null) return null;
  // The error names the exact problem: client ids are not secret.
  const client = id === null ? undefined : await reader.get(oauthClients, id);
  if (client === undefined)
    throw invalidClient("The client credentials are not valid: there is no such client.");
  const { secret_hash } = client;
  if (secret !== null && (secret_hash === null || !isSameHash(secret_hash, sha256(secret))))
    throw invalidClient("The client credentials are not valid: the client_secret is wrong.");
  return client;
}
