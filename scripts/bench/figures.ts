// What is compared and how it is told. All sides are measured in each round, in an order that turns with the round, and
// what counts is the median of the rounds' ratios: that holds on a noisy machine. Every result is a row of one table.

export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);
const SCALE = Number(process.env.BENCH_SCALE ?? 1);

/** A smaller or larger run: BENCH_SCALE=0.01 tries everything out in little time. */
export const scaled = (count: number): number => Math.max(Math.ceil(count * SCALE), 40);

/** What one measurement gave, by unit. */
export type Figures = Readonly<Record<string, number>>;

export interface Side {
  readonly name: string;
  readonly measure: () => Promise<Figures>;
}

interface Result {
  readonly name: string;
  readonly rounds: readonly Figures[];
}

/** `warm`: how many rounds go before the first that counts. */
export async function compare(sides: readonly Side[], warm = 2, rounds = ROUNDS): Promise<Result[]> {
  const results = sides.map(({ name }) => ({ name, rounds: [] as Figures[] }));
  for (let round = -warm; round < rounds; round += 1)
    for (let turn = 0; turn < sides.length; turn += 1) {
      const at = (turn + Math.max(round, 0)) % sides.length;
      const figures = await sides[at]?.measure();
      if (round >= 0 && figures !== undefined) results[at]?.rounds.push(figures);
    }
  return results;
}

export interface Line {
  readonly what: string;
  readonly against: string;
  readonly figure: string;
  /** One for each round or try: their median is held against the goal. */
  readonly values: readonly number[];
  /** Such as "<= 1.20"; "" for a figure that is only shown. */
  readonly goal: string;
  readonly beside: string;
}

/** The ratio of one side to another in a unit; their medians in every unit stand beside it. */
export function ratio(what: string, own: Result | undefined, base: Result | undefined, unit: string, goal = ""): Line {
  if (own === undefined || base === undefined) throw new Error(`${what}: nothing was measured`);
  const of = (figures: Figures | undefined, name: string) => figures?.[name] ?? Number.NaN;
  const values = own.rounds.map((round, at) => of(round, unit) / of(base.rounds[at], unit));
  const middle = ({ rounds }: Result, name: string) => shown(median(rounds.map((round) => of(round, name))));
  const units = Object.keys(own.rounds[0] ?? {});
  const beside = units.map((name) => `${middle(own, name)} against ${middle(base, name)} ${name}`).join(", ");
  return { what, against: base.name, figure: `ratio, ${unit}`, values, goal, beside };
}

/** A figure that is held against nothing but its goal. */
export const plain = (what: string, figure: string, value: number, goal: string, beside = ""): Line => ({
  ...{ what, against: "", figure, values: [value], goal, beside },
});

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** A value that could not be measured reaches no goal. */
export function isMissed({ values, goal }: Line): boolean {
  const [sign, limit] = goal.split(" ");
  const value = median(values);
  if (sign === "<=") return !(value <= Number(limit));
  if (sign === ">=") return !(value >= Number(limit));
  return sign === "=" && value !== Number(limit);
}

export const whole = (value: number): string => Math.round(value).toLocaleString("en");
const shown = (value: number): string => (Math.abs(value) >= 100 ? whole(value) : value.toFixed(2));

/** The head of the table. */
export const HEAD = `| What | Against | Figure | Median (min–max) | Goal | Beside it |\n|${" --- |".repeat(6)}`;

export function row(line: Line): string {
  const { what, against, figure, values, goal, beside } = line;
  const range = values.length > 1 ? ` (${shown(percentile(values, 0))}–${shown(percentile(values, 1))})` : "";
  const verdict = isMissed(line) ? `${goal} **missed**` : goal;
  return `| ${what} | ${against} | ${figure} | **${shown(median(values))}**${range} | ${verdict} | ${beside} |`;
}
