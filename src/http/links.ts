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

export class ServiceLinks {
  /** `{auth_url}`, without a slash at its end. */
  readonly authUrl: string;
  /** `{base_url}`, which ends in /v1. */
  readonly baseUrl: string;
  /** RFC 9728 metadata of the REST API. */
  readonly resourceMetadata: string;
  /** Headers of every answer: browsers come over https only from then on, for a year (RFC 6797). */
  readonly always: readonly string[];
  readonly #host: string;

  constructor(publicUrl: string) {
    this.authUrl = publicUrl.replace(/\/+$/, "");
    this.baseUrl = `${this.authUrl}${VERSION_PREFIX}`;
    this.resourceMetadata = `${this.authUrl}${ADDRESSES.resource_metadata}`;
    const { protocol, hostname: host } = new URL(publicUrl);
    this.#host = host.toLowerCase();
    const isPublic = protocol === "https:" && !isLoopbackHost(host);
    this.always = isPublic ? ["strict-transport-security", "max-age=31536000"] : [];
  }

  /** For a request that came to this host: it is a name of the server like its public one and the machine's. */
  askedAt(host: string): Links {
    const own = [this.#host, hostname().toLowerCase(), host];
    return { site: (id) => this.site(id), isOwn: (name) => own.includes(name) };
  }

  site(deploymentId: string): string {
    return `${this.authUrl}${ADDRESSES.sites}/${deploymentId}/`;
  }

  signIn(token: string): string {
    return `${this.authUrl}${ADDRESSES.sign_in}?token=${token}`;
  }

  /** Where the error is explained. */
  problemType(code: Code): string {
    return `${this.authUrl}${ADDRESSES.docs}/errors#${code}`;
  }
}
