// The credential in the Authorization header (spec part 5; contract part 5, API keys; RFC 6750 2.1): one token after
// Bearer, which is an API key or an access token. Whose it is and what it opens, the domain is asked at every use.
import { type Caller, sha256 } from "../domain/credentials.ts";
import { AppError, fail } from "../domain/errors.ts";

const CREDENTIAL = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The token; several headers are no credential. */
export function bearerToken(headers: readonly string[]): string | AppError {
  const [header] = headers;
  if (header === undefined)
    return fail({
      code: "missing_credential",
      detail: "The Authorization header is missing; send Bearer and an API key or access token.",
    });
  const malformed = (scheme: "bearer" | "other", detail: string) =>
    fail({ code: "malformed_credential", detail, scheme });
  if (headers.length > 1)
    return malformed("bearer", "There is more than one Authorization header.");
  const [, scheme, token] = CREDENTIAL.exec(header) ?? [];
  // RFC 9110 11.1: scheme names are in any case.
  if (scheme?.toLowerCase() !== "bearer")
    return malformed("other", "The Authorization header's scheme must be Bearer.");
  if (token === undefined || token === "")
    return malformed("bearer", "After Bearer the token is missing.");
  return TOKEN.test(token)
    ? token
    : malformed(
        "bearer",
        "What follows Bearer is not one token of letters, digits and -._~+/ with = at its end.",
      );
}

/** A signed token, whole or not, starts with a JSON object in base64url; a pinned key may, too. */
const JWT = /^eyJ[^.]*\./;

/** Headers kept in mind; beyond that all are forgotten and would be read again. */
const CACHE_MAX = 1_000;

export type Authenticate = ReturnType<typeof createAuthenticator>;

/** `holderOf` the key with this hash, and `userOf` this access token: asked anew at every use. */
export function createAuthenticator(
  findKeyHolder: (hash: string) => Promise<Caller | AppError>,
  findTokenUser: (token: string) => Promise<Caller | AppError>,
) {
  /** By header, how to ask for whom it names: to read and hash one at every use took a quarter of the time until the answer. */
  const cache = new Map<string, () => Promise<Caller | AppError>>();

  async function authenticateUncached(headers: readonly string[]): Promise<Caller | AppError> {
    const token = bearerToken(headers);
    if (token instanceof AppError) return token;
    const [header = "", hash] = [headers[0], sha256(token)];
    const holder = await findKeyHolder(hash);
    const caller =
      holder instanceof AppError && JWT.test(token) ? await findTokenUser(token) : holder;
    if (caller instanceof AppError) return caller;
    if (cache.size >= CACHE_MAX) cache.clear();
    cache.set(header, caller === holder ? () => findKeyHolder(hash) : () => findTokenUser(token));
    return caller;
  }

  /** Who sends these Authorization headers. */
  return (headers: readonly string[]): Promise<Caller | AppError> => {
    const ask = headers.length === 1 ? cache.get(headers[0] ?? "") : undefined;
    return ask ? ask() : authenticateUncached(headers);
  };
}
