// Every absolute address that the service hands out, from the one public URL (contract, part 1).
import type { Links } from "../domain/deployments.ts";
import type { Code } from "../domain/refusal.ts";
import { decide } from "../kit/decisions.ts";
import { VERSION_PREFIX } from "./call.ts";
import type { ProblemLinks } from "./problem.ts";

export const ADDRESSES = decide(
  "1.addresses",
  {
    api: VERSION_PREFIX,
    home: "/",
    dashboard: "/dashboard",
    sign_in: "/dashboard/sign-in",
    sites: "/sites",
    docs: "/docs",
    openapi: "/openapi.json",
    health: "/healthz",
    resource_metadata: `/.well-known/oauth-protected-resource${VERSION_PREFIX}`,
  },
  {
    open: "where the parts of the service are, beside the paths that the specification shows",
    why: "one server on one port; base URL and authorization server are one origin, so a person needs to know one address",
  },
);

export const CONTROL_PREFIX = decide("1.test-controls", "/_control", {
  open: "how a test moves the time, causes failures and looks in",
  why: "beside the REST API and off unless asked for: what a test may do, no client of the service should find",
});

export class ServiceLinks implements Links, ProblemLinks {
  /** `{auth_url}`, without a slash at its end. */
  readonly authUrl: string;
  /** `{base_url}`, which ends in /v1. */
  readonly baseUrl: string;
  readonly resourceMetadata: string;
  readonly #host: string;

  constructor(publicUrl: string) {
    this.authUrl = publicUrl.replace(/\/+$/, "");
    this.baseUrl = `${this.authUrl}${ADDRESSES.api}`;
    this.resourceMetadata = `${this.authUrl}${ADDRESSES.resource_metadata}`;
    this.#host = new URL(publicUrl).hostname.toLowerCase();
  }

  host(): string {
    return this.#host;
  }

  site(deploymentId: string): string {
    return `${this.authUrl}${ADDRESSES.sites}/${deploymentId}/`;
  }

  signIn(token: string): string {
    return `${this.authUrl}${ADDRESSES.sign_in}?token=${token}`;
  }

  problemType(code: Code): string {
    return `${this.authUrl}${ADDRESSES.docs}#${code}`;
  }
}
