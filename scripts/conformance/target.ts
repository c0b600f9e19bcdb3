// What the kit is told of the implementation that it judges, by the option that gives it. Address and key are needed; all else
// is what a client cannot make by the operations that the specification shows, and what is not given is not tried. And whether
// there is anything to judge: the address answers, in JSON, and takes the key. What else is wrong is for the clauses.
import type { Answer, Client } from "../../test/support/client.ts";
import { HTTP_URL, PORT, text } from "../arguments.ts";

const URI = ["a URI", (value: string) => URL.canParse(value)] as const;

export const TEXTS = {
  "base-url": text("URL", "the REST API of the implementation, which ends in /v1", HTTP_URL),
  "api-key": text("KEY", "a key of an account that tests may use"),
  "auth-url": text(
    "URL",
    "the authorization server, where it is not the root of --base-url",
    HTTP_URL,
  ),
  "client-id": text("ID", "an OAuth client"),
  "client-secret": text("SECRET", "its secret"),
  "redirect-uri": text("URI", "one of its redirect URIs", URI),
  "expired-token": text("TOKEN", "an access token"),
  "expired-refresh-token": text("TOKEN", "a refresh token"),
  "revoked-refresh-token": text("TOKEN", "one that was revoked"),
  "limited-key": text("KEY", "of an account that is limited"),
  "suspended-key": text("KEY", "of an account that is suspended"),
  "rate-limited-key": text("KEY", "of an account that may be driven over its rate limit"),
  "receiver-url": text("URL", "the public address of deliveries", HTTP_URL),
  "receiver-port": text("N", "where it leads to on this machine", PORT),
};

type Texts = { readonly [name in keyof typeof TEXTS]?: string | undefined };

export interface Target extends Texts {
  readonly "base-url": string;
  readonly "api-key": string;
  /** Signs in and consents as a user; answers the URL that the browser was sent back to. */
  readonly "sign-in"?: ((authorizeUrl: string) => Promise<string>) | undefined;
  /** Access tokens, each behind its scopes. */
  readonly token?: readonly string[] | undefined;
  readonly slow?: boolean | undefined;
}

/** There is nothing to judge; the message is one line that says why. */
export class Unreachable extends Error {}

/** With the start of the kit it is told within 3 s. */
const PATIENCE_MS = 1_200;

/** Rejects with an Unreachable. */
export async function reached(api: Client): Promise<void> {
  const { baseUrl } = api;
  const answer = await api
    .with({ patience_ms: PATIENCE_MS })
    .get("/apps")
    .catch((error: Error) => error);
  const why = answer instanceof Error ? silence(answer) : misfit(answer);
  if (why !== undefined) throw new Unreachable(`${baseUrl}/apps ${why}.`);
}

function silence({ message }: Error): string {
  const code = /E[A-Z]{4,}/.exec(message)?.[0];
  if (code === "ECONNREFUSED")
    return "refuses the connection: is the server running, and is this its address";
  return message.includes("no answer")
    ? `does not answer within ${PATIENCE_MS / 1_000} s`
    : `cannot be reached (${message.split("\n")[0]})`;
}

function misfit({ status, headers, text }: Answer): string | undefined {
  if (status === 401 || status === 403)
    return `answers ${status}: --api-key is no key that opens it`;
  if (status === 404)
    return "answers 404: --base-url is not the root of the REST API, which ends in /v1";
  if (status >= 300 && status < 400)
    return `answers ${status} and leads to ${headers.location ?? "nowhere"}`;
  const isJson = /json/.test(headers["content-type"] ?? "") || text === "";
  return isJson
    ? undefined
    : `answers ${status} with ${headers["content-type"] ?? "no content type"}, and not as JSON`;
}

/** A server that is gone in the middle is nothing to judge, either. */
export function gone({ baseUrl }: Client, error: unknown): never {
  if (!(error instanceof Error) || !/no answer|hang up|\bE[A-Z]{4,}/.test(error.message))
    throw error;
  throw new Unreachable(`${baseUrl} stopped answering (${error.message}).`);
}
