// Stock OAuth and login libraries sign a user in: each knows the issuer, its client id and secret, and nothing else.
// A stock JWT library accepts the tokens of a manual clock, which starts at the real time.
import assert from "node:assert/strict";
import { clientTest, requireClient } from "../support/clients.ts";
import { embedded, members, person, register, str } from "../support/index.ts";

const APP = "http://localhost:3999";
const SCOPE = "read:apps";

/** A server, a client registered there with this callback, and a signed-in user who can consent. */
async function createWorld(callback: string, draft: object = {}) {
  const own = await embedded({ clock: "system" });
  const app = await register(own.api, { redirect_uris: [callback], scopes: [SCOPE], ...draft });
  const { id, email, browser } = await person(own.api);
  const user = { id, email, name: "Ada" };
  await own.api.patch(`/users/${id}`, { name: user.name });
  /** Asserts that the token was issued to the user. */
  const assertOwner = async (token: unknown) =>
    assert.deepEqual((await own.api.as(str(token)).get("/account")).json.user, user);
  const assertRevoked = async (token: unknown) =>
    (await own.api.as(str(token)).get("/account")).is(401);
  /** The user consents at this URL; returns the redirect's URL. */
  async function allow(url: unknown) {
    const page = await browser.open(String(url));
    page.is(200);
    const back = await browser.submit(page, "/oauth/consent", { decision: "allow" });
    return new URL(back.header("location"));
  }
  return { ...own, ...app, user, assertOwner, assertRevoked, allow };
}

/** A browser for a web application that is a function from Request to Response; keeps cookies. */
function createVisitor(handle: (request: Request) => Promise<Response>) {
  const cookies: string[] = [];
  return async (path: string | URL, body?: object): Promise<Response> => {
    const headers = { origin: APP, "content-type": "application/json", cookie: cookies.join("; ") };
    const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const response = await handle(new Request(new URL(path, APP), init));
    cookies.push(...response.headers.getSetCookie().map((line) => line.replace(/;.*/, "")));
    return response;
  };
}

clientTest("Auth.js signs a user in by the issuer alone, with PKCE and state", async () => {
  const { Auth } = requireClient("@auth/core");
  await using own = await createWorld(`${APP}/auth/callback/apphost`);
  const tokens: string[] = [];
  const config = {
    basePath: "/auth",
    secret: "a-secret-of-the-web-application",
    trustHost: true,
    providers: [
      {
        id: "apphost",
        name: "App hosting",
        type: "oauth",
        issuer: own.authUrl,
        checks: ["pkce", "state"],
        clientId: own.client_id,
        clientSecret: own.client_secret,
        authorization: { params: { scope: SCOPE } },
        // Without this member Auth.js never requests the user info, and then fails.
        userinfo: {},
        profile: (account: { user: typeof own.user }) => account.user,
      },
    ],
    callbacks: {
      jwt({ token, account }: { token: object; account?: { access_token: string } }) {
        if (account) tokens.push(account.access_token);
        return token;
      },
    },
  };
  const visit = createVisitor((request) => Auth(request, config));
  const { csrfToken } = members(await (await visit("/auth/csrf")).json());
  const start = await visit("/auth/signin/apphost", { csrfToken });
  assert.equal((await visit(await own.allow(start.headers.get("location")))).status, 302);
  const { user } = members(await (await visit("/auth/session")).json());
  assert.equal(members(user).email, own.user.email);
  await own.assertOwner(tokens[0]);
});

clientTest(
  "openid-client signs a user in by the issuer alone, names resources, refreshes and revokes",
  async () => {
    const client = requireClient("openid-client");
    await using own = await createWorld(`${APP}/callback`);
    const { authUrl, client_id, client_secret, baseUrl } = own;
    const options = { execute: [client.allowInsecureRequests] };
    const issuer = new URL(authUrl);
    const config = await client.discovery(issuer, client_id, client_secret, undefined, options);
    assert.equal(config.serverMetadata().supportsPKCE(), true);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: `${APP}/callback`,
      scope: SCOPE,
      state: expectedState,
      code_challenge_method: "S256",
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    });
    for (const _ of "12") url.searchParams.append("resource", baseUrl);
    const checks = { pkceCodeVerifier, expectedState };
    const resource = { resource: baseUrl };
    const back = await own.allow(url);
    const tokens = await client.authorizationCodeGrant(config, back, checks, resource);
    assert.ok(tokens.expiresIn() > 3_590);
    await own.assertOwner(tokens.access_token);
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token, resource);
    await own.assertOwner(refreshed.access_token);
    await client.tokenRevocation(config, refreshed.refresh_token);
    await own.assertRevoked(refreshed.access_token);
  },
);

clientTest("manual clock: jose accepts its access tokens", async () => {
  await using it = await embedded();
  const { access_token } = await it.service.signIn({ scopes: ["read:apps"] });
  const { createRemoteJWKSet, jwtVerify } = requireClient("jose");
  const keys = createRemoteJWKSet(new URL(`${it.authUrl}/oauth/jwks`));
  const options = { issuer: it.authUrl, audience: it.baseUrl, maxTokenAge: "1h", typ: "at+jwt" };
  assert.equal((await jwtVerify(access_token, keys, options)).payload.scope, "read:apps");
});
