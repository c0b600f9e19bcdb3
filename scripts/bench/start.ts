// From the start of the process to its first answer, against a bare server of one file: the packed command, and what
// `npm start` does: it bundles the sources and runs that. And a whole life embedded in a test: start, first request, close.
import { readFileSync } from "node:fs";
import { compare, type Side } from "./figures.ts";
import { BARE, built, side, startServer } from "./machine.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
const [, ...npmStart] = String(scripts.start).split(" ");

const starting = (name: string, args: readonly string[]): Side => ({
  name,
  measure: async () => {
    await using server = await startServer(name, args);
    return { ms: server.start_ms };
  },
});

export async function start(): Promise<void> {
  const first = (what: string, args: readonly string[], goal: string) =>
    compare(`First answer after ${what}`, [starting(what, args), starting(...BARE)], { ms: goal });
  await first("the start of the bin", [built("bin")], "<= 1.45");
  await first("npm start, without npm", npmStart, "<= 4.50");
  const lives = [side("embedded", "life", "own"), side(BARE[0], "life", "bare")] as const;
  await compare("Embedded: start, first request, close", lives, { ms: "<= 2.50" }, 1);
}
