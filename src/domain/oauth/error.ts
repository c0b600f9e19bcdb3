// How the authorization server says no: the errors of RFC 6749 (4.1.2.1 and 5.2) as values. The description names the
// exact cause in plain ASCII without quotes, as the RFC wants it.

export type ErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "unsupported_grant_type"
  | "unsupported_response_type"
  | "access_denied";

export class OAuthError {
  readonly error: ErrorCode;
  readonly description: string;
  constructor(error: ErrorCode, description: string) {
    this.error = error;
    this.description = description;
  }
}

export const invalidRequest = (description: string): OAuthError => new OAuthError("invalid_request", description);
export const invalidClient = (description: string): OAuthError => new OAuthError("invalid_client", description);
export const invalidGrant = (description: string): OAuthError => new OAuthError("invalid_grant", description);
export const invalidScope = (description: string): OAuthError => new OAuthError("invalid_scope", description);
