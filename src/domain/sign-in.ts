// One-time sign-in links (contract, part 5): signing in needs no password. The link's token is kept as SHA-256 only.

import { iso } from "../kit/clock.ts";
import { decide } from "../kit/decisions.ts";
import { sha256 } from "./access.ts";
import { signIns } from "./model.ts";
import type { Work } from "./work.ts";

export const SIGN_IN_MS = decide("5.sign-in-link", 15 * 60_000, {
  open: "how a user signs in to the dashboard and for consent",
  why: "a link that works once, for 15 minutes, needs no password to be kept, leaked or forgotten",
});

const TOKEN_BYTES = 32;

/** Makes a link for the user; answers its token, which is known nowhere else. */
export async function newSignIn(w: Work, userId: string): Promise<string> {
  const token = w.ids.secret(TOKEN_BYTES);
  await w.tx.put(signIns, {
    id: sha256(token),
    user_id: userId,
    expires_at: iso(w.now + SIGN_IN_MS),
    all: "sign_ins",
  });
  return token;
}
