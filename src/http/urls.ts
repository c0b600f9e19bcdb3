// Builds every absolute URL of the service from the public URL (contract, part 1).
import type { ErrorCode } from "../domain/errors.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { VERSION_PREFIX } from "./message.ts";

/** Base URL and authorization server share one origin, so that users need only one address. */
export const PATHS = {
  home: "/",
  dashboard: "/dashboard",
  sign_in: "/dashboard/sign-in",
  sites: "/sites",
  docs: "/docs",
  openapi: "/openapi.json",
  health: "/healthz",
  resource_metadata: `/.well-known/oauth-protected-resource${VERSION_PREFIX}`,
} as const;

export const CONTROL_PATH = "/_control";

export type ServiceUrls = ReturnType<typeof createUrls>;

export function createUrls(publicUrl: string) {
  /** `authUrl`: `{auth_url}`, in the one spelling that browsers send as Origin. */
  const { origin: authUrl, protocol, hostname: publicHost } = new URL(publicUrl);
  const isPublic = protocol === "https:" && !isLoopbackHost(publicHost);
  /** Sent with every response: browsers then use only https for a year (RFC 6797). */
  const securityHeaders: Record<string, string> = isPublic
    ? { "strict-transport-security": "max-age=31536000" }
    : {};
  const site = (deploymentId: string): string => `${authUrl}${PATHS.sites}/${deploymentId}/`;
  return {
    authUrl,
    site,
    securityHeaders,
    /** `{base_url}`, which ends in /v1. */
    baseUrl: authUrl + VERSION_PREFIX,
    /** RFC 9728 metadata of the REST API. */
    resourceMetadata: authUrl + PATHS.resource_metadata,
    /** Documentation URL of an error code. */
    problemType: (code: ErrorCode): string => `${authUrl}${PATHS.docs}/errors#${code}`,
    /** Takes a lower-case host name. */
    isOwnHost: (host: string): boolean => host === publicHost.toLowerCase(),
  };
}
