// Grants: what a user has allowed a client (spec part 5; contract part 5). Everything that a token opens hangs on its
// grant, client, user and account, which are looked up at each use: whatever ends one of them ends the token at once.
import { iso } from "../../kit/clock.ts";
import { decide } from "../../kit/decisions.ts";
import { sha256 } from "../access.ts";
import {
  type AccountRecord,
  accounts,
  type OAuthClientRecord,
  oauthClients,
  type UserRecord,
  users,
} from "../model.ts";
import type { Reader } from "../store.ts";
import type { Work } from "../work.ts";
import { type CodeTerms, type GrantRecord, grants, refreshTokens } from "./model.ts";

const CODE_MS = decide("5.code-lifetime", 60_000, {
  open: "how long an authorization code can be exchanged",
  why: "a client exchanges it at once; RFC 6749 recommends ten minutes at most, a minute gives a thief less",
});
const CODE_REMEMBERED_MS = decide("5.code-memory", 10 * 60_000, {
  open: "how long an expired authorization code is told from one that never was",
  why: "a client that comes too late learns that it was late; a sweep at the very second would hide it",
});
const REFRESH_MS = decide("5.refresh-token-lifetime", 30 * 86_400_000, {
  open: "the lifetime of refresh tokens",
  why: "an application used once a month stays signed in, and rotation makes a stolen token show itself",
});
const REMEMBERED_MS = decide("5.refresh-token-memory", 30 * 86_400_000, {
  open: "how the failure causes of a refresh are told apart",
  why: "an expired token is remembered as long again, so that its client hears expired and not unknown",
});
const REFRESH_PREFIX = decide("5.refresh-token-format", "ahr_", {
  open: "what a refresh token looks like",
  why: "a prefix of its own lets people and secret scanners recognise it; 256 random bits follow",
});
const SECRET_BYTES = 32;

/** What the writing of one transaction may use. */
export type Writing = Pick<Work, "tx" | "now" | "ids">;

/** A grant whose client, user and account are all there. */
export interface Standing {
  readonly grant: GrantRecord;
  readonly user: UserRecord;
  readonly account: AccountRecord;
  readonly client: OAuthClientRecord | null;
}

/** The grant with what it hangs on, or what of it is gone, said in a sentence. */
export async function standingGrant(reader: Reader, id: string): Promise<Standing | string> {
  const grant = await reader.get(grants, id);
  if (grant === undefined) return "The access of this application has been revoked.";
  const client = grant.client_id === null ? null : await reader.get(oauthClients, grant.client_id);
  if (client === undefined) return "The application was deleted, so its access has been revoked.";
  const user = await reader.get(users, grant.user_id);
  const account = user && (await reader.get(accounts, user.account_id));
  if (!user || !account) return "The user was deleted, so the access of this application has been revoked.";
  return { grant, user, account, client };
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
