// Whole requests spoiled on the wire and sent in pieces: whatever stands there is answered, with no 5xx but the 501 of an
// unknown coding, or the connection ends; nothing hangs, and the next client gets its answer.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { startService } from "../../src/index.ts";
import { Client } from "../../test/support/client.ts";
import { head, RawConnection } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { Draw } from "./draw.ts";

const AT_ONCE = 8;
const TITLE = '{"title":"Raw"}';

export async function raw(count: number, seed: string): Promise<Finding> {
  await using service = await startService({ rateLimit: "off" });
  const api = new Client({ baseUrl: service.baseUrl, key: service.apiKey });
  const whole = wholeRequests(api);
  const draw = new Draw(seed);
  const cases = Array.from({ length: count }, () => {
    const bytes = draw.spoiled(Buffer.from(draw.one(whole)));
    const cuts = Array.from({ length: draw.below(6) }, () => draw.below(bytes.length + 1)).sort((a, b) => a - b);
    return [...cuts, bytes.length].map((end, n) => bytes.subarray(cuts[n - 1] ?? 0, end));
  });
  const wrong: string[] = [];
  await pool(AT_ONCE, cases, async (pieces) => {
    try {
      await answered(service.authUrl, pieces);
      assert.equal((await api.get("/account")).status, 200, "the next client");
    } catch (error) {
      wrong.push(`${JSON.stringify(pieces.map((piece) => piece.toString("latin1")))}\n    ${error}`);
    }
  });
  api.close();
  return { what: "Requests spoiled on the wire", tried: `${count}`, wrong };
}

function wholeRequests(api: Client): readonly string[] {
  const post = (...lines: string[]) => head("POST /v1/apps", { api }, "content-type: application/json", ...lines);
  const get = head("GET /v1/apps?limit=2", { api });
  const chunks = [...TITLE].map((byte) => `1;a=b\r\n${byte}\r\n`).join("");
  const chunked = `${post("transfer-encoding: chunked")}${chunks}0\r\nt: 1\r\n\r\n${get}`;
  const expecting = post("content-length: 15", "expect: 100-continue") + TITLE + get;
  return [get + get, expecting, chunked, head("GET http://localhost:80/v1/account", { api }, "connection: close")];
}

/** Sends them and reads whatever is answered until the server closes. */
async function answered(address: string, pieces: readonly Buffer[]): Promise<void> {
  const connection = await RawConnection.open(address);
  for (const piece of pieces) {
    connection.write(piece);
    await turn();
  }
  connection.end();
  for (;;) {
    const answer = await connection.answer().catch((error: Error) => error);
    if (answer instanceof Error) return assert.equal(answer.message, 'closed after ""');
    assert.ok(answer.status < 500 || answer.status === 501, `answered ${answer.status}`);
  }
}
