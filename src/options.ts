// All settings of the service (contract, parts 1 and 10): flag, environment variable, help text and parser. The command
// line and `startService` share this table; the last two settings have no flag. A wrong value throws an OptionError
// that names the setting and says what to do.
import { readFileSync } from "node:fs";
import { WEBHOOK_POLICIES, type WebhookPolicy } from "./delivery/address-policy.ts";
import { parseRetrySchedule, RESPONSE_TIMEOUT_MS, RETRY_WAITS_MS } from "./delivery/attempt.ts";
import { TOKEN_ALGORITHM } from "./domain/oauth/signing-keys.ts";
import { keepNumbersOfSeed } from "./domain/seed.ts";
import type { Store } from "./domain/store.ts";
import { pinnedKey } from "./domain/validators.ts";
import { decide } from "./former-decisions.ts";
import { RATE_LIMIT } from "./http/rate-limit.ts";
import { ALL_VARIANTS, type Variants } from "./http/variants.ts";
import { isDateTime, parseDuration } from "./lib/clock.ts";
import { ALGORITHMS } from "./lib/jwt.ts";
import { isLoopbackHost } from "./lib/loopback.ts";
import { parseJsonKeeping } from "./lib/numbers.ts";
import { OptionError, parse, suggest, unsafeCast } from "./lib/schema.ts";
import { LOG_FORMATS } from "./log.ts";

/** Parses text or a given value; if it returns undefined, `mustBe` completes the error message. */
interface OptionType<T> {
  readonly mustBe: string;
  /** The possible values, if they can be listed. */
  readonly choices?: readonly string[] | undefined;
  read(text: string, given: unknown): T | undefined;
}

interface Option<T> extends OptionType<T> {
  readonly flag: string;
  /** The placeholder after the flag in --help; "" for a switch. */
  readonly placeholder: string;
  readonly help: string;
  readonly fallback: T;
  /** The value is never repeated in messages, even if it is wrong. */
  readonly secret?: boolean;
}

/** `at` is the flag and its placeholder, such as `port N`. The default fallback is null. */
function defineOption<T, F extends T | null = null>(
  at: string,
  kind: OptionType<T>,
  help: string,
  fallback?: F,
): Option<T | F> {
  const [flag = "", placeholder = ""] = at.split(" ");
  return { ...kind, flag, placeholder, help, fallback: unsafeCast(fallback ?? null) };
}

const optionType = <T>(
  mustBe: string,
  read: OptionType<T>["read"],
  choices?: readonly string[],
): OptionType<T> => ({ mustBe, read, choices });

/** Puts an IPv6 address in brackets. */
export const formatHost = (host: string): string => (host.includes(":") ? `[${host}]` : host);
const address = optionType(
  "be an address of this machine, such as localhost or 0.0.0.0",
  (text, given) =>
    text === given && URL.canParse(`http://${formatHost(text)}`) ? text : undefined,
);
const anyText = optionType(
  "be a text that is not empty",
  (text, given) => (text === given && text) || undefined,
);
/** Returns true for a database URL, whose store is loaded only when needed. */
export const isDatabase = (data: string): boolean => /^postgres(ql)?:/.test(data);
/** Removes user, password and query from a database URL. */
export const redactLocation = (data: string): string =>
  isDatabase(data) ? data.replace(/\/\/[^/]*@/, "//").replace(/\?.*/, "") : data;
