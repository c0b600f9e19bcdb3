// Every absolute address that the service hands out, from the one public URL (contract, part 1).
import type { Links } from "../domain/deployments.ts";
import type { Code } from "../domain/refusal.ts";
import type { ProblemLinks } from "./problem.ts";

export class ServiceLinks implements Links, ProblemLinks {
  /** `{auth_url}`, without a slash at its end. */
  readonly authUrl: string;
  /** `{base_url}`, which ends in /v1. */
  readonly baseUrl: string;
  readonly resourceMetadata: string;
  readonly #host: string;

  constructor(publicUrl: string) {
    this.authUrl = publicUrl.replace(/\/+$/, "");
    this.baseUrl = `${this.authUrl}/v1`;
    this.resourceMetadata = `${this.authUrl}/.well-known/oauth-protected-resource/v1`;
    this.#host = new URL(publicUrl).hostname.toLowerCase();
  }

  host(): string {
    return this.#host;
  }

  site(deploymentId: string): string {
    return `${this.authUrl}/sites/${deploymentId}/`;
  }

  signIn(token: string): string {
    return `${this.authUrl}/dashboard/sign-in?token=${token}`;
  }

  problemType(code: Code): string {
    return `${this.authUrl}/docs#${code}`;
  }
}
