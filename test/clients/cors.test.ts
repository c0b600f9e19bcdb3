// Clients that run under another origin and enforce CORS: the browser environments of test runners (jsdom, happy-dom),
// and tools that show an OpenAPI document and send its requests from a page.
import assert from "node:assert/strict";
import { createReadStream, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { inBrowser, type Stage } from "../support/chromium.ts";
import { CLIENTS, clientTest, isInstalled, requireClient } from "../support/clients.ts";
import { closeLater } from "../support/closing.ts";
import { type Embedded, embedded } from "../support/embedded.ts";
import { listen } from "../support/ports.ts";

const ORIGIN = "http://localhost:3000";
const FOREIGN = "http://app.example.com";
const read = (name: string) => readFileSync(`${CLIENTS}node_modules/${name}`, "utf8");

/** Creates an app with `post` and reads the headers that CORS must expose. */
type Post = (
  origin: string,
  own: Embedded,
) => Promise<{ status: number; etag: unknown; location: unknown }>;

const viaAxios: Post = async (origin, { baseUrl, api }) => {
  const { JSDOM, VirtualConsole } = requireClient("jsdom");
  // jsdom also logs requests that CORS blocks to the console.
  const { window } = new JSDOM("", {
    url: `${origin}/`,
    runScripts: "outside-only",
    virtualConsole: new VirtualConsole(),
  });
  window.eval(read("axios/dist/axios.min.js"));
  const headers = { Authorization: `Bearer ${api.key}` };
  const answer = await window.axios.post(`${baseUrl}/apps`, { title: "T" }, { headers });
  return { status: answer.status, etag: answer.headers.etag, location: answer.headers.location };
};

const viaHappyDom: Post = async (origin, { baseUrl, api }) => {
  const { Window } = requireClient("happy-dom");
  const window = new Window({ url: `${origin}/` });
  const headers = { Authorization: `Bearer ${api.key}`, "Content-Type": "application/json" };
  const answer = await window.fetch(`${baseUrl}/apps`, {
    method: "POST",
    headers,
    body: '{"title":"T"}',
  });
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    location: answer.headers.get("location"),
  };
};

for (const [name, post] of Object.entries({
  "axios in jsdom": viaAxios,
  "fetch in happy-dom": viaHappyDom,
}))
  clientTest(`${name} calls the API from a loopback origin and from no other`, async () => {
    await using own = await embedded();
    const { status, etag, location } = await post(ORIGIN, own);
    assert.equal(status, 201);
    assert.match(String(etag), /^"/);
    assert.match(String(location), new RegExp(`^${own.baseUrl}/apps/app_`));
    await assert.rejects(post(FOREIGN, own), /Network Error|Cross-Origin/);
    assert.equal((await own.api.get("/apps")).json.total, 1);
  });

const SCRIPTS = {
  swagger: "swagger-ui-dist/swagger-ui-bundle.js",
  scalar: "@scalar/api-reference/dist/browser/standalone.js",
};

/** A page on its own port that loads the tool, and then runs `start`. */
async function opened(
  { page, api }: Stage,
  script: string,
  start: (url: string) => string,
): Promise<Page> {
  const html = `<!doctype html><meta charset="utf-8"><div id="ui"></div><script src="/tool.js"></script>
<script>${start(`${api.root.baseUrl}/openapi.json`)}</script>`;
  const server = createServer(({ url }, response) => {
    if (url !== "/tool.js") response.setHeader("content-type", "text/html").end(html);
    else createReadStream(`${CLIENTS}node_modules/${script}`).pipe(response);
  });
  closeLater(() => server.close().closeAllConnections());
  // A separate browser context: the console messages and requests of these tools are not checked.
  const context = await page
    .context()
    .browser()
    ?.newContext({ viewport: { width: 1400, height: 1000 } });
  assert.ok(context);
  closeLater(() => context.close());
  const tool = await context.newPage();
  await tool.goto(`http://localhost:${await listen(server)}`);
  return tool;
}

const inTool = (name: string, run: (stage: Stage) => Promise<void>) =>
  isInstalled ? inBrowser(name, run) : clientTest(name, async () => {});

/** The status of the next request for the list of apps that `press` sends. */
async function getStatus(
  tool: Page,
  { baseUrl }: Stage,
  press: () => Promise<void>,
): Promise<number> {
  const [response] = await Promise.all([
    tool.waitForResponse(
      (one) => one.url().startsWith(`${baseUrl}/apps`) && one.request().method() === "GET",
    ),
    press(),
  ]);
  return response.status();
}

inTool(
  "Swagger UI loads the document from another origin, and its requests reach the server",
  async (own) => {
    const tool = await opened(own, SCRIPTS.swagger, (url) => {
      return `window.ui = SwaggerUIBundle({ url: ${JSON.stringify(url)}, dom_id: "#ui",
      onComplete: () => ui.preauthorizeApiKey("apiKey", ${JSON.stringify(own.api.key)}) });`;
    });
    await tool.locator("#operations-apps-listApps").getByRole("button").first().click();
    await tool.getByRole("button", { name: "Try it out" }).click();
    assert.equal(
      await getStatus(tool, own, () => tool.getByRole("button", { name: "Execute" }).click()),
      200,
    );
  },
);

inTool(
  "Scalar loads the document from another origin, and its requests reach the server",
  async (own) => {
    const settings = {
      securitySchemes: { apiKey: { token: own.api.key } },
      preferredSecurityScheme: "apiKey",
    };
    const tool = await opened(own, SCRIPTS.scalar, (url) => {
      const options = JSON.stringify({
        url,
        authentication: settings,
        withDefaultFonts: false,
        hideModels: true,
      });
      return `Scalar.createApiReference("#ui", ${options});`;
    });
    await tool
      .getByRole("button", { name: /Test Request \(get \/apps\)$/i })
      .first()
      .click();
    assert.equal(
      await getStatus(tool, own, () => tool.getByRole("button", { name: /^Send/ }).first().click()),
      200,
    );
  },
);
