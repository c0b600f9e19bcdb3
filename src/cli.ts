// The command line: the server and the receiver of webhooks. It turns flags and environment variables into settings,
// prints the ready lines once the server listens, and stops on a signal.
import { once } from "node:events";
import { type ParseArgsConfig, parseArgs, styleText } from "node:util";
import { EXAMPLE_APP } from "./domain/apps.ts";
import { StoreOpenError } from "./domain/store.ts";
import { PATHS } from "./http/message.ts";
import { OptionError, type Schema, suggest } from "./lib/schema.ts";
import { VERSION } from "./lib/version.ts";
import { escapeControl, stdio } from "./log.ts";
import {
  isLoopbackOnly,
  readOptions,
  receiverOptions,
  type Settings,
  serverOptions,
} from "./options.ts";
import { startWithSettings } from "./server.ts";
import type { Service } from "./testing/service.ts";

export async function main(args: string[]): Promise<void> {
  // The reader of the output may leave, as in `| head -1`. The server keeps running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    const [command, ...rest] = args;
    await (command === "receiver" ? runReceiver(rest) : runServer(args));
  } catch (error) {
    // One line for an error that the user can fix. Arguments are not repeated, because one may be a key.
    const message = String(Object(error).message ?? error).replaceAll("\n", " ");
    const hint = error instanceof OptionError ? " (see --help)" : "";
    // A script can distinguish wrong use from a port in use.
    process.exitCode = hint ? 2 : 1;
    stdio.err(escapeControl(message + hint));
  }
}

/** Each line of a flag also declares it: the option has the same name in camel case, but `variants` in the plural. */
const SERVER_HELP = [
  "app-hosting-service: the reference server of the Application Hosting Service\n",
  "Usage: app-hosting-service [flags]     each flag is also an environment variable: --rate-limit is APPHOST_RATE_LIMIT",
  "       app-hosting-service receiver    starts a receiver of webhooks; receiver --help lists its flags\n",
  "  -p, --port N                port to listen on; 0 for any free one (4600)",
  "  --host ADDRESS              address to listen on (localhost)",
  "  --public-url URL            address at which clients reach this server",
  "  --data FILE                 JSON file that keeps all data (in memory without it)",
  "  --store MODULE              store of your own that keeps all data: a file or a package",
  "  --seed FILE                 JSON file with the data of a fresh server",
  "  --api-key KEY               the first API key (random otherwise)",
  "  --tls-cert FILE             certificate (PEM); with it the server speaks https",
  "  --tls-key FILE              the certificate's private key (PEM)",
  "  --rate-limit N|off          requests per account in 60 s (6000)",
  "  --retry-schedule LIST       waits before the retries of a delivery, such as 5s,5m,2h",
  "  --webhook-policy NAME       addresses of webhooks: local or strict (local on loopback)",
  "  --webhook-timeout TIME      time that a receiver has to respond (30s)",
  "  --token-alg NAME            signature of access tokens: ES256 or RS256 (ES256)",
  "  --random-seed TEXT          seed that makes ids and keys repeat from run to run (loopback only)",
  "  --variant NAME=VALUE        behavior of other servers, such as list-shape=bare; repeatable",
  "  --control                   serve the test controls under /_control",
  "  --log FORMAT                format of the log: pretty, json or off (pretty)",
  "  -h, --help",
  "  -v, --version",
].join("\n");

const runServer = (args: string[]) =>
  run(args, process.env, SERVER_HELP, serverOptions, async (settings) => {
    const service = await startWithSettings(settings, settings.control);
    stdio.out(readyText(service, settings));
    const exposed = [
      settings.control && "--control",
      settings.webhookPolicy === "local" && "--webhook-policy local",
    ].filter(Boolean);
    if (exposed.length > 0 && !isLoopbackOnly(settings))
      stdio.err(`warning: ${exposed.join(" and ")}: ${EXPOSED_ADVICE}`);
    return service;
  });

const EXPOSED_ADVICE = "other machines can reach this server, so use it locally only.";

const RECEIVER_HELP = [
  "Usage: app-hosting-service receiver --secret TEXT [flags]\n",
  "  --secret TEXT               the secret of the webhook",
  "  -p, --port N                port to listen on; 0 for any free one (4700)",
  "  --host ADDRESS              address to listen on (127.0.0.1)",
  "  --answers LIST              statuses, or hang, such as 500,hang,200; the last one repeats (200)",
  "  -h, --help",
].join("\n");

/** Prints each delivery. The server's environment variables do not concern it. */
async function runReceiver(args: string[]) {
  const { startReceiver } = await import("./receiver.ts");
  return run(args, {}, RECEIVER_HELP, receiverOptions, async (options) => {
    const receiver = await startReceiver({
      ...options,
      onRequest({ result, headers, rawBody, answer }) {
        const { "x-service-event": event = "?", "x-service-attempt": attempt = "?" } = headers;
        const outcome = answer === "hang" ? "no answer" : `answered ${answer}`;
        const line = `${event}, attempt ${attempt}: ${result}, ${outcome}`;
        stdio.out(`${escapeControl(line)}\n  ${escapeControl(rawBody)}`);
      },
    });
    stdio.out(`Listening on ${receiver.url}`);
    return receiver;
  });
}

/** A flag of a help text: its short form, its name and the placeholder of its value. */
const FLAG = /^ +(?:-(.), )?--(\S+)( \S+)?/gm;

const toVariable = (flag: string) => `APPHOST_${flag.replaceAll("-", "_").toUpperCase()}`;

