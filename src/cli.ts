// The command line: the server and the receiver of webhooks. It turns flags and environment variables into settings,
// prints the ready lines once the server listens, and stops on a signal.
import { once } from "node:events";
import { type ParseArgsConfig, parseArgs, styleText } from "node:util";
import { EXAMPLE_APP } from "./domain/apps.ts";
import { StoreOpenError } from "./domain/store.ts";
import { PATHS } from "./http/message.ts";
import { OptionError, suggest } from "./lib/schema.ts";
import { VERSION } from "./lib/version.ts";
import { escapeControl, stdio } from "./log.ts";
import {
  type Label,
  parseSetting,
  readSettings,
  SETTINGS,
  type SettingName,
  type Settings,
} from "./options.ts";
import type { SeenRequest } from "./receiver.ts";
import { startWithSettings } from "./server.ts";
import type { Service } from "./testing/service.ts";

/** Exit codes let a script distinguish a wrong flag from a port in use. */
const EXIT = { stopped: 0, failed: 1, wrongUse: 2 };

/** Every setting with a flag: its name, flag, environment variable and help text. */
const FLAGS = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) => {
  const { usage, help } = SETTINGS[name];
  if (usage === "") return [];
  const [flag = "", placeholder] = usage.replace("--", "").split(" ");
  const type = placeholder ? "string" : "boolean";
  const variable = `APPHOST_${flag.replaceAll("-", "_").toUpperCase()}`;
  return [{ name, usage, flag, variable, type, help } as const];
});

type FlagTypes = NonNullable<ParseArgsConfig["options"]>;

const SERVER_FLAGS: FlagTypes = {
  version: { type: "boolean", short: "v" },
  ...Object.fromEntries(FLAGS.map(({ flag, type }) => [flag, { type }])),
  port: { type: "string", short: "p" },
  variant: { type: "string", multiple: true },
};

const RECEIVER_FLAGS: FlagTypes = {
  secret: { type: "string" },
  port: { type: "string", short: "p", default: "4700" },
  host: { type: "string", default: "127.0.0.1" },
  answers: { type: "string", default: "200" },
};

const RECEIVER_HELP = [
  "Usage: app-hosting-service receiver --secret TEXT [flags]",
  "",
  "  --secret TEXT                 the secret of the webhook",
  "  -p, --port N                  port to listen on; 0 for any free one (4700)",
  "  --host ADDRESS                address to listen on (127.0.0.1)",
  "  --answers LIST                statuses, or hang, such as 500,hang,200; the last one repeats (200)",
  "  -h, --help",
].join("\n");

export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may leave, as in `| head -1`. The server keeps running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const signal = firstSignal();
  try {
    checkVariables(process.env);
    const [command, ...rest] = args;
    const running = command === "receiver" ? await runReceiver(rest) : await runServer(args);
    if (running === undefined) return;
    await signal;
    await running.close();
    process.exit(EXIT.stopped);
  } catch (error) {
    // One line for an error that the user can fix. Arguments are not repeated, because one may be a key.
    const isWrongUse = error instanceof OptionError;
    const message = error instanceof Error ? error.message.replaceAll("\n", " ") : String(error);
    process.exitCode = isWrongUse ? EXIT.wrongUse : EXIT.failed;
    stdio.err(escapeControl(isWrongUse ? `${message} (see --help)` : message));
  }
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves at the first signal, even during the start; the next one ends the process at once. */
async function firstSignal(): Promise<void> {
  await Promise.race(SIGNALS.map((signal) => once(process, signal)));
  for (const signal of SIGNALS) process.removeAllListeners(signal);
}

/** Parses the flags of a command, by long name; `--help` and `-h` are always known. */
function parseFlags(args: readonly string[], flagTypes: FlagTypes) {
  const options: FlagTypes = { help: { type: "boolean", short: "h" }, ...flagTypes };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    // The first sentence; the rest explains Node's API.
    const [message = ""] = (error as Error).message.split(". ");
    const [, unknown = ""] =
      /^(?:Unknown option|Unexpected argument) '([^']*)'/.exec(message) ?? [];
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new OptionError(message + suggest(unknown, ["receiver", ...names]));
  }
}

/** Starts the receiver, which prints each delivery; returns undefined if the arguments only ask for help. */
async function runReceiver(args: readonly string[]) {
  const { help, secret, port, host, answers } = parseFlags(args, RECEIVER_FLAGS);
  if (help) {
    stdio.out(RECEIVER_HELP);
    return undefined;
  }
  const { startReceiver } = await import("./receiver.ts");
  const receiver = await startReceiver({
    secret: String(secret ?? ""),
    port: Number(parseSetting("port", port, "--port")),
    host: String(parseSetting("host", host, "--host")),
    answers: String(answers)
      .split(",")
      .map((answer) => (answer === "hang" ? answer : Number(answer))),
    onRequest: (request) => stdio.out(describeDelivery(request)),
  }).catch((error) => {
    throw error instanceof OptionError
      ? new OptionError(`--${error.message}`)
      : explainListenError(error, "--host");
  });
  stdio.out(`Listening on ${receiver.url}`);
  return receiver;
}

