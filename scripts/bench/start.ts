// From the start of the process to its first answer, against a bare server of one file: the packed command, and what
// `npm start` does: it bundles the sources and runs that. And a whole life embedded in a test: start, first request, close.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { closedPort } from "../../test/support/receivers.ts";
import { compare, type Line, ratio, type Side } from "./figures.ts";
import { answers, bare, isBuilt, KEY, killed, ours, side, spawnNode } from "./machine.ts";

const ROUNDS = 15;
const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
const [, ...npmStart] = String(scripts.start).split(" ");

export async function start(): Promise<Line[]> {
  const flags = (port: number) => ["--port", String(port), "--api-key", KEY, "--log", "off"];
  const [base, source, bin] = await compare(
    [
      starting(bare.name, () => bare.args),
      starting("npm start", (port) => [...npmStart, ...flags(port)]),
      ...(isBuilt ? [starting("the bin", (port) => [...ours("bin"), ...flags(port)])] : []),
    ],
    2,
    ROUNDS,
  );
  const packed = bin ? [ratio("First answer after the start of the bin", bin, base, "ms", "<= 1.45")] : [];
  const [own, other] = await compare([side("embedded", "life", "own"), side(bare.name, "life", "bare")], 1);
  return [
    ...packed,
    ratio("First answer after npm start, without npm", source, base, "ms", "<= 4.50"),
    ratio("Embedded: start, first request, close", own, other, "ms", "<= 2.50"),
  ];
}

const starting = (name: string, args: (port: number) => readonly string[]): Side => ({
  name,
  measure: async () => {
    const port = await closedPort();
    const began = performance.now();
    const child = spawnNode(args(port), { BENCH_PORT: String(port), BENCH_KEY: KEY });
    while (!(await answers(port))) await pause(1);
    const ms = performance.now() - began;
    await killed(child);
    return { ms };
  },
});
