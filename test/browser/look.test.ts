// The look of the pages: nothing overflows at 380 or 1440 px, light and dark are different and readable, and user input
// is shown as text.
import assert from "node:assert/strict";
import { dashboardRoutes } from "../../src/web/dashboard/dashboard.ts";
import { inBrowser, type Stage } from "../support/chromium.ts";
import { str } from "../support/client.ts";
import { hooked } from "../support/receivers.ts";
import { deployed } from "../support/sites.ts";
import { uploaded } from "../support/wait.ts";
import { fill, makeWorld } from "../support/world.ts";

const LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk".repeat(3);

// The tour’s pages with pictures, and the first of the others.
const TOUR = ["/docs/tour", "/docs/tour/1", "/docs/tour/5", "/docs/tour/6"];
const DOCS = [
  "/docs",
  ...TOUR,
  "/docs/endpoints",
  "/docs/events",
  "/docs/errors",
  "/docs/decisions",
];

async function everyPath({ api }: Stage): Promise<string[]> {
  const ids = await makeWorld(api);
  await api.patch(`/apps/${ids.app_id}`, { title: LONG, description: LONG, public: true });
  await api.post("/data-sources", {
    name: LONG,
    type: "json",
    app_id: ids.app_id,
    data: [{ [LONG]: LONG, n: 1 }],
  });
  const shown = dashboardRoutes.filter(({ method }) => method === "GET");
  const site = (await api.get(`/apps/${ids.app_id}/deployments`)).items[0];
  return [
    ...shown.map(({ path }) => fill(path, ids)),
    new URL(str(site?.url)).pathname,
    ...DOCS,
    "/dashboard/sign-in",
  ];
}

/** Counts the labels of diagrams that overflow their diagram. */
const CUT = `[...document.querySelectorAll(".sequence text")].filter((text) =>
  text.getBoundingClientRect().right > text.ownerSVGElement.getBoundingClientRect().right).length`;

/** The lowest contrast of any text on the page with its background (WCAG 2, relative luminance). */
const CONTRAST = `(() => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1); return probe.getImageData(0, 0, 1, 1).data; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => { for (let at = element; at; at = at.parentElement) { const colour = rgb(getComputedStyle(at).backgroundColor); if (colour[3] === 255) return colour; } return [255, 255, 255]; };
  let least = { ratio: 99 };
  for (const element of document.querySelectorAll("body *")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "")) continue;
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least.ratio) least = { ratio, what: element.outerHTML.slice(0, 120) };
  }
  return least;
})()`;

/** Scrolling boxes that the keyboard cannot reach: neither they nor their contents take the focus. */
const UNREACHABLE = `[...document.querySelectorAll("body *")].filter((box) => {
  const { overflowX, overflowY } = getComputedStyle(box);
  const isScrolled = (overflow, length, room) => /auto|scroll/.test(overflow) && length > room;
  if (!isScrolled(overflowX, box.scrollWidth, box.clientWidth) && !isScrolled(overflowY, box.scrollHeight, box.clientHeight)) return false;
  const isNamed = box.tabIndex === 0 && box.role === "region" && box.ariaLabel;
  return !isNamed && !box.querySelector("a[href], button, input") && !box.matches("textarea");
}).map((box) => box.outerHTML.slice(0, 200))`;

inBrowser(
  "nothing overflows at 380 and 1440 pixels, scrolling boxes take the focus, and light and dark are both readable",
  async (stage) => {
    const { page, go } = stage;
    for (const path of await everyPath(stage)) {
      await go(path);
      for (const width of [380, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        assert.equal(
          await page.evaluate("document.documentElement.scrollWidth"),
          width,
          `${path} at ${width}`,
        );
        assert.equal(await page.evaluate(CUT), 0, path);
        assert.deepEqual(await page.evaluate(UNREACHABLE), [], `${path} at ${width}`);
      }
      const backgrounds = new Set<unknown>();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const { ratio, what } = await page.evaluate<{ ratio: number; what: string }>(CONTRAST);
        assert.ok(ratio >= 4.5, `${path} in ${colorScheme}: ${ratio} ${what}`);
        backgrounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"));
      }
      // The app of the one site is light for everybody.
      assert.equal(backgrounds.size, path.startsWith("/sites/") ? 1 : 2, path);
    }
  },
);

