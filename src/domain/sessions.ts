// Signing in without a password (contract, part 5): a link that works once opens a session, a secret in the browser's
// cookie. It ends by signing out, by time, and with its user. Both are kept as SHA-256 only.
import { decide } from "../decisions.ts";
import { instant, iso } from "../kit/clock.ts";
import { sha256 } from "./access.ts";
import { type AccountRecord, accounts, signIns, type UserRecord, users } from "./model.ts";
import { sessions } from "./oauth/model.ts";
import type { Reader, Store } from "./store.ts";
import { Unit, type UnitParts, type Work } from "./work.ts";

const { link_min, session_h } = decide("5.sign-in-link");
const LINK_MS = link_min * 60_000;
/** From the sign-in on, however busy the session is: a stolen cookie is not kept alive by its thief. */
const SESSION_MS = session_h * 3_600_000;
/** Of a user, waiting: anybody can ask for one at the sign-in page, and more would only fill the console and the store. */
const LINKS_MAX = 5;
const NAMESAKES_MAX = 20;

export interface SignedIn {
  readonly user: UserRecord;
  readonly account: AccountRecord;
}

/** A user with the account that the user belongs to; undefined where either is gone. */
export async function userIn(reader: Reader, userId: string): Promise<SignedIn | undefined> {
  const user = await reader.get(users, userId);
  const account = user && (await reader.get(accounts, user.account_id));
  return account && { user, account };
}

/** Who is signed in with this secret; undefined where nobody is. */
export async function sessionOf(reader: Reader, secret: string, now: number): Promise<SignedIn | undefined> {
  const session = await reader.get(sessions, sha256(secret));
  return session && now < instant(session.expires_at) ? userIn(reader, session.user_id) : undefined;
}

/**
 * Uses up the token of a sign-in link and ends the session that this browser had. Answers the new session's secret;
 * undefined where the link does not work.
 */
export const signInWith = (parts: UnitParts, token: string, before: string) =>
  new Unit(parts).transact(async ({ tx, now, at, ids }) => {
    const link = await tx.get(signIns, sha256(token));
    if (link === undefined) return undefined;
    await tx.remove(signIns, link.id);
    const { user_id } = link;
    if (now >= instant(link.expires_at) || (await tx.get(users, user_id)) === undefined) return undefined;
    await tx.remove(sessions, sha256(before));
    const secret = ids.secret();
    const times = { created_at: at, expires_at: iso(now + SESSION_MS) };
    await tx.put(sessions, { id: sha256(secret), user_id, ...times, all: "sessions" });
    return secret;
  });

export const signOut = (store: Store, secret: string): Promise<void> =>
  store.transact((tx) => tx.remove(sessions, sha256(secret)));

/** Makes a link for the user; answers its token, which is known nowhere else. */
export async function newSignIn(w: Work, user_id: string): Promise<string> {
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

/** Links that are over make room at once, without waiting to be forgotten. */
async function roomForLink(w: Work, userId: string): Promise<boolean> {
  const waiting = await w.tx.page(signIns, "user", [userId], { offset: 0, limit: LINKS_MAX });
  const over = waiting.filter((link) => w.now >= instant(link.expires_at));
  for (const link of over) await w.tx.remove(signIns, link.id);
  return waiting.length - over.length < LINKS_MAX;
}
