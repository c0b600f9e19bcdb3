// Attacks that no HTTP client would make: corrupted requests, sent in pieces, must get a response, or the connection
// must close. No 5xx is allowed, nothing may hang, and the next client must be served.
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import fc, { type Arbitrary } from "fast-check";
import { type Embedded, embedded } from "../../test/support/embedded.ts";
import { head, post, RawConnection } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { spoiledBytes } from "./arbitrary.ts";

const AT_ONCE = 8;

export async function spoiled(count: number, seed: number): Promise<Finding> {
  await using own = await embedded({ rateLimit: "off" });
  const cases = fc.sample(piecesOf(wholeRequests(own)), { numRuns: count, seed });
  const wrong: string[] = [];
  await pool(AT_ONCE, cases, async (pieces) => {
    try {
      await sendPieces(own.authUrl, pieces);
      assert.equal((await own.api.get("/account")).status, 200, "the next client");
    } catch (error) {
      wrong.push(`${JSON.stringify(pieces.map(String))}\n    ${error}`);
    }
  });
  return { what: "Requests spoiled on the wire", tried: `${count}`, wrong };
}

/** Corrupted requests, cut into pieces. */
const piecesOf = (requests: readonly string[]): Arbitrary<Buffer[]> =>
  fc
    .constantFrom(...requests)
    .chain((request) => spoiledBytes(Buffer.from(request)))
    .chain((bytes) =>
      fc.array(fc.nat(bytes.length), { maxLength: 5 }).map((cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), bytes.length];
        return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
      }),
    );

function wholeRequests(own: Embedded) {
  const title = '{"title":"Raw"}';
  const get = head("GET /v1/apps?limit=2", own);
  const chunks = [...title].map((byte) => `1;a=b\r\n${byte}\r\n`).join("");
  return [
    get + get,
    post(own, "content-length: 15", "expect: 100-continue") + title + get,
    `${post(own, "transfer-encoding: chunked")}${chunks}0\r\nt: 1\r\n\r\n${get}`,
    head("GET http://localhost:80/v1/account", own, "connection: close"),
  ];
}

/** Sends the pieces and reads all responses until the server closes the connection. */
async function sendPieces(address: string, pieces: readonly Buffer[]) {
  const connection = await RawConnection.open(address);
  for (const piece of pieces) {
    connection.write(piece);
    await turn();
  }
  connection.socket.end();
  for (;;) {
    const answer = await connection.answer().catch((error: Error) => error);
    if (answer instanceof Error) return assert.equal(answer.message, 'closed after ""');
    assert.ok(answer.status < 500, `answered ${answer.status}`);
    // Node's own response to a spoiled Expect is chunked, which a RawConnection does not read.
    if (answer.status === 417) return void connection.socket.destroy();
  }
}
