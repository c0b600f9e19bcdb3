// The lists whose records have a time to go (see domain/expiry).
import { type Expiring, expiring } from "./expiry.ts";
import { idempotency, signIns } from "./model.ts";
import { grants, refreshTokens, sessions } from "./oauth/model.ts";

export const EXPIRING: readonly Expiring[] = [
  expiring("kept answers", idempotency, "idempotency", ({ expires_at }) => expires_at),
  expiring("sign-in links", signIns, "sign_ins", ({ expires_at }) => expires_at),
  expiring("sessions", sessions, "sessions", ({ expires_at }) => expires_at),
  expiring("grants", grants, "grants", ({ expires_at }) => expires_at),
  expiring("refresh tokens", refreshTokens, "refresh_tokens", ({ forget_at }) => forget_at),
];
