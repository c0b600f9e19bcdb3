// Comparisons that hold on a noisy machine: all sides are measured in each round, in an order that turns with the round,
// and what counts is the median of the rounds' ratios. CPU time is the figure to judge by; throughput and p99 stand
// beside it.
import { type Load, percentile, run } from "./load.ts";
import type { Server } from "./machine.ts";

export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7);

export interface Side {
  readonly name: string;
  readonly server: Server;
  readonly load: Omit<Load, "port">;
  /** Goes before each run and is not measured. */
  readonly prepare?: () => Promise<void>;
}

export interface Figures {
  readonly cpu_us: number;
  readonly per_second: number;
  readonly p99_ms: number;
}

export interface Result {
  readonly name: string;
  /** Medians over the rounds. */
  readonly figures: Figures;
  /** Against the first side: median, least and greatest of the rounds' ratios. */
  readonly cpu: Spread;
  readonly throughput: Spread;
  readonly p99: Spread;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export async function measure({ server, load, prepare }: Side): Promise<Figures> {
  await prepare?.();
  const before = await server.usage();
  const measured = await run({ ...load, port: server.port });
  const after = await server.usage();
  return {
    cpu_us: (after.cpu_us - before.cpu_us) / load.requests,
    per_second: load.requests / measured.seconds,
    p99_ms: percentile(measured, 0.99),
  };
}

/** The first side is what the others are held against. `warm`: how many runs go before the first that counts. */
export async function compare(sides: readonly Side[], warm = 2, rounds = ROUNDS): Promise<Result[]> {
  const found = sides.map((): Figures[] => []);
  for (let round = -warm; round < rounds; round += 1)
    for (let turn = 0; turn < sides.length; turn += 1) {
      const at = (turn + Math.max(round, 0)) % sides.length;
      const side = sides[at];
      if (side === undefined) continue;
      const figures = await measure(side);
      if (round >= 0) found[at]?.push(figures);
    }
  const [base = []] = found;
  return sides.map(({ name }, at) => {
    const own = found[at] ?? [];
    return {
      name,
      figures: {
        cpu_us: medianOf(own, "cpu_us"),
        per_second: medianOf(own, "per_second"),
        p99_ms: medianOf(own, "p99_ms"),
      },
      cpu: ratios(own, base, "cpu_us"),
      throughput: ratios(own, base, "per_second"),
      p99: ratios(own, base, "p99_ms"),
    };
  });
}

const medianOf = (all: readonly Figures[], name: keyof Figures): number => median(all.map((each) => each[name]));

function ratios(own: readonly Figures[], base: readonly Figures[], name: keyof Figures): Spread {
  return spread(own.map((each, round) => each[name] / (base[round]?.[name] ?? Number.NaN)));
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
