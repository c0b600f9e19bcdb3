// Runs a stock OAuth client library, which knows nothing of this server, through the whole flow from {auth_url} alone:
// discovery, code with PKCE, tokens, refresh, revocation. The library is an independent check of iss,
// state, content types, token_type, and the JWT against the published keys.
import assert from "node:assert/strict";
import { type Context, choice } from "../test/support/clauses.ts";
import { str } from "../test/support/client.ts";
import { person, REDIRECT, register, returned } from "../test/support/oauth.ts";
import { installed } from "./installed.ts";

/** Not a dependency of the project, so it has no types here. */
const oauth = await import(
  `${installed("oauth4webapi@3.8.8")}/node_modules/oauth4webapi/build/index.js`
);
const loopback = { [oauth.allowInsecureRequests]: true };
const scope = "read:apps write:apps";

/** Finds the authorization server through the API's resource metadata. */
async function serverOf(baseUrl: string) {
  const resource = new URL(baseUrl);
  const found = await oauth.resourceDiscoveryRequest(resource, loopback);
  const { authorization_servers } = await oauth.processResourceDiscoveryResponse(resource, found);
  const issuer = new URL(authorization_servers[0]);
  const answer = await oauth.discoveryRequest(issuer, { ...loopback, algorithm: "oauth2" });
  return oauth.processDiscoveryResponse(issuer, answer);
}

/** Runs the flow from registration to revocation; `proof` creates the client authentication from the secret. */
async function walk(
  { api, baseUrl }: Context,
  proof: (secret: string) => unknown,
  draft: object = {},
) {
  const { client_id, client_secret } = await register(api, draft);
  const party = [await serverOf(baseUrl), { client_id }] as const;
  const [server] = party;
  const auth = proof(client_secret ?? "");
  const who = await person(api);
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const url = new URL(server.authorization_endpoint);
  const code_challenge = await oauth.calculatePKCECodeChallenge(verifier);
  const pkce = { code_challenge, code_challenge_method: "S256" };
  const asked = { client_id, redirect_uri: REDIRECT, response_type: "code", scope, state, ...pkce };
  url.search = new URLSearchParams(asked).toString();
  const back = await who.browser.submit(await who.browser.open(url.href), "/oauth/consent", {
    decision: "allow",
  });
  returned(back);
  const parameters = oauth.validateAuthResponse(...party, new URL(back.header("location")), state);
  const code = [auth, parameters, REDIRECT, verifier, loopback];
  const exchanged = await oauth.authorizationCodeGrantRequest(...party, ...code);
  const first = await oauth.processAuthorizationCodeResponse(...party, exchanged);

  const resource = new URL(`${baseUrl}/apps`);
  const bearer = new Request(resource, {
    headers: { authorization: `Bearer ${first.access_token}` },
  });
  assert.equal(
    (await oauth.validateJwtAccessToken(server, bearer, baseUrl, loopback)).scope,
    scope,
  );
  const apps = (token: string) =>
    oauth.protectedResourceRequest(token, "GET", resource, undefined, null, loopback);
  assert.equal((await apps(first.access_token)).status, 200);

  const renewed = async (token: string) =>
    oauth.processRefreshTokenResponse(
      ...party,
      await oauth.refreshTokenGrantRequest(...party, auth, token, loopback),
    );
  const next = await renewed(str(first.refresh_token));
  const ending = await oauth.revocationRequest(...party, auth, str(next.refresh_token), loopback);
  await oauth.processRevocationResponse(ending);
  const { WWWAuthenticateChallengeError, ResponseBodyError } = oauth;
  const isChallenge = (error: unknown) =>
    error instanceof WWWAuthenticateChallengeError && Object(error).status === 401;
  await assert.rejects(apps(next.access_token), isChallenge);
  const isGrant = (error: unknown) =>
    error instanceof ResponseBodyError && Object(error).error === "invalid_grant";
  await assert.rejects(renewed(str(next.refresh_token)), isGrant);
}

const goes = "a stock library goes the whole way";
choice("1.rfcs.token-body", `${goes} with client_secret_basic`, (it) =>
  walk(it, oauth.ClientSecretBasic),
);
choice("1.rfcs.token-body", `${goes} with client_secret_post`, (it) =>
  walk(it, oauth.ClientSecretPost),
);
choice("5.pkce", `${goes} as a public client`, (it) => walk(it, oauth.None, { public: true }));
choice("1.rfcs.token-algorithm", `${goes} with RS256 tokens, too`, { tokenAlg: "RS256" }, (it) =>
  walk(it, oauth.ClientSecretPost),
);
