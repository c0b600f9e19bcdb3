// Pages of another origin in a real browser (CORS): a single-page app with a public client signs its user in and calls
// the API.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { inBrowser, press, sees } from "../support/chromium.ts";
import { closeLater } from "../support/closing.ts";
import { register } from "../support/oauth.ts";
import { listen } from "../support/ports.ts";

/** A single-page app as a front-end developer writes it: the authorization code flow with PKCE, then two calls. */
const SINGLE_PAGE_APP = `<!doctype html><title>App</title><link rel="icon" href="data:,"><pre id="out"></pre><script type="module">
const { hash, search, origin } = location;
const show = (value) => { document.querySelector("#out").textContent = JSON.stringify(value); };
const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=/g, "");
if (hash) sessionStorage.setItem("settings", decodeURIComponent(hash.slice(1)));
const { authUrl, baseUrl, client_id } = JSON.parse(sessionStorage.getItem("settings"));
const redirect_uri = origin + "/";
const json = async (response) => response.ok ? response.json() : Promise.reject(new Error(await response.text()));
const discovered = await json(await fetch(authUrl + "/.well-known/oauth-authorization-server"));
const code = new URLSearchParams(search).get("code");
if (code === null) {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem("verifier", verifier);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const asked = { client_id, redirect_uri, response_type: "code", scope: "read:apps write:apps", state: "s",
    code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256" };
  location.assign(discovered.authorization_endpoint + "?" + new URLSearchParams(asked));
} else {
  const code_verifier = sessionStorage.getItem("verifier");
  const body = new URLSearchParams({ grant_type: "authorization_code", client_id, code, redirect_uri, code_verifier });
  const { access_token } = await json(await fetch(discovered.token_endpoint, { method: "POST", body }));
  const headers = { authorization: "Bearer " + access_token, "content-type": "application/json", "idempotency-key": "k" };
  const created = await fetch(baseUrl + "/apps", { method: "POST", headers, body: JSON.stringify({ title: "From a page" }) });
  const { id } = await created.json();
  const changed = await fetch(baseUrl + "/apps/" + id, { method: "PATCH",
    headers: { authorization: headers.authorization, "content-type": "application/json", "if-match": created.headers.get("etag") },
    body: '{"public":true}' });
  const refused = await fetch(baseUrl + "/users", { headers: { authorization: headers.authorization } });
  show({ created: created.status, location: created.headers.get("location") === baseUrl + "/apps/" + id,
    changed: changed.status, refused: refused.status, challenge: /insufficient_scope/.test(refused.headers.get("www-authenticate")),
    request: /^req_/.test(refused.headers.get("x-request-id")), rate: created.headers.has("ratelimit") });
}
</script>`;

inBrowser(
  "a single-page app of another origin completes the code flow with PKCE and calls the API",
  async (own) => {
    const { page, api, authUrl, baseUrl, hosts } = own;
    const server = createServer((_, response) =>
      response.setHeader("content-type", "text/html").end(SINGLE_PAGE_APP),
    );
    closeLater(() => server.close());
    const origin = `http://localhost:${await listen(server)}`;
    hosts.add(new URL(origin).host);
    const scopes = ["read:apps", "write:apps"];
    const { client_id } = await register(api, {
      public: true,
      scopes,
      redirect_uris: [`${origin}/`],
    });
    // The browser logs the expected 403 as an error in the console.
    const other = await page.context().browser()?.newContext();
    assert.ok(other);
    await using context = other;
    await context.addCookies(await page.context().cookies(authUrl));
    const app = await context.newPage();
    await app.goto(
      `${origin}/#${encodeURIComponent(JSON.stringify({ authUrl, baseUrl, client_id }))}`,
    );
    await press(app, "Allow");
    await sees(app, '"created"');
    assert.deepEqual(JSON.parse((await app.locator("#out").textContent()) ?? ""), {
      created: 201,
      location: true,
      changed: 200,
      refused: 403,
      challenge: true,
      request: true,
      rate: true,
    });
  },
);
