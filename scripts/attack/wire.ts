// Attacks that no HTTP client would make. Corrupted requests sent in pieces must get a response, or the connection must
// close. No 5xx is allowed, and nothing may hang. While other connections are
// silent, slow or never read, clients still get their responses, and the slots free up in time.
import assert from "node:assert/strict";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import fc, { type Arbitrary } from "fast-check";
import { LIMITS } from "../../src/http/request.ts";
import { type Embedded, embedded } from "../../test/support/embedded.ts";
import { account, head, post, RawConnection, rawAnswer } from "../../test/support/raw.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { corrupted } from "./arbitrary.ts";

const AT_ONCE = 8;

export async function spoiled(count: number, seed: number): Promise<Finding> {
  await using it = await embedded({ rateLimit: "off" });
  const { service, api } = it;
  const cases = fc.sample(piecesOf(wholeRequests(it)), { numRuns: count, seed });
  const wrong: string[] = [];
  await pool(AT_ONCE, cases, async (pieces) => {
    try {
      await answered(service.authUrl, pieces);
      assert.equal((await api.get("/account")).status, 200, "the next client");
    } catch (error) {
      wrong.push(
        `${JSON.stringify(pieces.map((piece) => piece.toString("latin1")))}\n    ${error}`,
      );
    }
  });
  return { what: "Requests spoiled on the wire", tried: `${count}`, wrong };
}

/** Corrupted requests, cut into pieces. */
const piecesOf = (requests: readonly string[]): Arbitrary<Buffer[]> =>
  fc
    .constantFrom(...requests)
    .chain((request) => corrupted(Buffer.from(request)))
    .chain((bytes) =>
      fc.array(fc.nat(bytes.length), { maxLength: 5 }).map((cuts) => {
        const ends = [...cuts.sort((a, b) => a - b), bytes.length];
        return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
      }),
    );

function wholeRequests(own: Embedded): readonly string[] {
  const title = '{"title":"Raw"}';
  const get = head("GET /v1/apps?limit=2", own);
  const chunks = [...title].map((byte) => `1;a=b\r\n${byte}\r\n`).join("");
  const chunked = `${post(own, "transfer-encoding: chunked")}${chunks}0\r\nt: 1\r\n\r\n${get}`;
  const expecting = post(own, "content-length: 15", "expect: 100-continue") + title + get;
  return [
    get + get,
    expecting,
    chunked,
    head("GET http://localhost:80/v1/account", own, "connection: close"),
  ];
}

/** Sends the pieces and reads all responses until the server closes the connection. */
async function answered(address: string, pieces: readonly Buffer[]): Promise<void> {
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
  }
}

/** The server checks for timeouts once a second. */
const OVER_MS = LIMITS.request_ms + 10_000;
/** This many responses of half a megabyte exceed the socket buffers between two processes. */
const PIPELINED = 12;

/** Each connection sends its bytes one at a time. */
export async function slow(
  connections: number,
  bytes: number,
  between_ms: number,
): Promise<Finding> {
  await using it = await embedded({ rateLimit: "off" });
  const { service, api } = it;
  await pool(AT_ONCE, Array(100), () =>
    api.create("/apps", { title: "T", description: "x".repeat(5_000) }),
  );
  const asking = account(it);
  const deaf = head("GET /v1/apps?limit=100", it).repeat(PIPELINED);
  const begun = post(it, "content-length: 999");
  const kinds = ["", begun, "", begun, "", begun, "", begun, deaf];
  const open = await pool(AT_ONCE, Array(connections).keys(), async (n) => {
    const connection = (await RawConnection.open(service.authUrl)).write(
      kinds[n % kinds.length] ?? "",
    );
    connection.socket.pause();
    return connection;
  });
  const wrong: string[] = [];
  const ask = async (when: string) => {
    const answer = await rawAnswer(service.authUrl, asking).catch((error: Error) => error);
    if (answer instanceof Error || answer.status !== 200) wrong.push(`${when}: ${answer}`);
  };
  for (let sent = 0; sent < bytes; sent += 1) {
    // Every second connection stays silent.
    for (const [n, connection] of open.entries())
      if (n % 2 === 0) connection.write(asking.slice(sent, sent + 1));
    await ask(`after ${sent} bytes`);
    await pause(between_ms);
  }
  const others = bytes * between_ms > OVER_MS ? LIMITS.connections - 1 : 0;
  await pool(others, Array(others), () => ask("when their time is over"));
  for (const connection of open) connection.socket.destroy();
  const tried = `${connections} connections, ${bytes} others beside them, ${others} after them`;
  return { what: "Slow and deaf connections", tried, wrong };
}
