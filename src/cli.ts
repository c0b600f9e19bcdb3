// The command line (contract, part 1): turns flags and environment variables into settings, starts the service, prints
// the ready lines once it listens, and stops it on a signal.
import { once } from "node:events";
import { styleText } from "node:util";
import { EXAMPLE_APP } from "./domain/apps.ts";
import { isStoreError } from "./domain/store.ts";
import { type Flags, type FlagTypes, parseFlags } from "./flags.ts";
import { PATHS } from "./http/message.ts";
import { OptionError, suggest } from "./lib/schema.ts";
import { VERSION } from "./lib/version.ts";
import { escapeControl, stdio } from "./log.ts";
import { type Label, readSettings, SETTINGS, type SettingName, type Settings } from "./options.ts";
import { startWithSettings } from "./server.ts";
import type { Service } from "./testing/service.ts";

/** Exit codes let a script distinguish a wrong flag from a port in use. */
const EXIT = { stopped: 0, failed: 1, wrongUse: 2 };

const RECEIVER = "receiver";

/** Every setting with a flag: its name, flag, environment variable and placeholder. */
const FLAGS = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) => {
  const { usage, help } = SETTINGS[name];
  if (usage === "") return [];
  const [flag = "", placeholder] = usage.replace("--", "").split(" ");
  const variable = `APPHOST_${flag.replaceAll("-", "_").toUpperCase()}`;
  return [{ name, usage, flag, variable, isSwitch: placeholder === undefined, help }];
});

const FLAG_TYPES: FlagTypes = {
  version: { type: "boolean", short: "v" },
  ...Object.fromEntries(
    FLAGS.map(({ flag, isSwitch }) => [flag, { type: isSwitch ? "boolean" : "string" }]),
  ),
  port: { type: "string", short: "p" },
  variant: { type: "string", multiple: true },
};

export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may leave, as in `| head -1`. The server keeps running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const signal = firstSignal();
  try {
    const running = await runCommand(args);
    if (running === undefined) return;
    await signal;
    await running.close();
    process.exit(EXIT.stopped);
  } catch (error) {
    // One line for an error that the user can fix. Arguments are not repeated, because one may be a key.
    const isWrongUse = error instanceof OptionError;
    const message = error instanceof Error ? error.message.replaceAll("\n", " ") : String(error);
    const line = isWrongUse ? `${message.replace(/[^.?]$/, "$&.")} See --help.` : message;
    process.exitCode = isWrongUse ? EXIT.wrongUse : EXIT.failed;
    stdio.err(escapeControl(line));
  }
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves at the first signal, even during the start; the next one ends the process at once. */
async function firstSignal(): Promise<void> {
  await Promise.race(SIGNALS.map((signal) => once(process, signal)));
  for (const signal of SIGNALS) process.removeAllListeners(signal);
}

/** Starts the server or a receiver; returns undefined if the arguments only ask for a text. */
async function runCommand(
  args: readonly string[],
): Promise<{ close(): Promise<void> } | undefined> {
  const [command = "", ...rest] = args;
  if (command === "" || command.startsWith("-")) return runServer(args);
  if (command !== RECEIVER)
    throw new OptionError(`There is no command ${command}${suggest(command, [RECEIVER])}`);
  const { runReceiver } = await import("./receiver-command.ts");
  return runReceiver(rest, stdio.out).catch((error) => {
    throw explainStartError(error, (name) => `--${name}`);
  });
}

async function runServer(args: readonly string[]): Promise<Service | undefined> {
  const flags = parseFlags(args, FLAG_TYPES);
  if (flags.help || flags.version) {
    stdio.out(flags.help ? helpText() : VERSION);
    return undefined;
  }
  const { values, label } = readFlagsAndVariables(flags, process.env);
  const settings = readSettings(values, label);
  try {
    const service = await startWithSettings(settings, false);
    stdio.out(readyText(service, settings));
    return service;
  } catch (error) {
    throw explainStartError(error, label);
  }
}

