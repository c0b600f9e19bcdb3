// Stock OAuth and login libraries sign a user in: each knows the issuer, its client id and secret, and nothing else.
import assert from "node:assert/strict";
import type { Browser } from "../support/browser.ts";
import { members, str } from "../support/client.ts";
import { clientTest, requireClient } from "../support/clients.ts";
import { embedded } from "../support/embedded.ts";
import { person, register } from "../support/oauth.ts";

const APP = "http://localhost:3999";
const SCOPE = "read:apps";

/** A server, a client registered there with this callback, and a signed-in user who can consent. */
async function world(callback: string, draft: object = {}) {
  const own = await embedded({ clock: "system" });
  const app = await register(own.api, { redirect_uris: [callback], scopes: [SCOPE], ...draft });
  const who = await person(own.api);
  await own.api.patch(`/users/${who.id}`, { name: "Ada" });
  const user = { id: who.id, email: who.email, name: "Ada" };
  const owner = async (token: string) => (await own.api.as(token).get("/account")).json.user;
  return { ...own, ...app, user, owner, browser: who.browser };
}

/** The user consents at this URL; returns the redirect's URL. */
async function allowed(browser: Browser, url: string | URL): Promise<URL> {
  const page = await browser.open(String(url));
  assert.equal(page.status, 200, page.text);
  return new URL(
    (await browser.submit(page, "/oauth/consent", { decision: "allow" })).header("location"),
  );
}

/** A browser for a web application that is a function from Request to Response; keeps cookies. */
function visitorOf(handle: (request: Request) => Promise<Response>) {
  const cookies = new Map<string, string>();
  return async (path: string | URL, body?: object): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, origin: APP, ...(body && { "content-type": "application/json" }) };
    const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const response = await handle(new Request(new URL(path, APP), init));
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
}

