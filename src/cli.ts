// The command line (contract, part 1): turns flags and environment into settings, starts the service, prints the ready
// lines once it listens, and stops it on a signal.
import { once } from "node:events";
import { type ParseArgsConfig, styleText } from "node:util";
import { exampleApp } from "./domain/apps.ts";
import { isStoreError } from "./domain/store.ts";
import { createDecide } from "./domain/variants.ts";
import { type Flags, parseFlags } from "./flags.ts";
import { PATHS } from "./http/urls.ts";
import { OptionError, suggest } from "./lib/schema.ts";
import { VERSION } from "./lib/version.ts";
import { escapeControl } from "./log.ts";
import { OPTIONS, readSettings, redactLocation, type Settings } from "./options.ts";
import { startWithSettings, stdio } from "./server.ts";
import type { Service } from "./testing/service.ts";

/** Exit codes let a script distinguish a wrong flag from a port in use. */
const EXIT = { stopped: 0, failed: 1, wrong_use: 2 };

const FLAGS = Object.entries(OPTIONS).filter(([, { flag }]) => flag !== "");

/** `--port`, `--help` and `--version` have a short form each. */
const FLAG_TYPES: NonNullable<ParseArgsConfig["options"]> = {
  version: { type: "boolean", short: "v" },
  ...Object.fromEntries(
    FLAGS.map(([, { flag, placeholder: takes }]) => [
      flag,
      { type: takes === "" ? "boolean" : "string" },
    ]),
  ),
  [OPTIONS.port.flag]: { type: "string", short: "p" },
  [OPTIONS.readings.flag]: { type: "string", multiple: true },
};

const RECEIVER = "receiver";

export async function main(args: readonly string[]): Promise<void> {
  // The reader of the output may leave (`| head -1`, a script that needs only the first line). The server keeps
  // running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    const signal = firstSignal();
    const running = await open(args);
    if (running === undefined) return;
    await signal;
    await running.close();
    process.exit(EXIT.stopped);
  } catch (error) {
    // One line for an error the user can fix. Arguments are not repeated, because one may be a key.
    const [exit, line] = describeFailure(error, (flag) =>
      args.join().includes(`--${flag}`) ? `--${flag}` : toVariableName(flag),
    );
    process.exitCode = exit;
    stdio.err(escapeControl(line.replaceAll("\n", " ")));
  }
}

/** Opens the server or a receiver; returns undefined if the arguments only ask for text. */
async function open(args: readonly string[]): Promise<{ close(): Promise<void> } | undefined> {
  const [command = "", ...rest] = args;
  if (command === "" || command.startsWith("-")) return openServer(args);
  if (command === RECEIVER)
    return (await import("./receiver-command.ts")).openReceiver(rest, stdio.out);
  throw new OptionError(`There is no command ${command}${suggest(command, [RECEIVER])}`);
}

async function openServer(args: readonly string[]): Promise<Service | undefined> {
  const flags = parseFlags(args, FLAG_TYPES);
  const text = flags.help ? usage() : flags.version && VERSION;
  if (typeof text === "string") {
    stdio.out(text);
    return undefined;
  }
  const settings = toSettings(flags, process.env);
  const service = await startWithSettings(settings, settings.control, stdio.err);
  stdio.out(ready(service, settings));
  return service;
}

/** Prefix of our environment variables. */
const PREFIX = "APPHOST_";
const toVariableName = (flag: string): string =>
  `${PREFIX}${flag.replaceAll("-", "_").toUpperCase()}`;

/**
 * Reads a flag, or else its variable (APPHOST_… or PORT); an empty variable counts as unset. Errors use the name that
 * was given.
 */
function toSettings(flags: Flags, env: NodeJS.ProcessEnv): Settings {
  const known = FLAGS.map(([, { flag }]) => toVariableName(flag));
  for (const name of Object.keys(env))
    if (name.startsWith(PREFIX) && !known.includes(name))
      throw new OptionError(`There is no variable ${name}${suggest(name, known)}`);
  /** Returns the variable that applies if the flag is not given; "" for none. */
  const variable = (setting: string, flag: string) =>
    (flags[flag] === undefined &&
      [toVariableName(flag), setting === "port" ? "PORT" : ""].find((name) => env[name])) ||
    "";
  const given = FLAGS.map(([setting, { flag }]) => [
    setting,
    flags[flag] ?? env[variable(setting, flag)],
  ]);
  return readSettings(Object.fromEntries(given), (setting) => {
    const { flag } = OPTIONS[setting];
    return variable(setting, flag) || `--${flag}`;
  });
}

