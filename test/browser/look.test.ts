// The look of the pages: nothing overflows at 380 or 1440 px, and light and dark are different and readable.
import assert from "node:assert/strict";
import { dashboardRoutes } from "../../src/web/dashboard/dashboard.ts";
import { inBrowser, type Stage } from "../support/chromium.ts";
import { str } from "../support/client.ts";
import { deployed } from "../support/sites.ts";
import { fill, makeWorld } from "../support/world.ts";

const LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk".repeat(3);

const DOCS = "/docs /docs/tour /docs/tour/6 /docs/endpoints /docs/events /docs/errors".split(" ");

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

inBrowser(
  "nothing overflows at 380 and 1440 pixels, and light and dark are both readable",
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
    const texts = [...section.querySelectorAll("svg > text[y='242']")].map((text) => text.getBoundingClientRect());
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
