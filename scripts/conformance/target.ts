// Options that describe the implementation under test. Address and key are required. The others supply resources that a
// client cannot create through the specified operations; clauses that need a missing one are not tried. `reached`
// checks that the address responds in JSON and accepts the key; the clauses check the rest.
import type { Answer, Client } from "../../test/support/client.ts";
import { COUNT, HTTP_URL, textOption } from "../arguments.ts";

const URI = ["a URI", /^[a-z][a-z\d+.-]*:/i] as const;

export const TEXTS = {
  "base-url": textOption("URL", "the REST API of the implementation, which ends in /v1", HTTP_URL),
  "api-key": textOption("KEY", "a key of an account that tests may use"),
  "auth-url": textOption(
    "URL",
    "the authorization server, where it is not the root of --base-url",
    HTTP_URL,
  ),
  "client-id": textOption("ID", "an OAuth client"),
  "client-secret": textOption("SECRET", "its secret"),
  "redirect-uri": textOption("URI", "one of its redirect URIs", URI),
  "expired-token": textOption("TOKEN", "an access token"),
  "expired-refresh-token": textOption("TOKEN", "a refresh token"),
  "revoked-refresh-token": textOption("TOKEN", "one that was revoked"),
  "limited-key": textOption("KEY", "of an account that is limited"),
  "suspended-key": textOption("KEY", "of an account that is suspended"),
  "rate-limited-key": textOption("KEY", "of an account that may be driven over its rate limit"),
  "receiver-url": textOption("URL", "the public address of deliveries", HTTP_URL),
  "receiver-port": textOption("N", "where it leads to on this machine", COUNT),
};

type Texts = { readonly [name in keyof typeof TEXTS]?: string | undefined };

export interface Target extends Texts {
  readonly "base-url": string;
  readonly "api-key": string;
  /** Signs in and consents as a user; returns the URL that the browser was redirected to. */
  readonly "sign-in"?: ((authorizeUrl: string) => Promise<string>) | undefined;
  /** Access tokens, each preceded by its scopes. */
  readonly token?: readonly string[] | undefined;
  readonly slow?: boolean | undefined;
}

/** The target cannot be tested; the message is a one-line reason. */
export class Unreachable extends Error {}

/** Together with the start of the kit, the error appears within 3 s. */
const PATIENCE_MS = 1_200;

/** Throws Unreachable if the target cannot be tested. */
export async function reached(api: Client) {
  const { baseUrl } = api;
  const answer = await api
    .with({ patience_ms: PATIENCE_MS })
    .get("/apps")
    .catch((error: Error) => error);
  const why = answer instanceof Error ? silence(answer) : misfit(answer);
  if (why !== undefined) throw new Unreachable(`${baseUrl}/apps ${why}.`);
}

function silence({ message }: Error) {
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

/** A server that disappears during the run cannot be tested. */
export function gone({ baseUrl }: Client, error: unknown): never {
  if (!(error instanceof Error) || !/no answer|hang up|\bE[A-Z]{4,}/.test(error.message))
    throw error;
  throw new Unreachable(`${baseUrl} stopped answering (${error.message}).`);
}
