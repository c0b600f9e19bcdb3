// The one form of the result: a row says what was measured against what, the ratio with its spread, and the goal.
import type { Result, Spread } from "./compare.ts";

export interface Line {
  readonly what: string;
  readonly against: string;
  readonly figure: string;
  readonly spread: Spread;
  /** The ratio that is aimed at, such as "<= 1.20"; "" for a figure that is only shown. */
  readonly goal: string;
  readonly beside: string;
}

const two = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));

export const spreadText = ({ median, min, max }: Spread): string => `**${two(median)}** (${two(min)}–${two(max)})`;

/** CPU time per request of `own` against the side that the comparison began with. */
export function cpuLine(what: string, own: Result, base: Result, goal: string): Line {
  const beside = [
    `${own.figures.cpu_us.toFixed(1)} µs against ${base.figures.cpu_us.toFixed(1)} µs`,
    `throughput ${two(own.throughput.median)}`,
    `p99 ${two(own.p99.median)}`,
  ];
  return { what, against: base.name, figure: "CPU per request", spread: own.cpu, goal, beside: beside.join(", ") };
}

export function markdown(lines: readonly Line[]): string {
  const rows = lines.map(
    ({ what, against, figure, spread, goal, beside }) =>
      `| ${what} | ${against} | ${figure} | ${spreadText(spread)} | ${goal === "" ? "" : goal} | ${beside} |`,
  );
  return [
    "| What | Against | Figure | Ratio: median (min–max) | Goal | Beside it |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}
