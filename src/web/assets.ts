// The static files of pages, as text because there is no build step. One stylesheet styles plain elements, so that
// pages are plain HTML with few classes. Light or dark follows the reader's system or the page's own theme. No page
// needs the one script. It adds copy buttons, local times and record pages that refresh themselves. It builds no HTML;
// everything it inserts comes escaped from the server.
import { DOCS_STYLE } from "./docs/style.ts";
import type { PageRoute } from "./session.ts";
import { SITE_STYLE } from "./sites/style.ts";

const STYLE = `
:root {
  --soft: light-dark(dimgray, darkgray); --line: light-dark(lightgray, dimgray); --accent: light-dark(mediumblue, lightskyblue);
  --good: light-dark(darkgreen, lightgreen); --slow: light-dark(saddlebrown, khaki); --bad: light-dark(firebrick, lightcoral);
}
* { box-sizing: border-box; }
body { max-width: 66rem; margin: auto; padding: 1rem; font: 16px/1.5 system-ui; background: Canvas; overflow-wrap: anywhere; }
.narrow, form.card { max-width: 36rem; }
.narrow { margin: auto; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.125rem; margin-top: 2rem; }
h3 { font-size: 1rem; }
a, button, summary, .method { color: var(--accent); }
.POST, .succeeded, .ready, .live, .active, .specification { color: var(--good); }
.PATCH, .pending, .processing, .limited { color: var(--slow); }
.DELETE, .failed, .error, [role=alert], [href$="/delete"], [action$="/delete"] button { color: var(--bad); }
form.card > .row button { font-weight: bold; }
.soft, .lead, dt, th, small { color: var(--soft); font-weight: normal; }
.tabs [aria-current], label[for], legend { font-weight: bold; }
header, .row, .tabs, .legend, .code, dl > div { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; }
header > :first-child { margin-right: auto; }
.tabs { flex-basis: 100%; }
.tabs a, .side a, .button { text-decoration: none; }
.tabs [aria-current] { border-bottom: 2px solid; }
.card, pre, .badge, .method, button, .button { border: 1px solid var(--line); border-radius: 6px; padding: 1rem; }
.badge, .method, button, .button { padding: 0 .5rem; white-space: nowrap; border-color: currentcolor; background: none; }
.card, .code, .tabs, header, fieldset, form > div { margin: 1rem 0; }
[role=status], [role=alert] { border-left: 4px solid; }
[aria-invalid] { outline: 1px solid var(--bad); }
pre, .lead { white-space: pre-wrap; }
input, select, textarea, button, .button { font: inherit; padding: .25rem .75rem; }
label, input:not([type=checkbox]), select, textarea { display: block; width: 100%; }
fieldset, legend, .list ul, .side ul, .legend { list-style: none; border: 0; padding: 0; }
.list li + li, dl > div + div { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 1rem; }
dt { flex: 1 1 12rem; }
dd, .code > pre { flex: 9 1 20rem; min-width: 0; margin: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line); min-width: 6rem; }
.number { text-align: right; }
li p, .row > * { margin: 0; }
:first-child { margin-top: 0; }
:last-child { margin-bottom: 0; }
.skip:not(:focus) { position: absolute; left: -100vw; }
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

const live = document.querySelector("[data-live]");
let lastText = "";

async function refresh() {
  if (document.hidden) return;
  try {
    const response = await fetch(location, { redirect: "error" });
    const text = await response.text();
    live.textContent = response.ok ? "Updates live" : "Not connected";
    if (response.ok && text !== lastText) show(new DOMParser().parseFromString(text, "text/html"));
    lastText = text;
  } catch {
    live.textContent = "Not connected";
  }
}

function show(page) {
  for (const part of ["h1", "[data-follow]"]) document.querySelector(part).replaceWith(page.querySelector(part));
  enhance();
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
  asset("/assets/style.css", "text/css; charset=utf-8", STYLE + SITE_STYLE + DOCS_STYLE),
  asset("/assets/script.js", "text/javascript; charset=utf-8", SCRIPT),
  asset("/favicon.ico", "image/svg+xml", ICON),
];
