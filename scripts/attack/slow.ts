// Connections that say nothing, send a byte at a time or read nothing of long answers, nearly as many as the server takes:
// others get their answers meanwhile, and when their time is over there is room for as many as the server takes.
import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "../../src/http/arriving.ts";
import { startService } from "../../src/index.ts";
import { Client } from "../../test/support/client.ts";
import { head, RawConnection, rawAnswer } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";

const AT_ONCE = 16;
/** Twelve answers of half a megabyte are more than the buffers between two processes hold. */
const [APPS, DESCRIPTION, PIPELINED] = [100, "x".repeat(5_000), 12];
/** The server looks once a second for what is over its time. */
const OVER_MS = LIMITS.request_ms + 10_000;

/** Each sends so many bytes, one after the other. */
export async function slow(connections: number, bytes: number, between_ms: number): Promise<Finding> {
  await using service = await startService({ rateLimit: "off" });
  const api = new Client({ baseUrl: service.baseUrl, key: service.apiKey });
  await pool(AT_ONCE, Array(APPS), () => api.create("/apps", { title: "T", description: DESCRIPTION }));
  api.close();
  const account = head("GET /v1/account", { api });
  const deaf = head("GET /v1/apps?limit=100", { api }).repeat(PIPELINED);
  const post = head("POST /v1/apps", { api }, "content-type: application/json", "content-length: 999");
  const kinds = ["", post, "", post, "", post, "", post, deaf];
  const open = await pool(AT_ONCE, Array(connections).keys(), async (n) =>
    (await RawConnection.open(service.authUrl)).pause().write(kinds[n % kinds.length] ?? ""),
  );
  const wrong: string[] = [];
  const ask = async (when: string) => {
    const answer = await rawAnswer(service.authUrl, account).catch((error: Error) => error);
    if (answer instanceof Error || answer.status !== 200) wrong.push(`${when}: ${answer}`);
  };
  for (let sent = 0; sent < bytes; sent += 1) {
    // Every other one stays silent.
    for (const [n, connection] of open.entries()) if (n % 2 === 0) connection.write(account.slice(sent, sent + 1));
    await ask(`after ${sent} bytes`);
    await pause(between_ms);
  }
  const others = bytes * between_ms > OVER_MS ? LIMITS.connections : 0;
  await pool(others, Array(others), () => ask("when their time is over"));
  for (const connection of open) connection.destroy();
  const tried = `${connections} connections, ${bytes} others beside them, ${others} after them`;
  return { what: "Slow and deaf connections", tried, wrong };
}
