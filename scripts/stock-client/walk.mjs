// A client library that knows nothing of this server walks the whole way, from {auth_url} alone: discovery, code with PKCE,
// tokens, introspection, refresh, revocation. What the library checks itself (iss, state, content types, token_type, the
// JWT against the published keys) is checked here by somebody else.
import assert from "node:assert/strict";
import { choice } from "../../test/support/clauses.ts";
import { str } from "../../test/support/client.ts";
import { person, REDIRECT, register, returned } from "../../test/support/oauth.ts";

/** Not a dependency of the project: scripts/stock-client.ts installs it and says where. */
const oauth = await import(process.env.OAUTH_LIBRARY ?? "");

const loopback = { [oauth.allowInsecureRequests]: true };

async function discovered(issuer) {
  const answer = await oauth.discoveryRequest(issuer, { ...loopback, algorithm: "oauth2" });
  return oauth.processDiscoveryResponse(issuer, answer);
}

/** The API's own metadata lead to the authorization server. */
async function serverOf(baseUrl) {
  const resource = new URL(baseUrl);
  const answer = await oauth.resourceDiscoveryRequest(resource, loopback);
  const { authorization_servers: [issuer] = [] } = await oauth.processResourceDiscoveryResponse(resource, answer);
  return discovered(new URL(issuer ?? ""));
}

async function tokensOf({ server, client, auth }, api) {
  const who = await person(api);
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const url = new URL(server.authorization_endpoint ?? "");
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    response_type: "code",
    scope: "read:apps write:apps",
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  }).toString();
  const back = await who.browser.submit(await who.browser.open(url.href), "/oauth/consent", { decision: "allow" });
  returned(back);
  const parameters = oauth.validateAuthResponse(server, client, new URL(back.header("location")), state);
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    auth,
    parameters,
    REDIRECT,
    verifier,
    loopback,
  );
  return oauth.processAuthorizationCodeResponse(server, client, answer);
}

async function walk(party, api, baseUrl) {
  const { server, client, auth } = party;
  const first = await tokensOf(party, api);
  const bearer = new Request(`${baseUrl}/apps`, { headers: { authorization: `Bearer ${first.access_token}` } });
  const claims = await oauth.validateJwtAccessToken(server, bearer, baseUrl, loopback);
  assert.equal(claims.scope, "read:apps write:apps");
  const resource = new URL(`${baseUrl}/apps`);
  const apps = await oauth.protectedResourceRequest(first.access_token, "GET", resource, undefined, null, loopback);
  assert.equal(apps.status, 200);
  const renewal = await oauth.refreshTokenGrantRequest(server, client, auth, str(first.refresh_token), loopback);
  const next = await oauth.processRefreshTokenResponse(server, client, renewal);
  const ending = await oauth.revocationRequest(server, client, auth, str(next.refresh_token), loopback);
  await oauth.processRevocationResponse(ending);
  await assert.rejects(
    oauth.protectedResourceRequest(next.access_token, "GET", resource, undefined, null, loopback),
    (error) => error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401,
  );
  const late = await oauth.refreshTokenGrantRequest(server, client, auth, str(next.refresh_token), loopback);
  await assert.rejects(
    oauth.processRefreshTokenResponse(server, client, late),
    (error) => error instanceof oauth.ResponseBodyError && error.error === "invalid_grant",
  );
}

for (const [name, authentication] of [
  ["client_secret_basic", oauth.ClientSecretBasic],
  ["client_secret_post", oauth.ClientSecretPost],
])
  choice(
    "5.token-body",
    `a stock library goes the whole way with ${name}`,
    { needs: "embedded" },
    async ({ api, baseUrl }) => {
      const { client_id, client_secret } = await register(api);
      const party = {
        server: await serverOf(baseUrl),
        client: { client_id },
        auth: authentication(str(client_secret)),
      };
      await walk(party, api, baseUrl);
      const { access_token } = await tokensOf(party, api);
      const { server, client, auth } = party;
      const answer = await oauth.introspectionRequest(server, client, auth, access_token, loopback);
      const { active, scope } = await oauth.processIntrospectionResponse(server, client, answer);
      assert.deepEqual([active, scope], [true, "read:apps write:apps"]);
    },
  );

choice(
  "5.pkce",
  "a stock library goes the whole way as a public client",
  { needs: "embedded" },
  async ({ api, baseUrl }) => {
    const { client_id } = await register(api, { public: true });
    await walk({ server: await serverOf(baseUrl), client: { client_id }, auth: oauth.None() }, api, baseUrl);
  },
);

choice(
  "5.token-algorithm",
  "a stock library takes RS256 tokens too",
  { needs: "embedded", options: { tokenAlg: "RS256" } },
  async (own) => {
    const { client_id, client_secret } = await register(own.api);
    const party = {
      server: await serverOf(own.baseUrl),
      client: { client_id },
      auth: oauth.ClientSecretPost(str(client_secret)),
    };
    await walk(party, own.api, own.baseUrl);
  },
);
