// Browsers in which somebody is signed in (contract, part 5: sign-in by one-time link). A session is a secret in a cookie,
// kept as its SHA-256; it ends by signing out, by time, and with its user.
import { type Clock, instant, iso } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";
import type { Ids } from "../kit/ids.ts";
import { sha256 } from "./access.ts";
import { type AccountRecord, accounts, signIns, type UserRecord, users } from "./model.ts";
import { sessions } from "./oauth/model.ts";
import { newSignIn } from "./sign-in.ts";
import type { Reader, Store, Tx } from "./store.ts";
import type { Work } from "./work.ts";

const SESSION_MS = decide("5.session-lifetime", 12 * 3_600_000, {
  open: "how long a user stays signed in to the dashboard",
  why: "a working day; a new link is one click away",
});
const LINKS_MAX = decide("5.sign-in-links-max", 5, {
  open: "how many sign-in links a user may have waiting",
  why: "anybody can ask for one at the sign-in page; more would only fill the console and the store",
});
const NAMESAKES_MAX = 20;
const SECRET_BYTES = 32;

export interface SignedIn {
  readonly user: UserRecord;
  readonly account: AccountRecord;
}

/** Who is signed in with this secret; undefined where nobody is. */
export async function sessionOf(reader: Reader, secret: string, now: number): Promise<SignedIn | undefined> {
  const session = await reader.get(sessions, sha256(secret));
  if (session === undefined || now >= instant(session.expires_at)) return undefined;
  const user = await reader.get(users, session.user_id);
  const account = user && (await reader.get(accounts, user.account_id));
  return user && account ? { user, account } : undefined;
}

export interface SessionParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

/**
 * Uses up the token of a sign-in link and ends the session that this browser had. Answers the new session's secret;
 * undefined where the link does not work.
 */
export function signInWith(
  { store, clock, ids }: SessionParts,
  token: string,
  before: string,
): Promise<string | undefined> {
  return store.transact(async (tx) => {
    const now = clock.now();
    const link = await tx.get(signIns, sha256(token));
    if (link === undefined) return undefined;
    await tx.remove(signIns, link.id);
    if (now >= instant(link.expires_at) || (await tx.get(users, link.user_id)) === undefined) return undefined;
    await tx.remove(sessions, sha256(before));
    return openSession(tx, link.user_id, now, ids);
  });
}

/** The session lasts from here on, however busy it is: a stolen cookie is not kept alive by its thief. */
async function openSession(tx: Tx, userId: string, now: number, ids: Ids): Promise<string> {
  const secret = ids.secret(SECRET_BYTES);
  await tx.put(sessions, {
    id: sha256(secret),
    user_id: userId,
    created_at: iso(now),
    expires_at: iso(now + SESSION_MS),
    all: "sessions",
  });
  return secret;
}

export const signOut = (store: Store, secret: string): Promise<void> =>
  store.transact((tx) => tx.remove(sessions, sha256(secret)));

export interface AskedLink extends SignedIn {
  readonly token: string;
}

/** New links for the users with this address, one in each of their accounts; none where enough are waiting. */
export async function askForLinks(w: Work, email: string): Promise<readonly AskedLink[]> {
  const made: AskedLink[] = [];
  const named = await w.tx.page(users, "email", [email.toLowerCase()], { offset: 0, limit: NAMESAKES_MAX });
  for (const user of named) {
    const account = await w.tx.get(accounts, user.account_id);
    if (account && (await roomForLink(w, user.id))) made.push({ user, account, token: await newSignIn(w, user.id) });
  }
  return made;
}

/** Links that are over make room at once, without waiting for the sweep. */
async function roomForLink(w: Work, userId: string): Promise<boolean> {
  const waiting = await w.tx.page(signIns, "user", [userId], { offset: 0, limit: LINKS_MAX });
  const over = waiting.filter((link) => w.now >= instant(link.expires_at));
  for (const link of over) await w.tx.remove(signIns, link.id);
  return waiting.length - over.length < LINKS_MAX;
}
