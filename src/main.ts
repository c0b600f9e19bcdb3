// The command line (contract, part 1): flags and environment become settings, the service starts, the ready lines are
// printed once it listens, signals stop it.
import { parseArgs } from "node:util";
import { StoreRefusal } from "./domain/store.ts";
import { VERSION } from "./kit/version.ts";
import { environmentName, OPTIONS, OptionError, readSettings, type Settings } from "./options.ts";
import { ready } from "./ready.ts";
import { run, type Service } from "./service.ts";

const WRONG_USE = 2;

export async function main(args: readonly string[]): Promise<void> {
  try {
    const given = flags(args);
    if (given.help) return print(help());
    if (given.version) return print(VERSION);
    const settings = readSettings({ ...environment(process.env), ...given }, (_, flag) => `--${flag}`);
    const service = await run(settings, { seed: settings.seed ?? undefined }, print);
    stopOnSignal(service);
    print(ready(service, settings));
  } catch (error) {
    fail(error, args);
  }
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

type Given = Readonly<Record<string, string | boolean | undefined>>;

function flags(args: readonly string[]): Given {
  const known = Object.values(OPTIONS).map(
    ({ flag, takes }) => [flag, { type: takes === "" ? "boolean" : "string" }] as const,
  );
  const options = {
    ...Object.fromEntries(known),
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
  } as const;
  try {
    const { values } = parseArgs({ args: [...args], options, allowPositionals: false });
    const named = Object.entries(OPTIONS).map(([name, { flag }]) => [name, values[flag]] as const);
    const present = named.filter(([, value]) => value !== undefined);
    return { ...Object.fromEntries(present), help: values.help, version: values.version };
  } catch (error) {
    throw new OptionError(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error));
  }
}

/** APPHOST_… for each flag, and PORT; a flag on the command line wins. */
function environment(env: NodeJS.ProcessEnv): Given {
  const named = Object.entries(OPTIONS).map(([name, { flag }]) => [name, env[environmentName(flag)]] as const);
  const present = named.filter(([, value]) => value !== undefined && value !== "");
  return { ...(env.PORT ? { port: env.PORT } : {}), ...Object.fromEntries(present) };
}

function help(): string {
  const rows = Object.values(OPTIONS).map(({ flag, takes, help, fallback }) => {
    const left = `  --${flag} ${takes}`.padEnd(30);
    return `${left}${help}${fallback === null || fallback === false ? "" : ` (${fallback})`}`;
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

/** One line on stderr for what a person can mend; a stack only for what nobody foresaw. */
function fail(error: unknown, args: readonly string[]): void {
  process.exitCode = 1;
  const say = (line: string) => process.stderr.write(`${line.replaceAll("\n", " ")}\n`);
  if (error instanceof OptionError) {
    process.exitCode = WRONG_USE;
    say(`${error.message}. See --help.`);
  } else if (error instanceof StoreRefusal) say(error.message);
  else if (error instanceof Error && "code" in error && error.code === "EADDRINUSE")
    say(`The port is in use; choose another with --port, or --port 0 for any free one.`);
  else if (error instanceof Error && "code" in error && (error.code === "EACCES" || error.code === "EADDRNOTAVAIL"))
    say(`Cannot listen there (${String(error.code)}); choose another --port or --host.`);
  else say(`Cannot start with ${args.join(" ")}: ${error instanceof Error ? error.message : String(error)}`);
}

/** The first signal stops in good order, a second one at once. */
function stopOnSignal(service: Service): void {
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`The stop failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

export type { Settings };
