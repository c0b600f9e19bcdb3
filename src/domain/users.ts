// Users and their permissions (spec part 1; fields and rules: contract, parts 2 and 4). An e-mail address is one user of
// the account, however it is capitalised, and an account never loses its last admin.
import { decide } from "../kit/decisions.ts";
import { changesOf, type Infer, list, object, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { type Page, pageOf } from "./lists.ts";
import { PREFIX, SCOPES, scope, type UserRecord, users } from "./model.ts";
import { type Expect, notFound, Refusal, refuse } from "./refusal.ts";
import { newSignIn } from "./sign-in.ts";
import type { Reader, Span, Tx } from "./store.ts";
import type { Unit, Work } from "./work.ts";

const EMAIL = /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@"(),:;<>[\\\]]+$/;

const RULES = decide(
  "2.user-request",
  { email: { min: 3, max: 254 }, name: { max: 200 } },
  {
    open: "which fields of a user are required, and how long they may be",
    why: "the address is what a user is known and signs in by, as long as mail allows; a name is for people",
  },
);

export const userDraft = object({
  email: text({ ...RULES.email, pattern: EMAIL, says: "an e-mail address like name@example.com", format: "email" }),
  name: withDefault(text(RULES.name), ""),
  permissions: withDefault(
    list(scope, { max: SCOPES.length, distinct: true }),
    decide("2.user-permissions", [], {
      open: "the fields of a user and how permissions are given",
      why: "the five scopes are the permissions; a new user has none until somebody gives them",
    }),
  ),
});
export const userChanges = changesOf(userDraft);

/** The new user and the token of a sign-in link for them. */
export interface NewUser {
  readonly record: UserRecord;
  readonly signInToken: string;
}

const emailKey = (email: string): string => email.toLowerCase();

export const createUser = (unit: Unit, caller: Caller, draft: Infer<typeof userDraft>) =>
  unit.transact<NewUser>(async (w) => {
    const record = await addUser(w, caller.account.id, draft);
    if (record instanceof Refusal) return record;
    return { record, signInToken: await newSignIn(w, record.id) };
  });

export async function addUser(
  w: Work,
  accountId: string,
  { email, name, permissions }: Infer<typeof userDraft>,
  id?: string,
): Promise<UserRecord | Refusal> {
  const taken = await emailTaken(w.tx, accountId, email);
  if (taken) return taken;
  const record: UserRecord = {
    id: id ?? w.ids.next(PREFIX.user),
    email,
    name,
    permissions,
    created_at: w.at,
    updated_at: w.at,
    account_id: accountId,
    email_key: emailKey(email),
    is_admin: permissions.includes("admin"),
  };
  await w.tx.put(users, record);
  return record;
}

export async function getUser(reader: Reader, caller: Caller, id: string): Promise<UserRecord | Refusal> {
  const user = await reader.get(users, id);
  return user?.account_id === caller.account.id ? user : notFound("user");
}

export const listUsers = (reader: Reader, caller: Caller, span: Span): Promise<Page<UserRecord>> =>
  pageOf(reader, users, "account", [caller.account.id], span);

export const changeUser = (
  unit: Unit,
  caller: Caller,
  id: string,
  changes: Infer<typeof userChanges>,
  expect: Expect<UserRecord>,
) =>
  unit.transact<UserRecord>(async (w) => {
    const user = await getUser(w.tx, caller, id);
    if (user instanceof Refusal) return user;
    const changed: UserRecord = { ...user, ...changes, updated_at: w.at };
    const email_key = emailKey(changed.email);
    const is_admin = changed.permissions.includes("admin");
    const unmet =
      (email_key === user.email_key ? undefined : await emailTaken(w.tx, user.account_id, changed.email)) ??
      (is_admin ? undefined : await lastAdmin(w.tx, user)) ??
      expect(user);
    if (unmet) return unmet;
    if (sameUser(user, changed)) return user;
    const record = { ...changed, email_key, is_admin };
    await w.tx.put(users, record);
    return record;
  });

export const removeUser = (unit: Unit, caller: Caller, id: string, expect: Expect<UserRecord>) =>
  unit.transact<null>(async (w) => {
    const user = await getUser(w.tx, caller, id);
    if (user instanceof Refusal) return user;
    const unmet = (await lastAdmin(w.tx, user)) ?? expect(user);
    if (unmet) return unmet;
    await w.tx.remove(users, id);
    return null;
  });

async function emailTaken(tx: Tx, accountId: string, email: string): Promise<Refusal | undefined> {
  const holder = await tx.find(users, "email", [accountId, emailKey(email)]);
  return holder && refuse({ code: "email_taken", email });
}

async function lastAdmin(tx: Tx, user: UserRecord): Promise<Refusal | undefined> {
  if (!user.is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [user.account_id, true]);
  return admins > 1 ? undefined : refuse({ code: "last_admin" });
}

const sameUser = (a: UserRecord, b: UserRecord): boolean =>
  a.email === b.email && a.name === b.name && a.permissions.join() === b.permissions.join();
