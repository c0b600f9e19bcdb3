// What a start finds or makes: a fresh store is planted with the seed, an existing one is left as it is, except that a
// pinned key that it does not know is added. A sign-in link is always made anew.
import { readFileSync } from "node:fs";
import { keyOf } from "./domain/access.ts";
import { addApiKey } from "./domain/credentials.ts";
import { type AccountRecord, accounts, users } from "./domain/model.ts";
import { Refusal } from "./domain/refusal.ts";
import { DEFAULT_SEED, FIRST_KEY, plant, type Seed, seedSchema } from "./domain/seed.ts";
import { newSignIn } from "./domain/users.ts";
import type { webhookDraft } from "./domain/webhooks.ts";
import { Unit, type UnitParts } from "./domain/work.ts";
import type { Log } from "./kit/log.ts";
import { parse, pointer } from "./kit/schema.ts";
import { OptionError } from "./options.ts";

export interface Start {
  readonly account: AccountRecord;
  /** In clear; null where the store holds only its hash. */
  readonly apiKey: string | null;
}

export interface StartRules {
  readonly seed: object | string | null;
  readonly apiKey: string | null;
  /** Over existing data: make a start-up key where none is given, because whoever starts the service needs one. */
  readonly needsKey: boolean;
  readonly webhookDraft: ReturnType<typeof webhookDraft>;
  readonly log: Log;
}

/** Plants a fresh store, or resumes what an existing one holds: then `fresh` is false. */
export async function begin(parts: UnitParts, rules: StartRules): Promise<Start & { readonly fresh: boolean }> {
  const [existing] = await parts.store.page(accounts, "all", ["accounts"], { offset: 0, limit: 1 });
  const start = existing ? await resume(new Unit(parts), existing, rules) : await plantSeed(parts, rules);
  return { ...start, fresh: existing === undefined };
}

export async function plantSeed(parts: UnitParts, { seed, apiKey, webhookDraft }: StartRules): Promise<Start> {
  const planned = checked(seed === null ? DEFAULT_SEED : seedValue(seed), webhookDraft);
  const planted = await plant(new Unit(parts), planned, apiKey ?? undefined);
  if (planted instanceof Refusal) throw new OptionError(`The seed is wrong: ${faultOf(planted)}`);
  return { account: planted.account, apiKey: planted.key };
}

async function resume(unit: Unit, account: AccountRecord, rules: StartRules): Promise<Start> {
  if (rules.seed !== null) rules.log.warn("The seed was not used: the store already holds an account.");
  const { apiKey, needsKey } = rules;
  if (apiKey === null && !needsKey) return { account, apiKey };
  return { account, apiKey: await ensureKey(unit, account, apiKey) };
}

/** The key opens the account, or a new one does where none is given; answers it. */
export async function ensureKey(unit: Unit, account: AccountRecord, apiKey: string | null): Promise<string> {
  if (apiKey !== null && (await keyOf(unit.store, apiKey))) return apiKey;
  const added = await unit.transact((w) => addApiKey(w, account.id, { name: FIRST_KEY, key: apiKey ?? undefined }));
  if (added instanceof Refusal) throw new Error(`The start-up key was refused: ${added.reason.code}`);
  return added.key;
}

function seedValue(seed: object | string): unknown {
  if (typeof seed !== "string") return seed;
  try {
    return JSON.parse(readFileSync(seed, "utf8"));
  } catch (error) {
    throw new OptionError(`The seed ${seed} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checked(value: unknown, draft: StartRules["webhookDraft"]): Seed {
  const result = parse(seedSchema(draft), value);
  if ("value" in result) return result.value;
  const [first] = result.faults;
  const more = result.faults.length > 1 ? ` (and ${result.faults.length - 1} more)` : "";
  throw new OptionError(`The seed is wrong: ${pointer(first?.path ?? [])} ${first?.detail}${more}`);
}

function faultOf({ reason }: Refusal): string {
  const [first] = "errors" in reason ? (reason.errors ?? []) : [];
  return first ? `${first.pointer} ${first.detail}` : reason.code;
}

/** A new sign-in link for the account's first admin; its first user where a seed names no admin. */
export const ownersSignIn = (unit: Unit, account: AccountRecord): Promise<SignInLink> =>
  unit.transact(async (w) => {
    const first = { offset: 0, limit: 1 };
    const [admin] = await w.tx.page(users, "account_admin", [account.id, true], first);
    const [user] = admin ? [admin] : await w.tx.page(users, "account", [account.id], first);
    return { signInToken: user ? await newSignIn(w, user.id) : "", signsIn: user?.email ?? "" };
  });

/** `signsIn` is the e-mail address of whom the link is for. */
export interface SignInLink {
  readonly signInToken: string;
  readonly signsIn: string;
}
