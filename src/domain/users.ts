// Users and their permissions (spec part 1; fields and rules: contract, parts 2 and 4). An e-mail address is one user of
// the account, however it is capitalised, and an account never loses its last admin.
import { decide } from "../decisions.ts";
import { changesOf, type Infer, list, object, text, withDefault } from "../kit/schema.ts";
import type { Caller } from "./access.ts";
import { owned } from "./lists.ts";
import { SCOPES, scope, type UserRecord, users } from "./model.ts";
import { Refusal, refuse } from "./refusal.ts";
import { newSignIn } from "./sessions.ts";
import type { Tx } from "./store.ts";
import type { Seeded, Unit, Work } from "./work.ts";

const EMAIL = /^[^\s@"(),:;<>[\\\]]{1,64}@[^\s@"(),:;<>[\\\]]+$/;
/** C0, DEL and C1: an address stands in the log and on the console. */
const CONTROL = /\p{Cc}/u;

export const userDraft = object({
  email: text({
    min: 3,
    max: 254, // as mail has it
    pattern: EMAIL,
    says: "an e-mail address like name@example.com",
    format: "email",
    rule: (email) => (CONTROL.test(email) ? "must not contain a control character" : undefined),
  }),
  name: withDefault(text({ max: decide("8.field-lengths").name }), ""),
  permissions: withDefault(list(scope, { max: SCOPES.length, distinct: true }), []),
});
export const userChanges = changesOf(userDraft);

type UserDraft = Seeded<Infer<typeof userDraft>>;

/** The new user and the token of a sign-in link for them. */
export interface NewUser {
  readonly record: UserRecord;
  readonly signInToken: string;
}

export const createUser = (unit: Unit, caller: Caller, draft: UserDraft) =>
  unit.transact(async (w): Promise<NewUser | Refusal> => {
    const record = await addUser(w, caller.account.id, draft);
    return record instanceof Refusal ? record : { record, signInToken: await newSignIn(w, record.id) };
  });

/** What lists and unique keys need. */
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

const own = owned(users, "user", { changing, removing: ({ tx }, user) => lastAdmin(tx, user) });
export const { get: getUser, list: listUsers, change: changeUser, remove: removeUser } = own;

async function changing(w: Work, after: UserRecord, before: UserRecord): Promise<UserRecord | Refusal> {
  const changed = { ...after, ...derived(after), updated_at: w.at };
  const taken = await emailTaken(w.tx, changed);
  return taken ?? (changed.is_admin ? undefined : await lastAdmin(w.tx, before)) ?? changed;
}

async function emailTaken(tx: Tx, { id, account_id, email, email_key }: UserRecord): Promise<Refusal | undefined> {
  const holder = await tx.find(users, "email", [account_id, email_key]);
  return holder && holder.id !== id ? refuse({ code: "email_taken", email }) : undefined;
}

async function lastAdmin(tx: Tx, user: UserRecord): Promise<Refusal | undefined> {
  if (!user.is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [user.account_id, true]);
  return admins > 1 ? undefined : refuse({ code: "last_admin" });
}
