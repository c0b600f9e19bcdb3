// This server as the kit's target, with all that a foreign one has to be given: accounts in every state, an OAuth client,
// somebody who signs in and consents, and credentials that have expired.
import { randomUUID } from "node:crypto";
import { type ServiceOptions, startService } from "../../src/index.ts";
import { Browser } from "../../test/support/browser.ts";
import { Client, str } from "../../test/support/client.ts";
import { done } from "../../test/support/shown.ts";
import type { Target } from "./target.ts";

export type Own = Awaited<ReturnType<typeof ownTarget>>;

const CLIENT = {
  id: "cli_conformance0000000000",
  secret: "known-to-the-kit-alone",
  redirect_uri: "https://client.example.com/callback",
} as const;
const KEYS = { limited: "key-of-the-limited", suspended: "key-of-the-suspended", busy: "key-of-the-busy" } as const;
const scopes = ["admin"] as const;
/** More than the kit asks of any other account in a minute, and few enough to be used up at once. */
const RATE_LIMIT = 2_000;

const account = (name: string, key: string, state = "active") => ({ name, state, api_keys: [{ name, key }] });

const { id, secret: client_secret, redirect_uri } = CLIENT;
const client = { id, client_secret, name: "Conformance", redirect_uris: [redirect_uri], scopes };
const SEED = {
  accounts: [
    { name: "Judged", oauth_clients: [client] },
    account("Limited", KEYS.limited, "limited"),
    account("Suspended", KEYS.suspended, "suspended"),
    account("Busy", KEYS.busy),
  ],
};

/** Longer than any token lasts. */
const AGO = { text: "31d", ms: 31 * 86_400_000 } as const;

/** With `publicUrl` something may stand in front of it: nothing goes there before the target is used. */
export async function ownTarget(options: ServiceOptions = {}) {
  const startAt = new Date(Date.now() - AGO.ms).toISOString();
  const service = await startService({
    ...{ seed: SEED, rateLimit: RATE_LIMIT, retrySchedule: "1s,1s,1s", clock: "manual", startAt },
    ...options,
  });
  const old = await service.signIn({ scopes: ["read:apps"] });
  await service.clock.advance(AGO.text);
  service.clock.resume();
  const { baseUrl, authUrl } = service;
  const apiKey = str(service.apiKey);
  let somebody: Promise<Browser> | undefined;
  const target: Target = {
    ...{ baseUrl, authUrl, apiKey },
    client: CLIENT,
    async signIn(authorizeUrl) {
      somebody ??= signedIn(new Client({ baseUrl, key: apiKey }));
      const browser = await somebody;
      const page = await browser.open(authorizeUrl);
      return (await browser.submit(page, "/oauth/consent", { decision: "allow" })).header("location");
    },
    limitedKey: KEYS.limited,
    suspendedKey: KEYS.suspended,
    rateLimitedKey: KEYS.busy,
    expiredToken: old.access_token,
    expiredRefreshToken: old.refresh_token,
  };
  return { target, service, close: () => service.close() };
}

/** The browser of a new user, who has followed the sign-in link. A create may be read as any success. */
async function signedIn(api: Client): Promise<Browser> {
  const user = done(await api.post("/users", { email: `${randomUUID()}@example.com`, permissions: scopes }));
  const browser = new Browser(api);
  await browser.signIn(str(user.json.sign_in_url));
  return browser;
}
