// Every setting of the service once (contract, parts 1 and 10): its flag, its environment variable, what --help says, and
// how a text becomes a value. The same table serves the command line and `startService`; the last two, without a flag, are
// for the latter only. A wrong value is an OptionError that names the setting and says what to do.
import { readFileSync } from "node:fs";
import { decide } from "./decisions.ts";
import { WEBHOOK_POLICIES, type WebhookPolicy } from "./delivery/address-policy.ts";
import { ANSWER_MS, RETRY_WAITS_MS, retrySchedule } from "./delivery/attempt.ts";
import { pinnedKey } from "./domain/fields.ts";
import { TOKEN_ALGORITHM } from "./domain/oauth/signing-keys.ts";
import { READINGS, type Readings } from "./domain/readings.ts";
import { keepNumbersOfSeed } from "./domain/seed.ts";
import type { Store } from "./domain/store.ts";
import { RATE_LIMIT } from "./http/limits.ts";
import { duration, isDateTime } from "./kit/clock.ts";
import { ALGORITHMS } from "./kit/jwt.ts";
import { isLoopbackHost } from "./kit/loopback.ts";
import { parseJsonKeeping } from "./kit/numbers.ts";
import { meant, OptionError, parse, trusted } from "./kit/schema.ts";
import { LOG_FORMS } from "./log.ts";

/** How a text becomes a value, and what is no text does; where it does not, `must` says what it has to be. */
interface Kind<T> {
  readonly must: string;
  /** All that there are, where they can be counted. */
  readonly known?: readonly string[] | undefined;
  read(text: string, given: unknown): T | undefined;
}

interface Option<T> extends Kind<T> {
  readonly flag: string;
  /** What stands behind the flag in --help; "" for a switch. */
  readonly takes: string;
  readonly help: string;
  readonly fallback: T;
  /** Its value is never repeated, not even where it is wrong. */
  readonly secret?: boolean;
}

/** `at`: the flag and what it takes, as `port N`. Without a fallback it is none. */
function option<T, F extends T | null = null>(at: string, kind: Kind<T>, help: string, fallback?: F): Option<T | F> {
  const [flag = "", takes = ""] = at.split(" ");
  return { ...kind, flag, takes, help, fallback: trusted(fallback ?? null) };
}

const kind = <T>(must: string, read: Kind<T>["read"], known?: readonly string[]): Kind<T> => ({ must, read, known });

/** An IPv6 address stands in brackets there. */
export const inUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host);
const address = kind("be an address of this machine, such as localhost or 0.0.0.0", (text, given) =>
  text === given && URL.canParse(`http://${inUrl(text)}`) ? text : undefined,
);
const anyText = kind("be a text that is not empty", (text, given) => (text === given && text) || undefined);
/** Of a database, whose store is loaded only for it. */
export const isDatabase = (data: string): boolean => /^postgres(ql)?:/.test(data);
/** Of an address not who comes in there and how. */
export const shownPlace = (data: string): string =>
  isDatabase(data) ? data.replace(/\/\/[^/]*@/, "//").replace(/\?.*/, "") : data;
