// The one script, as text, because nothing is built. No page needs it: it adds copy buttons, times as the reader's own clock
// and language have them, a delivery log that follows by itself, and charts in which the arrow keys move and a click is sent
// without loading the page again. It never makes HTML of its own: what it puts into a page comes from the server, escaped
// there.

export const SCRIPT = `
document.addEventListener("click", async ({ target }) => {
  if (!target.matches("[data-copy]")) return;
  const source = target.previousElementSibling;
  try {
    await navigator.clipboard.writeText(source.textContent);
    target.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(source);
    target.textContent = "Selected: press Ctrl+C";
  }
});

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const near = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const UNITS = [["second", 1, 60], ["minute", 60, 3600], ["hour", 3600, 86400]];

function tell() {
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const time of document.querySelectorAll("time")) {
    time.title ||= time.textContent;
    const at = new Date(time.dateTime), seconds = (at - Date.now()) / 1000;
    const unit = UNITS.find(([, , most]) => Math.abs(seconds) < most);
    time.textContent = unit ? near.format(Math.round(seconds / unit[1]), unit[0]) : full.format(at);
  }
}
tell();
setInterval(tell, 15000);

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

for (const chart of document.querySelectorAll("form.chart")) {
  const points = [...chart.querySelectorAll(".point")];
  const reach = (at) => { for (const point of points) point.tabIndex = point === at ? 0 : -1; };
  reach(points[0]);
  chart.addEventListener("focusin", ({ target }) => reach(target));
  chart.addEventListener("keydown", (event) => {
    if (!MOVES[event.key]) return;
    event.preventDefault();
    const at = points.indexOf(event.target) + MOVES[event.key];
    points[Math.min(Math.max(at, 0), points.length - 1)].focus();
  });
  chart.addEventListener("submit", async (event) => {
    const point = event.submitter, said = chart.querySelector("output");
    event.preventDefault();
    for (const each of points) each.ariaCurrent = each === point ? "true" : null;
    said.textContent = "Sent: " + point.ariaLabel;
    try {
      const answer = await fetch(chart.action, { method: "POST", body: new FormData(chart, point), redirect: "manual" });
      if (answer.type !== "opaqueredirect") throw answer;
    } catch {
      said.textContent = "This could not be sent. Load the page again and try once more.";
    }
  });
}

const live = document.querySelector("[data-live]");
let etag = "";

async function follow() {
  if (document.hidden) return;
  try {
    const answer = await fetch(live.dataset.live + location.search, { headers: { "if-none-match": etag }, redirect: "error" });
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    etag = answer.headers.get("etag");
    live.textContent = etag ? "Live" : "Not connected";
  } catch {
    live.textContent = "Not connected";
  }
}

function show(page) {
  const held = document.querySelector("[data-follow] a:focus")?.href;
  for (const part of ["h1", "[data-follow]"]) document.querySelector(part).replaceWith(page.querySelector(part));
  tell();
  [...document.querySelectorAll("[data-follow] a")].find(({ href }) => href === held)?.focus();
}

if (live) {
  follow();
  setInterval(follow, 2000);
  document.addEventListener("visibilitychange", follow);
}
`.trimStart();