/** Strings that end an attribute or an element, elements, characters special to other parsers, and rare characters. */
const PARTS = [
  ...['"><img src=x onerror=alert(1)>', "'><svg onload=alert(1)>", "onfocus=alert(1) autofocus x="],
  ...["</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>"],
  ...["</pre></code><iframe src=javascript:alert(1)>", "<!--", "]]>", "<script>alert(1)</script>"],
  ...[
    "<a href='//evil.example'>x</a>",
    "<base href=//evil.example>",
    "<form action=//evil.example>",
  ],
  ...["<style>*{display:none}</style>", "&lt;b&gt;", "&amp;#60;", "%3Cscript%3E", "\\u003cscript>"],
  ...["javascript:alert(1)", "{{7*7}}$" + "{7*7}#{7*7}", "`$" + "{alert(1)}`"],
  ...["\u2028\u2029", "\u202eesrever", "\ufeffmark", "a\u0300\u0301", "\u{1f469}\u200d\u{1f680}"],
];
/** Each string alone, doubled, and around and behind others: 500 in all. */
const HOSTILE = PARTS.flatMap((part, at) =>
  Array.from(
    { length: 20 },
    (_, n) =>
      `${n}${"<".repeat(n % 3)}${part}${n % 2 === 0 ? part : ""}${PARTS[(at + n) % PARTS.length]}`,
  ),
);

/** Effects that no string may have. */
const STRAY = `document.querySelectorAll("main img, main iframe, main script, main style, main base, main [onerror], main [onload], main [onfocus], main [autofocus]").length`;

inBrowser("500 hostile strings are shown as text", async ({ api, page, go }) => {
  assert.equal(new Set(HOSTILE).size, 500);
  for (const text of HOSTILE)
    await api.create("/apps", {
      title: text,
      description: text,
      theme: text.slice(0, 64).toWellFormed(),
    });
  const texts = (selector: string) =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll("${selector}")].map((each) => each.textContent)`,
    );
  const shown: string[] = [];
  for (let skip = 0; skip < HOSTILE.length; skip += 20) {
    await go(`/dashboard/apps?skip=${skip}`);
    shown.push(...(await texts(".list strong a")));
    assert.equal(await page.evaluate(STRAY), 0);
  }
  assert.deepEqual(shown.reverse(), HOSTILE);
  const last = (await api.get(`/apps?limit=100&offset=400`)).items;
  for (const app of last.filter((_, at) => at % 9 === 0)) {
    await go(`/dashboard/apps/${str(app.id)}/edit`);
    assert.equal(await page.getByLabel("Title").inputValue(), app.title);
    assert.equal(await page.getByLabel("Description").inputValue(), app.description);
    assert.equal(await page.evaluate(STRAY), 0);
  }
});

inBrowser(
  "a chart has labels at its points, axis labels where there is room, and bars of limited width",
  async (stage) => {
    const { api, page, go } = stage;
    const { path, give } = await deployed(api, { title: "Charts", theme: "dark" });
    await give("One", [{ region: "North", visitors: 1_020 }]);
    const long = Array.from({ length: 2_000 }, (_, n) => ({
      at: new Date(n * 60_000).toISOString(),
      load: (n * 7_919) % 997,
    }));
    await give("Long", long);
    const labels = async (width: number) => {
      await page.setViewportSize({ width, height: 900 });
      await go(path);
      const all = `[...document.querySelectorAll("section:last-of-type .canvas text")]`;
      return page.evaluate<number>(
        `${all}.filter((text) => text.getBoundingClientRect().width > 0).length`,
      );
    };
    const [narrow, wide] = [await labels(380), await labels(1440)];
    assert.ok(narrow >= 3 && wide > narrow, `${narrow}, ${wide}`);
    const bar = page.getByRole("button", { name: "North, 1,020 visitors" });
    assert.ok(Number((await bar.boundingBox())?.width) < 120);
    const said = () =>
      page.evaluate(`getComputedStyle(document.querySelector(".point"), "::after").content`);
    assert.equal(await said(), "none");
    await bar.hover();
    assert.equal(await said(), `"North, 1,020 visitors"`);
    const kept = `["forcedColorAdjust", "printColorAdjust"].map((each) => getComputedStyle(document.querySelector(".point"))[each])`;
    assert.deepEqual(await page.evaluate(kept), ["none", "exact"], "bars are printed, too");
    await page.emulateMedia({ media: "print" });
    const ink = await page.evaluate(`getComputedStyle(document.querySelector("text")).fill`);
    assert.equal(ink, "rgb(0, 0, 0)", "paper is light");
    const values = `[...document.querySelectorAll("section:last-of-type .point")].map((point) => Number(point.value))`;
    const rows = await page.evaluate<number[]>(values);
    assert.equal(rows.length, 200);
    assert.ok(
      rows.every((row, at) => row - (rows[at - 1] ?? -1) <= 10) && rows.at(-1) === 1_999,
      "spread over all",
    );
  },
);

inBrowser(
  "the label of a point lies on top of the chart and within the page",
  async ({ api, page, go }) => {
    const { path, give } = await deployed(api);
    const rising = (rest: string) =>
      [..."123456"].map((at) => ({ x: `2026-0${at}${rest}`, "visitors of all gates": Number(at) }));
    await give("Bars", rising(" in words"));
    await give("Line", rising("-01"));
    await page.setViewportSize({ width: 380, height: 900 });
    await go(path);
    const seen = `(() => {
    const point = document.querySelector(".point:hover"), { x, y, width } = point.getBoundingClientRect();
    const end = x + width / 2, start = end - 16 - parseFloat(getComputedStyle(point, "::after").width);
    // It may lie outside the scrolled drawing, whose right part alone is visible.
    const from = Math.max(start, document.querySelector(".canvas").getBoundingClientRect().x) + 1;
    const onTop = (at) => !point.closest(".bars") || document.elementFromPoint(at, y - 6) === point;
    return start >= 0 && onTop(from) && onTop(end - 1);
  })()`;
    for (const point of await page.locator(".point").all()) {
      await point.hover();
      assert.ok(await page.evaluate(seen), String(await point.getAttribute("aria-label")));
    }
  },
);

inBrowser(
  "no label of a chart overlaps another or overflows, including the last",
  async ({ api, page, go }) => {
    const { path, give } = await deployed(api);
    const names = (length: number) => (at: number) => ({
      x: `K${String(at).padStart(length - 1, "0")}`,
      y: at,
    });
    for (const size of "5x17 7x25 8x25 9x19 11x17 12x17 14x9 14x25".split(" ")) {
      const [length = 0, count = 0] = size.split("x").map(Number);
      await give(size, [...Array(count).keys()].map(names(length)));
    }
    const gaps = `[...document.querySelectorAll("section")].flatMap((section) => {
    const texts = [...section.querySelectorAll(".canvas > text[y='242']")].map((text) => text.getBoundingClientRect());
    const seen = [...texts.filter(({ width }) => width > 0), { left: section.getBoundingClientRect().right }];
    return seen.slice(1).map(({ left }, at) => left - seen[at].right);
  })`;
    for (const width of [380, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await go(path);
      assert.ok(Math.min(...(await page.evaluate<number[]>(gaps))) >= 0, `at ${width}`);
    }
    // These characters are as wide as they are high in any font.
    const three = [..."北南西"].map((x) => ({ x: x.repeat(8), y: 1 }));
    const id = await give("Wide", three);
    await page.setViewportSize({ width: 380, height: 900 });
    await go(path);
    assert.equal(await page.locator(`#${id} .canvas > .narrow`).count(), 2, "three have no room");
  },
);

