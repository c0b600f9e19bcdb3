// `npm run receiver -- --port 4700 --secret … [--answers 500,hang,200]`: a receiver to point a webhook at. It prints each
// delivery with its verdict.
import { escaped } from "../src/log.ts";
import { type ReceiverAnswer, type SeenRequest, startReceiver } from "../src/receiver.ts";
import { given, text, wrongUse } from "./arguments.ts";

const USE = "Usage: npm run receiver -- --port 4700 --secret SECRET [--answers 500,hang,200]";

function readAnswer(word: string): ReceiverAnswer {
  if (word === "hang") return word;
  const status = Number(word);
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599;
  return isStatus ? status : wrongUse(`--answers: "${word}" is no status.`, USE);
}

function print({ verdict, headers, rawBody, answer }: SeenRequest): void {
  const said = answer === "hang" ? "no answer" : `answered ${answer}`;
  const attempt = headers["x-service-attempt"] ?? "?";
  const event = headers["x-service-event"] ?? "?";
  console.log(`${escaped(`${event}, attempt ${attempt}: ${verdict}, ${said}`)}\n  ${escaped(rawBody)}`);
}

const { port = "4700", secret = "", answers = "200" } = given({ port: text, secret: text, answers: text }, USE);
if (secret === "") wrongUse("--secret is missing: give the webhook's secret.", USE);
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) wrongUse(`--port: "${port}" is no port.`, USE);
const script = answers.split(",").map((answer) => readAnswer(answer.trim()));
const receiver = await startReceiver({ secret, answers: script, port: Number(port), onRequest: print }).catch(
  ({ message }: Error) => wrongUse(`--port ${port} cannot be listened on: ${message}.`, USE),
);
console.log(`Listening on ${receiver.url}`);