/** Reports an unknown variable, such as one with a typo, whatever the command. */
function checkVariables(): void {
  const known = Array.from(SERVER_HELP.matchAll(FLAG), ([, , flag = ""]) => toVariable(flag));
  for (const name of Object.keys(process.env))
    if (name.startsWith("APPHOST_") && !known.includes(name))
      throw new OptionError(`There is no variable ${name}${suggest(name, known)}`);
}

/** Runs a command with the options of its flags and variables until a signal, or only prints a text. */
async function run<T>(
  args: string[],
  env: NodeJS.ProcessEnv,
  helpText: string,
  schema: Schema<T>,
  start: (settings: T) => Promise<{ close(): Promise<void> }>,
): Promise<void> {
  // The first signal counts even during the start; the next one ends the process at once.
  const signal = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]).then(() =>
    process.removeAllListeners("SIGTERM").removeAllListeners("SIGINT"),
  );
  const flagTypes: NonNullable<ParseArgsConfig["options"]> = {};
  /** The option of each flag and variable. */
  const names = new Map([["PORT", "port"]]);
  /** The flag or variable that gives each option. */
  const sources: Record<string, string> = {};
  for (const [, short, flag = "", placeholder] of helpText.matchAll(FLAG)) {
    const option = flag
      .replace("variant", "variants")
      .replace(/-./g, (dash) => dash.slice(1).toUpperCase());
    const type = placeholder ? "string" : "boolean";
    flagTypes[flag] = { type, multiple: flag === "variant", ...(short && { short }) };
    names.set(`--${flag}`, option).set(toVariable(flag), option);
    if (short) names.set(`-${short}`, option);
    sources[option] = `--${flag}`;
  }
  // Not strict, because its error for an unknown flag suggests no other.
  const {
    values: { help, version, ...flags },
    positionals: [word],
  } = parseArgs({ args, options: flagTypes, strict: false });
  if (help || version) return stdio.out(help ? helpText : VERSION);
  checkVariables();
  const options: Record<string, unknown> = {};
  function setOption(name: string, value: unknown): void {
    const option = names.get(name);
    if (option === undefined)
      throw new OptionError(`There is no '${name}'${suggest(name, [...names.keys()])}`);
    // A flag without its value is true, or takes the next flag as its value.
    const isFlag = String(value).startsWith("-") && names.has(String(value));
    if (value === true ? option !== "control" : isFlag)
      throw new OptionError(`${name} must have a value`);
    options[option] = Array.isArray(value) ? value.join() : value;
    sources[option] = name;
  }
  // Later ones take precedence. An empty variable counts as unset.
  if (env.PORT) setOption("PORT", env.PORT);
  for (const [variable, value] of Object.entries(env))
    if (variable !== "PORT" && names.has(variable) && value) setOption(variable, value);
  for (const [flag, value] of Object.entries(flags)) setOption(`--${flag}`, value);
  if (word !== undefined) throw new OptionError(ARGUMENT_ADVICE + suggest(word, ["receiver"]));
  try {
    const running = await start(readOptions(schema, options));
    await signal;
    await running.close();
    process.exit();
  } catch (error) {
    throw explainError(error, sources, options.data);
  }
}

const ARGUMENT_ADVICE =
  "Unexpected argument: flags begin with --, and receiver must be the first argument";

/** Returns an error of a start in the words of the command line. */
function explainError(error: unknown, sources: Record<string, string>, data: unknown): unknown {
  const { code, port, syscall } = Object(error);
  if (port && (code === "EADDRINUSE" || code === "EACCES"))
    return new Error(`Port ${port} ${PORT_ADVICE}`);
  if (syscall === "listen" || syscall === "getaddrinfo")
    return new OptionError(`${sources.host} must be an address of this machine (${code})`);
  // A path that the file system refuses is a wrong value; a locked or damaged file is not.
  if (data && error instanceof StoreOpenError && Object(error.cause).errno)
    return new OptionError(`${sources.data}: ${error.message}`);
  if (!(error instanceof OptionError)) return error;
  // It begins with the names of options; users know their flags and variables.
  const text = error.message.replace(/^\w+|(?<=^\w+ and )\w+/g, (name) => sources[name] ?? name);
  return new OptionError(text);
}

const PORT_ADVICE = "is in use or not allowed. Choose another with --port, or 0 for any free port.";

/** Returns everything needed for a first request, and a curl command that works. */
function readyText(service: Service, { log, data, store, tlsCert }: Settings): string {
  const { baseUrl: base_url, authUrl: auth_url, apiKey: api_key } = service;
  const dashboard_url = auth_url + PATHS.dashboard;
  if (log === "json")
    return JSON.stringify({
      event: "ready",
      base_url,
      auth_url,
      dashboard_url,
      api_key,
      pid: process.pid,
    });
  const curl = tlsCert === null ? "curl" : "curl --insecure";
  // Brackets of an IPv6 address are a pattern in some shells.
  const address = `${base_url}/apps`.replace(/[[\]]/g, "\\$&");
  return `${styleText("bold", "App Hosting Service is ready.")}
  Base URL  ${base_url}
  Auth URL  ${auth_url}
  Dashboard ${dashboard_url}
  API key   ${api_key ?? "unchanged (only its hash is stored; set one with --api-key)"}
  Data      ${escapeControl(String(data ?? store ?? "in memory; --data FILE keeps them"))}

  ${curl} ${address} -H "Authorization: Bearer ${api_key ?? "$API_KEY"}" -H "Content-Type: application/json" -d '${JSON.stringify(EXAMPLE_APP)}'
`;
}