inBrowser(
  "badges do not touch, headings shrink by level, and prose in a table has a readable width",
  async (stage) => {
    const { api, page, go } = stage;
    await page.setViewportSize({ width: 380, height: 900 });
    // One evaluation in the page, because a live page may replace the element in between.
    const box = async (what: string, at = 0) => {
      const measured = `document.querySelectorAll("${what}")[${at}]?.getBoundingClientRect().toJSON()`;
      const found = await page.evaluate<
        { x: number; y: number; width: number; bottom: number } | undefined
      >(measured);
      assert.ok(found, what);
      return found;
    };
    const { webhook } = await hooked(api, ["app.created"]);
    await hooked(api, ["app.created"], {}, [410]);
    await api.create("/apps", { title: "Second app" });
    await stage.service.settled();
    await api.create("/apps", { title: "Second" });
    await stage.service.settled();
    await go(`/dashboard/settings/webhooks/${webhook.id}`);
    const [first, second] = [await box(".badge", 0), await box(".badge", 1)];
    assert.ok(second.y > first.y || second.x - (first.x + first.width) >= 4, "badges touch");
    const [delivery] = (await api.get(`/webhooks/${webhook.id}/deliveries`)).items;
    await go(`/dashboard/settings/webhooks/${webhook.id}/deliveries/${str(delivery?.id)}`);
    const size = (heading: string) =>
      page.evaluate<number>(
        `parseFloat(getComputedStyle(document.querySelector("${heading}")).fontSize)`,
      );
    assert.ok((await size("h1")) > (await size("h2")) && (await size("h2")) > (await size("h3")));
    const note = "A note that is rather long, and wraps where there is little room. ".repeat(3);
    const row = { name: "A", note, city: "Kiel", country: "Germany", [LONG]: "none", zip: "24103" };
    const { id } = await uploaded(api, { name: "Notes", type: "json", data: [row] });
    await go(`/dashboard/data-sources/${id}`);
    assert.ok((await box("td", 1)).width > 200, "a word a line");
    assert.ok((await box("th", 4)).width < 340, "a name is no wider than what it names");
    assert.ok((await box("td", 0)).y < (await box("td", 1)).y + 1);
    await go("/docs");
    assert.ok(
      (await box("ol > li", 1)).y - (await box("ol .code")).bottom >= 16,
      "a step stands off the one before",
    );
    await go("/dashboard/apps/new");
    assert.equal(
      Math.round((await box("form.card label")).y - (await box("form.card")).y),
      17,
      "as far as at the sides",
    );
  },
);