/** A flag goes before its variable. An empty variable counts as unset. Errors use the name that was given. */
function readFlagsAndVariables(flags: Flags, env: NodeJS.ProcessEnv) {
  const variables = FLAGS.map(({ variable }) => variable);
  for (const name of Object.keys(env))
    if (name.startsWith("APPHOST_") && !variables.includes(name))
      throw new OptionError(`There is no variable ${name}${suggest(name, variables)}`);
  const values: Record<string, unknown> = {};
  const labels = new Map<SettingName, string>();
  for (const { name, flag, variable } of FLAGS) {
    const candidates = name === "port" ? [variable, "PORT"] : [variable];
    const usedVariable =
      flags[flag] === undefined ? candidates.find((candidate) => env[candidate]) : undefined;
    values[name] = usedVariable ? env[usedVariable] : flags[flag]?.toString();
    labels.set(name, usedVariable ?? `--${flag}`);
  }
  const label: Label = (name) => labels.get(name) ?? name;
  return { values, label };
}

function helpText(): string {
  const rows = FLAGS.map(({ flag, usage, help }) => {
    const shortForm = flag === "port" ? "-p, " : "";
    return `  ${`${shortForm}${usage}`.padEnd(30)}${help}`;
  });
  return [
    "app-hosting-service: the reference server of the Application Hosting Service",
    "",
    "Usage: app-hosting-service [flags]     each flag is also an environment variable: --rate-limit is APPHOST_RATE_LIMIT",
    "       app-hosting-service receiver    starts a receiver of webhooks; receiver --help lists its flags",
    "",
    ...rows,
    "  -h, --help     -v, --version",
  ].join("\n");
}

/** Returns everything needed for a first request, and a curl command that works. */
function readyText(service: Service, settings: Settings): string {
  const { baseUrl, authUrl, apiKey } = service;
  const { data, store, tlsCert, publicUrl } = settings;
  const dashboardUrl = authUrl + PATHS.dashboard;
  // With a public URL, the operator of the proxy needs the local port.
  const port = publicUrl === null ? undefined : service.port;
  if (settings.log === "json")
    return JSON.stringify({
      event: "ready",
      base_url: baseUrl,
      auth_url: authUrl,
      dashboard_url: dashboardUrl,
      api_key: apiKey,
      pid: process.pid,
      port,
    });
  const row = (name: string, value: string | number) =>
    `  ${styleText("dim", name.padEnd(10))}${escapeControl(String(value))}`;
  // Brackets of an IPv6 address are a pattern in some shells.
  const address = `${baseUrl}/apps`.replace(/[[\]]/g, "\\$&");
  const curl = tlsCert === null ? "curl" : "curl --insecure";
  const body = JSON.stringify(EXAMPLE_APP);
  return [
    styleText("bold", "App Hosting Service is ready."),
    row("Base URL", baseUrl),
    row("Auth URL", authUrl),
    row("Dashboard", dashboardUrl),
    ...(port === undefined ? [] : [row("Port", port)]),
    row("API key", apiKey ?? "unchanged (only its hash is stored; set one with --api-key)"),
    row("Data", data ?? (store === null ? "in memory; --data FILE keeps them" : String(store))),
    "",
    `  ${curl} ${address} -H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" -H "Content-Type: application/json" -d '${body}'`,
    "",
  ].join("\n");
}

const PORT_ADVICE = "Choose another with --port, or 0 for any free port.";

/** Replaces an error of the operating system by one that names the setting and what to do. */
function explainStartError(error: unknown, label: Label): unknown {
  if (!(error instanceof Error)) return error;
  const { code, port, syscall }: NodeJS.ErrnoException & { port?: number } = error;
  if (port && (code === "EADDRINUSE" || code === "EACCES"))
    return new Error(`Port ${port} is in use or not allowed (${code}). ${PORT_ADVICE}`);
  if (syscall === "listen" || syscall === "getaddrinfo")
    return new OptionError(
      `${label("host")} must be an address of this machine (${code}), such as localhost or 0.0.0.0`,
    );
  // A system error means that --data names an impossible place; a damaged file is no error of the flag.
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return isStoreError(error, "StoreOpenError") && cause?.syscall
    ? new OptionError(`${label("data")}: ${error.message}`)
    : error;
}
