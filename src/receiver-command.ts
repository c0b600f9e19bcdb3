// The `receiver` command: starts a receiver for a webhook and prints each delivery with its result.
import { OptionError } from "./lib/schema.ts";
import { escapeControl } from "./log.ts";
import { parseFlags, parseSetting } from "./options.ts";
import { type Receiver, type SeenRequest, startReceiver } from "./receiver.ts";

const USAGE = [
  "Usage: app-hosting-service receiver --secret TEXT [flags]",
  "",
  "  --secret TEXT                 the secret of the webhook",
  "  -p, --port N                  port to listen on; 0 for any free one (4700)",
  "  --host ADDRESS                address to listen on (127.0.0.1)",
  "  --answers LIST                statuses, or hang, such as 500,hang,200; the last one repeats (200)",
  "  -h, --help",
].join("\n");

/** Starts the receiver; returns undefined if only the usage was requested. */
export async function runReceiver(
  args: readonly string[],
  print: (line: string) => void,
): Promise<Receiver | undefined> {
  const flags = parseFlags(args, {
    secret: { type: "string" },
    port: { type: "string", short: "p", default: "4700" },
    host: { type: "string", default: "127.0.0.1" },
    answers: { type: "string", default: "200" },
  });
  if (flags.help) {
    print(USAGE);
    return undefined;
  }
  const { secret, port, host, answers } = flags;
  if (typeof secret !== "string" || secret === "")
    throw new OptionError("--secret is missing. Give the secret of the webhook");
  const receiver = await startReceiver({
    secret,
    port: Number(parseSetting("port", port, "--port")),
    host: String(parseSetting("host", host, "--host")),
    answers: String(answers)
      .split(",")
      .map((answer) => (answer === "hang" ? answer : Number(answer))),
    onRequest: (request) => print(describeRequest(request)),
  });
  print(`Listening on ${receiver.url}`);
  return receiver;
}

function describeRequest({ result, headers, rawBody, answer }: SeenRequest): string {
  const { "x-service-event": event = "?", "x-service-attempt": attempt = "?" } = headers;
  const outcome = answer === "hang" ? "no answer" : `answered ${answer}`;
  return `${escapeControl(`${event}, attempt ${attempt}: ${result}, ${outcome}`)}\n  ${escapeControl(rawBody)}`;
}
