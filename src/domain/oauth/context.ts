// What the authorization server works with: handed to each of its functions, made once the public address is known.
import type { Scope } from "../model.ts";
import type { UnitParts } from "../work.ts";
import type { SigningKeys } from "./signing-keys.ts";

export interface Context extends UnitParts {
  readonly keys: SigningKeys;
  /** `{auth_url}` */
  readonly issuer: string;
  /** `{base_url}` */
  readonly audience: string;
  /** Access tokens whose signature has been checked. */
  readonly verified: Map<string, TokenFacts>;
}

/** What a well-signed token says. Its subject and client are the grant's, so they are not read from it again. */
export interface TokenFacts {
  readonly kid: string;
  readonly grantId: string;
  readonly scopes: readonly Scope[];
  readonly jti: string;
  readonly iat: number;
  readonly exp: number;
}
