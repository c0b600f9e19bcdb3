// The static files of pages, as text because there is no build step. One stylesheet styles plain elements, so that
// pages are plain HTML with few classes. Light or dark follows the reader's system or the page's own theme. No page
// needs the one script. It adds copy buttons, local times, a delivery log that refreshes itself, arrow keys in charts,
// and clicks without a reload. It builds no HTML; everything it inserts comes escaped from the server.
import type { PageRoute } from "./session.ts";

/** The hues of a chart's series; most people can distinguish each from its neighbours. */
const HUES = [258, 33, 168, 303, 78, 213, 348, 123];

const STYLE = `
:root {
  --soft: light-dark(dimgray, darkgray); --line: light-dark(lightgray, dimgray); --accent: light-dark(mediumblue, lightskyblue);
  --good: light-dark(darkgreen, lightgreen); --slow: light-dark(saddlebrown, khaki); --bad: light-dark(firebrick, lightcoral);
}
@media print { :root { color-scheme: light; } }
* { box-sizing: border-box; }
body { max-width: 66rem; margin: auto; padding: 1rem; font: 16px/1.5 system-ui; background: Canvas; overflow-wrap: anywhere; }
.narrow { margin: auto; }
.narrow, form.card { max-width: 36rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.125rem; margin-top: 2rem; }
h3 { font-size: 1rem; }
a, button, summary, .method { color: var(--accent); }
.POST, .succeeded, .ready, .live, .active, .specification { color: var(--good); }
.PATCH, .pending, .processing, .limited { color: var(--slow); }
.DELETE, .failed, .error, [role=alert] { color: var(--bad); }
[href$="/delete"], [action$="/delete"] button { --accent: var(--bad); }
form.card button:first-of-type { color: Canvas; background: var(--accent); }
.soft, .lead, dt, th, small { color: var(--soft); font-weight: normal; }
.tabs [aria-current], label[for], legend, .actor, .side > ul > li > a { font-weight: bold; }
header, .row, .tabs, .legend, .code, .pair, dl > div { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; }
header > :first-child { margin-right: auto; }
.tabs { flex-basis: 100%; }
.tabs a, .side a, .button { text-decoration: none; }
.tabs [aria-current] { border-bottom: 2px solid; }
.card, pre, .badge, .method, button, .button { border: 1px solid var(--line); border-radius: 6px; padding: 1rem; }
.badge, .method, button, .button { padding: 0 .5rem; white-space: nowrap; border-color: currentcolor; background: none; }
.card, .code, li > .code, .tabs, header, fieldset, form > div { margin: 1rem 0; }
[role=status], [role=alert] { border-left: 4px solid; }
[aria-invalid] { outline: 1px solid var(--bad); }
pre, .lead { white-space: pre-wrap; }
input, select, textarea, button, .button { font: inherit; padding: .25rem .75rem; }
label, input:not([type=checkbox]), select, textarea { display: block; width: 100%; }
fieldset, legend, .list ul, .side ul, .legend { list-style: none; border: 0; padding: 0; }
form.card { padding-top: 0; }
.list li + li, dl > div + div { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 1rem; }
dt { flex: 1 1 12rem; code { display: block; } }
dd, .pair > *, .code > pre { flex: 9 1 20rem; min-width: 0; margin: 0; }
.scroll { overflow-x: auto; }
table { width: max-content; min-width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line); max-width: min(20rem, 60vw); vertical-align: baseline; }
.number { text-align: right; }
figure, li p, .row > * { margin: 0; }
:first-child { margin-top: 0; }
:last-child { margin-bottom: 0; }
.skip:not(:focus) { position: absolute; left: -100vw; }
text { fill: CanvasText; font-size: 12px; }
line { stroke: var(--line); }
.sequence {
  text { text-anchor: middle; }
  .note { text-anchor: start; }
  path { fill: none; stroke: var(--accent); stroke-width: 1.5; }
  .back { stroke-dasharray: 5 3; }
}
.plot { container-type: inline-size; padding: .75rem 1.25rem 2rem 4.5rem; }
.plot svg, foreignObject { overflow: visible; }
@container (width < 40rem) { .wider { display: none; } }
@container (width < 54rem) { .wide { display: none; } }
${HUES.map((hue, series) => `.s${series} { --s: light-dark(oklch(.5 .13 ${hue}), oklch(.8 .11 ${hue})); }`).join("\n")}
.line, .points {
  path { fill: none; stroke: var(--s); stroke-width: 2; stroke-linejoin: round; }
  > foreignObject { width: 24px; height: 24px; transform: translate(-12px, -12px); }
}
.points path { stroke-width: 7; stroke-linecap: round; }
.point { display: block; position: relative; width: 100%; height: 100%; padding: 0; border: 0; }
.bars .point { border-radius: 0; background: var(--s); }
.bars .point::before { content: ""; position: absolute; inset: -8px 0; }
.line .point { background: radial-gradient(circle, var(--s) 3px, transparent 4px); }
.point:is(:hover, :focus-visible, [aria-current]) { outline: 2px solid CanvasText; }
.point:is(:hover, :focus-visible)::after {
  content: attr(aria-label); position: absolute; bottom: 100%; right: 50%; width: max-content; max-width: 5.5rem; padding: .125rem .5rem;
  font-size: .8125rem; text-align: left; white-space: normal; color: Canvas; background: CanvasText;
}
.legend > li::before { content: "■ "; color: var(--s); }
.legend > li::before, .bars .point, .line .point { forced-color-adjust: none; print-color-adjust: exact; }
@media (width >= 60rem) { .docs { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 2.5rem; } }
@media (width < 60rem) { .side ul ul { display: none; } }
`.trimStart();

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M3 13V8m5 5V3m5 10V6" stroke="royalblue" stroke-width="3"/></svg>';

