// The one stylesheet, as text, because nothing is built. Plain elements are styled first, so that a page is written in
// plain HTML; the few classes are for what HTML has no word for. Light and dark follow the reader's system.

export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: #1c2430; --soft: #566173; --paper: #f6f7f9; --card: #ffffff; --line: #d9dee6;
  --accent: #1f5fbf; --on-accent: #ffffff; --bad: #b3261e; --good: #1a7442; --focus: #1f5fbf;
  --space: 1rem; --round: 8px;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e8ee; --soft: #a3adbb; --paper: #12161c; --card: #1a2029; --line: #313a47;
    --accent: #7db0ff; --on-accent: #0c1522; --bad: #ff9a90; --good: #7fd6a4; --focus: #7db0ff;
  }
}
* { box-sizing: border-box; }
html { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
body { margin: 0; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--card); }
.skip:focus { left: 0; top: 0; z-index: 1; }
.top {
  display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1.5rem;
  padding: .75rem max(var(--space), calc((100vw - 72rem) / 2)); background: var(--card); border-bottom: 1px solid var(--line);
}
.brand { font-weight: 600; color: inherit; text-decoration: none; margin-right: auto; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem var(--space) 4rem; }
main.narrow { max-width: 30rem; padding-top: clamp(1.5rem, 8vh, 5rem); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1.125rem; line-height: 1.3; margin: 2rem 0 .75rem; }
p, ul, ol, dl { margin: 0 0 1rem; }
small, .soft { color: var(--soft); font-size: .875rem; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .875em; }
pre { overflow-x: auto; padding: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: var(--round); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: var(--round); padding: 1.25rem; margin: 0 0 1rem; }
.notice { border-left: 4px solid var(--accent); }
.notice.bad { border-left-color: var(--bad); }
.notice.good { border-left-color: var(--good); }
form { margin: 0; }
label, legend { display: block; font-weight: 600; margin: 0 0 .25rem; }
input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea {
  width: 100%; font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: 6px; padding: .5rem .625rem; margin: 0 0 1rem;
}
button, .button {
  font: inherit; font-weight: 600; cursor: pointer; display: inline-block; text-decoration: none;
  padding: .5rem 1rem; border-radius: 6px; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent);
}
button.quiet, .button.quiet { background: transparent; color: var(--accent); }
button.bad { background: transparent; border-color: var(--bad); color: var(--bad); }
.row { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; }
table { width: 100%; border-collapse: collapse; }
.scroll { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .875rem; color: var(--soft); font-weight: 600; }
dt { font-size: .875rem; color: var(--soft); }
dd { margin: 0 0 .75rem; }
`.trimStart();

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f5fbf"/><path d="M4 11V8m4 3V5m4 6V7" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>`;
