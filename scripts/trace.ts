// `npm run trace REQUEST_ID`: prints the events of one request on a running server and every attempt to deliver them.
// It reads the test controls, so the server must run with --control. If the controls or the server do not respond, or
// the request id is unknown, it prints one line and exits with 2.

import { escapeControl } from "../src/log.ts";
import type { Trace } from "../src/testing/recorder.ts";
import { Client } from "../test/support/client.ts";
import { objectIn } from "../test/support/shown.ts";
import { HTTP_URL, parseOptions, textOption } from "./arguments.ts";

const options = {
  id: textOption(),
  "base-url": textOption("", "", HTTP_URL),
  "api-key": textOption(),
};
const [values, wrong] = parseOptions("trace REQUEST_ID -- --base-url URL --api-key KEY", options);
const { id = "", "base-url": url = "http://localhost:4600/v1", "api-key": key } = values;
if (!/^[\w-]+$/.test(id))
  wrong("The id of a request is missing: every answer has it in X-Request-Id.");

// fetch may never settle if the connection closes at once.
const client = new Client({
  baseUrl: url,
  key: key ?? process.env.APPHOST_API_KEY ?? null,
  patience_ms: 3_000,
});
const { status: code, text: body } = await client.root
  .get(`/_control/trace/${id}`)
  .catch(() => wrong(`Nothing answers at ${url}.`));
const said = objectIn(body);
if (code !== 200 || !said.request)
  wrong(escapeControl(String(said.detail ?? `${url} is no such server: it answered ${code}.`)));

const { request, events } = said as unknown as Trace;
const { method, path, query, at, status } = request;
const requestLine = `${method} ${path}${query === "" ? "" : `?${query}`}`;
const note = `${id}, ${at}, answered ${status ?? "nothing"}${events.length === 0 ? "; it led to no event" : ""}`;
for (const [step, line] of [...traceLines(`${requestLine} – ${note}`)].entries())
  console.log(`${step + 1}. ${escapeControl(line)}`);

/** The messages of the request and its effects. */
function* traceLines(request: string) {
  yield `Client → Service: ${request}`;
  for (const { event, deliveries } of events) {
    const none = deliveries.length === 0 ? ", sent to no webhook" : "";
    yield `Service: ${event.type} – ${event.id}, ${event.created}${none}`;
    for (const { webhook_id, attempts, status, next_attempt_at: next } of deliveries) {
      yield `Service: to ${webhook_id}`;
      for (const { number, trigger, at, response_status, error, duration_ms, chaos } of attempts) {
        const manual = trigger === "manual" ? ", manual" : "";
        yield `Service → Receiver: attempt ${number}${manual} – ${at}`;
        const effect = chaos ? `, ${chaos}` : "";
        yield `Receiver → Service: ${response_status ?? error} – ${duration_ms} ms${effect}`;
      }
      yield `Service: ${status}${next === null ? "" : ` – next attempt at ${next}; the schedule is our decision`}`;
    }
  }
}
