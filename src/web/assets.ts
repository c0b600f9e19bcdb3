// The static files of pages, as text because there is no build step. One stylesheet styles plain elements, so that
// pages are plain HTML with few classes. Light or dark follows the reader's system or the page's own theme. No page
// needs the one script. It adds copy buttons, local times and record pages that refresh themselves. It builds no HTML;
// everything it inserts comes escaped from the server.
import { DOCS_STYLE } from "./docs/style.ts";
import type { PageRoute } from "./session.ts";
import { SITE_STYLE } from "./sites/style.ts";

const STYLE = `
:root {
  --page: light-dark(#f6f7f9, #0e1217); --surface: light-dark(white, #171c23); --line: light-dark(#d8dde3, #323a44);
  --soft: light-dark(#57606a, #9ba5b0); --accent: light-dark(#0a56cc, #8ab4f8); --accent-text: light-dark(white, #0a1628);
  --good: light-dark(#116329, #56d07f); --slow: light-dark(#7d4e00, #e3b341); --bad: light-dark(#b3202a, #ff8f87);
}
* { box-sizing: border-box; }
body { margin: 0; font: .9375rem/1.6 system-ui, sans-serif; background: var(--page); overflow-wrap: anywhere; }
main, .top { padding: .75rem max(1rem, 50% - 550px); }
main { padding-block: 2rem 4rem; }
.top { background: var(--surface); border-bottom: 1px solid var(--line); }
.narrow, form.card { max-width: 36rem; }
.narrow { margin: auto; padding-inline: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.3; }
h2 { font-size: 1.125rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; }
a, summary, .method { color: var(--accent); }
.soft, .lead, .badge, .tabs a, small, dt, th { color: var(--soft); font-weight: normal; }
button, .button, .brand { color: CanvasText; }
.POST, .succeeded, .ready, .live, .active, .specification { color: var(--good); }
.PATCH, .pending, .processing, .limited { color: var(--slow); }
.DELETE, .failed, .retrying, .error, .gone, [role=alert], .button[href$="/delete"] { color: var(--bad); }
header, .row, .tabs, .legend, dl > div { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: center; }
main header { justify-content: space-between; margin-bottom: 1rem; }
.brand, label, legend { font-weight: 600; }
.brand, .tabs a, .side a, .button, td a { text-decoration: none; }
td a:hover { text-decoration: underline; }
.tabs {
  gap: .25rem;
  a { padding: .25rem .625rem; border-radius: 6px; }
  [aria-current] { background: color-mix(in srgb, var(--accent) 14%, transparent); color: CanvasText; font-weight: 600; }
}
.top form { margin-left: auto; font-size: .8125rem; }
.top form ~ .tabs { flex-basis: 100%; }
.card, pre, .scroll, .list, button, .button, input, select, textarea { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
.card { padding: 1rem 1.25rem; }
.card, pre, .code, .scroll, .list, main .tabs, fieldset, form > div { margin: 1rem 0; }
[role=status], [role=alert] { border-left: 4px solid; }
button, .button, input, select, textarea { font: inherit; padding: .4rem .75rem; }
input, select, textarea { border-color: var(--soft); margin-bottom: .25rem; }
.button { display: inline-block; }
.side a { display: block; }
button, .button { font-weight: 500; cursor: pointer; }
:is(button, .button):hover { border-color: currentcolor; }
.primary { border-color: transparent; background: var(--accent); color: var(--accent-text); }
[action$="/delete"] .primary { background: var(--bad); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.badge, .method { padding: .125rem .5rem; border-radius: 1rem; font-size: .8125rem; background: color-mix(in srgb, currentcolor 12%, transparent); }
label, input:not([type=checkbox]), select, textarea { display: block; width: 100%; }
label, legend { padding-bottom: .25rem; }
label:has(input) { font-weight: normal; }
[aria-invalid] { border-color: var(--bad); }
pre, code { font: .8125rem/1.5 ui-monospace, monospace; }
.card pre { background: var(--page); }
pre, .lead { white-space: pre-wrap; }
pre { padding: .875rem 1rem; }
.code {
  position: relative;
  > pre { padding-right: 6rem; }
  > button { position: absolute; top: .4rem; right: .4rem; font-size: .8125rem; }
}
fieldset, legend, .side ul, .legend { list-style: none; border: 0; padding-inline: 0; }
dl > div { padding: .625rem 0; align-items: baseline; }
dl > div + div, td { border-top: 1px solid var(--line); }
dt { flex: 1 1 10rem; }
dd { flex: 4 1 20rem; margin: 0; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1.5rem; }
.grid > * { margin: 0; }
.scroll { overflow-x: auto; }
table { border-spacing: 0; width: 100%; overflow: clip; }
th, td { text-align: left; padding: .625rem 1rem; min-width: 6rem; vertical-align: baseline; }
th { font-size: .8125rem; }
td:has(time, .badge) { white-space: nowrap; }
.list td:first-child { min-width: 10rem; }
.number { text-align: right; }
@media (width < 68rem) { .top p { display: none; } }
@media (width < 52rem) {
  .top .tabs { order: 1; }
  .list {
    background: none; border: 0;
    &, tbody, tr { display: block; }
    thead { display: none; }
    td { display: flex; justify-content: space-between; gap: 1rem; padding: .125rem 0; border: 0; text-align: right; }
    td:first-child { text-align: left; font-weight: 600; }
    td + td::before { flex: none; content: attr(data-label); color: var(--soft); }
  }
}
li p, .row > *, header > * { margin: 0; }
[type=hidden] + * { margin-top: 0; }
:first-child { margin-top: 0; }
:last-child { margin-bottom: 0; }
.skip:not(:focus) { position: absolute; left: -100vw; }
`.trimStart();

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M3 13V8m5 5V3m5 10V6" stroke="royalblue" stroke-width="3"/></svg>';

const SCRIPT = `
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("[data-copy]")) return;
  const source = document.getElementById(target.dataset.copy) ?? target.previousElementSibling;
  source.closest("details")?.setAttribute("open", "");
  getSelection().selectAllChildren(source);
  // There is no clipboard without https, except on this machine.
  await navigator.clipboard?.writeText(source.textContent);
  target.textContent = navigator.clipboard ? "Copied" : "Selected: press Ctrl+C";
});

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = { second: 60, minute: 60, hour: 24, day: 30 };

function describe(time) {
  let distance = (time - Date.now()) / 1000;
  for (const [unit, length] of Object.entries(UNITS)) {
    if (Math.abs(distance) < length) return relative.format(Math.round(distance), unit);
    distance /= length;
  }
  return absolute.format(time);
}

function enhance() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const time of document.querySelectorAll("time")) {
    time.title ||= time.textContent;
    time.textContent = describe(Date.parse(time.dateTime));
  }
}
enhance();
setInterval(enhance, 15000);

const live = document.querySelector("[data-live]");
let lastText = "";

async function refresh() {
  if (document.hidden) return;
  const response = await fetch(location, { redirect: "error" }).catch(() => Response.error());
  live.textContent = response.ok ? "Updates live" : "Not connected";
  const text = response.ok ? await response.text() : lastText;
  if (text !== lastText) show(new DOMParser().parseFromString(text, "text/html"));
  lastText = text;
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