const SCRIPT = `
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("[data-copy]")) return;
  const source = target.previousElementSibling;
  getSelection().selectAllChildren(source);
  // There is no clipboard without https, except on this machine.
  await navigator.clipboard?.writeText(source.textContent);
  target.textContent = navigator.clipboard ? "Copied" : "Selected: press Ctrl+C";
});

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS = [["second", 1, 60], ["minute", 60, 3600], ["hour", 3600, 86400]];

function enhance() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const time of document.querySelectorAll("time")) {
    time.title ||= time.textContent;
    const date = new Date(time.dateTime), seconds = (date - Date.now()) / 1000;
    const unit = UNITS.find(([, , limit]) => Math.abs(seconds) < limit);
    time.textContent = unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : absolute.format(date);
  }
}
enhance();
setInterval(enhance, 15000);

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

for (const chart of document.querySelectorAll("form.chart")) {
  const points = [...chart.querySelectorAll(".point")];
  const setTabStop = (current) => { for (const point of points) point.tabIndex = point === current ? 0 : -1; };
  setTabStop(points[0]);
  chart.addEventListener("focusin", ({ target }) => setTabStop(target));
  chart.addEventListener("keydown", (event) => {
    if (!STEPS[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const index = points.indexOf(event.target) + STEPS[event.key];
    points[Math.min(Math.max(index, 0), points.length - 1)].focus();
  });
  chart.addEventListener("submit", async (event) => {
    const sent = event.submitter, output = chart.querySelector("output");
    event.preventDefault();
    try {
      const response = await fetch(chart.action, { method: "POST", body: new FormData(chart, sent), redirect: "manual" });
      if (response.type !== "opaqueredirect") throw response;
      for (const point of points) point.ariaCurrent = point === sent ? "true" : null;
      output.textContent = "Sent: " + sent.ariaLabel;
    } catch {
      output.textContent = "This could not be sent. Reload the page and try again.";
    }
  });
}

const live = document.querySelector("[data-live]");
let etag = "";

async function refresh() {
  if (document.hidden) return;
  try {
    const headers = { "if-none-match": etag };
    const response = await fetch(live.dataset.live + location.search, { headers, redirect: "error" });
    if (response.ok) show(new DOMParser().parseFromString(await response.text(), "text/html"));
    etag = response.headers.get("etag");
    live.textContent = etag ? "Updates live" : "Not connected";
  } catch {
    live.textContent = "Not connected";
  }
}

function show(page) {
  const focused = document.querySelector("[data-follow] :is(a, button):focus");
  for (const part of ["h1", "[data-follow]"]) document.querySelector(part).replaceWith(page.querySelector(part));
  enhance();
  if (!focused) return;
  const same = [...document.querySelectorAll("[data-follow] " + focused.localName)];
  same.find(({ href }) => href === focused.href)?.focus();
}

if (live) {
  refresh();
  setInterval(refresh, 2000);
  document.addEventListener("visibilitychange", refresh);
}
`.trimStart();

/** A static file; browsers revalidate it on each use and load it only if it has changed. */
const asset = (path: string, type: string, body: string): PageRoute => {
  const headers = {
    "content-type": type,
    "cache-control": "public, no-cache",
    "x-content-type-options": "nosniff",
  };
  return { method: "GET", path, handler: async () => ({ status: 200, headers, body }) };
};

export const assets: readonly PageRoute[] = [
  asset("/assets/style.css", "text/css; charset=utf-8", STYLE),
  asset("/assets/script.js", "text/javascript; charset=utf-8", SCRIPT),
  asset("/favicon.ico", "image/svg+xml", ICON),
];