const location = optionType(
  "be the name of a file, or an address such as postgres://user@host/database",
  (text, given) =>
    text !== given || (isDatabase(text) && !URL.canParse(text)) ? undefined : text || undefined,
);
const whole = (min: number, max: number) =>
  optionType(`be a whole number from ${min} to ${max}`, (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );
const oneOf = <T extends string>(known: readonly T[]) =>
  optionType(`be one of ${known.join(", ")}`, (text) => known.find((each) => each === text), known);
const countOrOff = optionType<number | null>(
  "be a whole number from 1 to 999999999, or off",
  (text) => (text === "off" ? null : whole(1, 999_999_999).read(text, text)),
  ["off"],
);
const url = optionType("be a URL such as https://apps.example.com, without a path", (text) =>
  /^https?:\/\/[\w.:[\]-]+\/?$/.test(text) && URL.canParse(text) ? text : undefined,
);
const key = optionType("be 8 to 200 letters, digits or - . _ ~", (text) =>
  "faults" in parse(pinnedKey, text) ? undefined : text,
);
const waits = optionType(
  "be durations up to 365d with commas between them, such as 5s,5m,2h",
  parseRetrySchedule,
);
const answerTime = optionType("be a duration up to 30s, such as 500ms or 10s", (text) => {
  const value = parseDuration(text) ?? 0;
  return value >= 1 && value <= RESPONSE_TIMEOUT_MS ? value : undefined;
});
const YES_NO = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }));
const yesOrNo = optionType("be true or false", (text) => YES_NO.get(text), ["true", "false"]);
const pem = optionType(
  "be the name of a file (PEM) that is not empty",
  (name) => readFileSync(name, "utf8") || undefined,
);
const UTF_8 = new TextDecoder("utf-8", { fatal: true });
const seed = optionType<object>(
  "be the name of a file (UTF-8) that holds a JSON object",
  (name, given) => {
    const value: unknown =
      typeof given === "object"
        ? given
        : parseJsonKeeping(UTF_8.decode(readFileSync(name)), keepNumbersOfSeed);
    return typeof value === "object" ? (value ?? undefined) : undefined;
  },
);
const STORE = "open get find page count transact snapshot restore close".split(" ");
/** Checks that a value has a store's methods; the exported contract suite checks its behaviour. */
export function assertStore(given: unknown): Store {
  const missing = STORE.filter((name) => typeof Object(given)[name] !== "function");
  if (missing.length > 0) throw new Error(`it has no ${missing.join(", ")}`);
  return unsafeCast(given);
}
const store = optionType("be a store, or the name of a module", (text, given) =>
  typeof given === "object" ? assertStore(given) : text || undefined,
);
const moment = optionType("be a time such as 2026-01-01T00:00:00.000Z, with its zone", (text) =>
  text.includes("T") && isDateTime(text) ? text : undefined,
);
const KNOWN = Object.entries(ALL_VARIANTS).map((known) => known.join("="));
/** Variants in the flag's form, separated by commas. */
const variants = optionType(`be one or more of ${KNOWN.join(", ")}`, (text, given): Variants => {
  const isRecord = typeof given === "object" && !Array.isArray(given);
  const pairs = isRecord
    ? Object.entries(Object(given)).map((pair) => pair.join("="))
    : text.split(",");
  const unknown = pairs.find((pair) => !KNOWN.includes(pair));
  if (unknown !== undefined) throw new Error(`there is no ${unknown}${suggest(unknown, KNOWN)}`);
  return unsafeCast(Object.fromEntries(pairs.map((pair) => pair.split("="))));
});

/** Every setting is optional and has one name as a flag, as a variable and as an option of startService. */
export const OPTIONS = {
  port: defineOption("port N", whole(0, 65_535), "port to listen on; 0 for any free one", 4600),
  host: defineOption("host ADDRESS", address, "address to listen on", "localhost"),
  publicUrl: defineOption("public-url URL", url, "how clients reach this server"),
  data: {
    ...defineOption(
      "data FILE",
      location,
      "keep everything in this JSON file, or at postgres://… (memory otherwise)",
    ),
    secret: true, // an address may hold a password
  },
  store: defineOption(
    "store MODULE",
    store,
    "keep everything in a store of your own: a file or a package",
  ),
  seed: defineOption("seed FILE", seed, "JSON file: what a fresh server starts with"),
  apiKey: {
    ...defineOption("api-key KEY", key, "the first API key, instead of a random one"),
    secret: true,
  },
  tlsCert: defineOption("tls-cert FILE", pem, "certificate (PEM): serve https"),
  tlsKey: defineOption("tls-key FILE", pem, "its private key (PEM)"),
  rateLimit: defineOption(
    "rate-limit N|off",
    countOrOff,
    "requests per account in 60 s",
    RATE_LIMIT,
  ),
  retrySchedule: defineOption(
    "retry-schedule LIST",
    waits,
    "waits before each retry, like 5s,5m,2h",
    RETRY_WAITS_MS,
  ),
  webhookPolicy: defineOption(
    "webhook-policy POLICY",
    oneOf(WEBHOOK_POLICIES),
    "where deliveries go: local or strict",
  ),
  webhookConcurrency: defineOption(
    "webhook-concurrency N",
    whole(1, 256),
    "attempts at once, each webhook (1)",
  ),
  webhookTimeout: defineOption(
    "webhook-timeout TIME",
    answerTime,
    "what a receiver has to answer, 30s at most",
    RESPONSE_TIMEOUT_MS,
  ),
  tokenAlg: defineOption(
    "token-alg ALG",
    oneOf(ALGORITHMS),
    `signs tokens: ${ALGORITHMS.join(", ")}`,
    TOKEN_ALGORITHM,
  ),
  randomSeed: defineOption(
    "random-seed TEXT",
    anyText,
    "what is random in ids and keys repeats from run to run (loopback only)",
  ),
  variants: defineOption(
    "variant NAME=VALUE",
    variants,
    "answer like other servers, such as list-shape=bare; repeatable",
    unsafeCast<Variants>({}),
  ),
  control: defineOption(
    "control",
    yesOrNo,
    "answer /_control: time, faults, reset, for tests in any language",
    false,
  ),
  log: defineOption("log FORM", oneOf(LOG_FORMATS), LOG_FORMATS.join(", "), "pretty"),
  clock: defineOption(
    "",
    oneOf(["system", "manual"] as const),
    "manual: it stands still until it is advanced",
    "system",
  ),
  startAt: defineOption("", moment, "where a manual clock starts"),
};

