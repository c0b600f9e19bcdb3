// A real browser for the tests of the pages: Debian's Chromium or whichever is found. Without one the tests are skipped
// with the reason; TEST_REQUIRE_BROWSER=1 makes that a failure. Every test also fails on a console message,
// a violation of the content security policy, or a request to another host.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import type { ServiceOptions } from "../../src/index.ts";
import { closeLater } from "./closing.ts";
import { type Embedded, embedded } from "./embedded.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FOUND = [process.env.APPHOST_CHROMIUM, ...PLACES].find(
  (path) => path !== undefined && existsSync(path),
);
const REQUIRED = process.env.TEST_REQUIRE_BROWSER === "1";
const QUIET =
  "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync";

export interface Stage extends Embedded {
  context: BrowserContext;
  /** A page on which the owner is signed in. */
  page: Page;
  /** Opens a path of the server under test. */
  go(path: string, page?: Page): Promise<void>;
  /** Other hosts that the test itself visits. */
  hosts: Set<string>;
}

type Run = (stage: Stage) => Promise<void>;
/** Options of the server, and of the browser. */
interface Staging {
  service?: ServiceOptions;
  browser?: BrowserContextOptions;
  timeout?: number;
}

let shared: Promise<Browser> | undefined;
function browser() {
  shared ??= chromium.launch({
    executablePath: FOUND ?? "",
    args: QUIET.split(" ").map((flag) => `--${flag}`),
  });
  return shared;
}
closeLater(async () => (await shared)?.close());

/** A test in the browser, with a server and a browser profile of its own. */
export function inBrowser(name: string, ...how: readonly [Run] | readonly [Staging, Run]) {
  const [staging, run]: readonly [Staging, Run] = how.length === 1 ? [{}, how[0]] : how;
  const skip =
    FOUND === undefined && !REQUIRED && `no Chromium was found (looked at ${PLACES.join(", ")})`;
  test(`browser: ${name}`, { skip, timeout: staging.timeout ?? 60_000 }, async () => {
    assert.ok(
      FOUND !== undefined,
      "TEST_REQUIRE_BROWSER=1, but no Chromium was found: apt-get install chromium",
    );
    await using own = await embedded({ clock: "system", ...staging.service });
    const window = { viewport: { width: 1440, height: 900 }, ...staging.browser };
    await using context = await (await browser()).newContext(window);
    await staged(own, context, run);
  });
}

const REPORT_VIOLATIONS = `addEventListener("securitypolicyviolation", (event) => {
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI);
});`;

async function staged(own: Embedded, context: BrowserContext, run: Run) {
  const { authUrl } = own;
  const hosts = new Set([new URL(authUrl).host]);
  const faults: string[] = [];
  await context.addInitScript(REPORT_VIOLATIONS);
  context.on("request", (request) => {
    const { host } = new URL(request.url());
    if (!hosts.has(host)) faults.push(`a request to ${host}`);
  });
  context.on("console", (message) => faults.push(`${message.type()}: ${message.text()}`));
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const page = await context.newPage();
  const go = async (path: string, on = page) => void (await on.goto(authUrl + path));
  await go("/dashboard");
  const keyField = page.getByLabel("API key");
  if (await keyField.isVisible()) {
    await keyField.fill(own.service.apiKey ?? "");
    await press(page, "Continue");
  }
  await press(page, "Continue as Owner");
  await page.waitForURL(`${authUrl}/dashboard`);
  await run({ ...own, context, page, go, hosts });
  assert.deepEqual(faults, []);
}

type On = Pick<Page, "getByRole">;

/** Clicks the elements with these names, one after the other. */
async function clicks(on: On, role: "link" | "button", names: readonly string[]) {
  for (const name of names) await on.getByRole(role, { name }).click();
}
export const follow = (on: On, ...links: readonly string[]) => clicks(on, "link", links);
export const press = (on: On, ...buttons: readonly string[]) => clicks(on, "button", buttons);

/** Resolves as soon as the page contains the text, without reloading it. */
export const sees = (page: Page, text: string | RegExp) =>
  page.getByText(text).first().waitFor({ timeout: 10_000 });
