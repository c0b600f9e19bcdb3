// Users (spec part 1; 2.user-fields, 4.user-area). An e-mail address is unique in its account, ignoring case, and an
// account never loses its last admin. A browser session belongs to a user and, if an API key opened it, to that key; it
// ends with either. There is no password. On a local server a user is enough; elsewhere an API key comes first. The two
// steps are joined by a one-time state. Secrets are stored as SHA-256 only.
import { parseIso, toIso } from "../lib/clock.ts";
import { sha256 } from "../lib/ids.ts";
import type { Infer } from "../lib/schema.ts";
import { sessions, signInStates } from "./collections.ts";
import { findApiKey } from "./credentials.ts";
import { createCrudService, toNewRecord } from "./crud.ts";
import { appError } from "./errors.ts";
import { accounts, apiKeys, type UserRecord, user, users } from "./model.ts";
import type { Reader, Store, Tx } from "./store.ts";
import type { AccountContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";
import { toEmailKey } from "./validators.ts";

/** Returns the user with its account, or undefined if either was deleted. */
export async function findUser(reader: Reader, id: string) {
  const user = await reader.get(users, id);
  const account = user && (await reader.get(accounts, user.account_id));
  return account && { user, account };
}

export async function createUser(
  ctx: AccountContext,
  draft: WithOptionalId<Infer<typeof user.createBody>>,
) {
  const record = withDerivedFields(toNewRecord(ctx, "usr_", draft));
  const error = await checkEmailFree(ctx.tx, record);
  if (error) return error;
  await ctx.tx.put(users, record);
  return record;
}

export const userService = createCrudService(users, "user", user, {
  onCreate: createUser,
  async onUpdate({ tx }, after, before) {
    const updated = withDerivedFields(after);
    const error =
      (await checkEmailFree(tx, updated)) ??
      (updated.is_admin ? undefined : await checkNotLastAdmin(tx, before));
    return error ?? updated;
  },
  onDelete: ({ tx }, record) => checkNotLastAdmin(tx, record),
});

const withDerivedFields = (record: Omit<UserRecord, "email_key" | "is_admin">): UserRecord => ({
  ...record,
  email_key: toEmailKey(record.email),
  is_admin: record.permissions.includes("admin"),
});

async function checkEmailFree(tx: Tx, { id, account_id, email, email_key }: UserRecord) {
  const holder = await tx.find(users, "email", [account_id, email_key]);
  return holder && holder.id !== id
    ? appError({ code: "email_taken", detail: `${email} is already a user of this account.` })
    : undefined;
}

async function checkNotLastAdmin(tx: Tx, { is_admin, account_id }: UserRecord) {
  if (!is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [account_id, true]);
  return admins > 1 ? undefined : appError({ code: "last_admin" });
}

/** Counted from sign-in, regardless of activity, so that a thief cannot keep a stolen cookie alive. */
const SESSION_MS = 12 * 3_600_000;
const SIGN_IN_STATE_MS = 5 * 60_000;

/** Returns the user of a session that has not ended, with the user's account. */
export async function findSession(reader: Reader, secret: string, now: number) {
  const session = await reader.get(sessions, sha256(secret));
  if (session === undefined || now >= parseIso(session.expires_at)) return undefined;
  const { user_id, key_id } = session;
  if (key_id !== null && (await reader.get(apiKeys, key_id)) === undefined) return undefined;
  return findUser(reader, user_id);
}
export type SessionUser = NonNullable<Awaited<ReturnType<typeof findSession>>>;

/** Returns the key's account and the one-time state of the second step, or undefined if there is no such key. */
export const startSignIn = (unitOfWork: UnitOfWork, key: string) =>
  unitOfWork.run(async ({ tx, ids, now }) => {
    const apiKey = await findApiKey(tx, key);
    if (apiKey === undefined) return undefined;
    const state = ids.secret();
    await tx.put(signInStates, {
      id: sha256(state),
      key_id: apiKey.id,
      expires_at: toIso(now + SIGN_IN_STATE_MS),
    });
    return { state, accountId: apiKey.account_id };
  });

interface SignIn {
  readonly userId: string;
  /** The state of the first step; null if the user needs no API key. */
  readonly state: string | null;
  /** The secret of the browser's previous session, which ends. */
  readonly previousSecret: string;
}

/** Opens a session and returns its secret, or undefined if the state or the user is invalid. */
export const openSession = (unitOfWork: UnitOfWork, { userId, state, previousSecret }: SignIn) =>
  unitOfWork.run(async ({ tx, ids, now }) => {
    const apiKey = state === null ? null : await redeemState(tx, state, now);
    const user = await tx.get(users, userId);
    if (user === undefined || apiKey === undefined) return undefined;
    if (apiKey && apiKey.account_id !== user.account_id) return undefined;
    await tx.remove(sessions, sha256(previousSecret));
    const secret = ids.secret();
    await tx.put(sessions, {
      id: sha256(secret),
      user_id: user.id,
      key_id: apiKey?.id ?? null,
      expires_at: toIso(now + SESSION_MS),
    });
    return secret;
  });

/** Deletes the state and returns its API key, unless the state has expired or the key was deleted. */
async function redeemState(tx: Tx, state: string, now: number) {
  const signIn = await tx.get(signInStates, sha256(state));
  if (signIn === undefined) return undefined;
  await tx.remove(signInStates, signIn.id);
  return now < parseIso(signIn.expires_at) ? tx.get(apiKeys, signIn.key_id) : undefined;
}

export const closeSession = (store: Store, secret: string): Promise<void> =>
  store.transact((tx) => tx.remove(sessions, sha256(secret)));
