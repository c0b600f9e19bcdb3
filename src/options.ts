// All settings of the service. One table gives each setting its option of `startService`, flag, environment variable,
// schema, default and help text. An OptionError names the setting and the rule that it breaks.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { WEBHOOK_POLICIES, type WebhookPolicy } from "./delivery/address-policy.ts";
import { parseRetrySchedule, RESPONSE_TIMEOUT_MS, RETRY_WAITS_MS } from "./delivery/outbox.ts";
import { parseExactJson } from "./domain/columns.ts";
import type { Store } from "./domain/store.ts";
import { pinnedKey } from "./domain/validators.ts";
import { RATE_LIMIT } from "./http/access.ts";
import { ALL_VARIANTS, type Variants } from "./http/variants.ts";
import { isDateTime, parseDuration } from "./lib/clock.ts";
import { ALGORITHMS } from "./lib/jwt.ts";
import { isLoopbackHost } from "./lib/loopback.ts";
import {
  addIssue,
  coerce,
  enumOf,
  integer,
  OptionError,
  parseOption,
  type Schema,
  suggest,
  text,
} from "./lib/schema.ts";
import { LOG_FORMATS } from "./log.ts";

/** `usage` is the flag and its placeholder; "" for a setting of `startService` only. */
const setting = <T>(usage: string, schema: Schema<T>, help: string, defaultValue: T) => ({
  usage,
  schema,
  help,
  defaultValue,
});

/** A schema that converts the value; `convert` throws or returns undefined for a value that breaks the rule. */
const transform = <T>(rule: string, convert: (value: unknown) => T | undefined): Schema<T> => ({
  json: {},
  check(value, path, issues) {
    let reason = "";
    try {
      const result = convert(value);
      if (result !== undefined) return result;
    } catch (error) {
      // Not `instanceof`: in Jest, errors of Node come from another realm.
      reason = ` (${(error as Error).message})`;
    }
    return addIssue(issues, path, `must be ${rule}${reason}`);
  },
});

/** A name or another text of the user's choice. */
const anyText = text({ min: 1, max: 4_096 });

const requestsOrOff = transform<number | null>("a whole number above 0, or off", (value) => {
  if (value === "off") return null;
  return /^[1-9]\d{0,14}$/.test(String(value)) ? Number(value) : undefined;
});

const url = transform("a URL such as https://apps.example.com, without a path", (value) => {
  const { href, origin } = new URL(String(value));
  return href === `${origin}/` && origin.startsWith("http") ? origin : undefined;
});

const durations = transform(
  "durations up to 365d with commas between them, such as 5s,5m,2h",
  (value) => parseRetrySchedule(String(value)),
);

const responseTime = transform("a duration up to 30s, such as 500ms or 10s", (value) => {
  const duration_ms = parseDuration(String(value)) ?? 0;
  return duration_ms >= 1 && duration_ms <= RESPONSE_TIMEOUT_MS ? duration_ms : undefined;
});

const pemFile = transform(
  "the name of a file (PEM) that is not empty",
  (value) => readFileSync(String(value), "utf8") || undefined,
);

const seed = transform<object>("the name of a file that holds a JSON object", (value) => {
  const content: unknown =
    typeof value === "string" ? parseExactJson(readFileSync(value, "utf8")) : value;
  return typeof content === "object" && content !== null ? content : undefined;
});

/** Recognizes a store; `npm run store-contract` checks its behavior. */
export function assertStore(value: unknown): Store {
  if (typeof Object(value).transact === "function") return Object(value);
  throw new Error("it has no method transact");
}

const store = transform("a store, or the name of a module", (value) =>
  typeof value === "string" ? value : assertStore(value),
);

const time = text({
  max: 40,
  rule: (value) =>
    value.includes("T") && isDateTime(value)
      ? undefined
      : "must be a time such as 2026-01-01T00:00:00.000Z, with its zone",
});

const PAIRS = Object.entries(ALL_VARIANTS).map((pair) => pair.join("="));
/** An object, or NAME=VALUE texts with commas between them. */
const variants = transform(`one or more of ${PAIRS.join(", ")}`, (value): Variants | undefined => {
  const pairs =
    typeof value === "string"
      ? value.split(",")
      : Object.entries(value as object).map((pair) => pair.join("="));
  const isKnown = pairs.every((pair) => PAIRS.includes(pair));
  return isKnown ? Object.fromEntries(pairs.map((pair) => pair.split("="))) : undefined;
});

const BOOLEANS = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
const trueOrFalse = transform("true or false", (value) => BOOLEANS.get(String(value)));

