// Connections that say nothing, send a byte at a time or read nothing of a long answer, nearly as many as the server takes:
// meanwhile every other client gets its answers, and after 30 s they are given up, so that as many others find room.
import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "../../src/http/arriving.ts";
import { startService } from "../../src/index.ts";
import { Client } from "../../test/support/client.ts";
import { head, RawConnection, rawAnswer } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";

const AT_ONCE = 16;
const LARGE = 100;
/** As many answers of half a megabyte as no buffer between two processes holds. */
const PIPELINED = 12;
/** The server looks once a second for what is over its time. */
const GIVEN_UP_MS = LIMITS.request_ms + 10_000;

export async function slow(connections: number, ticks: number, tick_ms: number): Promise<Finding> {
  await using service = await startService({ rateLimit: "off" });
  const { baseUrl, authUrl, apiKey: key } = service;
  const api = new Client({ baseUrl, key });
  await pool(AT_ONCE, Array(LARGE), () => api.create("/apps", { title: "T", description: "x".repeat(5_000) }));
  const kinds = [
    { first: "", rest: "" },
    { first: "", rest: head("GET /v1/account", { api }) },
    {
      first: head("POST /v1/apps", { api }, "content-type: application/json", "content-length: 999"),
      rest: " ".repeat(999),
    },
    { first: head("GET /v1/apps?limit=100", { api }).repeat(PIPELINED), rest: "" },
  ];
  const open = await pool(AT_ONCE, Array(connections).keys(), async (n) => {
    const { first, rest } = kinds[n % kinds.length] ?? { first: "", rest: "" };
    return { connection: (await RawConnection.open(authUrl)).pause().write(first), rest };
  });
  const wrong: string[] = [];
  let slowest_ms = 0;
  const ask = async (when: string) => {
    const began = performance.now();
    const answer = await rawAnswer(authUrl, head("GET /v1/account", { api })).catch((error: Error) => error);
    if (!("status" in answer && answer.status === 200))
      wrong.push(`${when}: ${"status" in answer ? answer.status : answer}`);
    slowest_ms = Math.max(slowest_ms, performance.now() - began);
  };
  for (let tick = 0; tick < ticks; tick += 1) {
    for (const { connection, rest } of open) connection.write(rest.slice(tick, tick + 1));
    await ask(`beside ${connections} slow connections, after ${tick} bytes`);
    await pause(tick_ms);
  }
  const others = ticks * tick_ms < GIVEN_UP_MS ? 0 : LIMITS.connections;
  await pool(others, Array(others), () => ask(`beside ${others} others, when the slow ones are to be gone`));
  for (const { connection } of open) connection.destroy();
  api.close();
  const during = `${ticks} answers beside them, ${others} after them, the slowest in ${Math.ceil(slowest_ms)} ms`;
  return { tried: `slow: ${connections} connections; ${during}`, wrong };
}
