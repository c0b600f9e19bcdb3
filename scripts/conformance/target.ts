// What the kit is told of the implementation that it judges. Address and key are needed; everything else is what a client
// cannot make by the operations that the specification shows, and what is not given is not tried. And whether there is
// anything to judge: the address answers, in JSON, and takes the key. What else is wrong is for the clauses.
import type { Answer, Client } from "../../test/support/client.ts";

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

/** There is nothing to judge; the message is one line that says why. */
export class Unreachable extends Error {}

/** With the start of the kit it is told within 3 s. */
const PATIENCE_MS = 1_200;

/** Rejects with an Unreachable. */
export async function reached(api: Client): Promise<void> {
  const { baseUrl } = api;
  const answer = await api
    .patient(PATIENCE_MS)
    .get("/apps")
    .catch((error: Error) => error);
  const why = answer instanceof Error ? silence(answer) : misfit(answer);
  if (why !== undefined) throw new Unreachable(`${baseUrl}/apps ${why}.`);
}

function silence({ message }: Error): string {
  const code = /E[A-Z]{4,}/.exec(message)?.[0];
  if (code === "ECONNREFUSED") return "refuses the connection: is the server running, and is this its address";
  return message.includes("no answer")
    ? `does not answer within ${PATIENCE_MS / 1_000} s`
    : `cannot be reached (${message.split("\n")[0]})`;
}

function misfit({ status, headers, text }: Answer): string | undefined {
  if (status === 401 || status === 403) return `answers ${status}: --api-key is no key that opens it`;
  if (status === 404) return "answers 404: --base-url is not the root of the REST API, which ends in /v1";
  if (status >= 300 && status < 400) return `answers ${status} and leads to ${headers.location ?? "nowhere"}`;
  const isJson = /json/.test(headers["content-type"] ?? "") || text === "";
  return isJson ? undefined : `answers ${status} with ${headers["content-type"] ?? "no content type"}, and not as JSON`;
}

/** A server that is gone in the middle is nothing to judge, either. */
export function gone({ baseUrl }: Client, error: unknown): never {
  if (!(error instanceof Error) || !/no answer|hang up|\bE[A-Z]{4,}/.test(error.message)) throw error;
  throw new Unreachable(`${baseUrl} stopped answering (${error.message}).`);
}
