// The command line (contract, part 1): flags and environment become settings, the service starts, the ready lines are
// printed once it listens, signals stop it.
import { type ParseArgsConfig, parseArgs, styleText } from "node:util";
import { isStoreError } from "./domain/store.ts";
import { meant } from "./kit/schema.ts";
import { VERSION } from "./kit/version.ts";
import { run, terminal } from "./launch.ts";
import { OPTIONS, OptionError, readSettings, type Settings } from "./options.ts";
import type { Service } from "./service.ts";

/** A script tells a wrong flag from a port in use without reading. */
const EXIT = { stopped: 0, failed: 1, wrong_use: 2 };

const FLAGS = Object.entries(OPTIONS).filter(([, { flag }]) => flag !== "");

export async function main(args: readonly string[]): Promise<void> {
  // Whoever read the output may leave (`| head -1`, a script that wanted the first line): the server goes on serving.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    const { help, version, ...given } = flags(args);
    if (help) return terminal.out(usage());
    if (version) return terminal.out(VERSION);
    const called = (name: keyof Settings) => {
      const { flag } = OPTIONS[name];
      const variable = variableOf(process.env, flag);
      return flag in given || !process.env[variable] ? `--${flag}` : variable;
    };
    const settings = readSettings({ ...environment(process.env), ...settingsIn((flag) => given[flag]) }, called);
    const opening = run(settings, settings.control);
    stopOnSignal(opening);
    terminal.out(ready(await opening, settings));
  } catch (error) {
    fail(error);
  }
}

type Given = Readonly<Record<string, unknown>>;

/** What stands on the command line, by flag. */
function flags(args: readonly string[]): Given {
  const options: ParseArgsConfig["options"] = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } };
  for (const [, { flag, takes }] of FLAGS) options[flag] = { type: takes === "" ? "boolean" : "string" };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    const [said = ""] = error instanceof Error ? error.message.split(". ") : [];
    const [, unknown = ""] = /^Unknown option '([^']*)'/.exec(said) ?? [];
    const known = Object.keys(options).map((flag) => `--${flag}`);
    throw new OptionError(said + (unknown && meant(unknown, known)));
  }
}

/** What is given for each setting, by the setting's name. */
function settingsIn(given: (flag: string) => unknown): Given {
  const named = FLAGS.map(([name, { flag }]) => [name, given(flag)] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}

/** Keeps our variables apart from others'. */
const PREFIX = "APPHOST_";
const environmentName = (flag: string): string => `${PREFIX}${flag.replaceAll("-", "_").toUpperCase()}`;

/** APPHOST_… for each flag and no other, and PORT; a flag on the command line wins. An empty variable counts as not set. */
function environment(env: NodeJS.ProcessEnv): Given {
  const known = FLAGS.map(([, { flag }]) => environmentName(flag));
  for (const name of Object.keys(env))
    if (name.startsWith(PREFIX) && !known.includes(name))
      throw new OptionError(`There is no variable ${name}${meant(name, known)}`);
  return settingsIn((flag) => env[variableOf(env, flag)] || undefined);
}

/** The variable that gives this flag. */
function variableOf(env: NodeJS.ProcessEnv, flag: string): string {
  const own = environmentName(flag);
  return flag === OPTIONS.port.flag && !env[own] && env.PORT ? "PORT" : own;
}

function usage(): string {
  const rows = FLAGS.map(([, { flag, takes, help, fallback }]) => {
    const left = `  --${flag} ${takes}`.padEnd(30);
    return `${left}${help}${typeof fallback === "object" || flag === "webhook-timeout" ? "" : ` (${fallback})`}`;
  });
  return [
    "app-hosting-service: the reference server of the Application Hosting Service",
    "",
    "Usage: app-hosting-service [flags]     each flag is also an environment variable, --rate-limit as APPHOST_RATE_LIMIT",
    "",
    ...rows,
    "  --help, --version",
  ].join("\n");
}

/** Everything that is needed for a first request, and a curl line that works. */
function ready({ baseUrl, authUrl, apiKey, signInUrl, signsIn }: Service, { log, tlsCert, data }: Settings): string {
  const members = { base_url: baseUrl, auth_url: authUrl, api_key: apiKey, sign_in_url: signInUrl, pid: process.pid };
  if (log === "json") return JSON.stringify({ event: "ready", ...members });
  const row = (name: string, value: string) => `  ${styleText("dim", name.padEnd(10))}${value}`;
  return [
    styleText("bold", "App Hosting Service is ready."),
    row("Base URL", baseUrl),
    row("Auth URL", authUrl),
    row("Sign in", `${signInUrl}  (${signsIn})`),
    row("API key", apiKey ?? "unchanged (only its hash is kept; pin one with --api-key)"),
    row("Data", data ?? "in memory; --data FILE keeps them"),
    "",
    `  curl ${tlsCert === null ? "" : "--insecure "}${baseUrl}/apps -H "Authorization: Bearer ${apiKey ?? "$API_KEY"}" -H "Content-Type: application/json" -d '{"title":"My first app"}'`,
    "",
  ].join("\n");
}

/** What the system says of an address that this machine does not have, or that is none. */
const NO_SUCH_HOST = new Set<unknown>(["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"]);

/** One line on stderr for what a person can mend. The arguments are not repeated: a key may be among them. */
function fail(error: unknown): void {
  const { code, port } = Object(error);
  const wrongHost = NO_SUCH_HOST.has(code);
  process.exitCode = error instanceof OptionError || wrongHost ? EXIT.wrong_use : EXIT.failed;
  const line = () => {
    if (error instanceof OptionError) return `${error.message}${error.message.endsWith("?") ? "" : "."} See --help.`;
    if (isStoreError(error, "StoreRefusal")) return error.message;
    if (wrongHost) return `--host must be an address of this machine (${code}), such as 127.0.0.1 or 0.0.0.0.`;
    if (code === "EADDRINUSE")
      return `Port ${port} is in use; choose another with --port, or --port 0 for any free one.`;
    if (code === "EACCES") return `Port ${port} may not be used (EACCES); choose another with --port.`;
    return `Cannot start: ${error instanceof Error ? error.message : String(error)}`;
  };
  terminal.err(line().replaceAll("\n", " "));
}

/** The first signal stops in good order, also while the service still opens; a second one at once. */
function stopOnSignal(opening: Promise<Service>): void {
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    // A start that fails tells so itself, and leaves nothing to be stopped.
    opening.then(close, () => undefined);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

function close(service: Service): void {
  service.close().then(
    () => process.exit(EXIT.stopped),
    (error: unknown) => {
      terminal.err(`The stop failed: ${String(error)}`);
      process.exit(EXIT.failed);
    },
  );
}
