// Builds every absolute URL of the service from the public URL (contract, part 1).
import { hostname } from "node:os";
import { decide } from "../former-decisions.ts";
import type { SiteUrls } from "../domain/deployments.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { VERSION_PREFIX } from "./message.ts";

const DASHBOARD_PATH = decide("1.dashboard");

/** Base URL and authorization server share one origin, so that users need only one address. */
export const PATHS = {
  home: "/",
  dashboard: DASHBOARD_PATH,
  sign_in: `${DASHBOARD_PATH}/sign-in`,
  sites: "/sites",
  docs: "/docs",
  openapi: "/openapi.json",
  health: "/healthz",
  resource_metadata: `/.well-known/oauth-protected-resource${VERSION_PREFIX}`,
} as const;

export const CONTROL_PATH = decide("1.test-controls");

export type ServiceUrls = ReturnType<typeof createUrls>;

export function createUrls(publicUrl: string) {
  /** `authUrl`: `{auth_url}`, in the one spelling that browsers send as Origin. */
  const { origin: authUrl, protocol, hostname: host } = new URL(publicUrl);
  const isPublic = protocol === "https:" && !isLoopbackHost(host);
  const site = (deploymentId: string): string => `${authUrl}${PATHS.sites}/${deploymentId}/`;
  return {
    authUrl,
    site,
    /** `{base_url}`, which ends in /v1. */
    baseUrl: authUrl + VERSION_PREFIX,
    /** RFC 9728 metadata of the REST API. */
    resourceMetadata: authUrl + PATHS.resource_metadata,
    /** Sent with every response: browsers then use only https for a year (RFC 6797). */
    securityHeaders: isPublic ? ["strict-transport-security", "max-age=31536000"] : [],
    /** Documentation URL of an error code. */
    problemType: (code: ErrorCode): string => `${authUrl}${PATHS.docs}/errors#${code}`,
    /**
     * For a request to `askedHost`. Reserved hosts are the public host, the machine's and, if free, the requested
     * one.
     */
    forHost: (askedHost: string): SiteUrls => ({
      site,
      isReservedHost: (name, isFree) =>
        [host.toLowerCase(), hostname().toLowerCase(), isFree ? askedHost : ""].includes(name),
    }),
  };
}
