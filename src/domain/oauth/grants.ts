// Grants: what a user has allowed a client (spec part 5; contract part 5). Everything that a token opens hangs on its
// grant, client, user and account, which are looked up at each use: whatever ends one of them ends the token at once.
import { decide } from "../../decisions.ts";
import { iso } from "../../kit/clock.ts";
import { sha256 } from "../access.ts";
import { oauthClients } from "../model.ts";
import { type SignedIn, userIn } from "../sessions.ts";
import type { Reader } from "../store.ts";
import type { Work } from "../work.ts";
import { type CodeTerms, type GrantRecord, grants, refreshTokens } from "./model.ts";

/** A client exchanges its code at once: a minute gives a thief less than the ten of RFC 6749. */
const CODE_MS = 60_000;
/** A client that comes too late learns that it was late. */
const CODE_REMEMBERED_MS = 10 * 60_000;
const REFRESH_MS = decide("5.token-lifetimes").refresh_d * 86_400_000;
/** As long again, so that its client hears expired and not unknown. */
const REMEMBERED_MS = REFRESH_MS;
/** Lets people and secret scanners recognise a refresh token; 256 random bits follow. */
const REFRESH_PREFIX = "ahr_";
const SECRET_BYTES = 32;

/** What the writing of one transaction may use. */
export type Writing = Pick<Work, "tx" | "now" | "ids">;

/** A grant whose client, user and account are all there. */
export interface Standing extends SignedIn {
  readonly grant: GrantRecord;
}

/** The grant with what it hangs on, or what of it is gone, said in a sentence. */
export async function standingGrant(reader: Reader, id: string): Promise<Standing | string> {
  const grant = await reader.get(grants, id);
  if (grant === undefined) return "The access of this application has been revoked.";
  if (grant.client_id !== null && (await reader.get(oauthClients, grant.client_id)) === undefined)
    return "The application was deleted, so its access has been revoked.";
  const holder = await userIn(reader, grant.user_id);
  return holder ? { grant, ...holder } : "The user was deleted, so the access of this application has been revoked.";
}

export type NewGrant = Pick<GrantRecord, "account_id" | "user_id" | "client_id" | "scopes">;

/** A grant, which ends with the last of its tokens: it has none yet. */
export async function openGrant(w: Writing, terms: NewGrant, code: Partial<GrantRecord> = {}): Promise<GrantRecord> {
  const at = iso(w.now);
  const empty = { code: null, code_hash: null, created_at: at, expires_at: at, all: "grants" } as const;
  const grant: GrantRecord = { id: w.ids.next("gra_"), ...terms, ...empty, ...code };
  await w.tx.put(grants, grant);
  return grant;
}

/** A grant that waits for its code to be exchanged; answers the code. */
export async function openGrantWithCode(
  w: Writing,
  terms: NewGrant,
  bound: Pick<CodeTerms, "redirect_uri" | "challenge">,
): Promise<string> {
  const code = w.ids.secret(SECRET_BYTES);
  await openGrant(w, terms, {
    code: { ...bound, expires_at: iso(w.now + CODE_MS), used: false },
    code_hash: sha256(code),
    expires_at: iso(w.now + CODE_MS + CODE_REMEMBERED_MS),
  });
  return code;
}

/** A new refresh token; the grant lasts as long as it does. Answers the token. */
export async function addRefreshToken(w: Writing, grant: GrantRecord): Promise<string> {
  const token = `${REFRESH_PREFIX}${w.ids.secret(SECRET_BYTES)}`;
  const expires_at = iso(w.now + REFRESH_MS);
  await w.tx.put(refreshTokens, {
    id: sha256(token),
    grant_id: grant.id,
    issued_at: iso(w.now),
    expires_at,
    used: false,
    forget_at: iso(w.now + REFRESH_MS + REMEMBERED_MS),
    all: "refresh_tokens",
  });
  await w.tx.put(grants, { ...grant, expires_at });
  return token;
}