clientTest("Auth.js signs a user in by the issuer alone, with PKCE and state", async () => {
  const { Auth } = requireClient("@auth/core");
  await using own = await world(`${APP}/auth/callback/apphost`);
  const tokens: string[] = [];
  const config = {
    basePath: "/auth",
    secret: "a-secret-of-the-web-application",
    trustHost: true,
    providers: [
      {
        ...{
          id: "apphost",
          name: "App hosting",
          type: "oauth",
          issuer: own.authUrl,
          checks: ["pkce", "state"],
        },
        ...{
          clientId: own.client_id,
          clientSecret: own.client_secret,
          authorization: { params: { scope: SCOPE } },
        },
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
  const visit = visitorOf((request) => Auth(request, config));
  const { csrfToken } = members(await (await visit("/auth/csrf")).json());
  const asked = await visit("/auth/signin/apphost", { csrfToken });
  const back = await allowed(own.browser, str(asked.headers.get("location")));
  assert.equal((await visit(back)).status, 302);
  const { user } = members(await (await visit("/auth/session")).json());
  assert.deepEqual([members(user).email, members(user).name], [own.user.email, own.user.name]);
  assert.deepEqual(await own.owner(tokens[0] ?? ""), own.user);
});

clientTest(
  "better-auth signs a user in by the issuer alone, with PKCE, and refreshes",
  async () => {
    const { betterAuth } = requireClient("better-auth");
    const { memoryAdapter } = requireClient("better-auth/adapters/memory");
    const { genericOAuth } = requireClient("better-auth/plugins");
    await using own = await world(`${APP}/api/auth/callback/apphost`);
    const provider = {
      ...{
        providerId: "apphost",
        clientId: own.client_id,
        clientSecret: own.client_secret,
        scopes: [SCOPE],
        pkce: true,
      },
      discoveryUrl: `${own.authUrl}/.well-known/openid-configuration`,
      mapProfileToUser: ({ user }: { user: typeof own.user }) => ({
        email: user.email,
        name: user.name,
      }),
      accountSubject: ({ profile }: { profile: { user: typeof own.user } }) => profile.user.id,
    };
    const tables: Record<string, object[]> = {
      user: [],
      session: [],
      account: [],
      verification: [],
    };
    const auth = betterAuth({
      ...{
        baseURL: APP,
        secret: "a-secret-of-the-web-application-0123",
        database: memoryAdapter(tables),
      },
      plugins: [genericOAuth({ config: [provider] })],
    });
    const visit = visitorOf((request) => auth.handler(request));
    const asked = members(
      await (
        await visit("/api/auth/sign-in/social", { provider: "apphost", callbackURL: "/" })
      ).json(),
    );
    const back = await visit(await allowed(own.browser, str(asked.url)));
    assert.equal(back.headers.get("location"), "/", await back.text());
    const session = members(await (await visit("/api/auth/get-session")).json());
    assert.deepEqual(
      [members(session.user).email, members(session.user).name],
      [own.user.email, own.user.name],
    );
    const account = () => members(tables.account?.[0]);
    assert.equal(account().accountId, own.user.id);
    const first = str(account().accessToken);
    assert.deepEqual(await own.owner(first), own.user);
    const refreshed = members(
      await (await visit("/api/auth/refresh-token", { accountId: account().id })).json(),
    );
    assert.notEqual(refreshed.accessToken, first);
    assert.deepEqual(await own.owner(str(refreshed.accessToken)), own.user);
  },
);

clientTest(
  "@fastify/oauth2 signs a user in by the issuer alone, refreshes and revokes",
  async () => {
    const fastify = requireClient("fastify")();
    await using own = await world(`${APP}/callback`);
    fastify.register(requireClient("@fastify/oauth2"), {
      ...{ name: "apphost", scope: [SCOPE], discovery: { issuer: own.authUrl } },
      ...{ startRedirectPath: "/login", callbackUri: `${APP}/callback` },
      credentials: { client: { id: own.client_id, secret: own.client_secret } },
    });
    fastify.get("/callback", async (request: object) => {
      const { token } = await fastify.apphost.getAccessTokenFromAuthorizationCodeFlow(request);
      const account = await fastify.apphost.userinfo(token);
      const refreshed = await fastify.apphost.getNewAccessTokenUsingRefreshToken(token, {});
      await fastify.apphost.revokeAllToken(refreshed.token, {});
      return { token, account, refreshed: refreshed.token };
    });
    const start = await fastify.inject("/login");
    const cookies = Object.fromEntries(
      start.cookies.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    assert.match(
      start.headers.location,
      /code_challenge_method=S256/,
      "it reads from the metadata that PKCE is known",
    );
    const { pathname, search } = await allowed(own.browser, start.headers.location);
    const answer = members((await fastify.inject({ url: pathname + search, cookies })).json());
    assert.deepEqual(members(answer.account).user, own.user);
    const [first, second] = [members(answer.token), members(answer.refreshed)];
    assert.notEqual(first.access_token, second.access_token);
    assert.equal(
      (await own.api.as(str(second.access_token)).get("/account")).status,
      401,
      "it is revoked",
    );
    await fastify.close();
  },
);

clientTest(
  "openid-client signs a user in by the issuer alone, names resources, refreshes and revokes",
  async () => {
    const client = requireClient("openid-client");
    await using own = await world(`${APP}/callback`);
    const config = await client.discovery(
      new URL(own.authUrl),
      own.client_id,
      own.client_secret,
      undefined,
      {
        execute: [client.allowInsecureRequests],
      },
    );
    assert.equal(config.serverMetadata().supportsPKCE(), true);
    const [pkceCodeVerifier, expectedState] = [
      client.randomPKCECodeVerifier(),
      client.randomState(),
    ];
    const asked = client.buildAuthorizationUrl(config, {
      ...{
        redirect_uri: `${APP}/callback`,
        scope: SCOPE,
        state: expectedState,
        code_challenge_method: "S256",
      },
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    });
    for (const _ of "12") asked.searchParams.append("resource", own.baseUrl);
    const back = await allowed(own.browser, asked);
    const resource = { resource: own.baseUrl };
    const tokens = await client.authorizationCodeGrant(
      config,
      back,
      { pkceCodeVerifier, expectedState },
      resource,
    );
    assert.deepEqual(
      [await own.owner(tokens.access_token), tokens.expiresIn() > 3_590],
      [own.user, true],
    );
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token, resource);
    assert.deepEqual(await own.owner(refreshed.access_token), own.user);
    await client.tokenRevocation(config, refreshed.refresh_token);
    assert.equal((await own.api.as(refreshed.access_token).get("/account")).status, 401);
  },
);

clientTest(
  "oauth4webapi finds the server by either address and signs a public client's user in",
  async () => {
    const o = requireClient("oauth4webapi");
    await using own = await world("com.example.app:/callback", { public: true });
    const issuer = new URL(own.authUrl);
    const insecure = { [o.allowInsecureRequests]: true };
    const servers = ["oidc", "oauth2"].map(async (algorithm) =>
      o.processDiscoveryResponse(
        issuer,
        await o.discoveryRequest(issuer, { algorithm, ...insecure }),
      ),
    );
    const [as, other] = await Promise.all(servers);
    assert.deepEqual(as, other);
    const [client, verifier, state] = [
      { client_id: own.client_id },
      o.generateRandomCodeVerifier(),
      o.generateRandomState(),
    ];
    const redirect = "com.example.app:/callback";
    const asked = new URL(as.authorization_endpoint);
    const sent = {
      client_id: own.client_id,
      redirect_uri: redirect,
      response_type: "code",
      scope: SCOPE,
      state,
    };
    const code_challenge = await o.calculatePKCECodeChallenge(verifier);
    asked.search = String(
      new URLSearchParams({ ...sent, code_challenge, code_challenge_method: "S256" }),
    );
    const found = o.validateAuthResponse(as, client, await allowed(own.browser, asked), state);
    const answer = await o.authorizationCodeGrantRequest(
      as,
      client,
      o.None(),
      found,
      redirect,
      verifier,
      insecure,
    );
    const tokens = await o.processAuthorizationCodeResponse(as, client, answer);
    assert.deepEqual(await own.owner(tokens.access_token), own.user);
    const again = await o.refreshTokenGrantRequest(
      as,
      client,
      o.None(),
      tokens.refresh_token,
      insecure,
    );
    const { access_token } = await o.processRefreshTokenResponse(as, client, again);
    // Reads the token as a resource server would.
    const request = new Request(own.baseUrl, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    const claims = await o.validateJwtAccessToken(as, request, own.baseUrl, insecure);
    assert.deepEqual([claims.sub, claims.scope], [own.user.id, SCOPE]);
  },
);
