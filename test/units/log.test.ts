// The log: text from other parties never reaches a terminal unescaped, in either format.
import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { runInNewContext } from "node:vm";
import { StorageUnavailable } from "../../src/domain/store.ts";
import { emptyResponse, type HttpRequest } from "../../src/http/message.ts";
import { AdjustableClock } from "../../src/lib/clock.ts";
import { createLogger, type LOG_FORMATS } from "../../src/log.ts";

/** Clears the screen, rings, deletes and starts a line; the last character is the C1 form of the first sequence. */
const HOSTILE = "a\u001b[2J\u0007\u007f\r\n00:00:00.000 GET / 200\u009b2J\t\u{e0041}";
const ESCAPED =
  "a\\u001b[2J\\u0007\\u007f\\u000d\\u000a00:00:00.000 GET / 200\\u009b2J\\u0009\\udb40\\udc41";

/** A duration in either format. */
const DURATION = /\b\d+\.\d ms|(?<="duration_ms":)\d+\.\d+/;

/** The lines of each kind; the time that the request took becomes 1.5 ms. */
async function lines(form: (typeof LOG_FORMATS)[number]) {
  const [out, err]: [string[], string[]] = [[], []];
  const console = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
  };
  const log = createLogger(form, new AdjustableClock(Date.UTC(2026, 0, 1, 10)), console);
  const request = { id: "req_1", method: "GET", path: HOSTILE } as HttpRequest;
  assert.equal((await log.wrap(async () => emptyResponse(0))(request)).status, 0);
  const [line] = out;
  if (line) out[0] = line.replace(DURATION, (text) => (text.endsWith("ms") ? "1.5 ms" : "1.5"));
  log.warn(HOSTILE);
  log.error(
    Object.assign(new Error(), { stack: `Error: ${HOSTILE}\n    at one\n    at two` }),
    HOSTILE,
  );
  log.error(HOSTILE, "text");
  for (const outcome of [
    { duration_ms: 17, response_status: 302, error: "status", error_detail: HOSTILE },
    { duration_ms: 5, response_status: 200, error: null, error_detail: "\n    at " },
  ] as const)
    log.delivery({
      deliveryId: "dlv_1",
      type: "app.created",
      url: `http://localhost/${HOSTILE}?key=1`,
      timestamp_s: 0,
      retryAt: null,
      attempt: {
        number: 2,
        trigger: "schedule",
        at: "2026-01-01T10:00:00.000Z",
        response_body: null,
        ...outcome,
      },
    });
  return [...out, ...err];
}

test("log: control characters from other parties are escaped, and the lines of a stack trace stay lines", async () => {
  const at = "10:00:00.000";
  // Only stdout is a terminal.
  delete process.env.FORCE_COLOR;
  process.stdout.isTTY = true;
  process.stderr.isTTY = false;
  const shown = (line: string) => stripVTControlCharacters(line.replace("\u001b[31m", "RED "));
  assert.deepEqual((await lines("pretty")).map(shown), [
    `${at} RED GET ${ESCAPED} 0 1.5 ms req_1`,
    `${at} RED app.created -> http://localhost/${ESCAPED} 302 17 ms, attempt 2: ${ESCAPED}`,
    `${at} app.created -> http://localhost/${ESCAPED} 200 5 ms, attempt 2: \\u000a    at `,
    `${at} warning ${ESCAPED}`,
    `${at} error ${ESCAPED}: Error: ${ESCAPED}\n    at one\n    at two`,
    `${at} error text: ${ESCAPED}`,
  ]);
});

test("log: in JSON format each line is one object with the original text in printable characters", async () => {
  const all = await lines("json");
  for (const line of all) assert.doesNotMatch(line, /\p{Cc}/u);
  const at = "2026-01-01T10:00:00.000Z";
  const sent = { id: "dlv_1", type: "app.created", url: `http://localhost/${HOSTILE}`, attempt: 2 };
  const objects = all.map((line) => JSON.parse(line));
  assert.deepEqual(objects, [
    {
      at,
      event: "request",
      id: "req_1",
      method: "GET",
      path: HOSTILE,
      status: 0,
      duration_ms: 1.5,
    },
    { at, event: "delivery", ...sent, outcome: "302", duration_ms: 17, error_detail: HOSTILE },
    { at, event: "delivery", ...sent, outcome: "200", duration_ms: 5, error_detail: "\n    at " },
    { at, event: "warning", message: HOSTILE },
    { at, event: "error", during: HOSTILE, error: `Error: ${HOSTILE}\n    at one\n    at two` },
    { at, event: "error", during: "text", error: HOSTILE },
  ]);
});

test("log: an unavailable store is logged on one line and other errors with their stack, whichever realm they come from", () => {
  const logged: string[] = [];
  const err = (line: string) => void logged.push(JSON.parse(line).error);
  const log = createLogger("json", new AdjustableClock(0), { out: assert.fail, err });
  log.error(new StorageUnavailable("The disk is full"), "req_1");
  log.error(runInNewContext("new TypeError('unforeseen')"), "req_2");
  assert.equal(logged[0], "StorageUnavailable: The disk is full");
  assert.match(logged[1] ?? "", /^TypeError: unforeseen\n {4}at /);
});

test("log: the level off logs nothing", async () => assert.deepEqual(await lines("off"), []));
