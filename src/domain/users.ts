// Users and how they sign in (spec part 1; contract, parts 2, 4 and 5). An e-mail address is one user of the account,
// however it is capitalised, and an account never loses its last admin. There is no password: a link that works once opens
// a session, a secret in the browser's cookie. It ends by signing out, by time, and with its user. Links and sessions are
// kept as SHA-256 only.
import { decide } from "../decisions.ts";
import { instant, iso } from "../kit/clock.ts";
import type { Infer } from "../kit/schema.ts";
import { sha256 } from "./access.ts";
import { owned } from "./lists.ts";
import { accounts, sessions, signIns, type UserRecord, user, users } from "./model.ts";
import { Refusal, refuse } from "./refusal.ts";
import type { Reader, Store, Tx } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

type UserDraft = Seeded<Infer<typeof user.draft>>;

/** Makes a user and the token of a sign-in link for them. */
async function adding(w: Work, account_id: string, draft: UserDraft) {
  const record = await addUser(w, account_id, draft);
  return record instanceof Refusal ? record : { ...record, signInToken: await newSignIn(w, record.id) };
}

const derived = ({ email, permissions }: Pick<UserDraft, "email" | "permissions">) => ({
  email_key: email.toLowerCase(),
  is_admin: permissions.includes("admin"),
});

export async function addUser(w: Work, account_id: string, { id = w.ids.next("usr_"), ...draft }: UserDraft) {
  const record: UserRecord = { id, ...draft, created_at: w.at, updated_at: w.at, account_id, ...derived(draft) };
  const taken = await emailTaken(w.tx, record);
  if (taken) return taken;
  await w.tx.put(users, record);
  return record;
}

export const own = owned(users, "user", user, {
  adding,
  changing,
  removing: ({ tx }, record) => lastAdmin(tx, record),
});

async function changing(w: Work, after: UserRecord, before: UserRecord) {
  const changed = { ...after, ...derived(after), updated_at: w.at };
  const taken = await emailTaken(w.tx, changed);
  return taken ?? (changed.is_admin ? undefined : await lastAdmin(w.tx, before)) ?? changed;
}

async function emailTaken(tx: Tx, { id, account_id, email, email_key }: UserRecord) {
  const holder = await tx.find(users, "email", [account_id, email_key]);
  return holder && holder.id !== id
    ? refuse({ code: "email_taken", detail: `${email} is already a user of this account.` })
    : undefined;
}

async function lastAdmin(tx: Tx, user: UserRecord) {
  if (!user.is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [user.account_id, true]);
  return admins > 1 ? undefined : refuse({ code: "last_admin" });
}

const { link_min, session_h } = decide("5.sign-in-link");
const LINK_MS = link_min * 60_000;
/** From the sign-in on, however busy the session is: a stolen cookie is not kept alive by its thief. */
const SESSION_MS = session_h * 3_600_000;
/** Of a user, waiting: anybody can ask for one at the sign-in page, and more would only fill the console and the store. */
const LINKS_MAX = 5;
const NAMESAKES_MAX = 20;

/** A user with the account that the user belongs to; undefined where either is gone. */
export async function userIn(reader: Reader, userId: string) {
  const user = await reader.get(users, userId);
  const account = user && (await reader.get(accounts, user.account_id));
  return account && { user, account };
}
export type SignedIn = NonNullable<Awaited<ReturnType<typeof userIn>>>;

export async function sessionOf(reader: Reader, secret: string, now: number) {
  const session = await reader.get(sessions, sha256(secret));
  return session && now < instant(session.expires_at) ? userIn(reader, session.user_id) : undefined;
}

/**
 * Uses up the token of a sign-in link and ends the session that this browser had. Answers the new session's secret;
 * undefined where the link does not work.
 */
export const signInWith = (unit: Unit, token: string, before: string) =>
  unit.transact(async ({ tx, now, ids }) => {
    const link = await tx.get(signIns, sha256(token));
    if (link === undefined) return undefined;
    await tx.remove(signIns, link.id);
    const { user_id } = link;
    if (now >= instant(link.expires_at) || (await tx.get(users, user_id)) === undefined) return undefined;
    await tx.remove(sessions, sha256(before));
    const secret = ids.secret();
    await tx.put(sessions, { id: sha256(secret), user_id, expires_at: iso(now + SESSION_MS), all: "sessions" });
    return secret;
  });

export const signOut = (store: Store, secret: string) => store.transact((tx) => tx.remove(sessions, sha256(secret)));

/** Makes a link for the user; answers its token, which is known nowhere else. */
export async function newSignIn(w: Work, user_id: string) {
  const token = w.ids.secret();
  await w.tx.put(signIns, { id: sha256(token), user_id, expires_at: iso(w.now + LINK_MS), all: "sign_ins" });
  return token;
}

/** New links for the users with this address, one in each of their accounts; none where enough are waiting. */
export async function askForLinks(w: Work, email: string) {
  const made: (SignedIn & { readonly token: string })[] = [];
  const named = await w.tx.page(users, "email", [email.toLowerCase()], { offset: 0, limit: NAMESAKES_MAX });
  for (const user of named) {
    const account = await w.tx.get(accounts, user.account_id);
    if (account && (await roomForLink(w, user.id))) made.push({ user, account, token: await newSignIn(w, user.id) });
  }
  return made;
}

/** Links that are over make room at once: they are forgotten within the hour, and that may be long after. */
async function roomForLink(w: Work, userId: string) {
  const waiting = await w.tx.page(signIns, "user", [userId], { offset: 0, limit: LINKS_MAX });
  const over = waiting.filter((link) => w.now >= instant(link.expires_at));
  for (const link of over) await w.tx.remove(signIns, link.id);
  return waiting.length - over.length < LINKS_MAX;
}
