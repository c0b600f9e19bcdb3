// Whole requests spoiled on the wire and sent in pieces: whatever stands there is answered, with no 5xx but the 501 of an
// unknown coding, or the connection ends; nothing hangs, and the next client gets its answer.
import { setImmediate as turn } from "node:timers/promises";
import { startService } from "../../src/index.ts";
import { Client } from "../../test/support/client.ts";
import { head, RawConnection } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { Draw } from "./draw.ts";

const AT_ONCE = 8;
const PIECES_MAX = 6;

export async function raw(count: number, seed: string): Promise<Finding> {
  await using service = await startService({ rateLimit: "off" });
  const api = new Client({ baseUrl: service.baseUrl, key: service.apiKey });
  const whole = wholeRequests(api);
  const wrong: string[] = [];
  const draw = new Draw(seed);
  const cases = Array.from({ length: count }, () => {
    const bytes = draw.spoiled(Buffer.from(draw.one(whole), "latin1"));
    const cuts = Array.from({ length: draw.below(PIECES_MAX) }, () => draw.below(bytes.length + 1));
    const ends = [...cuts.sort((a, b) => a - b), bytes.length];
    return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
  });
  const statuses = new Map<number, number>();
  await pool(AT_ONCE, cases, async (pieces) => {
    try {
      for (const status of await answersTo(service.authUrl, pieces)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status >= 500 && status !== 501) throw new Error(`answered ${status}`);
      }
      if ((await api.get("/account")).status !== 200) throw new Error("the next client gets no answer");
    } catch (error) {
      wrong.push(`${JSON.stringify(pieces.map((piece) => piece.toString("latin1")))}\n    ${error}`);
    }
  });
  api.close();
  const seen = [...statuses].sort().map(([status, times]) => `${times} ${status}`);
  return { tried: `raw: ${count} spoiled requests by the seed ${seed}; answers: ${seen.join(", ")}`, wrong };
}

function wholeRequests(api: Client): readonly string[] {
  const post = (...lines: string[]) => head("POST /v1/apps", { api }, "content-type: application/json", ...lines);
  const title = '{"title":"Raw"}';
  const get = head("GET /v1/apps?limit=2", { api });
  return [
    get,
    get + get,
    head("GET http://localhost:80/v1/account", { api }, "connection: close"),
    post("content-length: 15") + title,
    post("content-length: 15", "expect: 100-continue") + title + get,
    post("transfer-encoding: chunked") +
      `5;a=b\r\n${title.slice(0, 5)}\r\na\r\n${title.slice(5)}\r\n0\r\nt: 1\r\n\r\n${get}`,
    `${post("transfer-encoding: chunked") + [...title].map((byte) => `1\r\n${byte}\r\n`).join("")}0\r\n\r\n`,
    head("POST /oauth/token", { api }, "content-type: application/x-www-form-urlencoded", "content-length: 7") +
      "a=%41&b",
  ];
}

/** The statuses of what is answered until the server closes. */
async function answersTo(address: string, pieces: readonly Buffer[]): Promise<number[]> {
  const connection = await RawConnection.open(address);
  for (const piece of pieces) {
    connection.write(piece);
    await turn();
  }
  connection.end();
  const statuses: number[] = [];
  for (;;) {
    const answer = await connection.answer().catch((error: Error) => error);
    if (!(answer instanceof Error)) statuses.push(answer.status);
    else if (answer.message === 'closed after ""') break;
    else throw answer;
  }
  connection.destroy();
  return statuses;
}
