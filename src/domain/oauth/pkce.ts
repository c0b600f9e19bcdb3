// Proof Key for Code Exchange (RFC 7636), S256 only: `plain` would show the verifier to whoever sees the request.
import { decide } from "../../kit/decisions.ts";
import { sameHash, sha256Url } from "./hash.ts";

export const CHALLENGE_METHOD = decide("5.pkce", "S256", {
  open: "whether PKCE is supported",
  why: "it stops stolen codes; required for public clients, which have nothing else, offered to all",
});

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** What is wrong with the challenge of an authorization request. */
export function unfitChallenge(challenge: string | undefined, method: string | undefined): string | undefined {
  if (challenge === undefined)
    return method === undefined ? undefined : "There is a code_challenge_method without a code_challenge.";
  if (method !== CHALLENGE_METHOD) return "The code_challenge_method must be S256; plain is not supported.";
  return CHALLENGE.test(challenge) ? undefined : "The code_challenge must be 43 characters of base64url.";
}

/** What is wrong with the verifier of an exchange. */
export function unfitVerifier(challenge: string | null, verifier: string | undefined): string | undefined {
  if (challenge === null)
    return verifier === undefined ? undefined : "A code_verifier was sent, but the code was asked for without PKCE.";
  if (verifier === undefined) return "The code_verifier is missing.";
  return VERIFIER.test(verifier) && sameHash(sha256Url(verifier), challenge)
    ? undefined
    : "The code_verifier does not fit the code_challenge.";
}
