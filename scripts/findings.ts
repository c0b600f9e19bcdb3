// How what was tried and what it found is told: a line each, and exit code 1 where something was found.

export interface Finding {
  readonly tried: string;
  readonly wrong: readonly string[];
}

const SHOWN_MAX = 20;

export function tell({ tried, wrong }: Finding, nothing: string): void {
  const shown = wrong.length === 0 ? [nothing] : [`${wrong.length} WRONG`, ...wrong.slice(0, SHOWN_MAX)];
  console.log(`${tried}\n  ${shown.join("\n  ")}`);
  if (wrong.length > 0) process.exitCode = 1;
}
