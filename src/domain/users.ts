// Users, sign-in links and sessions (spec part 1; contract, parts 2, 4 and 5). An e-mail address is unique in its
// account, ignoring case, and an account never loses its last admin. There is no password: a single-use link opens a
// session, whose secret is in a cookie. A session ends by signing out, by expiry, or with its user. Links and sessions
// are stored as SHA-256 only.
import { parseIso, toIso } from "../lib/clock.ts";
import type { Infer } from "../lib/schema.ts";
import { sha256 } from "./credentials.ts";
import { createCrudService } from "./crud.ts";
import { fail } from "./errors.ts";
import { accounts, sessions, signInTokens, type UserRecord, user, users } from "./model.ts";
import type { Reader, Store, Tx } from "./store.ts";
import type { TxContext, UnitOfWork, WithOptionalId } from "./unit-of-work.ts";
import { toEmailKey } from "./validators.ts";

type UserDraft = WithOptionalId<Infer<typeof user.createBody>>;

const derivedFields = ({ email, permissions }: Pick<UserDraft, "email" | "permissions">) => ({
  email_key: toEmailKey(email),
  is_admin: permissions.includes("admin"),
});

export async function insertUser(
  ctx: TxContext,
  account_id: string,
  { id = ctx.ids.next("usr_"), ...fields }: UserDraft,
) {
  const record: UserRecord = {
    id,
    ...fields,
    created_at: ctx.timestamp,
    updated_at: ctx.timestamp,
    account_id,
    ...derivedFields(fields),
  };
  const taken = await checkEmailFree(ctx.tx, record);
  if (taken) return taken;
  await ctx.tx.put(users, record);
  return record;
}

export const userService = createCrudService(users, "user", user, {
  onCreate: insertUser,
  onUpdate: updateUser,
  onDelete: ({ tx }, record) => checkNotLastAdmin(tx, record),
});

async function updateUser({ tx, timestamp }: TxContext, after: UserRecord, before: UserRecord) {
  const updated = { ...after, ...derivedFields(after), updated_at: timestamp };
  const taken = await checkEmailFree(tx, updated);
  if (taken) return taken;
  return (updated.is_admin ? undefined : await checkNotLastAdmin(tx, before)) ?? updated;
}

async function checkEmailFree(tx: Tx, { id, account_id, email, email_key }: UserRecord) {
  const holder = await tx.find(users, "email", [account_id, email_key]);
  return holder && holder.id !== id
    ? fail({ code: "email_taken", detail: `${email} is already a user of this account.` })
    : undefined;
}

async function checkNotLastAdmin(tx: Tx, { is_admin, account_id }: UserRecord) {
  if (!is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [account_id, true]);
  return admins > 1 ? undefined : fail({ code: "last_admin" });
}

const LINK_MS = 15 * 60_000;
/** Counted from sign-in, regardless of activity, so that a thief cannot keep a stolen cookie alive. */
const SESSION_MS = 12 * 3_600_000;
/**
 * Maximum number of pending links per user. Anyone can request one, and more would only fill the console and the store.
 */
const LINKS_MAX = 5;
const NAMESAKES_MAX = 20;

/** Returns the user with its account, or undefined if either was deleted. */
export async function loadUserWithAccount(reader: Reader, userId: string) {
  const user = await reader.get(users, userId);
  const account = user && (await reader.get(accounts, user.account_id));
  return account && { user, account };
}
export type SignedIn = NonNullable<Awaited<ReturnType<typeof loadUserWithAccount>>>;

export async function findSession(reader: Reader, secret: string, now: number) {
  const session = await reader.get(sessions, sha256(secret));
  return session && now < parseIso(session.expires_at)
    ? loadUserWithAccount(reader, session.user_id)
    : undefined;
}

/**
 * Redeems a sign-in token and ends the browser's previous session. Returns the new session's secret, or undefined if
 * the link is invalid.
 */
export const redeemSignInToken = (unit: UnitOfWork, token: string, previousSession: string) =>
  unit.run(async ({ tx, now, ids }) => {
    const link = await tx.get(signInTokens, sha256(token));
    if (link === undefined) return undefined;
    await tx.remove(signInTokens, link.id);
    const { user_id } = link;
    if (now >= parseIso(link.expires_at) || (await tx.get(users, user_id)) === undefined)
      return undefined;
    await tx.remove(sessions, sha256(previousSession));
    const secret = ids.secret();
    await tx.put(sessions, {
      id: sha256(secret),
      user_id,
      expires_at: toIso(now + SESSION_MS),
      partition: "sessions",
    });
    return secret;
  });

export const signOut = (store: Store, secret: string) =>
  store.transact((tx) => tx.remove(sessions, sha256(secret)));

/** Creates a sign-in link and returns its token, which is not stored in clear text. */
export async function createSignInToken(ctx: TxContext, user_id: string) {
  const token = ctx.ids.secret();
  await ctx.tx.put(signInTokens, {
    id: sha256(token),
    user_id,
    expires_at: toIso(ctx.now + LINK_MS),
    partition: "sign_ins",
  });
  return token;
}

/** Creates a link for each user with this address, one per account, unless too many are pending. */
export async function requestSignInLinks(ctx: TxContext, email: string) {
  const made: (SignedIn & { readonly token: string })[] = [];
  const named = await ctx.tx.page(users, "email", [toEmailKey(email)], {
    offset: 0,
    limit: NAMESAKES_MAX,
  });
  for (const user of named) {
    const account = await ctx.tx.get(accounts, user.account_id);
    if (account && (await hasRoomForLink(ctx, user.id)))
      made.push({ user, account, token: await createSignInToken(ctx, user.id) });
  }
  return made;
}

/** Deletes the user's expired links before counting, because retention may run much later. */
async function hasRoomForLink(ctx: TxContext, userId: string) {
  const waiting = await ctx.tx.page(signInTokens, "user", [userId], {
    offset: 0,
    limit: LINKS_MAX,
  });
  const over = waiting.filter((link) => ctx.now >= parseIso(link.expires_at));
  for (const link of over) await ctx.tx.remove(signInTokens, link.id);
  return waiting.length - over.length < LINKS_MAX;
}