function usage(): string {
  const rows = FLAGS.map(([, { flag, placeholder: takes, help, fallback }]) => {
    const left = `  ${flag === OPTIONS.port.flag ? "-p, " : ""}--${flag} ${takes}`.padEnd(30);
    return `${left}${help}${typeof fallback === "object" || flag === "webhook-timeout" ? "" : ` (${fallback})`}`;
  });
  return [
    "app-hosting-service: the reference server of the Application Hosting Service",
    "",
    "Usage: app-hosting-service [flags]     each flag is also an environment variable, --rate-limit as APPHOST_RATE_LIMIT",
    "       app-hosting-service receiver    starts a receiver of webhooks instead; receiver --help lists its flags",
    "",
    ...rows,
    "  -h, --help     -v, --version",
  ].join("\n");
}

/** Returns everything needed for a first request, and a curl command that works. */
function ready(service: Service, settings: Settings): string {
  const { baseUrl, authUrl, apiKey } = service;
  const dashboardUrl = authUrl + PATHS.dashboard;
  const { log, tlsCert, publicUrl, data, store, readings } = settings;
  const members = {
    base_url: baseUrl,
    auth_url: authUrl,
    dashboard_url: dashboardUrl,
    api_key: apiKey,
    pid: process.pid,
  };
  // With a public URL, the operator of the proxy needs the local port.
  const port = publicUrl && { port: service.port };
  if (log === "json") return JSON.stringify({ event: "ready", ...members, ...port });
  const body = JSON.stringify(exampleApp(createDecide(readings)));
  // Brackets of an IPv6 address are a pattern in some shells.
  const address = `${baseUrl}/apps`.replace(/[[\]]/g, "\\$&");
  const row = (name: string, value: string) =>
    `  ${styleText("dim", name.padEnd(10))}${escapeControl(value)}`;
  return [
    styleText("bold", "App Hosting Service is ready."),
    row("Base URL", baseUrl),
    row("Auth URL", authUrl),
    ...(port ? [row("Port", String(port.port))] : []),
    row("Dashboard", dashboardUrl),
    row("API key", apiKey ?? "unchanged (only its hash is kept; pin one with --api-key)"),
    row(
      "Data",
      String((data && redactLocation(data)) ?? store ?? "in memory; --data FILE keeps them"),
    ),
    "",
    `  curl ${tlsCert === null ? "" : "--insecure "}${address} -H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" -H "Content-Type: application/json" -d '${body}'`,
    "",
  ].join("\n");
}

function describeFailure(
  error: unknown,
  as: (flag: string) => string,
): [exit: number, line: string] {
  const { failed, wrong_use } = EXIT;
  const { code, port, syscall, cause, message = String(error) } = Object(error);
  if (error instanceof OptionError)
    return [wrong_use, `${message.replace(/(?<![.?])$/, ".")} See --help.`];
  if (port && ["EADDRINUSE", "EACCES"].includes(code))
    return [
      failed,
      `Port ${port} is in use or not allowed (${code}); choose another with --port, or 0 for any.`,
    ];
  if (syscall === "listen" || syscall === "getaddrinfo")
    return [
      wrong_use,
      `${as("host")} must be an address of this machine (${code}), such as localhost or 0.0.0.0.`,
    ];
  const isPlace = isStoreError(error, "StoreOpenError") && Object(cause).syscall !== "connect";
  return isPlace && NO_PLACE.has(Object(cause).code)
    ? [wrong_use, `${as("data")}: ${message}`]
    : [failed, message];
}

/** Errors that mean --data names an impossible place; a damaged file is not an error of the flag. */
const NO_PLACE = new Set(
  "ENOENT ENOTDIR EISDIR EACCES EPERM EROFS EBUSY EXDEV ELOOP ENAMETOOLONG".split(" "),
);

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** Resolves at the first signal, even while the service is opening; the next one ends the process at once. */
const firstSignal = (): Promise<unknown> =>
  Promise.race(SIGNALS.map((signal) => once(process, signal))).finally(() => {
    for (const signal of SIGNALS) process.removeAllListeners(signal);
  });
