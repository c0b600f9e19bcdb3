// The part of the stylesheet for the documentation.

export const DOCS_STYLE = `
.docs .grid, .side { font-size: .875rem; }
.side a { padding: .125rem 0; }
.side .h3, .side [href*="nts/"], .side [href*="tour/"] { margin-left: 1rem; }
.sequence { display: grid; grid-template-columns: repeat(3, 1fr); text-align: center; }
.sequence ol { grid-column: 1 / -1; padding: 0; list-style: none; background: linear-gradient(90deg, transparent 50%, var(--line) 0 calc(50% + 1px), transparent 0) 0 / calc(100% / 3); }
.sequence p { background: var(--page); }
.sequence path { fill: none; stroke: var(--accent); }
@media (width < 60rem) { .tabs + nav { display: none; } }
@media (width >= 60rem) {
  .docs { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 2.5rem; }
  .side { position: sticky; top: 1rem; height: calc(100vh - 2rem); overflow-y: auto; }
  .side .tabs { flex-direction: column; align-items: stretch; }
}
`;
