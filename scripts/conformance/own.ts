// This server as a target of the kit, with everything that a foreign target must supply: accounts in every state, an
// OAuth client, a user who signs in and consents, and expired credentials.
import { randomUUID } from "node:crypto";
import type { ServiceOptions } from "../../src/index.ts";
import { Browser } from "../../test/support/browser.ts";
import { embedded } from "../../test/support/embedded.ts";
import { REDIRECT } from "../../test/support/oauth.ts";
import { done } from "../../test/support/shown.ts";
import type { Target } from "./target.ts";

export type Own = Awaited<ReturnType<typeof ownTarget>>;

export const KEY = "key-of-the-judged";
const [LIMITED, SUSPENDED, BUSY] = [
  "key-of-the-limited",
  "key-of-the-suspended",
  "key-of-the-busy",
];
const id = "cli_conformance0000000000";
export const SECRET = "known-to-the-kit-alone";
const scopes = ["admin"] as const;
/** Twice the limit that the kit requires of any other account, and soon exhausted. */
const RATE_LIMIT = 1_000;

const client = {
  id,
  client_secret: SECRET,
  name: "Conformance",
  redirect_uris: [REDIRECT],
  scopes,
};
const account = (key: string, state: string) => ({
  name: key,
  state,
  api_keys: [{ name: "Conformance", key }],
});
const others = [
  account(LIMITED, "limited"),
  account(SUSPENDED, "suspended"),
  account(BUSY, "active"),
];
const SEED = { accounts: [{ name: "Judged", oauth_clients: [client] }, ...others] };

/** Longer than the lifetime of any token. */
const AGO_MS = 31 * 86_400_000;

/** `publicUrl` allows for a proxy in front of the server; no request goes there before the target is used. */
export async function ownTarget(options: ServiceOptions = {}) {
  const startAt = new Date(Date.now() - AGO_MS).toISOString();
  const server = await embedded({
    ...{ apiKey: KEY, seed: SEED, rateLimit: RATE_LIMIT, retrySchedule: "1s,1s,1s", startAt },
    ...options,
  });
  const { service, api, baseUrl, authUrl } = server;
  const old = await service.signIn({ scopes: ["read:apps"] });
  await service.clock.advance(`${AGO_MS}ms`);
  service.clock.resume();
  let signedIn: Promise<Browser> | undefined;
  /** Signs in as a new user; any success status of the create is accepted. */
  const signInAsNewUser = async (origin: string) => {
    const email = `${randomUUID()}@example.com`;
    done(await api.post("/users", { email, permissions: scopes }));
    const browser = new Browser(api.at(`${origin}/v1`));
    await browser.signIn(email);
    return browser;
  };
  const target: Target = {
    ...{ "base-url": baseUrl, "auth-url": authUrl, "api-key": KEY },
    ...{ "client-id": id, "client-secret": SECRET, "redirect-uri": REDIRECT },
    async "sign-in"(authorizeUrl) {
      // The URL may lead through a proxy.
      signedIn ??= signInAsNewUser(new URL(authorizeUrl).origin);
      const browser = await signedIn;
      const page = await browser.open(authorizeUrl);
      return (await browser.submit(page, "/oauth/consent", { decision: "allow" })).header(
        "location",
      );
    },
    ...{ "limited-key": LIMITED, "suspended-key": SUSPENDED, "rate-limited-key": BUSY },
    ...{ "expired-token": old.access_token, "expired-refresh-token": old.refresh_token },
  };
  return { ...server, target };
}
