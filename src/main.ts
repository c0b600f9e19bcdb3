// The command line (contract, part 1): flags and environment become settings, the service starts, the ready lines are
// printed once it listens, signals stop it.
import { type ParseArgsConfig, parseArgs } from "node:util";
import { isStoreError } from "./domain/store.ts";
import { AdjustableClock } from "./kit/clock.ts";
import { VERSION } from "./kit/version.ts";
import { run, terminal } from "./launch.ts";
import { environmentName, meant, OPTIONS, OptionError, readSettings, VARIABLE_PREFIX } from "./options.ts";
import { ready } from "./ready.ts";
import type { Service } from "./service.ts";

/** A script tells a wrong flag from a port in use without reading. */
const EXIT = { stopped: 0, failed: 1, wrong_use: 2 };

export async function main(args: readonly string[]): Promise<void> {
  // Whoever read the output may leave (`| head -1`, a script that wanted the first line): the server goes on serving.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    const given = flags(args);
    if (given.help) return terminal.out(help());
    if (given.version) return terminal.out(VERSION);
    const called = (name: string, flag: string) => (name in given ? `--${flag}` : variableOf(process.env, flag));
    const settings = readSettings({ ...environment(process.env), ...given }, called);
    const opening = run(settings, new AdjustableClock(), {}, settings.control);
    stopOnSignal(opening);
    terminal.out(ready(await opening, settings));
  } catch (error) {
    fail(error);
  }
}

type Given = Readonly<Record<string, unknown>>;

function flags(args: readonly string[]): Given {
  const options: ParseArgsConfig["options"] = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } };
  for (const { flag, takes } of Object.values(OPTIONS)) options[flag] = { type: takes === "" ? "boolean" : "string" };
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: false });
    const { help, version } = values;
    return { ...settingsIn((flag) => values[flag]), help, version };
  } catch (error) {
    const [said = ""] = error instanceof Error ? error.message.split(". ") : [];
    const [, unknown = ""] = /^Unknown option '([^']*)'/.exec(said) ?? [];
    const known = Object.keys(options).map((flag) => `--${flag}`);
    throw new OptionError(said + (unknown && meant(unknown, known)));
  }
}

/** What is given for each setting, by the setting's name. */
function settingsIn(given: (flag: string) => unknown): Given {
  const named = Object.entries(OPTIONS).map(([name, { flag }]) => [name, given(flag)] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined));
}

/** APPHOST_… for each flag and no other, and PORT; a flag on the command line wins. An empty variable counts as not set. */
function environment(env: NodeJS.ProcessEnv): Given {
  const known = Object.values(OPTIONS).map(({ flag }) => environmentName(flag));
  for (const name of Object.keys(env))
    if (name.startsWith(VARIABLE_PREFIX) && !known.includes(name))
      throw new OptionError(`There is no variable ${name}${meant(name, known)}`);
  return settingsIn((flag) => env[variableOf(env, flag)] || undefined);
}

/** The variable that gives this flag. */
function variableOf(env: NodeJS.ProcessEnv, flag: string): string {
  const own = environmentName(flag);
  return flag === OPTIONS.port.flag && !env[own] && env.PORT ? "PORT" : own;
}

function help(): string {
  const rows = Object.values(OPTIONS).map(({ flag, takes, help, fallback }) => {
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

/** What the system says of an address that this machine does not have, or that is none. */
const NO_SUCH_HOST = new Set<unknown>(["ENOTFOUND", "EAI_AGAIN", "EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"]);

/** One line on stderr for what a person can mend. The arguments are not repeated: a key may be among them. */
function fail(error: unknown): void {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const wrongHost = NO_SUCH_HOST.has(code);
  process.exitCode = error instanceof OptionError || wrongHost ? EXIT.wrong_use : EXIT.failed;
  terminal.err(lineOf(error, code, wrongHost).replaceAll("\n", " "));
}

function lineOf(error: unknown, code: unknown, wrongHost: boolean): string {
  if (error instanceof OptionError) return `${error.message}. See --help.`;
  if (isStoreError(error, "StoreRefusal")) return error.message;
  const port = Object(error).port;
  if (wrongHost) return `--host must be an address of this machine (${code}), such as 127.0.0.1 or 0.0.0.0.`;
  if (code === "EADDRINUSE") return `Port ${port} is in use; choose another with --port, or --port 0 for any free one.`;
  if (code === "EACCES") return `Port ${port} may not be used (EACCES); choose another with --port.`;
  return `Cannot start: ${error instanceof Error ? error.message : String(error)}`;
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
