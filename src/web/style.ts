// The one stylesheet, as text, because nothing is built. Plain elements are styled first, so that a page is written in
// plain HTML; the few classes are for what HTML has no word for. Light and dark follow the reader's system, or what the
// page says of itself.

/** Of the series of a chart: each is far from those beside it, to most eyes. */
const hue = (series: number): number => 258 + series * 135;

export const STYLE = `
:root {
  --ink: light-dark(#1c2430, #e4e8ee); --soft: light-dark(#566173, #a3adbb); --paper: light-dark(#f6f7f9, #12161c);
  --card: light-dark(#fff, #1a2029); --line: light-dark(#d9dee6, #313a47); --accent: light-dark(#1f5fbf, #7db0ff);
  --bad: light-dark(#b3261e, #ff9a90);
}
* { box-sizing: border-box; border: 0 solid var(--line); }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
a, summary, .method { color: var(--accent); }
.good, .POST, .succeeded, .ready, .live, .active, .specification { color: light-dark(#1a7442, #7fd6a4); }
.bad, .DELETE, .failed, .failing, .gone, .fault { color: var(--bad); }
.PATCH, .pending, .processing, .limited { color: light-dark(#8a5a00, #f0c36d); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip:not(:focus) { position: absolute; left: -100vw; }
.row, .tabs, .head, .legend, .code, .list > li { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: center; }
.top { padding: .75rem max(1rem, 50vw - 32rem) 0; background: var(--card); border-bottom-width: 1px; }
.brand { margin-right: auto; }
.top > :only-child { margin-bottom: .75rem; }
.tabs { flex-basis: 100%; column-gap: 1.25rem; margin-bottom: 1rem; }
.brand, .tabs a, .side a { color: inherit; text-decoration: none; }
.tabs a { padding: .5rem 0; }
.tabs [aria-current] { border-bottom: 2px solid var(--accent); }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.narrow, .form { max-width: 36rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2, h3 { font-size: 1.125rem; margin: 2rem 0 .75rem; }
h1, p, ul, ol, dl, pre, fieldset, .card, .head, .code, .field { margin: 0 0 1rem; }
:is(.card, form, li, dd, div) > :last-child, .head h1, .row > * { margin-bottom: 0; }
dd, figure { margin: 0; }
.card > h2, h3 { margin-top: 0; }
p:empty { display: none; }
.soft, .fault, .side, dt, th { font-size: .875rem; }
.soft, .lead, th { color: var(--soft); font-weight: 400; }
.lead { max-width: 46rem; white-space: pre-line; }
code, pre { font-family: ui-monospace, monospace; font-size: .875em; }
pre, .card { background: var(--card); border-width: 1px; border-radius: 8px; }
pre { padding: .75rem; white-space: pre-wrap; }
.card { padding: 1.25rem; }
.notice { border-left: 4px solid; > * { color: var(--ink); } }
.brand, .title, .actor, .tabs [aria-current], .side > ul > li > a, label, legend { font-weight: 600; }
.head { justify-content: space-between; }
label, legend, fieldset { display: block; padding: 0; }
.check { display: flex; gap: .5rem; font-weight: 400; }
input:not([type=checkbox]), select, textarea {
  width: 100%; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--soft); border-radius: 6px; padding: .5rem .625rem;
}
[aria-invalid] { border-color: var(--bad) !important; }
.button, button {
  font: inherit; font-weight: 600; cursor: pointer; text-decoration: none; white-space: nowrap;
  padding: .25rem .875rem; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent); color: var(--card);
  &.quiet { background: var(--card); color: var(--accent); border-color: var(--line); }
  &.bad { background: var(--card); color: var(--bad); border-color: currentcolor; }
}
.list, .side ul, .legend { list-style: none; padding: 0; }
.list > li { padding: .875rem 1.25rem; }
.list > li > :first-child { flex: 1 1 16rem; }
.entries { padding-block: 0; > div { padding: .75rem 0; } dt code { display: block; } }
.list > li + li, .entries > div + div { border-top-width: 1px; }
time, .badge { white-space: nowrap; }
.badge, .method { font-size: .8125rem; padding: 0 .5rem; border: 1px solid; border-radius: 99px; }
:target { background: light-dark(#eef4ff, #1d2939); }
.code { align-items: start; > pre { flex: 1 1 20rem; } }
table { width: 100%; border-collapse: collapse; overflow-wrap: normal; }
.scroll { overflow-x: auto; }
th, td { text-align: left; padding: .5rem 1rem .5rem 0; border-bottom-width: 1px; }
.number { text-align: right; }
text { fill: var(--ink); font-size: 12px; }
line { stroke: var(--line); }
.sequence {
  text { text-anchor: middle; }
  .note { text-anchor: start; }
  path { fill: none; stroke: var(--accent); stroke-width: 1.5; }
  .back { stroke-dasharray: 5 3; }
}
.plot { container-type: inline-size; padding-left: 56px; }
.plot svg, foreignObject { overflow: visible; }
@container (width < 40rem) { .wider { display: none; } }
@container (width < 54rem) { .wide { display: none; } }
${Array.from({ length: 8 }, (_, at) => `.s${at} { --s: light-dark(oklch(.5 .13 ${hue(at)}), oklch(.8 .11 ${hue(at)})); }`).join("\n")}
.line, .points {
  path { fill: none; stroke: var(--s); stroke-width: 2; stroke-linejoin: round; }
  > foreignObject { width: 24px; height: 24px; transform: translate(-12px, -12px); }
}
.points path { stroke-width: 7; stroke-linecap: round; }
.point { display: block; position: relative; width: 100%; height: 100%; padding: 0; border: 0; background: none; }
.bars .point { border-radius: 0; background: var(--s); forced-color-adjust: none; }
.bars .point::before { content: ""; position: absolute; inset: -8px 0; }
.line .point { background: radial-gradient(circle, var(--s) 3px, transparent 4px); }
.point:is(:hover, :focus-visible, [aria-current]) { outline: 2px solid var(--ink); }
.point:is(:hover, :focus-visible)::after {
  content: attr(aria-label); position: absolute; z-index: 1; bottom: 100%; left: 50%; width: max-content; max-width: 8rem; padding: .125rem .5rem;
  font-size: .8125rem; text-align: left; white-space: normal; color: var(--paper); background: var(--ink);
}
.end .point::after { left: auto !important; right: 50%; }
.legend > li::before { content: "■ "; color: var(--s); }
@media (width >= 60rem) {
  .docs { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 2.5rem; }
  .side > ul { position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; }
  .pair, .entries > div { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 1.5rem; }
  .pair { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (width < 60rem) { .side ul ul { display: none; } }
`.trimStart();

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f5fbf"/><path d="M4 11V8m4 3V5m4 6V7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`;
