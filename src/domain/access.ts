// Who calls and what they may do (spec part 5; contract part 5, API keys). A key is found by its SHA-256; the key itself
// is kept nowhere. How an access token is verified is the business of domain/oauth, handed in as `TokenCheck`.
import { hash as digest, timingSafeEqual } from "node:crypto";
import { type Clock, type Instant, instant, iso } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";
import { type AccountRecord, type ApiKeyRecord, accounts, apiKeys, SCOPES, type Scope } from "./model.ts";
import { Refusal, refuse } from "./refusal.ts";
import type { Reader, Store } from "./store.ts";

export interface Caller {
  readonly account: AccountRecord;
  readonly scopes: ReadonlySet<Scope>;
  /** The API key's id, or the grant that an access token belongs to: what an Idempotency-Key is remembered under. */
  readonly credential: string;
}

/** Verifies an access token, or says why not. */
export type TokenCheck = (token: string) => Promise<Caller | Refusal>;

export const KEY_PREFIX = decide("5.api-key-format", "ahs_", {
  open: "what an API key looks like",
  why: "a prefix of its own lets people and secret scanners recognise a key; 256 random bits follow it",
});

export const KEY_SCOPES: ReadonlySet<Scope> = new Set(SCOPES);

export const sha256 = (text: string): string => digest("sha256", text, "hex");

/** `admin` contains the other scopes (spec part 5: full account access). */
export const allows = (scopes: ReadonlySet<Scope>, scope: Scope): boolean => scopes.has(scope) || scopes.has("admin");

const SCHEME = decide("5.scheme-case", "bearer", {
  open: "whether Bearer may be written in another case",
  why: "it is compared in lower case, since RFC 9110 11.1 has scheme names in any",
});

const HEADERS_MAX = decide("5.one-credential", 1, {
  open: "what several Authorization headers mean, or a token in another place",
  why: "two credentials are two callers; one in the query would end up in logs, so it is none",
});

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
  if (headers.length > HEADERS_MAX) return malformed("bearer", "There is more than one Authorization header.");
  const [, scheme, token] = CREDENTIAL.exec(header) ?? [];
  if (scheme?.toLowerCase() !== SCHEME) return malformed("other", "The Authorization header's scheme must be Bearer.");
  if (token === undefined || token === "") return malformed("bearer", "After Bearer the token is missing.");
  return TOKEN.test(token)
    ? token
    : malformed("bearer", "What follows Bearer is not one token of letters, digits and -._~+/ with = at its end.");
}

/** A signed token starts with a JSON object in base64url and has three parts; a pinned key may have dots, too. */
const JWT = /^eyJ[^.]*\.[^.]*\.[^.]*$/;

const NOTED_MS = decide("5.api-key-last-used", 60_000, {
  open: "whether the use of a key can be seen",
  why: "whoever rotates keys wants to know which are still in use; to the minute, so that a read seldom causes a write",
});

/** Headers kept in mind; beyond that the one noted first is forgotten and would be looked into again. */
const REMEMBERED_MAX = 1_000;

/** By so many of its last characters a header is looked up: they tell any two apart, and to hash a whole token takes long. */
const TOLD_BY = 40;

interface Known {
  readonly header: string;
  /** Of the key. */
  readonly hash?: string;
  readonly token?: string;
}

export class Access {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #checkToken: TokenCheck;
  readonly #onError: (error: unknown) => void;
  /**
   * What each Authorization header that was right once holds: hashing a key at every use took 2.3 of the 8.5 us between
   * listener and answer, reading the header of a token 1.6 of 25.
   */
  readonly #known = new Map<string, Known>();
  /** Until when the use of a key needs no note. */
  readonly #noted = new WeakMap<ApiKeyRecord, Instant>();
  #touches: Promise<void> = Promise.resolve();

  constructor(parts: { store: Store; clock: Clock; checkToken: TokenCheck; onError: (error: unknown) => void }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#checkToken = parts.checkToken;
    this.#onError = parts.onError;
  }

