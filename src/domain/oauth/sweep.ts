// Forgets what is over its time: grants, refresh tokens, sessions, sign-in links. Each list is ordered by that time, so a
// sweep costs what it removes. Nothing depends on it: expiry is judged at each use.
import { instant } from "../../kit/clock.ts";
import { signIns } from "../model.ts";
import type { Collection, Store, Stored } from "../store.ts";
import { grants, refreshTokens, sessions } from "./model.ts";

const CHUNK = 500;

/** Answers how many records are gone. */
export async function sweepSignInsAndGrants(store: Store, now: number): Promise<number> {
  return (
    (await sweep(store, grants, "grants", now, (record) => record.expires_at)) +
    (await sweep(store, refreshTokens, "refresh_tokens", now, (record) => record.forget_at)) +
    (await sweep(store, sessions, "sessions", now, (record) => record.expires_at)) +
    (await sweep(store, signIns, "sign_ins", now, (record) => record.expires_at))
  );
}

async function sweep<R extends Stored, U extends string>(
  store: Store,
  from: Collection<R, "expiry", U>,
  all: string,
  now: number,
  over: (record: R) => string,
): Promise<number> {
  return store.transact(async (tx) => {
    const oldest = await tx.page(from, "expiry", [all], { offset: 0, limit: CHUNK });
    const gone = oldest.filter((record) => instant(over(record)) <= now);
    for (const { id } of gone) await tx.remove(from, id);
    return gone.length;
  });
}
