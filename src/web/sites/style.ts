// The part of the stylesheet for deployed apps: charts and their legend.

/** The hues of a chart's series; most people can distinguish each from its neighbours. */
const HUES = [258, 33, 168, 303, 78, 213, 348, 123];

export const SITE_STYLE = `.plot { padding: 2rem 1.25rem 3.5rem 3.5rem; }
.plot svg, foreignObject { overflow: visible; }
text { fill: var(--soft); font-size: 12px; }
line { stroke: var(--line); }
.base { stroke: var(--soft); }
${HUES.map((hue, series) => `.s${series} { color: oklch(.62 .14 ${hue}); forced-color-adjust: none; }`).join("\n")}
.line path { fill: none; stroke: currentcolor; stroke-width: 2; vector-effect: non-scaling-stroke; }
.line { pointer-events: none; }
.plot button { width: 94%; height: 100%; padding: 0; border: 0; border-radius: 3px; background: currentcolor; color: inherit; }
.line button { display: block; width: 24px; height: 24px; margin: -12px calc(50% - 12px); border-radius: 50%; background: radial-gradient(currentcolor 4px, transparent 5px); }
.line button::after { content: ""; position: absolute; inset: -12px calc(50% - clamp(1.5px, 50%, 12px)); pointer-events: auto; }
.dense button:not(:hover, :focus-visible, [aria-current]) { background: none; }
.plot button:is(:hover, [aria-current]) { outline: 2px solid CanvasText; }
details .scroll { max-height: 24rem; }
td button { min-width: 9rem; border: 0; padding: 0; color: var(--accent); text-align: left; }
`;