  /** Who sends these Authorization headers. */
  authenticate(headers: readonly string[]): Promise<Caller | Refusal> {
    const header = headers[0] ?? "";
    const known = headers.length === 1 ? this.#known.get(header.slice(-TOLD_BY)) : undefined;
    if (known?.header === header) {
      // The store is asked at every use, so that a deleted key or a revoked token is refused at the next call.
      if (known.hash !== undefined) return this.#holder(this.#store.find(apiKeys, "hash", [known.hash]));
      if (known.token !== undefined) return this.#checkToken(known.token);
    }
    const token = bearerToken(headers);
    if (token instanceof Refusal) return Promise.resolve(token);
    return JWT.test(token) ? this.#byToken(token, header) : this.#byKey(token, header);
  }

  /** Resolves when every use noted so far is stored. */
  settled(): Promise<void> {
    return this.#touches;
  }

  /** What looks like a signed token and is none of ours may still be a pinned key. */
  async #byToken(token: string, header: string): Promise<Caller | Refusal> {
    const caller = await this.#checkToken(token);
    if (!(caller instanceof Refusal)) {
      this.#remember({ header, token });
      return caller;
    }
    const byKey = await this.#byKey(token, header);
    return byKey instanceof Refusal ? caller : byKey;
  }

  #byKey(key: string, header: string): Promise<Caller | Refusal> {
    return this.#holder(this.#firstUse(key, header));
  }

  /** Who holds the key that is looked for. */
  async #holder(sought: Promise<ApiKeyRecord | undefined>): Promise<Caller | Refusal> {
    const found = await sought;
    const account = found && (await this.#store.get(accounts, found.account_id));
    if (!found || !account)
      return refuse({ code: "invalid_credential", detail: "The API key is not known or was deleted." });
    this.#note(found);
    return { account, scopes: KEY_SCOPES, credential: found.id };
  }

  async #firstUse(key: string, header: string): Promise<ApiKeyRecord | undefined> {
    const found = await keyOf(this.#store, key);
    if (found === undefined) return undefined;
    this.#remember({ header, hash: found.hash });
    return found;
  }

  #remember(known: Known): void {
    const [oldest] = this.#known.size < REMEMBERED_MAX ? [] : this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(known.header.slice(-TOLD_BY), known);
  }

  /** Keeps `last_used_at` as exactly as decided, behind the answer: the request neither waits for it nor fails with it. */
  #note(key: ApiKeyRecord): void {
    const now = this.#clock.now();
    if (now < this.#notedUntil(key)) return;
    const minute = iso(Math.floor(now / NOTED_MS) * NOTED_MS);
    this.#touches = this.#touches.then(() => this.#touch(key.id, minute)).catch(this.#onError);
  }

  #notedUntil(key: ApiKeyRecord): Instant {
    const known = this.#noted.get(key);
    if (known !== undefined) return known;
    const until = key.last_used_at === null ? Number.NEGATIVE_INFINITY : instant(key.last_used_at) + NOTED_MS;
    this.#noted.set(key, until);
    return until;
  }

  async #touch(id: string, minute: string): Promise<void> {
    await this.#store.transact(async (tx) => {
      const key = await tx.get(apiKeys, id);
      if (key && (key.last_used_at ?? "") < minute) await tx.put(apiKeys, { ...key, last_used_at: minute });
    });
  }
}

/** The record of a key in clear; the stored hash is compared in constant time. */
export async function keyOf(store: Reader, key: string): Promise<ApiKeyRecord | undefined> {
  const hash = sha256(key);
  const found = await store.find(apiKeys, "hash", [hash]);
  return found && timingSafeEqual(Buffer.from(found.hash), Buffer.from(hash)) ? found : undefined;
}

const WHILE_LIMITED: ReadonlySet<string> = new Set(
  decide("3.account-limited", ["GET", "HEAD", "OPTIONS"], {
    open: "what a limited account may still do, and what a suspended one",
    why: "limited stops growth and not the reading of what is there; suspended stops everything",
  }),
);

/** What the account's state forbids (spec part 5: suspended or limited account). */
export function standing(account: AccountRecord, method: string): Refusal | undefined {
  if (account.state === "suspended") return refuse({ code: "account_suspended" });
  if (account.state === "limited" && !WHILE_LIMITED.has(method)) return refuse({ code: "account_limited" });
  return undefined;
}
