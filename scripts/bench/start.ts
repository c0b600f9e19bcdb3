// Startup benchmark: time from process start to the first response, compared with a bare single-file server. It covers
// the packed command, `npm start` (which bundles the sources first), and an embedded service from start to close.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { took } from "../../test/support/costs.ts";
import { listen } from "../../test/support/ports.ts";
import { compare, type Figures, median, type Side, scaled } from "./figures.ts";
import { answers, BARE, built, index, KEY, side, startServer } from "./machine.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
const [, ...npmStart] = String(scripts.start).split(" ");
const LIVES = scaled(200);
const WARM_LIVES = 20;

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
  const lives = [
    side("embedded", "start", "life", "own"),
    side(BARE[0], "start", "life", "bare"),
  ] as const;
  await compare("Embedded: start, first request, close", lives, { ms: "<= 2.50" }, 1);
}

export async function life(whose: "own" | "bare"): Promise<Figures> {
  const { startService } = await index();
  const own = async () => {
    await using service = await startService({ apiKey: KEY });
    assert.ok(await answers(Number(new URL(service.baseUrl).port)));
  };
  const bare = async () => {
    await using server = createServer((_, response) => response.end("[]"));
    assert.ok(await answers(await listen(server)));
  };
  const ms: number[] = [];
  for (let n = -WARM_LIVES; n < LIVES; n += 1) ms.push(await took(whose === "own" ? own : bare));
  return { ms: median(ms.slice(WARM_LIVES)) };
}
