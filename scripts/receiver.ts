// `npm run receiver -- --port 4700 --secret … [--answers 500,hang,200]`: a receiver to point a webhook at. It prints each
// delivery with its verdict.
import { parseArgs } from "node:util";
import { type ReceiverAnswer, type SeenRequest, startReceiver } from "../src/receiver.ts";

const USAGE = "npm run receiver -- --port 4700 --secret SECRET [--answers 500,hang,200]";

function refuse(problem: string): never {
  console.error(`${problem} Usage: ${USAGE}`);
  process.exit(2);
}

function readAnswer(text: string): ReceiverAnswer {
  if (text === "hang") return text;
  const status = Number(text);
  return Number.isInteger(status) && status >= 200 && status <= 599
    ? status
    : refuse(`--answers: "${text}" is no status.`);
}

function readOptions() {
  try {
    const options = { port: { type: "string" }, secret: { type: "string" }, answers: { type: "string" } } as const;
    return parseArgs({ options }).values;
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : String(error)}.`);
  }
}

function print({ verdict, headers, rawBody, answer }: SeenRequest): void {
  const said = answer === "hang" ? "no answer" : `answered ${answer}`;
  const attempt = headers["x-service-attempt"] ?? "?";
  console.log(`${headers["x-service-event"] ?? "?"}, attempt ${attempt}: ${verdict}, ${said}\n  ${rawBody}`);
}

const { port = "4700", secret, answers = "200" } = readOptions();
if (secret === undefined || secret === "") refuse("--secret is missing: give the webhook's secret.");
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) refuse(`--port: "${port}" is no port.`);
const script = answers.split(",").map((answer) => readAnswer(answer.trim()));
const receiver = await startReceiver({ secret, answers: script, port: Number(port), onRequest: print }).catch(
  (error: Error) => refuse(`--port ${port} cannot be listened on: ${error.message}.`),
);
console.log(`Listening on ${receiver.url}`);
