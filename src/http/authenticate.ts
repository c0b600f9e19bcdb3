// Authenticates the Authorization header (spec part 5; contract part 5, API keys; RFC 6750 2.1): Bearer and one API key
// or access token. The domain looks up its owner and scopes at every use.
import { type Caller, sha256 } from "../domain/credentials.ts";
import { AppError, fail } from "../domain/errors.ts";

const CREDENTIAL = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** Returns the token; more than one header is an error. */
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
  // RFC 9110 11.1: scheme names are case-insensitive.
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

/** A JWT, even a truncated one, starts with a JSON object in base64url; a pinned key may do so too. */
const JWT = /^eyJ[^.]*\./;

/** Maximum number of cached headers; a full cache is cleared. */
const CACHE_MAX = 1_000;

export type Authenticate = ReturnType<typeof createAuthenticator>;

/** Looks up the key hash or access token anew at every use. */
export function createAuthenticator(
  findKeyHolder: (hash: string) => Promise<Caller | AppError>,
  findTokenUser: (token: string) => Promise<Caller | AppError>,
) {
  /** Look-up by header: parsing and hashing took a quarter of the time to the response. */
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

  /** Returns the caller that these Authorization headers identify. */
  return (headers: readonly string[]): Promise<Caller | AppError> => {
    const ask = headers.length === 1 ? cache.get(headers[0] ?? "") : undefined;
    return ask ? ask() : authenticateUncached(headers);
  };
}
