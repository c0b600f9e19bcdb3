// Pages of another origin in a real browser (CORS): a single-page app with a public client signs its user in and calls
// the API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { inBrowser, press, sees } from "../support/chromium.ts";
import { closeLater, listen, register } from "../support/index.ts";

/** A single-page app as a front-end developer writes it: the authorization code flow with PKCE, then two calls. */
const SINGLE_PAGE_APP = readFileSync("test/browser/single-page-app.html");

inBrowser(
  "a single-page app of another origin completes the code flow with PKCE and calls the API",
  async ({ page, api, authUrl, baseUrl, hosts }) => {
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
