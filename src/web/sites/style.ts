// The part of the stylesheet for deployed apps: charts and their legend.

/** The hues of a chart's series; most people can distinguish each from its neighbours. */
const HUES = [258, 33, 168, 303, 78, 213, 348, 123];

export const SITE_STYLE = `text { fill: CanvasText; font-size: 12px; }
line { stroke: var(--line); }
.plot { container-type: inline-size; padding: .75rem 1.25rem 2rem 4.5rem; }
.plot svg, foreignObject { overflow: visible; }
@container (width < 54rem) { .wide { display: none; } }
${HUES.map((hue, series) => `.s${series} { --s: light-dark(oklch(.5 .13 ${hue}), oklch(.8 .11 ${hue})); }`).join("\n")}
.line path { fill: none; stroke: var(--s); stroke-width: 2; }
.line > foreignObject { width: 24px; height: 24px; transform: translate(-12px, -12px); }
.point { display: block; width: 100%; height: 100%; padding: 0; border: 0; border-radius: 0; background: var(--s); }
.line .point { background: radial-gradient(circle, var(--s) 3px, transparent 4px); }
.point:is(:hover, :focus-visible) { outline: 2px solid CanvasText; }
.legend > li::before { content: "■ "; color: var(--s); }
`;