export const SETTINGS = {
  port: setting(
    "--port N",
    coerce(integer({ min: 0, max: 65_535 })),
    "port to listen on; 0 for any free one (4600)",
    4600,
  ),
  host: setting("--host ADDRESS", anyText, "address to listen on (localhost)", "localhost"),
  publicUrl: setting("--public-url URL", url, "address at which clients reach this server", null),
  data: setting(
    "--data FILE",
    anyText,
    "JSON file that keeps all data (in memory without it)",
    null,
  ),
  store: setting(
    "--store MODULE",
    store,
    "store of your own that keeps all data: a file or a package",
    null,
  ),
  seed: setting("--seed FILE", seed, "JSON file with the data of a fresh server", null),
  apiKey: setting("--api-key KEY", pinnedKey, "the first API key (random otherwise)", null),
  tlsCert: setting(
    "--tls-cert FILE",
    pemFile,
    "certificate (PEM); with it the server speaks https",
    null,
  ),
  tlsKey: setting("--tls-key FILE", pemFile, "the certificate's private key (PEM)", null),
  rateLimit: setting(
    "--rate-limit N|off",
    requestsOrOff,
    "requests per account in 60 s (6000)",
    RATE_LIMIT,
  ),
  retrySchedule: setting(
    "--retry-schedule LIST",
    durations,
    "waits before the retries of a delivery, such as 5s,5m,2h",
    RETRY_WAITS_MS,
  ),
  webhookPolicy: setting(
    "--webhook-policy NAME",
    enumOf(WEBHOOK_POLICIES),
    "addresses of webhooks: local or strict (local on loopback)",
    null,
  ),
  webhookTimeout: setting(
    "--webhook-timeout TIME",
    responseTime,
    "time that a receiver has to respond (30s)",
    RESPONSE_TIMEOUT_MS,
  ),
  tokenAlg: setting(
    "--token-alg NAME",
    enumOf(ALGORITHMS),
    "signature of access tokens: ES256 or RS256 (ES256)",
    "ES256",
  ),
  randomSeed: setting(
    "--random-seed TEXT",
    anyText,
    "seed that makes ids and keys repeat from run to run (loopback only)",
    null,
  ),
  variants: setting(
    "--variant NAME=VALUE",
    variants,
    "behavior of other servers, such as list-shape=bare; repeatable",
    {},
  ),
  control: setting("--control", trueOrFalse, "serve the test controls under /_control", false),
  log: setting(
    "--log FORMAT",
    enumOf(LOG_FORMATS),
    "format of the log: pretty, json or off (pretty)",
    "pretty",
  ),
  clock: setting(
    "",
    enumOf(["system", "manual"]),
    "a manual clock stands still until it is advanced",
    "system",
  ),
  startAt: setting("", time, "start of a manual clock", null),
};

export type SettingName = keyof typeof SETTINGS;

/** The settings in force; null means none. */
export type Settings = {
  readonly [N in SettingName]: (typeof SETTINGS)[N]["defaultValue"];
};

/** Options that are written in another form than their setting. */
interface RawOptions {
  /** A seed, or the name of its file. */
  readonly seed: object | string;
  readonly rateLimit: number | "off";
  /** Durations such as "5s,5m,2h". */
  readonly retrySchedule: string;
  /** A duration such as "500ms". */
  readonly webhookTimeout: string;
}

/** The flags in camel case (`variants` for `--variant`), and `clock` and `startAt`. */
export type ServiceOptions = {
  readonly [N in SettingName]?:
    | (N extends keyof RawOptions ? RawOptions[N] : NonNullable<Settings[N]>)
    | undefined;
};

/** Returns a setting's name as the user gave it: a flag, a variable or an option. */
export type Label = (name: SettingName) => string;

/** Validates the options and fills in the defaults. */
export function readSettings(
  options: Readonly<Record<string, unknown>>,
  label: Label = (name) => name,
): Settings {
  const names = Object.keys(SETTINGS) as SettingName[];
  for (const name of Object.keys(options))
    if (!Object.hasOwn(SETTINGS, name))
      throw new OptionError(`There is no option ${name}${suggest(name, names)}`);
  const values = names.map((name) => [name, parseSetting(name, options[name], label(name))]);
  // Safe: each value comes from the setting of its own name.
  const settings = Object.fromEntries(values) as Settings;
  checkCombinations(settings, label);
  return settings;
}

/** Returns the parsed value, or the default if there is none. */
export function parseSetting(name: SettingName, value: unknown, label: string): unknown {
  const { schema, defaultValue } = SETTINGS[name];
  return value === undefined ? defaultValue : parseOption<unknown>(schema, value, label);
}

/** Checks settings that depend on each other. */
function checkCombinations(settings: Settings, label: Label): void {
  const { tlsCert, tlsKey, randomSeed, store, data, clock, startAt } = settings;
  const hasTls = tlsCert !== null || tlsKey !== null;
  const rules: readonly [isBroken: boolean, names: SettingName[], rule: string][] = [
    [
      hasTls && !isCertificateWithKey(tlsCert, tlsKey),
      ["tlsCert", "tlsKey"],
      "must be a certificate and its private key (PEM), given together",
    ],
    [
      randomSeed !== null && !isLoopbackOnly(settings),
      ["randomSeed"],
      "makes keys that anybody can repeat; use it with a loopback host and public URL only",
    ],
    [
      store !== null && data !== null,
      ["store", "data"],
      "cannot be given together; choose one place for the data",
    ],
    [
      startAt !== null && clock !== "manual",
      ["startAt"],
      'sets a manual clock; give it together with clock: "manual"',
    ],
  ];
  for (const [isBroken, names, rule] of rules)
    if (isBroken) throw new OptionError(`${names.map(label).join(" and ")} ${rule}`);
}

/** TLS ignores a key of another type, and no client could ever connect. */
function isCertificateWithKey(cert: string | null, key: string | null): boolean {
  try {
    return new X509Certificate(cert ?? "").checkPrivateKey(createPrivateKey(key ?? ""));
  } catch {
    return false; // not PEM
  }
}

/** Returns true if only this machine can reach the server. */
export const isLoopbackOnly = ({ host, publicUrl }: Settings): boolean =>
  isLoopbackHost(host) && (publicUrl === null || isLoopbackHost(new URL(publicUrl).hostname));

/** A server that only this machine can reach may deliver to this machine. */
export const webhookPolicyFor = (settings: Settings): WebhookPolicy =>
  settings.webhookPolicy ?? (isLoopbackOnly(settings) ? "local" : "strict");
