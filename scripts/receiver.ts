// `npm run receiver -- --port 4700 --secret … [--answers 500,hang,200]`: a receiver to point a webhook at. It prints each
// delivery with its verdict.
import { escaped } from "../src/log.ts";
import { type ReceiverAnswer, type SeenRequest, startReceiver } from "../src/receiver.ts";
import { given, PORT, text } from "./arguments.ts";

const isScript = (value: string) => value.split(",").every((word) => /^ *(hang|[2-5]\d\d) *$/.test(word));
const ANSWERS = ["statuses and hang, with commas between them", isScript] as const;
const options = { port: text("", "", PORT), secret: text(), answers: text("", "", ANSWERS) };
const [values, wrong] = given("receiver -- --port 4700 --secret SECRET [--answers 500,hang,200]", options);

function print({ verdict, headers, rawBody, answer }: SeenRequest): void {
  const said = answer === "hang" ? "no answer" : `answered ${answer}`;
  const attempt = headers["x-service-attempt"] ?? "?";
  const event = headers["x-service-event"] ?? "?";
  console.log(`${escaped(`${event}, attempt ${attempt}: ${verdict}, ${said}`)}\n  ${escaped(rawBody)}`);
}

const { port = "4700", secret = "", answers = "200" } = values;
if (secret === "") wrong("--secret is missing: give the webhook's secret.");
const script = answers.split(",").map((word): ReceiverAnswer => (word.trim() === "hang" ? "hang" : Number(word)));
const receiver = await startReceiver({ secret, answers: script, port: Number(port), onRequest: print }).catch(
  ({ message }: Error) => wrong(`--port ${port} cannot be listened on: ${message}.`),
);
console.log(`Listening on ${receiver.url}`);