const place = kind("be the name of a file, or an address such as postgres://user@host/database", (text, given) =>
  text !== given || (isDatabase(text) && !URL.canParse(text)) ? undefined : text || undefined,
);
const whole = (min: number, max: number) =>
  kind(`be a whole number from ${min} to ${max}`, (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );
const oneOf = <T extends string>(known: readonly T[]) =>
  kind(`be one of ${known.join(", ")}`, (text) => known.find((each) => each === text), known);
const countOrOff = kind<number | null>(
  "be a whole number from 1 to 999999999, or off",
  (text) => (text === "off" ? null : whole(1, 999_999_999).read(text, text)),
  ["off"],
);
const url = kind("be a URL such as https://apps.example.com, without a path", (text) =>
  /^https?:\/\/[\w.:[\]-]+\/?$/.test(text) && URL.canParse(text) ? text : undefined,
);
const key = kind("be 8 to 200 letters, digits or - . _ ~", (text) =>
  "faults" in parse(pinnedKey, text) ? undefined : text,
);
const waits = kind("be durations up to 365d with commas between them, such as 5s,5m,2h", retrySchedule);
const answerTime = kind("be a duration up to 30s, such as 500ms or 10s", (text) => {
  const value = duration(text) ?? 0;
  return value >= 1 && value <= ANSWER_MS ? value : undefined;
});
const YES_NO = new Map(Object.entries({ true: true, 1: true, false: false, 0: false }));
const yesOrNo = kind("be true or false", (text) => YES_NO.get(text), ["true", "false"]);
const pem = kind("be the name of a file (PEM) that is not empty", (name) => readFileSync(name, "utf8") || undefined);
const UTF_8 = new TextDecoder("utf-8", { fatal: true });
const seed = kind<object>("be the name of a file (UTF-8) that holds a JSON object", (name, given) => {
  const value: unknown =
    typeof given === "object" ? given : parseJsonKeeping(UTF_8.decode(readFileSync(name)), keepNumbersOfSeed);
  return typeof value === "object" ? (value ?? undefined) : undefined;
});
const STORE = "open get find page count transact hear lease snapshot restore close".split(" ");
/** What somebody hands over as a store; whether it keeps the port's promises, the exported suite tells. */
export function checkedStore(given: unknown): Store {
  const missing = STORE.filter((name) => typeof Object(given)[name] !== "function");
  if (missing.length > 0) throw new Error(`it has no ${missing.join(", ")}`);
  return trusted(given);
}
const store = kind("be a store, or the name of a module", (text, given) =>
  typeof given === "object" ? checkedStore(given) : text || undefined,
);
const moment = kind("be a time such as 2026-01-01T00:00:00.000Z, with its zone", (text) =>
  text.includes("T") && isDateTime(text) ? text : undefined,
);
const KNOWN = Object.entries(READINGS).map((known) => known.join("="));
/** Each in the form of the flag; there may be several, with commas between them. */
const readings = kind(`be one or more of ${KNOWN.join(", ")}`, (text, given): Readings => {
  const isRecord = typeof given === "object" && !Array.isArray(given);
  const pairs = isRecord ? Object.entries(Object(given)).map((pair) => pair.join("=")) : text.split(",");
  const unknown = pairs.find((pair) => !KNOWN.includes(pair));
  if (unknown !== undefined) throw new Error(`there is no ${unknown}${meant(unknown, KNOWN)}`);
  return trusted(Object.fromEntries(pairs.map((pair) => pair.split("="))));
});

/** It starts without any setting; each has one name as a flag, as a variable and as an option of startService. */
export const OPTIONS = {
  port: option("port N", whole(0, 65_535), "port to listen on; 0 for any free one", 4600),
  host: option("host ADDRESS", address, "address to listen on", "localhost"),
  publicUrl: option("public-url URL", url, "how clients reach this server"),
  data: {
    ...option("data FILE", place, "keep everything in this JSON file, or at postgres://… (memory otherwise)"),
    secret: true, // an address may hold a password
  },
  store: option("store MODULE", store, "keep everything in a store of your own: a file or a package"),
  seed: option("seed FILE", seed, "JSON file: what a fresh server starts with"),
  apiKey: { ...option("api-key KEY", key, "the first API key, instead of a random one"), secret: true },
  tlsCert: option("tls-cert FILE", pem, "certificate (PEM): serve https"),
  tlsKey: option("tls-key FILE", pem, "its private key (PEM)"),
  rateLimit: option("rate-limit N|off", countOrOff, "requests per account in 60 s", RATE_LIMIT),
  retrySchedule: option("retry-schedule LIST", waits, "waits before each retry, like 5s,5m,2h", RETRY_WAITS_MS),
  webhookPolicy: option("webhook-policy POLICY", oneOf(WEBHOOK_POLICIES), "where deliveries go: local or strict"),
  webhookConcurrency: option("webhook-concurrency N", whole(1, 256), "attempts at once, each webhook (1)"),
  webhookTimeout: option("webhook-timeout TIME", answerTime, "what a receiver has to answer, 30s at most", ANSWER_MS),
  tokenAlg: option("token-alg ALG", oneOf(ALGORITHMS), `signs tokens: ${ALGORITHMS.join(", ")}`, TOKEN_ALGORITHM),
  randomSeed: option(
    "random-seed TEXT",
    anyText,
    "what is random in ids and keys repeats from run to run (loopback only)",
  ),
  readings: option(
    "reading ID=NAME",
    readings,
    "another reading of a gap; repeatable, all are at /docs/register",
    trusted<Readings>({}),
  ),
  control: option("control", yesOrNo, "answer /_control: time, faults, reset, for tests in any language", false),
  log: option("log FORM", oneOf(LOG_FORMS), LOG_FORMS.join(", "), "pretty"),
  clock: option("", oneOf(["system", "manual"] as const), "manual: it stands still until it is advanced", "system"),
  startAt: option("", moment, "where a manual clock starts"),
};

type Name = keyof typeof OPTIONS;

/** The settings in force; null is "none". */
export type Settings = { readonly [N in Name]: (typeof OPTIONS)[N] extends Option<infer T> ? T : never };

/** Given as on the command line only: a bare number would not say of what. */
type Worded = "retrySchedule" | "webhookTimeout";

/** What somebody gives: each value itself, or the text that it is on the command line (a seed's is the name of its file). */
export type ServiceOptions = {
  readonly [N in Name]?:
    | (N extends Worded ? string : Settings[N])
    | (Settings[N] extends string | null ? never : string)
    | undefined;
};

/** How a setting is named to whoever gave it: `--port` or `port`. */
type Called = (name: Name) => string;

/** Fills in the defaults. */
export function readSettings(given: Readonly<Record<string, unknown>>, called: Called = (name) => name): Settings {
  const names = trusted<Name[]>(Object.keys(OPTIONS));
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw new OptionError(`${unknown} is no option; there are ${names.join(", ")}`);
  if ((given.tlsCert === undefined) !== (given.tlsKey === undefined))
    throw new OptionError(`${called("tlsCert")} and ${called("tlsKey")} must be given together`);
  // Each member is read by the option of its name, so the record has the type that the table says.
  const settings = trusted<Settings>(
    Object.fromEntries(names.map((name) => [name, readOption(OPTIONS[name], given[name], called(name))])),
  );
  const { randomSeed, store, data, clock, startAt } = settings;
  if (randomSeed !== null && !staysHere(settings))
    throw new OptionError(
      `${called("randomSeed")} makes keys that anybody can repeat; use it with a loopback host and public URL only`,
    );
  if (store !== null && data !== null)
    throw new OptionError(
      `${called("store")} and ${called("data")} cannot be given together: each says where everything is kept`,
    );
  if (clock === "system" && startAt !== null)
    throw new OptionError('startAt is where a manual clock starts; give it together with clock: "manual"');
  return settings;
}

/** Returns the value that was given, or the default; throws an OptionError where the option does not take it. */
export function readOption(option: Option<unknown>, value: unknown, called: string): unknown {
  if (value === undefined || value === null) return option.fallback;
  // A module's namespace has no text.
  const text = typeof Object(value).toString === "function" ? String(value) : "an object";
  let why = option.secret ? "" : `; it is ${typeof value === "string" ? JSON.stringify(value) : text}`;
  try {
    const read = option.read(text, value);
    if (read !== undefined) return read;
  } catch (error) {
    why += ` (${Object(error).message ?? error})`;
  }
  throw new OptionError(`${called} must ${option.must}${why}${meant(text, option.known ?? [])}`);
}

/** Whether only this machine reaches the server. */
export const staysHere = ({ host, publicUrl }: Settings): boolean =>
  isLoopbackHost(host) && (publicUrl === null || isLoopbackHost(new URL(publicUrl).hostname));

/** A server that only this machine reaches may deliver to this machine. */
export const policyOf = (settings: Settings): WebhookPolicy =>
  settings.webhookPolicy ?? (staysHere(settings) ? decide("6.webhook-policy") : "strict");
