// Users (spec part 1; contract, parts 2 and 4). An e-mail address is unique in its account, ignoring case, and an account
// never loses its last admin. Their sessions are in domain/sessions.
import type { Infer } from "../lib/schema.ts";
import { createCrudService } from "./crud.ts";
import { fail } from "./errors.ts";
import { accounts, type UserRecord, user, users } from "./model.ts";
import type { Reader, Tx } from "./store.ts";
import type { TxContext, WithOptionalId } from "./unit-of-work.ts";
import { toEmailKey } from "./validators.ts";

/** Returns the user with its account, or undefined if either was deleted. */
export async function findUser(reader: Reader, id: string) {
  const user = await reader.get(users, id);
  const account = user && (await reader.get(accounts, user.account_id));
  return account && { user, account };
}

type UserDraft = WithOptionalId<Infer<typeof user.createBody>>;

export async function createUser(
  ctx: TxContext,
  account_id: string,
  { id = ctx.ids.next("usr_"), ...fields }: UserDraft,
) {
  const record = withDerivedFields({
    id,
    ...fields,
    created_at: ctx.timestamp,
    updated_at: ctx.timestamp,
    account_id,
  });
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
    ? fail({ code: "email_taken", detail: `${email} is already a user of this account.` })
    : undefined;
}

async function checkNotLastAdmin(tx: Tx, { is_admin, account_id }: UserRecord) {
  if (!is_admin) return undefined;
  const admins = await tx.count(users, "account_admin", [account_id, true]);
  return admins > 1 ? undefined : fail({ code: "last_admin" });
}
