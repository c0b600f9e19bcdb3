// Authenticates the Authorization header (spec part 5; contract part 5, API keys; RFC 6750 2.1): Bearer and one API key
// or access token. The domain looks up its owner and scopes at every use.
import { type Caller, sha256 } from "../domain/credentials.ts";
import { AppError, fail } from "../domain/errors.ts";

const CREDENTIAL = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/;
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
/** A JWT, even a truncated one, starts with a JSON object in base64url; a pinned key may do so too. */
const JWT = /^eyJ[^.]*\./;

/** Returns the token; more than one header is an error. */
export function bearerToken([header, ...others]: readonly string[]): string | AppError {
  if (header === undefined)
    return fail({
      code: "missing_credential",
      detail: "The Authorization header is missing; send Bearer and an API key or access token.",
    });
  const malformed = (scheme: "bearer" | "other", detail: string) =>
    fail({ code: "malformed_credential", detail, scheme });
  if (others.length > 0) return malformed("bearer", "There is more than one Authorization header.");
  const [, scheme, token = ""] = CREDENTIAL.exec(header) ?? [];
  // RFC 9110 11.1: scheme names are case-insensitive.
  if (scheme?.toLowerCase() !== "bearer")
    return malformed("other", "The Authorization header's scheme must be Bearer.");
  if (token === "") return malformed("bearer", "After Bearer the token is missing.");
  if (!TOKEN.test(token))
    return malformed(
      "bearer",
      "After Bearer there must be one token of letters, digits and -._~+/ with = at its end.",
    );
  return token;
}

export type Authenticate = ReturnType<typeof createAuthenticator>;

/** Returns the function that finds the caller of these Authorization headers. */
export function createAuthenticator(
  findKeyHolder: (hash: string) => Promise<Caller | AppError>,
  findTokenUser: (token: string) => Promise<Caller | AppError>,
) {
  return async function authenticate(headers: readonly string[]): Promise<Caller | AppError> {
    const token = bearerToken(headers);
    if (token instanceof AppError) return token;
    const holder = await findKeyHolder(sha256(token));
    return holder instanceof AppError && JWT.test(token) ? findTokenUser(token) : holder;
  };
}
