// Every absolute address that the service hands out, from the one public URL (contract, part 1).
import { hostname } from "node:os";
import { decide } from "../decisions.ts";
import type { Links } from "../domain/deployments.ts";
import type { Code } from "../domain/refusal.ts";
import { isLoopbackHost } from "../kit/loopback.ts";
import { VERSION_PREFIX } from "./call.ts";

const DASHBOARD = decide("1.dashboard");

/** One server on one port: base URL and authorization server are one origin, so a person needs to know one address. */
export const ADDRESSES = {
  home: "/",
  dashboard: DASHBOARD,
  sign_in: `${DASHBOARD}/sign-in`,
  sites: "/sites",
  docs: "/docs",
  openapi: "/openapi.json",
  health: "/healthz",
  resource_metadata: `/.well-known/oauth-protected-resource${VERSION_PREFIX}`,
} as const;

export const CONTROL_PREFIX = decide("1.test-controls");

export type ServiceLinks = ReturnType<typeof linksOf>;

export function linksOf(publicUrl: string) {
  /** `authUrl`: `{auth_url}`, in the one spelling that browsers send as Origin. */
  const { origin: authUrl, protocol, hostname: host } = new URL(publicUrl);
  const isPublic = protocol === "https:" && !isLoopbackHost(host);
  const site = (deploymentId: string): string => `${authUrl}${ADDRESSES.sites}/${deploymentId}/`;
  return {
    authUrl,
    site,
    /** `{base_url}`, which ends in /v1. */
    baseUrl: authUrl + VERSION_PREFIX,
    /** RFC 9728 metadata of the REST API. */
    resourceMetadata: authUrl + ADDRESSES.resource_metadata,
    /** Headers of every answer: browsers come over https only from then on, for a year (RFC 6797). */
    always: isPublic ? ["strict-transport-security", "max-age=31536000"] : [],
    signIn: (token: string): string => `${authUrl}${ADDRESSES.sign_in}?token=${token}`,
    /** Where the error is explained. */
    problemType: (code: Code): string => `${authUrl}${ADDRESSES.docs}/errors#${code}`,
    /** For a request that came to this host: a name of the server like its public one and the machine's, or else an app's. */
    askedAt: (askedHost: string): Links => ({
      site,
      isOwn: (name, isFree) => [host.toLowerCase(), hostname().toLowerCase(), isFree ? askedHost : ""].includes(name),
    }),
  };
}
