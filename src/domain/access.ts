// Who calls and what they may do (spec part 5; contract part 5, API keys): the key, and the state of the account behind
// it. A key is found by its SHA-256; the key itself is kept nowhere. How an access token is verified is the business of
// domain/oauth, handed in as `checkToken`.
import { hash as digest } from "node:crypto";
import { decide } from "../decisions.ts";
import type { Background } from "../kit/background.ts";
import { iso } from "../kit/clock.ts";
import type { AccountRecord, AccountState, ApiKeyRecord, Scope } from "./model.ts";
import { accounts, apiKeys, SCOPES } from "./model.ts";
import { Refusal, refuse } from "./refusal.ts";
import type { Reader, Store } from "./store.ts";
import type { Unit, UnitParts } from "./work.ts";

export interface Caller {
  readonly account: AccountRecord;
  readonly scopes: ReadonlySet<Scope>;
  /** The API key's id, or the grant that an access token belongs to: what an Idempotency-Key is remembered under. */
  readonly credential: string;
}

const KEY_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);

export const sha256 = (text: string): string => digest("sha256", text, "hex");

/** `admin` contains the other scopes (spec part 5: full account access). */
export const allows = (scopes: ReadonlySet<Scope>, scope: Scope): boolean => scopes.has(scope) || scopes.has("admin");

const CREDENTIAL = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The token in an Authorization header (RFC 6750 2.1); several headers are no credential. */
export function bearerToken(headers: readonly string[]): string | Refusal {
  const [header] = headers;
  if (header === undefined)
    return refuse({
      code: "missing_credential",
      detail: "The Authorization header is missing; send Bearer and an API key or access token.",
    });
  const malformed = (scheme: "bearer" | "other", detail: string) =>
    refuse({ code: "malformed_credential", detail, scheme });
  if (headers.length > 1) return malformed("bearer", "There is more than one Authorization header.");
  const [, scheme, token] = CREDENTIAL.exec(header) ?? [];
  // RFC 9110 11.1: scheme names are in any case.
  if (scheme?.toLowerCase() !== "bearer")
    return malformed("other", "The Authorization header's scheme must be Bearer.");
  if (token === undefined || token === "") return malformed("bearer", "After Bearer the token is missing.");
  return TOKEN.test(token)
    ? token
    : malformed("bearer", "What follows Bearer is not one token of letters, digits and -._~+/ with = at its end.");
}

/** A signed token starts with a JSON object in base64url and has three parts; a pinned key may have dots, too. */
const JWT = /^eyJ[^.]*\.[^.]*\.[^.]*$/;

/** To the minute, so that a read seldom causes a write. */
const NOTED_MS = 60_000;

/** Headers kept in mind; beyond that all are forgotten and would be read again. */
const REMEMBERED_MAX = 1_000;

const UNKNOWN_KEY = refuse({ code: "invalid_credential", detail: "The API key is not known or was deleted." });

interface AccessParts extends Pick<UnitParts, "store" | "clock"> {
  readonly checkToken: (token: string) => Promise<Caller | Refusal>;
  readonly background: Background;
}

export type Authenticate = ReturnType<typeof authenticating>;

export function authenticating({ store, clock, checkToken, background }: AccessParts) {
  /** By header, the hash of the key in it: to read and hash one at every use took a quarter of the time until the answer. */
  const hashes = new Map<string, string>();
  let noted = { minute: Number.NaN, at: "" };

  /** Keeps `last_used_at` as exactly as decided, behind the answer: the request neither waits for it nor fails with it. */
  function note({ id, last_used_at }: ApiKeyRecord): void {
    const minute = Math.floor(clock.now() / NOTED_MS);
    if (minute !== noted.minute) noted = { minute, at: iso(minute * NOTED_MS) };
    const { at } = noted;
    if ((last_used_at ?? "") >= at) return;
    background.run("noting the use of an API key", () =>
      store.transact(async (tx) => {
        const key = await tx.get(apiKeys, id);
        if (key && (key.last_used_at ?? "") < at) await tx.put(apiKeys, { ...key, last_used_at: at });
      }),
    );
  }

  async function holder(hash: string): Promise<Caller | Refusal> {
    const [key, account] = (await withAccount(store, hash)) ?? [];
    if (!key || !account) return UNKNOWN_KEY;
    note(key);
    return { account, scopes: KEY_SCOPES, credential: key.id };
  }

  async function bearer(headers: readonly string[]): Promise<Caller | Refusal> {
    const token = bearerToken(headers);
    if (token instanceof Refusal) return token;
    const byToken = JWT.test(token) ? await checkToken(token) : UNKNOWN_KEY;
    if (!(byToken instanceof Refusal)) return byToken;
    // What looks like a signed token and is none of ours may still be a pinned key.
    const hash = sha256(token);
    const byKey = await holder(hash);
    if (byKey instanceof Refusal) return byToken;
    if (hashes.size >= REMEMBERED_MAX) hashes.clear();
    hashes.set(headers[0] ?? "", hash);
    return byKey;
  }

  /** Who sends these Authorization headers. The store is asked at every use: a deleted key is refused at the next call. */
  return (headers: readonly string[]): Promise<Caller | Refusal> => {
    const known = headers.length === 1 ? hashes.get(headers[0] ?? "") : undefined;
    return known === undefined ? bearer(headers) : holder(known);
  };
}

async function withAccount(store: Store, hash: string) {
  if (store.findWith) return store.findWith(apiKeys, "hash", [hash], "account", accounts);
  const key = await store.find(apiKeys, "hash", [hash]);
  return key && ([key, await store.get(accounts, key.account_id)] as const);
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
