// Benchmarks of whole processes: the start of the command, an embedded service from start to close, and deliveries.
// Each measurement of the last two runs in a process of its own (servers/embedded.mjs, servers/delivery.ts), so that it
// does not start with a heap warmed by another.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listen } from "../../test/support/ports.ts";
import { compare, type Side, scaled } from "./compare.ts";
import { BUILT_BIN, BUILT_INDEX, program, startNode, startServer } from "./server.ts";

const BARE = [program("bare.mjs")];

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

export async function start(): Promise<void> {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  const npmStart = String(scripts.start).split(" ").slice(1);
  const bare = startTime("a bare file", BARE);
  await compare({
    what: "First response of the command",
    own: startTime("the command", [BUILT_BIN]),
    other: bare,
    unit: "ms",
    goal: "<= 1.40",
  });
  await compare({
    what: "First response of npm start, without npm",
    own: startTime("npm start", npmStart),
    other: bare,
    unit: "ms",
    goal: "<= 4.00",
  });
  const lives = String(scaled(200));
  const embedded = program("embedded.mjs");
  await compare({
    what: "Service in a test: start, request, close",
    own: figureOf("startService", embedded, BUILT_INDEX, lives),
    other: figureOf("bare node:http", embedded, "bare", lives),
    unit: "ms",
    goal: "<= 2.50",
    warmRounds: 0,
  });
}

export async function delivery(): Promise<void> {
  await using receiver = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on("end", () => response.end());
  });
  const url = `http://127.0.0.1:${await listen(receiver)}/`;
  const posts = String(scaled(8_000));
  for (const [webhooks, goal] of [
    ["16", ">= 0.50"],
    ["1", ">= 0.40"],
  ] as const)
    await compare({
      what: `Deliveries to ${webhooks} webhooks`,
      own: figureOf("the outbox", program("delivery.ts"), "outbox", url, webhooks, posts),
      other: figureOf("a keep-alive agent", program("delivery.ts"), "agent", url, webhooks, posts),
      unit: "a second",
      goal,
      warmRounds: 0,
    });
}
