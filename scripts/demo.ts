// `npm run demo`: walks through the nine parts of the specification on a live server and a live receiver, with the
// requests of the tour (/docs/tour). It prints what each part says, by the ids of its clauses (`npm test -- --name ID`
// runs their tests), and checks the response. With --step it waits for Enter after each part. The first mismatch ends it
// with exit code 1.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { STATUS_CODES } from "node:http";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { startReceiver } from "../src/receiver.ts";
import { PARTS, type Part } from "../src/web/docs/tour-content.ts";
import { str } from "../test/support/client.ts";
import { embedded } from "../test/support/embedded.ts";
import { shows } from "../test/support/process.ts";
import { flagOption, parseOptions } from "./arguments.ts";

/** The secret and the receiver of the tour's webhook. */
const SECRET = "between-us";
const RECEIVER = "http://localhost:4700/";

const [{ step: isPaused = false }] = parseOptions("demo [-- --step]", { step: flagOption() });
const lines = isPaused ? createInterface(process.stdin)[Symbol.asyncIterator]() : undefined;
const startedAt = performance.now();
await using server = await embedded();
const { service, api, authUrl } = server;
await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
console.log(`Server ${authUrl}, receiver ${receiver.url}, and a clock that is moved by hand.`);

const say = (id: string, text: string) => console.log(`  ${styleText("cyan", id)} ${text}`);
let appId = "";

/** Sends the request of the part, and checks the response against the lines of the tour. */
async function send({ request, body, anonymous, response }: Part) {
  const here = (text: string) =>
    text.replace("$APP_ID", appId).replaceAll("$URL", authUrl).replaceAll(RECEIVER, receiver.url);
  const [method = "", path = ""] = here(request).split(" ");
  const sent = body === undefined ? undefined : here(body);
  const client = anonymous ? api.root.as(null) : api.root;
  const { status, headers, text } = await client.call(method, path, sent && JSON.parse(sent));
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const output = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...head, text].join("\n");
  console.log(`\n    ${styleText("bold", `${method} ${path}`)} ${sent ?? ""}`);
  console.log(`    ${styleText(status < 300 ? "green" : "yellow", String(status))} ${text}`);
  shows(output, here(response.join("\n")));
  appId ||= /app_\w{20,}/.exec(text)?.[0] ?? "";
}

/** Creates an app, whose event fails twice, and checks what the receiver got. */
async function deliver() {
  console.log("\n    An app is created; the receiver answers 500, 503 and 204.");
  await api.create("/apps", { title: "Delivered" });
  await service.settled();
  const retries = [
    ...(await service.clock.advance("10s")),
    ...(await service.clock.advance("10m")),
  ];
  const [event] = receiver.received;
  assert.ok(event);
  const { rawBody, attempts } = event;
  say("6.envelope", rawBody);
  const signature = str(attempts[0]?.headers["x-service-signature"]);
  const command = `printf %s '${rawBody}' | openssl dgst -sha256 -hmac '${SECRET}'`;
  const { status, stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  say("6.signature", signature);
  console.log(
    `    ${command}\n    ${status === 127 ? "(openssl is not installed)" : stdout.trim()}`,
  );
  assert.ok(status === 127 || stdout.trim().endsWith(signature.slice("sha256=".length)));
  assert.deepEqual(
    attempts.map(({ answer }) => answer),
    [500, 503, 204],
  );
  for (const { at } of retries) say("6.retry-schedule", `decided here: sent again at ${at}`);
  assert.equal(retries.length, 2);
}

for (const [index, [title, part]] of Object.entries(PARTS).entries()) {
  console.log(`\n${styleText("bold", `${index + 1} ${title}`)}`);
  for (const [ids, sentence] of Object.entries(part.clauses)) say(ids, sentence);
  await send(part);
  if (title === "Events") await deliver();
  await lines?.next();
}
const ms = Math.round(performance.now() - startedAt);
console.log(`\nAll as expected, in ${ms} ms.`);
await lines?.return?.();
