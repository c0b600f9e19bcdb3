// Comparison and report of the benchmarks: each result is one table row. Each round measures both sides in turn, and
// the median of the rounds' ratios counts, because it is stable on a noisy machine.

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const SCALE = Number(process.env.BENCH_SCALE ?? 1);

/** Scales the run: BENCH_SCALE=0.01 tries everything out in little time. */
export const scaled = (count: number): number => Math.max(Math.ceil(count * SCALE), 40);

/** The figures of one measurement, by unit. */
export type Figures = Readonly<Record<string, number>>;

export interface Side {
  readonly name: string;
  readonly measure: () => Promise<Figures>;
}

export const HEAD = `| What | Against | Figure | Median (min–max) | Goal | Beside it |\n|${" --- |".repeat(6)}`;

interface Row {
  readonly what: string;
  readonly against?: string;
  readonly figure: string;
  /** One value per round; their median is compared with the goal. */
  readonly values: readonly number[];
  /** A limit such as "<= 1.20"; "" for a figure without a goal. */
  readonly goal: string;
  readonly beside?: string;
}

/** A missed goal sets exit code 1; a value that could not be measured misses its goal. */
export function report({ what, against = "", figure, values, goal, beside = "" }: Row): void {
  const [sign, limit] = goal.split(" ");
  const value = median(values);
  const reached = sign === ">=" ? value >= Number(limit) : sign === "" || value <= Number(limit);
  if (!reached) process.exitCode = 1;
  const range =
    values.length > 1 ? ` (${shown(percentile(values, 0))}–${shown(percentile(values, 1))})` : "";
  const cells = [
    what,
    against,
    figure,
    `**${shown(value)}**${range}`,
    goal + (reached ? "" : " **missed**"),
    beside,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** Warm-up rounds that do not count: the comparison is of the steady state, after V8 has compiled the hot code. */
const WARM = 5;

/** Reports the ratio of the two sides in each unit that has a goal, with their medians in every unit. */
export async function compare(
  what: string,
  [own, base]: readonly [own: Side, base: Side],
  goals: Readonly<Record<string, string>>,
  warm = WARM,
): Promise<void> {
  const rounds: Map<Side, Figures>[] = [];
  for (let round = -warm; round < ROUNDS; round += 1) {
    const figures = new Map<Side, Figures>();
    for (const side of round % 2 === 0 ? [own, base] : [base, own])
      figures.set(side, await side.measure());
    if (round >= 0) rounds.push(figures);
  }
  const of = (side: Side, unit: string) =>
    rounds.map((figures) => figures.get(side)?.[unit] ?? Number.NaN);
  const middle = (side: Side, unit: string) => shown(median(of(side, unit)));
  const units = Object.keys(rounds[0]?.get(own) ?? {});
  const beside = units
    .map((unit) => `${middle(own, unit)} against ${middle(base, unit)} ${unit}`)
    .join(", ");
  for (const [unit, goal] of Object.entries(goals)) {
    const bases = of(base, unit);
    const values = of(own, unit).map((value, round) => value / (bases[round] ?? Number.NaN));
    report({ what, against: base.name, figure: `ratio, ${unit}`, values, goal, beside });
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export const whole = (value: number): string => Math.round(value).toLocaleString("en");
const shown = (value: number): string => (Math.abs(value) >= 100 ? whole(value) : value.toFixed(2));
