// The one stylesheet, as text, because nothing is built. Plain elements are styled first, so that a page is written in
// plain HTML; the few classes are for what HTML has no word for. Light and dark follow the reader's system, or the theme
// of a deployed app.

/** Of the series of a chart: each differs from those beside it, to most eyes. */
const HUES = [258, 33, 168, 303, 348, 123, 213, 78];

export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1c2430, #e4e8ee); --soft: light-dark(#566173, #a3adbb); --paper: light-dark(#f6f7f9, #12161c);
  --card: light-dark(#ffffff, #1a2029); --line: light-dark(#d9dee6, #313a47); --accent: light-dark(#1f5fbf, #7db0ff);
  --on-accent: light-dark(#ffffff, #0c1522); --bad: light-dark(#b3261e, #ff9a90); --good: light-dark(#1a7442, #7fd6a4);
  --warn: light-dark(#8a5a00, #f0c36d); --edge: 1px solid var(--line);
}
:root[data-theme=light] { color-scheme: light; }
:root[data-theme=dark] { color-scheme: dark; }
* { box-sizing: border-box; }
html { font: 16px/1.55 system-ui, sans-serif; scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
a, .next { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--card); }
.skip:focus { left: 0; top: 0; z-index: 1; }
.top, .row, .head, .right, .legend, .list > li { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; }
.top { padding: .75rem max(1rem, calc((100vw - 64rem) / 2)) 0; background: var(--card); border-bottom: var(--edge); }
.top > * { padding-bottom: .5rem; }
.brand { font-weight: 600; color: inherit; text-decoration: none; margin-right: auto; }
.sections, .tabs { display: flex; gap: 1.25rem; overflow-x: auto; scrollbar-width: none; }
.sections { flex-basis: 100%; padding-bottom: 0; }
.tabs { border-bottom: var(--edge); margin: 0 0 1.5rem; }
:is(.sections, .tabs) a { color: var(--soft); text-decoration: none; white-space: nowrap; padding: .5rem .125rem; border-bottom: 2px solid transparent; }
:is(.sections, .tabs) a:focus-visible { outline-offset: -3px; }
:is(.sections, .tabs) :is(a:hover, [aria-current]) { color: var(--ink); }
:is(.sections, .tabs) [aria-current] { border-bottom-color: var(--accent); font-weight: 600; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
main.narrow { max-width: 32rem; padding-top: clamp(1.5rem, 8vh, 5rem); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1.125rem; line-height: 1.3; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p, ul, ol, dl, .card { margin: 0 0 1rem; }
:is(.card, form, li, .notice) > :last-child, .card > .code:last-child > pre { margin-bottom: 0; }
.card > h3 { margin-top: 0; }
.soft, .hint, .fault, .crumb, .next, .legend, dt, th { font-size: .875rem; }
.soft, .hint, .lead, dt, th { color: var(--soft); font-weight: 400; }
.lead { max-width: 46rem; }
.prose { white-space: pre-line; }
.crumb { margin: 0 0 .25rem; }
code, pre, .mono { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875em; }
pre, .card { background: var(--card); border: var(--edge); border-radius: 8px; }
pre { overflow-x: auto; padding: .75rem; }
:is(.pair, .code) pre { white-space: pre-wrap; }
.card { padding: 1.25rem; }
.card pre, .secret { background: var(--paper); }
.notice { border-left: 4px solid var(--good); padding: .875rem 1.25rem; }
.notice.bad { border-left-color: var(--bad); }
.notice p, .notice .row { margin: 0 0 .5rem; }
.secret { font-size: 1rem; padding: .375rem .625rem; border: var(--edge); border-radius: 6px; }
.empty { text-align: center; padding: 2.5rem 1.25rem; border-style: dashed; background: transparent; }
.title, summary { font-weight: 600; }
.head { justify-content: space-between; margin: 0 0 1rem; }
.head h1 { margin: 0; min-width: 0; }
form { margin: 0; }
.form { max-width: 40rem; }
.field, fieldset { margin: 0 0 1.125rem; }
fieldset { border: 0; padding: 0; min-width: 0; }
label, legend { display: block; font-weight: 600; margin: 0 0 .25rem; padding: 0; }
.check { display: flex; gap: .5rem; font-weight: 400; margin: 0 0 .375rem; align-items: baseline; }
:is(fieldset, .field) + .check { margin-bottom: 1.125rem; }
.hint, .fault { margin: .25rem 0 0; }
.fault, .danger > summary { color: var(--bad); }
input:not([type=checkbox], [type=hidden]), select, textarea {
  width: 100%; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid light-dark(#8a94a3, #5d6878); border-radius: 6px; padding: .5rem .625rem;
}
[aria-invalid] { border-color: var(--bad) !important; }
main.narrow input { margin-bottom: 1rem; }
button, .button {
  font: inherit; font-weight: 600; cursor: pointer; display: inline-block; text-decoration: none; white-space: nowrap;
  padding: .5rem 1rem; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent);
}
.quiet, button.bad { background: transparent; color: var(--accent); border-color: var(--line); }
.quiet:hover { border-color: var(--accent); }
button.bad { color: var(--bad); border-color: var(--bad); }
button.small, .top button { padding: .25rem .625rem; font-size: .875rem; }
.list { list-style: none; padding: 0; }
.list > li { justify-content: space-between; align-items: flex-start; padding: .875rem 1.25rem; }
.list > li + li { border-top: var(--edge); }
.list > li > :first-child { flex: 1 1 16rem; min-width: 0; }
time, .badge { white-space: nowrap; }
summary { cursor: pointer; color: var(--accent); }
details.card { padding: .875rem 1.25rem; }
.card[open] > summary { margin-bottom: 1rem; }
.danger { margin-top: 2rem; }
.danger[open] { padding: .75rem 1rem; border: 1px solid var(--bad); border-radius: 8px; max-width: 32rem; }
.danger p { margin: .5rem 0 .75rem; }
.badge { font-size: .8125rem; line-height: 1.4; padding: .0625rem .5rem; border: 1px solid currentColor; border-radius: 99px; color: var(--soft); }
.badge.good { color: var(--good); }
.badge.bad { color: var(--bad); }
.badge.warn { color: var(--warn); }
.facts, .tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .75rem 1.5rem; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(min(9.5rem, 45%), 1fr)); gap: .75rem; }
dd { margin: 0; }
.tile { display: grid; align-content: start; margin: 0; padding: 1rem 1.25rem; color: inherit; text-decoration: none; }
.tile:hover { border-color: var(--accent); }
.tile strong { font-size: 1.5rem; line-height: 1.3; }
.entries > div { padding: .75rem 0; }
.entries > div + div { border-top: var(--edge); }
.entries dt { color: inherit; }
.entries p { margin: 0; }
.entries dt code { display: block; }
:is(.entries > *, article):target { background: light-dark(#eef4ff, #1d2939); }
.method { font-size: .8125rem; margin-right: .5rem; color: var(--accent); }
.POST { color: var(--good); }
.PATCH { color: var(--warn); }
.DELETE { color: var(--bad); }
.code { position: relative; }
.code > pre { padding-right: 5rem; }
.code > button { position: absolute; top: .375rem; right: .375rem; background: var(--card); }
.side { font-size: .875rem; }
.side ul { list-style: none; padding: 0; margin: 0; }
.side a { color: inherit; text-decoration: none; }
.side a:hover { color: var(--accent); }
table { width: 100%; border-collapse: collapse; overflow-wrap: normal; }
.scroll { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1rem .5rem 0; border-bottom: var(--edge); }
tbody tr:last-child > * { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.chart h2 { margin: 0 0 .25rem; }
.plot { display: flex; container-type: inline-size; }
.plot svg { flex: none; overflow: visible; }
.plot .canvas { flex: 1; min-width: 0; width: auto; }
.plot text { fill: var(--soft); font-size: 12px; }
.plot line { stroke: var(--line); }
.wider, .wide { display: none; }
@container (min-width: 40rem) { .wider { display: initial; } }
@container (min-width: 54rem) { .wide { display: initial; } }
${HUES.map((hue, at) => `.s${at} { --s: light-dark(oklch(.5 .13 ${hue}), oklch(.8 .11 ${hue})); }`).join("\n")}
.bars path { fill: var(--s); }
:is(.line, .points) path { fill: none; stroke: var(--s); stroke-width: 2; stroke-linejoin: round; }
.points path { stroke-width: 7; stroke-linecap: round; }
foreignObject { overflow: visible; }
:is(.line, .points) > foreignObject { width: 24px; height: 24px; transform: translate(-12px, -12px); }
.point { display: block; position: relative; width: 100%; height: 100%; padding: 0; border: 0; border-radius: 4px; background: none; }
.few.line .point { background: radial-gradient(circle, var(--s) 3.5px, transparent 4.5px); }
.point:is(:hover, [aria-current]) { outline: 2px solid var(--ink); }
:is(.line, .points) .point:is(:hover, [aria-current]) { outline: 0; background: radial-gradient(circle, var(--s) 7px, transparent 8px); }
.point:focus-visible { outline: 3px solid var(--ink); }
.point:is(:hover, :focus-visible)::after {
  content: attr(aria-label); position: absolute; z-index: 1; bottom: 100%; left: 50%; width: max-content; max-width: 8rem; padding: .125rem .5rem;
  font-size: .8125rem; text-align: left; white-space: normal; color: var(--paper); background: var(--ink); border-radius: 6px; pointer-events: none;
}
.end .point::after { left: auto !important; right: 50%; }
.said { min-height: 1.5em; }
.legend { list-style: none; padding: 0; }
.legend li::before { content: "■ "; color: var(--s); }
@media (max-width: 60rem) {
  .side > ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 0 1.5rem; }
  .side ul ul { display: none; }
}
@media (min-width: 60rem) {
  .docs { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 2.5rem; }
  .side > ul { position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; }
  .side > ul > li > a { font-weight: 600; }
  .side ul ul { color: var(--soft); margin: 0 0 .75rem; }
  .side li { padding: .125rem 0; }
}
@media (min-width: 48rem) {
  .pair, .entries > div { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.5rem; }
  .pair > * { min-width: 0; }
  .pair h3 { margin-top: 0; }
  .entries > div { grid-template-columns: 18rem 1fr; align-items: baseline; }
}
@media (max-width: 30rem) {
  .code > pre { padding: .75rem .75rem 2.75rem; }
  .code > button { top: auto; bottom: .375rem; }
  .top .soft { display: none; }
  .brand { font-size: .9375rem; }
  .sections { font-size: .8125rem; gap: .25rem; justify-content: space-between; }
  .card, .list > li { padding-left: 1rem; padding-right: 1rem; }
}
.list.card { padding: 0; }
`.trimStart();

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f5fbf"/><path d="M4 11V8m4 3V5m4 6V7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`;