function describeDelivery({ result, headers, rawBody, answer }: SeenRequest): string {
  const { "x-service-event": event = "?", "x-service-attempt": attempt = "?" } = headers;
  const outcome = answer === "hang" ? "no answer" : `answered ${answer}`;
  return `${escapeControl(`${event}, attempt ${attempt}: ${result}, ${outcome}`)}\n  ${escapeControl(rawBody)}`;
}

/** Starts the server; returns undefined if the arguments only ask for a text. */
async function runServer(args: readonly string[]): Promise<Service | undefined> {
  const flags = parseFlags(args, SERVER_FLAGS);
  if (flags.help || flags.version) {
    stdio.out(flags.help ? helpText() : VERSION);
    return undefined;
  }
  const { values, label } = mergeVariables(flags, process.env);
  const settings = readSettings(values, label);
  try {
    const service = await startWithSettings(settings, false, label);
    stdio.out(readyText(service, settings));
    return service;
  } catch (error) {
    throw settings.data !== null && isRefusedPath(error)
      ? new OptionError(`${label("data")}: ${error.message}`)
      : explainListenError(error, label("host"));
  }
}

/** Reports an unknown variable, such as one with a typo. */
function checkVariables(env: NodeJS.ProcessEnv): void {
  const variables = FLAGS.map(({ variable }) => variable);
  for (const name of Object.keys(env))
    if (name.startsWith("APPHOST_") && !variables.includes(name))
      throw new OptionError(`There is no variable ${name}${suggest(name, variables)}`);
}

/** A flag takes precedence over its variable, and an empty variable counts as unset. Errors name the one in use. */
function mergeVariables(flags: ReturnType<typeof parseFlags>, env: NodeJS.ProcessEnv) {
  const values: Record<string, unknown> = {};
  const labels: Partial<Record<SettingName, string>> = {};
  for (const { name, flag, variable } of FLAGS) {
    const fromFlag = flags[flag]?.toString();
    const source = name === "port" && !env[variable] ? "PORT" : variable;
    const fromEnvironment = env[source] || undefined;
    values[name] = fromFlag ?? fromEnvironment;
    labels[name] = fromFlag === undefined && fromEnvironment ? source : `--${flag}`;
  }
  const label: Label = (name) => labels[name] ?? name;
  return { values, label };
}

function helpText(): string {
  return [
    "app-hosting-service: the reference server of the Application Hosting Service",
    "",
    "Usage: app-hosting-service [flags]     each flag is also an environment variable: --rate-limit is APPHOST_RATE_LIMIT",
    "       app-hosting-service receiver    starts a receiver of webhooks; receiver --help lists its flags",
    "",
    ...FLAGS.map(({ usage, help }) => `  ${usage.padEnd(28)}${help}`),
    "  -p is --port, -h is --help, -v is --version",
  ].join("\n");
}

/** Returns everything needed for a first request, and a curl command that works. */
function readyText(service: Service, { log, data, store, tlsCert }: Settings): string {
  const { baseUrl: base_url, authUrl: auth_url, apiKey: api_key } = service;
  const dashboard_url = auth_url + PATHS.dashboard;
  const { pid } = process;
  if (log === "json")
    return JSON.stringify({ event: "ready", base_url, auth_url, dashboard_url, api_key, pid });
  const rows = {
    "Base URL": base_url,
    "Auth URL": auth_url,
    Dashboard: dashboard_url,
    "API key": api_key ?? "unchanged (only its hash is stored; set one with --api-key)",
    Data: String(data ?? store ?? "in memory; --data FILE keeps them"),
  };
  // Brackets of an IPv6 address are a pattern in some shells.
  const address = `${base_url}/apps`.replace(/[[\]]/g, "\\$&");
  const curl = tlsCert === null ? "curl" : "curl --insecure";
  const headers = `-H "Authorization: Bearer ${api_key ?? "$API_KEY"}" -H "Content-Type: application/json"`;
  return [
    styleText("bold", "App Hosting Service is ready."),
    ...Object.entries(rows).map(
      ([name, value]) => `  ${styleText("dim", name.padEnd(10))}${escapeControl(value)}`,
    ),
    "",
    `  ${curl} ${address} ${headers} -d '${JSON.stringify(EXAMPLE_APP)}'`,
    "",
  ].join("\n");
}

const PORT_ADVICE = "is in use or not allowed. Choose another with --port, or 0 for any free port.";

/** Replaces an error of the operating system by one that names the setting and what to do. */
function explainListenError(error: unknown, hostLabel: string): unknown {
  const { code, port, syscall = "" } = error as NodeJS.ErrnoException & { port?: number };
  if (port && (code === "EADDRINUSE" || code === "EACCES"))
    return new Error(`Port ${port} ${PORT_ADVICE}`);
  return ["listen", "getaddrinfo"].includes(syscall)
    ? new OptionError(`${hostLabel} must be an address of this machine (${code})`)
    : error;
}

/** A path that the file system refuses is a wrong value; a locked or damaged file is not. */
function isRefusedPath(error: unknown): error is StoreOpenError {
  return error instanceof StoreOpenError && error.cause instanceof Error && "errno" in error.cause;
}
