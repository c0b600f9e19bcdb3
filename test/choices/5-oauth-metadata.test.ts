// How a client finds everything from {auth_url} alone: RFC 8414, RFC 9728, RFC 7517.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { ALL_SCOPES, publishedKeys } from "../support/oauth.ts";

choice(
  "1.rfcs.metadata",
  "the authorization server's metadata promise what it does",
  async ({ api, authUrl, baseUrl }) => {
    const answer = await api.root.as(null).get("/.well-known/oauth-authorization-server");
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["content-type"], "application/json");
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
      token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
      revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
      introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${authUrl}/docs`,
      protected_resources: [baseUrl],
    });
  },
);

choice(
  "1.rfcs.metadata.resource",
  "the REST API's metadata lead to the authorization server",
  async ({ api, authUrl, baseUrl }) => {
    const challenge = (await api.as(null).get("/apps")).header("www-authenticate");
    const url = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
    const answer = await api.root.as(null).get(url.slice(authUrl.length));
    assert.deepEqual(answer.json, {
      resource: baseUrl,
      authorization_servers: [authUrl],
      scopes_supported: ALL_SCOPES,
      bearer_methods_supported: ["header"],
      resource_name: "Application Hosting Service",
      resource_documentation: `${authUrl}/docs`,
    });
  },
);

choice(
  "1.rfcs.token-algorithm",
  "one ES256 key is published, without its private half, before any token is",
  "ours",
  async ({ api }) => {
    const keys = await publishedKeys(api);
    assert.equal(keys.length, 1);
    const [{ x, y, kid, ...rest } = {}] = keys;
    assert.deepEqual(rest, { kty: "EC", crv: "P-256", alg: "ES256", use: "sig" });
    for (const value of [x, y, kid]) assert.match(String(value), /^[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(await publishedKeys(api), keys);
  },
);

choice("1.rfcs.token-algorithm", "50 first requests at once make one key", {}, async ({ api }) => {
  const seen = await Promise.all(Array.from({ length: 50 }, () => publishedKeys(api)));
  assert.equal(new Set(seen.map((keys) => JSON.stringify(keys))).size, 1);
});

choice("5.token-response.errors", "another method is 405 with Allow, in the form of RFC 6749", async ({ api }) => {
  const anyone = api.root.as(null);
  for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect"])
    for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
      const answer = await anyone.send(method, path);
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.header("allow"), "POST, OPTIONS");
      if (method !== "HEAD") assert.equal(answer.json.error, "invalid_request");
    }
  for (const path of [
    "/oauth/jwks",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/v1",
  ]) {
    assert.equal((await anyone.send("POST", path)).header("allow"), "GET, HEAD, OPTIONS");
    assert.equal((await anyone.send("HEAD", path)).status, 200);
    assert.equal((await anyone.send("OPTIONS", path)).status, 204);
  }
  assert.equal((await anyone.get("/oauth/nothing")).status, 404);
});
