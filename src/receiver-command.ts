// The `receiver` command: starts a receiver for a webhook and prints each delivery with its verdict.
import { parseFlags } from "./flags.ts";
import { OptionError } from "./lib/schema.ts";
import { escapeControl } from "./log.ts";
import { OPTIONS, parseOption } from "./options.ts";
import { type Receiver, type ReceiverAnswer, type SeenRequest, startReceiver } from "./receiver.ts";

const DEFAULTS = { port: "4700", host: "127.0.0.1", answers: "200" };

const USAGE = `Usage: app-hosting-service receiver --secret TEXT [flags]

  --secret TEXT                 the secret of the webhook
  -p, --port N                  port to listen on; 0 for any free one (${DEFAULTS.port})
  --host ADDRESS                address to listen on (${DEFAULTS.host})
  --answers LIST                statuses, or hang, such as 500,hang,200; the last one repeats (${DEFAULTS.answers})
  -h, --help`;

/** Starts the receiver; returns undefined if only the usage was requested. */
export async function openReceiver(
  args: readonly string[],
  print: (line: string) => void,
): Promise<Receiver | undefined> {
  const text = { type: "string" } as const;
  const flags = parseFlags(args, {
    secret: text,
    port: { ...text, short: "p" },
    host: text,
    answers: text,
  });
  if (flags.help) {
    print(USAGE);
    return undefined;
  }
  const { secret = "", port, host, answers } = { ...DEFAULTS, ...flags };
  if (typeof secret !== "string" || secret === "")
    throw new OptionError("--secret is missing: give the secret of the webhook");
  const receiver = await startReceiver({
    secret,
    port: Number(parseOption(OPTIONS.port, port, "--port")),
    host: String(parseOption(OPTIONS.host, host, "--host")),
    answers: answers.split(",").map(parseAnswer),
    onRequest: (request) => print(described(request)),
  });
  print(`Listening on ${receiver.url}`);
  return receiver;
}

function parseAnswer(text: string): ReceiverAnswer {
  const word = text.trim();
  if (!/^(hang|[2-5]\d\d)$/.test(word))
    throw new OptionError(
      "--answers must be statuses from 200 to 599, or hang, with commas between them",
    );
  return word === "hang" ? word : Number(word);
}

function described({ result: verdict, headers, rawBody, answer }: SeenRequest): string {
  const { "x-service-event": event = "?", "x-service-attempt": attempt = "?" } = headers;
  const outcome = answer === "hang" ? "no answer" : `answered ${answer}`;
  return `${escapeControl(`${event}, attempt ${attempt}: ${verdict}, ${outcome}`)}\n  ${escapeControl(rawBody)}`;
}
