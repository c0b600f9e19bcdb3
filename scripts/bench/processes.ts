// Benchmarks of whole processes: the start of the command, an embedded service from start to close, and deliveries.
// Each measurement of the last two runs in a process of its own, so that it does not start with a heap warmed by another.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listen } from "../../test/support/ports.ts";
import { BASE, OTHERS } from "./http.ts";
import { compare, OWN, type Row, type Side, scaled } from "./measure.ts";
import { BUILT_BIN, BUILT_INDEX, program, startNode, startServer } from "./server.ts";

/** Measures the time from the start of the process to the first response. */
const startTime = (name: string, args: readonly string[]): Side => ({
  name,
  measure: async () => {
    await using server = await startServer(name, args);
    return server.start_ms;
  },
});

/** Runs a program that sends one figure over IPC. */
const figureOf = (name: string, ...args: readonly string[]): Side => ({
  name,
  measure: async () => {
    const [figure] = await once(startNode(["--import", "tsx", ...args]), "message");
    return figure;
  },
});

export async function* start(): AsyncGenerator<Row> {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  const base = startTime(BASE.name, BASE.args);
  const others = OTHERS.map(({ name, args }) => startTime(name, args));
  yield compare({
    what: "Start of the command",
    unit: "ms",
    base,
    sides: [startTime(OWN, [BUILT_BIN]), ...others],
    goal: 1.4,
  });
  yield compare({
    what: "npm start, without npm",
    unit: "ms",
    base,
    sides: [startTime(OWN, String(scripts.start).split(" ").slice(1))],
    goal: 4,
  });
  const lives = String(scaled(60));
  const embedded = program("embedded.mjs");
  yield compare({
    what: "startService, a request, close",
    unit: "ms",
    base: figureOf("bare node:http", embedded, "bare", lives),
    sides: [figureOf(OWN, embedded, BUILT_INDEX, lives)],
    goal: 2.5,
  });
}

export async function* delivery(): AsyncGenerator<Row> {
  await using receiver = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on("end", () => response.end());
  });
  const url = `http://127.0.0.1:${await listen(receiver)}/`;
  const side = (name: string, subject: string, webhooks: number) =>
    figureOf(name, program("delivery.ts"), subject, url, `${webhooks}`, `${scaled(2_000)}`);
  for (const [webhooks, goal] of [
    [16, 0.5],
    [1, 0.4],
  ] as const)
    yield compare({
      what: `Deliveries to ${webhooks} webhook${webhooks > 1 ? "s" : ""}`,
      unit: "a second",
      base: side("a keep-alive agent", "agent", webhooks),
      sides: [side(OWN, "outbox", webhooks)],
      goal,
      isMoreBetter: true,
    });
}
