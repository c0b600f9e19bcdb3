// Comparison of two measurements as a ratio. Rounds alternate between the sides, and the median of the rounds' ratios
// counts, because it is stable on a noisy machine.

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const SCALE = Number(process.env.BENCH_SCALE ?? 1);
const WARM_ROUNDS = 2;

/** Scales a count: BENCH_SCALE=0.01 tries everything out in little time. */
export const scaled = (count: number): number => Math.max(Math.ceil(count * SCALE), 40);

export interface Side {
  readonly name: string;
  /** Measures once; the unit is the caller's. */
  readonly measure: () => Promise<number>;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const format = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);

export const TABLE_HEAD = `| What | Against | Ratio (min–max) | Goal | Medians |\n|${" --- |".repeat(5)}`;

interface Comparison {
  readonly what: string;
  readonly own: Side;
  readonly other: Side;
  readonly unit: string;
  /** A limit such as "<= 1.20"; "" for a comparison without a goal. */
  readonly goal?: string;
  readonly warmRounds?: number;
}

/** Prints one row of the table. A missed goal sets exit code 1. */
export async function compare(comparison: Comparison): Promise<void> {
  const { what, own, other, unit, goal = "", warmRounds = WARM_ROUNDS } = comparison;
  const ownValues: number[] = [];
  const otherValues: number[] = [];
  for (let round = -warmRounds; round < ROUNDS; round += 1) {
    const isOwnFirst = round % 2 === 0;
    const first = await (isOwnFirst ? own : other).measure();
    const second = await (isOwnFirst ? other : own).measure();
    if (round < 0) continue;
    ownValues.push(isOwnFirst ? first : second);
    otherValues.push(isOwnFirst ? second : first);
  }
  const ratios = ownValues.map((value, round) => value / (otherValues[round] ?? Number.NaN));
  const ratio = median(ratios);
  const [sign, limit] = goal.split(" ");
  const isReached =
    goal === "" || (sign === ">=" ? ratio >= Number(limit) : ratio <= Number(limit));
  if (!isReached) process.exitCode = 1;
  const cells = [
    what,
    other.name,
    `**${format(ratio)}** (${format(Math.min(...ratios))}–${format(Math.max(...ratios))})`,
    isReached ? goal : `${goal} **missed**`,
    `${format(median(ownValues))} and ${format(median(otherValues))} ${unit}`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
