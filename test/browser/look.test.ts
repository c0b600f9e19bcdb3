// The look of the pages: WCAG 2.2 AA and best practice by axe-core, valid HTML by the Nu checker, nothing overflows at
// 380, 720 or 1440 px, light and dark differ, no page is heavy. Without test/clients the first two checks are skipped.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { inBrowser } from "../support/chromium.ts";
import { requireClient, skipWithoutClients } from "../support/clients.ts";
import { deployed, freshFolder, skipUnless } from "../support/index.ts";
import { createShowcase } from "../support/showcase.ts";

interface Violation {
  id: string;
  nodes: readonly { html: string }[];
}

/** Checks all rules in light; dark can only differ in contrast. */
async function findViolations(page: Page, colorScheme: string) {
  const runOnly = colorScheme === "dark" ? ["color-contrast"] : [...WCAG, "best-practice"];
  const options = { resultTypes: ["violations"], runOnly };
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify(options)})`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

const MEASURE = `[
  getComputedStyle(document.body).backgroundColor,
  document.documentElement.scrollWidth,
  document.documentElement.scrollHeight,
]`;

const LIGHT = ["light"] as const;
const SCHEMES = ["light", "dark"] as const;
const folder = freshFolder();

inBrowser(
  "no page has a finding of axe, overflows at 380, 720 or 1440 pixels, or is heavy, in light and dark",
  { service: { clock: "manual" }, timeout: 300_000 },
  async (stage) => {
    const { page, go } = stage;
    const axe = skipWithoutClients
      ? undefined
      : readFileSync(requireClient.resolve("axe-core/axe.min.js"), "utf8");
    const pages = await createShowcase(stage);
    assert.ok(pages.length > 0);
    await page.clock.setFixedTime(stage.service.clock.now());
    // Chromium reports an error status on the console, which would fail the test.
    await page.route(/unknown|_0{24}/, async (route) =>
      route.fulfill({ response: await route.fetch(), status: 200 }),
    );
    const findings: string[] = [];
    for (const { name, path } of pages) {
      const response = await page.goto(stage.authUrl + path);
      const text = (await response?.text()) ?? "";
      writeFileSync(join(folder, `${name}.html`), text);
      if (text.length > 60_000) findings.push(`${name}: ${text.length} bytes`);
      const backgrounds = new Set<unknown>();
      // 720 pixels are a screen of 1440 at 200 % zoom.
      for (const width of [380, 720, 1440])
        for (const colorScheme of width === 1440 ? SCHEMES : LIGHT) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          if (width === 1440 && axe !== undefined) {
            await page.evaluate(axe);
            for (const violation of await findViolations(page, colorScheme))
              findings.push(`${name} in ${colorScheme}: ${violation}`);
          }
          const [background, scrollWidth, scrollHeight] =
            await page.evaluate<[string, number, number]>(MEASURE);
          backgrounds.add(background);
          if (width === 1440 && name.startsWith("docs") && scrollHeight > 12_000)
            findings.push(`${name} is ${scrollHeight} pixels high`);
          if (scrollWidth !== width) findings.push(`${name} overflows at ${width}: ${scrollWidth}`);
        }
      // The sites of the showcase have one theme for everybody.
      const expected = /^site(?!-not-found)/.test(name) ? 1 : 2;
      if (backgrounds.size !== expected) findings.push(`${name}: ${[...backgrounds]}`);
    }
    await go("/dashboard");
    assert.deepEqual(findings, []);
  },
);

const hasJava = spawnSync("java", ["-version"]).status === 0;
const skip = skipWithoutClients || skipUnless(hasJava, "JAVA", "Java is not installed");

test("the Nu HTML checker finds no error in any page", { skip, timeout: 120_000 }, async () => {
  const jar = String(requireClient("vnu-jar"));
  const args = ["-jar", jar, "--errors-only", "--skip-non-html", folder];
  const run = promisify(execFile)("java", args);
  const { stderr } = await run.catch((error: { stderr: string }) => error);
  assert.equal(stderr, "");
});

inBrowser(
  "no label of a chart overlaps another or overflows, and a wide chart has more of them",
  async ({ api, page, go }) => {
    const { path, give } = await deployed(api);
    const bars = (length: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({ x: `K${at}`.padEnd(length, "x"), y: at }));
    await give("One", bars(5, 1));
    for (const [length, count] of [
      [5, 17],
      [9, 19],
      [12, 17],
      [14, 9],
    ] as const)
      await give(`${length} ${count}`, bars(length, count));
    const gaps = `[...document.querySelectorAll("section")].flatMap((section) => {
    const texts = [...section.querySelectorAll("svg > text[y='262']")].map((text) => text.getBoundingClientRect());
    const seen = [...texts.filter(({ width }) => width > 0), { left: section.getBoundingClientRect().right }];
    return seen.slice(1).map(({ left }, at) => left - seen[at].right);
  })`;
    const counts: number[] = [];
    for (const width of [380, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await go(path);
      const found = await page.evaluate<number[]>(gaps);
      counts.push(found.length);
      assert.ok(Math.min(...found) >= 0, `at ${width}: ${found}`);
    }
    assert.ok(Number(counts[0]) < Number(counts[1]), String(counts));
    const bar = page.getByRole("button", { name: "K0xxx, 0 y" }).first();
    assert.ok(Number((await bar.boundingBox())?.width) < 120);
  },
);

inBrowser(
  "a point is sent by keyboard alone and keeps the focus, and by a click at its place",
  async ({ api, page, go }) => {
    const { path, give } = await deployed(api);
    await give(
      "Dense",
      Array.from({ length: 240 }, (_, at) => ({ at: new Date(at * 86_400_000), value: at % 2 })),
    );
    await go(path);
    const sends = (text: unknown) => page.locator("output", { hasText: `Sent: ${text}` }).waitFor();
    await page.keyboard.press("Tab");
    for (const expected of ["1 Jan 1970, 0 value", "4 Jan 1970, 1 value", "7 Jan 1970, 0 value"]) {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await sends(expected);
      await page.locator(`[title="${expected}"]:focus`).waitFor();
    }
    await page.setViewportSize({ width: 380, height: 900 });
    for (const index of [0, 50, 79]) {
      const button = page.locator(".line button").nth(index);
      const title = await button.getAttribute("title");
      await button.click({ force: true });
      await sends(title);
    }
    await page.getByText("Show as table").click();
    await page.getByRole("link", { name: "Value" }).click();
    await page.getByRole("button", { name: "15 Jan 1970" }).click();
    await sends("15 Jan 1970, 0 value");
    await page.locator("th[aria-sort=ascending]", { hasText: "Value" }).waitFor();
  },
);
