// What the kit is told of the implementation that it judges. Address and key are needed; everything else is what a client
// cannot make by the operations that the specification shows, and what is not given is not tried.

export interface Target {
  /** The REST API, which ends in /v1. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The authorization server; the root of `baseUrl` where it is absent. */
  readonly authUrl?: string | undefined;
  /** Where deliveries reach the kit: the public address, and the port of this machine that it leads to. */
  readonly receiver?: { readonly url: string; readonly port: number } | undefined;
  readonly client?: OAuthClient | undefined;
  /** Signs in and consents as a user; answers the URL that the browser was sent back to. */
  readonly signIn?: ((authorizeUrl: string) => Promise<string>) | undefined;
  /** Access tokens by their scopes, which stand in alphabetical order with spaces between them. */
  readonly tokens?: Readonly<Record<string, string>> | undefined;
  readonly limitedKey?: string | undefined;
  readonly suspendedKey?: string | undefined;
  /** The key of an account that may be driven over its rate limit. */
  readonly rateLimitedKey?: string | undefined;
  readonly expiredToken?: string | undefined;
  readonly expiredRefreshToken?: string | undefined;
  readonly revokedRefreshToken?: string | undefined;
  /** Waits for the real 30 seconds of part 6. */
  readonly slow?: boolean | undefined;
}

export interface OAuthClient {
  readonly id: string;
  readonly secret: string;
  readonly redirect_uri: string;
}

/** How `tokens` names them. */
export const scopesKey = (scopes: string): string =>
  scopes
    .split(/[ ,]+/)
    .filter((scope) => scope !== "")
    .sort()
    .join(" ");
