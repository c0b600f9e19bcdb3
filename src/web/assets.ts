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
  --soft: light-dark(#57606a, #9ba5b0); --accent: light-dark(#0a56cc, #8ab4f8); --bad: light-dark(#b3202a, #ff8f87);
}
* { box-sizing: border-box; }
body { margin: 0; font: .9375rem/1.6 system-ui, sans-serif; background: var(--page); overflow-wrap: anywhere; }
main, .top { padding: 12px max(1rem, 50% - 550px); }
main { padding-block: 2rem 4rem; }
.top { background: var(--surface); border-bottom: 1px solid var(--line); }
.top form { margin-left: auto; }
.narrow, form.card { max-width: 36rem; }
.narrow { margin: auto; padding-inline: 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 12px; }
header, .row, .tabs, .legend, .grid, dl > div { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: baseline; }
main header { justify-content: space-between; margin-bottom: 1rem; }
a { text-decoration: none; }
p a, dd a, a:hover { text-decoration: underline; }
a, summary, .GET { color: var(--accent); }
.brand, .button { display: inline-block; color: CanvasText; }
.soft, .lead, .badge, .tabs a, small, dt, th { color: var(--soft); font-weight: normal; }
.POST, .succeeded, .ready, .live, .active, .specification { color: light-dark(#116329, #56d07f); }
.PATCH, .pending, .processing, .limited { color: light-dark(#7d4e00, #e3b341); }
.DELETE, .failed, .retrying, .error, .gone, [role=alert], [aria-invalid], .button[href$="/delete"] { color: var(--bad); }
.brand, label[for], legend { font-weight: 600; }
.badge, .top form, th, .code > button { font-size: small; }
.badge, .tabs a { padding: 2px 6px; border-radius: 1rem; }
.badge, .tabs [aria-current] { background: color-mix(in srgb, currentcolor 12%, transparent); }
.tabs [aria-current] { color: var(--accent); font-weight: 600; }
.card, pre, .scroll, .list, button, .button, input, select, textarea { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
.card, pre, .code, .scroll, .list, main .tabs, fieldset { margin: 1rem 0; }
form > div { margin-top: 1rem; }
.card, pre { padding: 1rem; }
.card[role] { border-left: 4px solid; }
button, .button, input, select, textarea { font: inherit; padding: 6px 12px; }
button, .button { cursor: pointer; &:hover { border-color: currentcolor; } }
.primary { border-color: transparent; background: var(--accent); color: var(--surface); }
[action$="/delete"] .primary { background: var(--bad); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
label, input:not([type=checkbox]), select, textarea { display: block; width: 100%; border-color: var(--soft); }
pre, code { font: small/1.5 ui-monospace, monospace; }
pre, .lead { white-space: pre-wrap; }
.code > button { float: right; margin: 6px; }
fieldset, legend, .side ul, .legend, .docs .grid ul, .sequence ol { list-style: none; border: 0; padding-inline: 0; }
dl > div { padding: 10px 0; }
dl > div + div, td { border-top: 1px solid var(--line); }
dt { flex: 1 1 10rem; }
dd { flex: 4 1 20rem; margin: 0; }
.grid { gap: 1.5rem; align-items: stretch; }
.grid > * { flex: 1 1 25rem; }
.scroll { overflow-x: auto; }
table { border-spacing: 0; width: 100%; }
th, td { text-align: left; padding: 10px 12px; min-width: 7rem; vertical-align: baseline; }
.list td { min-width: 12rem; }
.number { text-align: right; }
@media (width < 60rem) {
  .wide, .tabs + nav, .side [href*="/endpoints/"], .side [href*="/tour/"] { display: none; }
  .list {
    background: none; border: 0;
    &, tbody, tr { display: block; }
    thead { display: none; }
    td { display: block; padding: 2px 0; border: 0; }
    td + td::before { content: attr(data-label) ": "; color: var(--soft); }
  }
}
li p, .row > *, header > *, .grid > *, .code > * { margin: 0; }
:first-child { margin-top: 0; }
:last-child { margin-bottom: 0; }
.skip:not(:focus) { position: absolute; left: -100vw; }
`.trimStart();

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M3 13V8m5 5V3m5 10V6" stroke="royalblue" stroke-width="3"/></svg>';

const SCRIPT = `
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("[data-copy]")) return;
  const source = document.getElementById(target.dataset.copy) ?? target.nextElementSibling;
  source.closest("details")?.setAttribute("open", "");
  getSelection().selectAllChildren(source);
  // There is no clipboard without https, except on this machine.
  await navigator.clipboard?.writeText(source.textContent);
  target.textContent = navigator.clipboard ? "Copied" : "Selected: press Ctrl+C";
});

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = { second: 60, minute: 60, hour: 24, day: 30 };

function describe(time) {
  let distance = (time - Date.now()) / 1000;
  for (const [unit, length] of Object.entries(UNITS)) {
    if (Math.abs(distance) < length) return relative.format(Math.round(distance), unit);
    distance /= length;
  }
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

function enhance() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const time of document.querySelectorAll("time")) {
    time.title ||= time.textContent;
    time.textContent = describe(new Date(time.dateTime));
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
  const text = await response.text();
  if (!response.ok || text === lastText) return;
  lastText = text;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const part of ["h1", "[data-follow]"]) document.querySelector(part).replaceWith(page.querySelector(part));
  enhance();
}

if (live) {
  // A reload does not repeat the message about the action.
  history.replaceState(null, "", location.href.replace(/[?]done=.*/, ""));
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