type Name = keyof typeof OPTIONS;

/** The settings in force; null means none. */
export type Settings = {
  readonly [N in Name]: (typeof OPTIONS)[N] extends Option<infer T> ? T : never;
};

/** Given as text only, because a bare number would have no unit. */
type Worded = "retrySchedule" | "webhookTimeout";

/** Options of startService: a value, or its text on the command line (for a seed, the name of its file). */
export type ServiceOptions = {
  readonly [N in Name]?:
    | (N extends Worded ? string : Settings[N])
    | (Settings[N] extends string | null ? never : string)
    | undefined;
};

/** Returns the name of a setting as the user gave it: `--port` or `port`. */
type Called = (name: Name) => string;

/** Validates the given settings and fills in the defaults. */
export function readSettings(
  given: Readonly<Record<string, unknown>>,
  called: Called = (name) => name,
): Settings {
  const names = unsafeCast<Name[]>(Object.keys(OPTIONS));
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined)
    throw new OptionError(`${unknown} is no option; there are ${names.join(", ")}`);
  if ((given.tlsCert === undefined) !== (given.tlsKey === undefined))
    throw new OptionError(`${called("tlsCert")} and ${called("tlsKey")} must be given together`);
  // The option of the same name reads each member, so the record has the type that the table declares.
  const settings = unsafeCast<Settings>(
    Object.fromEntries(
      names.map((name) => [name, parseOption(OPTIONS[name], given[name], called(name))]),
    ),
  );
  const { randomSeed, store, data, clock, startAt } = settings;
  if (randomSeed !== null && !isLoopbackOnly(settings))
    throw new OptionError(
      `${called("randomSeed")} makes keys that anybody can repeat; use it with a loopback host and public URL only`,
    );
  if (store !== null && data !== null)
    throw new OptionError(
      `${called("store")} and ${called("data")} cannot be given together: each says where everything is kept`,
    );
  if (clock === "system" && startAt !== null)
    throw new OptionError(
      'startAt is where a manual clock starts; give it together with clock: "manual"',
    );
  return settings;
}

/** Returns the parsed value or the default; throws an OptionError if the option rejects it. */
export function parseOption(option: Option<unknown>, value: unknown, called: string): unknown {
  if (value === undefined || value === null) return option.fallback;
  // A module's namespace object has no toString.
  const text = typeof Object(value).toString === "function" ? String(value) : "an object";
  let why = option.secret
    ? ""
    : `; it is ${typeof value === "string" ? JSON.stringify(value) : text}`;
  try {
    const read = option.read(text, value);
    if (read !== undefined) return read;
  } catch (error) {
    why += ` (${Object(error).message ?? error})`;
  }
  throw new OptionError(
    `${called} must ${option.mustBe}${why}${suggest(text, option.choices ?? [])}`,
  );
}

/** Returns true if only this machine can reach the server. */
export const isLoopbackOnly = ({ host, publicUrl }: Settings): boolean =>
  isLoopbackHost(host) && (publicUrl === null || isLoopbackHost(new URL(publicUrl).hostname));

/** A server that only this machine can reach may deliver to this machine. */
export const webhookPolicyFor = (settings: Settings): WebhookPolicy =>
  settings.webhookPolicy ?? (isLoopbackOnly(settings) ? decide("6.webhook-policy") : "strict");
