// The part of the stylesheet for the documentation.

export const DOCS_STYLE = `
.docs .grid, .side { font-size: 14px; }
.side a { display: block; padding: 2px 8px; }
.docs .grid li li { margin-left: 1rem; }
.sequence { display: grid; grid-template-columns: repeat(3, 1fr); max-width: 44rem; text-align: center; }
.sequence ol { grid-column: 1 / -1; }
.sequence path { fill: none; stroke: var(--accent); }
.sequence path:first-child { stroke: var(--line); }
@media (width >= 60rem) {
  .docs { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 2.5rem; }
  .side { position: sticky; top: 1rem; height: calc(100vh - 2rem); overflow-y: auto; }
  .side .h3, .side [href*="/endpoints/"], .side [href*="/tour/"] { margin-left: 1rem; }
  .side .tabs { flex-direction: column; align-items: stretch; }
}
`;
