// The part of the stylesheet for the documentation.

export const DOCS_STYLE = `@media (width >= 60rem) { .docs { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 2.5rem; } }
@media (width < 60rem) { .side ul ul { display: none; } }
`;
