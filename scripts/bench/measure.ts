// Comparison of servers as ratios to a base. Rounds alternate the order, and the median of the rounds' ratios counts,
// because it is stable on a noisy machine.

/** Rounds before those that count. Node still compiles until about the 6,000th create. */
const WARM_UP_ROUNDS = 3;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 4);
const SCALE = Number(process.env.BENCH_SCALE ?? 1);

/** Scales a count: BENCH_SCALE=0.01 tries everything out in little time. */
export const scaled = (count: number): number => Math.max(Math.ceil(count * SCALE), 40);

export interface Side {
  readonly name: string;
  /** Measures once; the unit is the caller's. */
  readonly measure: () => Promise<number>;
}

export const OWN = "This server";
export const NAMES = [OWN, "Fastify", "json-server"];

interface Comparison {
  readonly what: string;
  readonly unit: string;
  readonly base: Side;
  readonly sides: readonly Side[];
  /** The limit of this server's ratio: a maximum, or a minimum where more is better. */
  readonly goal: number;
  readonly isMoreBetter?: boolean;
}

/** A row of the table: a cell for each of NAMES, empty where it was not measured. */
export interface Row {
  readonly what: string;
  readonly base: string;
  readonly cells: readonly string[];
  readonly note: string;
}

const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
export const median = (values: readonly number[]) =>
  sorted(values)[Math.floor(values.length / 2)] ?? Number.NaN;

/** A missed goal sets exit code 1. */
export async function compare(comparison: Comparison) {
  const { what, unit, base, sides, goal, isMoreBetter = false } = comparison;
  const all = [base, ...sides];
  const rounds: Map<Side, number>[] = [];
  for (let round = 1 - WARM_UP_ROUNDS; round <= ROUNDS; round += 1) {
    const values = new Map<Side, number>();
    for (const side of round % 2 === 0 ? all : all.toReversed())
      values.set(side, await side.measure());
    if (round > 0) rounds.push(values);
  }
  const valuesOf = (side: Side) => rounds.map((round) => round.get(side) ?? Number.NaN);
  const baseValues = valuesOf(base);
  let isMissed = false;
  const cells = NAMES.map((name) => {
    const side = sides.find((each) => each.name === name);
    if (side === undefined) return "";
    const ratios = sorted(valuesOf(side).map((value, n) => value / (baseValues[n] ?? Number.NaN)));
    const ratio = median(ratios);
    if (name === OWN) isMissed = isMoreBetter ? ratio < goal : ratio > goal;
    const [least = 0, most = 0] = [ratios[0], ratios.at(-1)];
    return `${ratio.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
  });
  if (isMissed) process.exitCode = 1;
  const limit = `${isMoreBetter ? "at least" : "at most"} ${goal}${isMissed ? ", missed" : ""}`;
  const value = median(baseValues).toPrecision(3);
  const note = `goal ${limit}; ${base.name}: ${Number(value)} ${unit}`;
  return { what, base: base.name, cells, note };
}
