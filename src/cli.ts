// The command line (contract, part 1): turns flags and environment variables into settings, starts the service, prints
// the ready lines once it listens, and stops it on a signal.
import { once } from "node:events";
import { styleText } from "node:util";
import { EXAMPLE_APP } from "./domain/apps.ts";
import { StoreOpenError } from "./domain/store.ts";
import { PATHS } from "./http/message.ts";
import { OptionError, suggest } from "./lib/schema.ts";
import { VERSION } from "./lib/version.ts";
import { escapeControl, stdio } from "./log.ts";
import {
  type FlagTypes,
  type Label,
  parseFlags,
  readSettings,
  SETTINGS,
  type SettingName,
  type Settings,
} from "./options.ts";
import { startWithSettings } from "./server.ts";
import type { Service } from "./testing/service.ts";

/** Exit codes let a script distinguish a wrong flag from a port in use. */
const EXIT = { stopped: 0, failed: 1, wrongUse: 2 };

/** Every setting with a flag: its name, flag, environment variable and help text. */
const FLAGS = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) => {
  const { usage, help } = SETTINGS[name];
  if (usage === "") return [];
  const [flag = "", placeholder] = usage.replace("--", "").split(" ");
  const type = placeholder === undefined ? "boolean" : "string";
  const variable = `APPHOST_${flag.replaceAll("-", "_").toUpperCase()}`;
  return [{ name, usage, flag, variable, type, help } as const];
});

const FLAG_TYPES: FlagTypes = {
  version: { type: "boolean", short: "v" },
  ...Object.fromEntries(FLAGS.map(({ flag, type }) => [flag, { type }])),
  port: { type: "string", short: "p" },
  variant: { type: "string", multiple: true },
};

export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may leave, as in `| head -1`. The server keeps running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const signal = firstSignal();
  try {
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

async function runReceiver(args: readonly string[]) {
  const { runReceiver } = await import("./receiver-command.ts");
  return runReceiver(args, stdio.out).catch((error) => {
    throw explainListenError(error, "--host");
  });
}

/** Starts the server; returns undefined if the arguments only ask for a text. */
async function runServer(args: readonly string[]): Promise<Service | undefined> {
  const flags = parseFlags(args, FLAG_TYPES);
  if (flags.help || flags.version) {
    stdio.out(flags.help ? helpText() : VERSION);
    return undefined;
  }
  const { values, label } = mergeVariables(flags, process.env);
  const settings = readSettings(values, label);
  try {
    const service = await startWithSettings(settings, false);
    stdio.out(readyText(service, settings));
    return service;
  } catch (error) {
    const isDataFile = settings.data !== null;
    throw isDataFile && isRefusedPath(error)
      ? new OptionError(`${label("data")}: ${error.message}`)
      : explainListenError(error, label("host"));
  }
}

/** A flag takes precedence over its variable, and an empty variable counts as unset. Errors name the one in use. */
function mergeVariables(flags: ReturnType<typeof parseFlags>, env: NodeJS.ProcessEnv) {
  const variables = FLAGS.map(({ variable }) => variable);
  for (const name of Object.keys(env))
    if (name.startsWith("APPHOST_") && !variables.includes(name))
      throw new OptionError(`There is no variable ${name}${suggest(name, variables)}`);
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
  const { baseUrl, authUrl, apiKey } = service;
  const dashboardUrl = authUrl + PATHS.dashboard;
  if (log === "json")
    return JSON.stringify({
      event: "ready",
      base_url: baseUrl,
      auth_url: authUrl,
      dashboard_url: dashboardUrl,
      api_key: apiKey,
      pid: process.pid,
    });
  const row = (name: string, value: unknown) =>
    `  ${styleText("dim", name.padEnd(10))}${escapeControl(String(value))}`;
  // Brackets of an IPv6 address are a pattern in some shells.
  const address = `${baseUrl}/apps`.replace(/[[\]]/g, "\\$&");
  const curl = tlsCert === null ? "curl" : "curl --insecure";
  const headers = `-H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" -H "Content-Type: application/json"`;
  return [
    styleText("bold", "App Hosting Service is ready."),
    row("Base URL", baseUrl),
    row("Auth URL", authUrl),
    row("Dashboard", dashboardUrl),
    row("API key", apiKey ?? "unchanged (only its hash is stored; set one with --api-key)"),
    row("Data", data ?? store ?? "in memory; --data FILE keeps them"),
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
