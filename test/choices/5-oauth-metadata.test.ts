// How a client finds everything from {auth_url} alone: RFC 8414, RFC 9728, RFC 7517.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { ALL_SCOPES, publishedKeys } from "../support/oauth.ts";

const SERVER = "/.well-known/oauth-authorization-server";
const RESOURCE = "/.well-known/oauth-protected-resource/v1";

choice("1.rfcs.metadata", "the authorization server's promise what it does", async ({ api, authUrl, baseUrl }) => {
  const answer = await api.root.as(null).get(SERVER);
  assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json"]);
  const secrets = ["client_secret_basic", "client_secret_post"];
  assert.deepEqual(answer.json, {
    issuer: authUrl,
    authorization_endpoint: `${authUrl}/oauth/authorize`,
    token_endpoint: `${authUrl}/oauth/token`,
    revocation_endpoint: `${authUrl}/oauth/revoke`,
    introspection_endpoint: `${authUrl}/oauth/introspect`,
    jwks_uri: `${authUrl}/oauth/jwks`,
    scopes_supported: ALL_SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: [...secrets, "none"],
    revocation_endpoint_auth_methods_supported: [...secrets, "none"],
    introspection_endpoint_auth_methods_supported: secrets,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${authUrl}/docs`,
    protected_resources: [baseUrl],
  });
});

choice("1.rfcs.metadata.resource", "the API's lead to the authorization server", async ({ api, authUrl, baseUrl }) => {
  const challenge = (await api.as(null).get("/apps")).header("www-authenticate");
  assert.equal(/resource_metadata="([^"]+)"/.exec(challenge)?.[1], authUrl + RESOURCE);
  assert.deepEqual((await api.root.as(null).get(RESOURCE)).json, {
    resource: baseUrl,
    authorization_servers: [authUrl],
    scopes_supported: ALL_SCOPES,
    bearer_methods_supported: ["header"],
    resource_name: "Application Hosting Service",
    resource_documentation: `${authUrl}/docs`,
  });
});

choice("1.rfcs.token-algorithm", "one ES256 key is there before any token, whoever asks", {}, async ({ api }) => {
  const seen = await Promise.all(Array.from({ length: 50 }, () => publishedKeys(api)));
  const [{ x, y, kid, ...rest } = {}, ...more] = seen[0] ?? [];
  assert.deepEqual([rest, more], [{ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" }, []]);
  for (const value of [x, y, kid]) assert.match(String(value), /^[A-Za-z0-9_-]{43}$/);
  assert.equal(new Set(seen.map((keys) => JSON.stringify(keys))).size, 1);
});

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"];
const IN_JSON = ["/oauth/token", "/oauth/revoke", "/oauth/introspect"];

choice("5.token-response.errors", "another method is 405 with Allow, in the form of RFC 6749", async ({ api }) => {
  const anyone = api.root.as(null);
  for (const [allow, ...paths] of [
    ["POST, OPTIONS", ...IN_JSON, "/oauth/consent", "/dashboard/sign-out"],
    ["GET, HEAD, OPTIONS", "/oauth/authorize", "/oauth/jwks", SERVER, RESOURCE],
    ["GET, HEAD, POST, OPTIONS", "/dashboard/sign-in"],
  ] as const)
    for (const path of paths) {
      for (const method of METHODS.filter((each) => !allow.includes(each))) {
        const answer = await anyone.send(method, path);
        assert.deepEqual([answer.status, answer.header("allow")], [405, allow], `${method} ${path}`);
        if (IN_JSON.includes(path) && method !== "HEAD") assert.equal(answer.json.error, "invalid_request");
      }
      assert.equal((await anyone.options(path)).status, 204);
    }
  for (const path of ["/oauth/jwks", SERVER, RESOURCE]) assert.equal((await anyone.head(path)).status, 200);
  assert.equal((await anyone.get("/oauth/nothing")).status, 404);
});
