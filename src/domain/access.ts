// Who calls and what they may do (spec part 5; contract part 5, API keys): the key, and the state of the account behind
// it. A key is found by its SHA-256; the key itself is kept nowhere. Access tokens are the business of domain/oauth.
import { hash as digest } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Background } from "../kit/background.ts";
import { iso } from "../kit/clock.ts";
import type { AccountRecord, AccountState, ApiKeyRecord, Scope } from "./model.ts";
import { accounts, apiKeys, SCOPES } from "./model.ts";
import { type Refusal, refuse } from "./refusal.ts";
import type { Reader } from "./store.ts";
import type { Unit, UnitParts } from "./work.ts";

export interface Caller {
  readonly account: AccountRecord;
  readonly scopes: readonly Scope[];
  /** The API key's id, or the grant that an access token belongs to: what an Idempotency-Key is remembered under. */
  readonly credential: string;
}

export const sha256 = (text: string): string => digest("sha256", text, "hex");

/** `admin` contains the other scopes (spec part 5: full account access). */
export const allows = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** A use is noted to the minute, so that a read seldom causes a write. */
const NOTED_TO_MS = 60_000;

const UNKNOWN_KEY = refuse({
  code: "invalid_credential",
  detail: "It is no access token and no API key that is known: mistyped, or deleted.",
});

const isNoted = ({ last_used_at: at }: ApiKeyRecord, minute: string) => at !== null && at >= minute;

/** Who holds the key with this hash. The store is asked at every use: a deleted key is refused at the next call. */
export function keyHolders({ store, clock }: UnitParts, background: Background) {
  /** Keeps `last_used_at` as exactly as decided, behind the answer: the request neither waits for it nor fails with it. */
  const note = (id: string, minute: string) =>
    background.run("noting the use of an API key", () =>
      store.transact(async (tx) => {
        const key = await tx.get(apiKeys, id);
        if (key && !isNoted(key, minute)) await tx.put(apiKeys, { ...key, last_used_at: minute });
      }),
    );

  return async (hash: string): Promise<Caller | Refusal> => {
    const both = store.findWith && (await store.findWith(apiKeys, "hash", [hash], "account", accounts));
    const key = store.findWith ? both?.[0] : await store.find(apiKeys, "hash", [hash]);
    const account = both?.[1] ?? (key && (await store.get(accounts, key.account_id)));
    if (!key || !account) return UNKNOWN_KEY;
    const minute = iso(Math.floor(clock.now() / NOTED_TO_MS) * NOTED_TO_MS);
    if (!isNoted(key, minute)) note(key.id, minute);
    return { account, scopes: SCOPES, credential: key.id };
  };
}

export const keyOf = (reader: Reader, key: string): Promise<ApiKeyRecord | undefined> =>
  reader.find(apiKeys, "hash", [sha256(key)]);

const WHILE_LIMITED: ReadonlySet<string> = new Set(decide("3.account-states"));

/** What the account's state forbids (spec part 5: suspended or limited account). */
export function standing(account: AccountRecord, method: string): Refusal | undefined {
  if (account.state === "suspended") return refuse({ code: "account_suspended" });
  if (account.state === "limited" && !WHILE_LIMITED.has(method)) return refuse({ code: "account_limited" });
  return undefined;
}

export const setAccountState = (unit: Unit, accountId: string, state: AccountState) =>
  unit.transact(async (w) => {
    const account = await w.tx.get(accounts, accountId);
    if (account === undefined) throw new Error("The account is gone");
    await w.tx.put(accounts, { ...account, state });
  });
