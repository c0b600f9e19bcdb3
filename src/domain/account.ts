// The account (spec part 2; contract, parts 2 and 3): its state, and how a new one starts.
import type { Caller } from "./access.ts";
import { type AccountRecord, type AccountState, accounts } from "./model.ts";
import { notFound, type Refusal } from "./refusal.ts";
import type { Reader } from "./store.ts";
import type { Unit, Work } from "./work.ts";

/** example.com belongs to nobody, so nothing that is sent there reaches a stranger. */
export const OWNER_EMAIL = "owner@example.com";

export async function addAccount(w: Work, name: string, state: AccountState, id?: string): Promise<AccountRecord> {
  const account = { id: id ?? w.ids.next("acc_"), name, state };
  await w.tx.put(accounts, { ...account, all: "accounts" });
  return account;
}

export async function getAccount(reader: Reader, caller: Caller): Promise<AccountRecord | Refusal> {
  return (await reader.get(accounts, caller.account.id)) ?? notFound("account");
}

export const setAccountState = (unit: Unit, accountId: string, state: AccountState) =>
  unit.transact<AccountRecord>(async (w) => {
    const account = await w.tx.get(accounts, accountId);
    if (account === undefined) return notFound("account");
    const changed = { ...account, state };
    await w.tx.put(accounts, changed);
    return changed;
  });
