// Every setting of the service once (contract, part 1): its flag, its environment variable, what --help says, and how a
// text becomes a value. The same table serves the command line and `startService`, so that neither knows a setting that
// the other does not. A wrong value is an OptionError that names the setting and says what to do.
import { WEBHOOK_POLICIES, type WebhookPolicy } from "./delivery/address-policy.ts";
import { ANSWER_MS, RETRY_WAITS_MS, retrySchedule, WEBHOOK_CONCURRENCY } from "./delivery/schedule.ts";
import { pinnedKey } from "./domain/credentials.ts";
import { RATE_LIMIT } from "./domain/limits.ts";
import { TOKEN_ALGORITHM } from "./domain/oauth/signing-keys.ts";
import { duration } from "./kit/clock.ts";
import { ALGORITHMS } from "./kit/jwt.ts";
import { LOG_FORMS, type LogForm } from "./kit/log.ts";
import { isLoopbackHost } from "./kit/loopback.ts";
import { parse, trusted } from "./kit/schema.ts";

export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Answers the value, or what the setting must be. */
type Read<T> = (text: string) => { readonly value: T } | { readonly must: string };

interface Option<T> {
  readonly flag: string;
  /** What stands behind the flag in --help; "" for a switch. */
  readonly takes: string;
  readonly help: string;
  readonly fallback: T;
  readonly read: Read<T>;
  /** Its value is never repeated, not even where it is wrong. */
  readonly secret?: boolean;
}

const option = <T>(flag: string, takes: string, fallback: T, read: Read<NoInfer<T>>, help: string): Option<T> => ({
  flag,
  takes,
  help,
  fallback,
  read,
});

const anyText: Read<string> = (text) => (text === "" ? { must: "not be empty" } : { value: text });

const whole =
  (min: number, max: number): Read<number> =>
  (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max
      ? { value: Number(text) }
      : { must: `be a whole number from ${min} to ${max}` };

const oneOf =
  <T extends string>(values: readonly T[]): Read<T> =>
  (text) => {
    const value = values.find((known) => known === text);
    return value === undefined ? { must: `be one of ${values.join(", ")}` } : { value };
  };

const orOff =
  (read: Read<number>): Read<number | null> =>
  (text) => {
    if (text === "off") return { value: null };
    const result = read(text);
    return "must" in result ? { must: `${result.must}, or off` } : result;
  };

const url: Read<string> = (text) =>
  /^https?:\/\/[\w.:[\]-]+\/?$/.test(text) && URL.canParse(text)
    ? { value: text }
    : { must: "be a URL such as https://apps.example.com, without a path" };

const key: Read<string> = (text) =>
  "faults" in parse(pinnedKey, text) ? { must: "be 8 to 200 letters, digits or - . _ ~" } : { value: text };

const waits: Read<readonly number[]> = (text) => {
  const value = retrySchedule(text);
  return value === undefined ? { must: "be durations with commas between them, such as 5s,5m,2h" } : { value };
};

const answerTime: Read<number> = (text) => {
  const value = duration(text);
  const fits = value !== undefined && value >= 1 && value <= ANSWER_MS;
  return fits ? { value } : { must: "be a duration up to 30s, such as 500ms or 10s" };
};

const yesOrNo: Read<boolean> = (text) => {
  if (text === "true" || text === "1") return { value: true };
  return text === "false" || text === "0" ? { value: false } : { must: "be true or false" };
};

/** It starts without any setting; each has one name as a flag, as a variable and as an option of startService. */
export const OPTIONS = {
  port: option("port", "N", 4600, whole(0, 65_535), "port to listen on; 0 for any free one"),
  host: option("host", "ADDRESS", "127.0.0.1", anyText, "address to listen on"),
  publicUrl: option<string | null>("public-url", "URL", null, url, "how clients reach this server"),
  data: option<string | null>("data", "FILE", null, anyText, "keep everything in this JSON file (memory otherwise)"),
  seed: option<string | null>("seed", "FILE", null, anyText, "JSON file: what a fresh server starts with"),
  apiKey: {
    ...option<string | null>("api-key", "KEY", null, key, "the first API key, instead of a random one"),
    secret: true,
  },
  tlsCert: option<string | null>("tls-cert", "FILE", null, anyText, "certificate (PEM): serve https"),
  tlsKey: option<string | null>("tls-key", "FILE", null, anyText, "its private key (PEM)"),
  rateLimit: option<number | null>(
    "rate-limit",
    "N|off",
    RATE_LIMIT,
    orOff(whole(1, 999_999_999)),
    "requests per account in 60 s",
  ),
  retrySchedule: option("retry-schedule", "LIST", RETRY_WAITS_MS, waits, "waits before each retry, like 5s,5m,2h"),
  webhookPolicy: option<WebhookPolicy | null>(
    "webhook-policy",
    "POLICY",
    null,
    oneOf(WEBHOOK_POLICIES),
    "where deliveries may go: local (default on loopback) or strict",
  ),
  webhookCa: option<string | null>("webhook-ca", "FILE", null, anyText, "certificates (PEM) to trust for deliveries"),
  webhookConcurrency: option<number>(
    "webhook-concurrency",
    "N",
    WEBHOOK_CONCURRENCY,
    whole(1, 256),
    "attempts at once for one webhook",
  ),
  webhookTimeout: option(
    "webhook-timeout",
    "TIME",
    ANSWER_MS,
    answerTime,
    "how long a receiver has to answer, 30s at most",
  ),
  tokenAlg: option(
    "token-alg",
    "ALG",
    TOKEN_ALGORITHM,
    oneOf(ALGORITHMS),
    `how tokens are signed: ${ALGORITHMS.join(", ")}`,
  ),
  randomSeed: option<string | null>(
    "random-seed",
    "TEXT",
    null,
    anyText,
    "ids and keys repeat from run to run (loopback only)",
  ),
  control: option("control", "", false, yesOrNo, "answer /_control: time, faults, reset, for tests in any language"),
  log: option<LogForm>("log", "FORM", "pretty", oneOf(LOG_FORMS), LOG_FORMS.join(", ")),
};

type Name = keyof typeof OPTIONS;

/** The settings in force; null is "none". */
export type Settings = { readonly [N in Name]: (typeof OPTIONS)[N] extends Option<infer T> ? T : never };

/** What somebody gives: texts as on the command line, or numbers where the text would be a number. */
export type GivenSettings = { readonly [N in Name]?: Settings[N] | string | undefined };

/** Fills in the defaults. `called` says how a setting is named to whoever gave it: `--port` or `port`. */
export function readSettings(
  given: Readonly<Record<string, unknown>>,
  called: (name: string, flag: string) => string,
): Settings {
  const settings: Record<string, unknown> = {};
  for (const [name, { flag, fallback, read, secret }] of Object.entries<Option<unknown>>(OPTIONS)) {
    const value = given[name];
    const result = value === undefined || value === null ? { value: fallback } : read(String(value));
    if ("must" in result)
      throw new OptionError(
        `${called(name, flag)} must ${result.must}${secret ? "" : `; it is ${JSON.stringify(value)}`}`,
      );
    settings[name] = result.value;
  }
  // Each member was read by the option of its name, so the record has the type that the table says.
  const read = trusted<Settings>(settings);
  assertTogether(read, called);
  return read;
}

function assertTogether(settings: Settings, called: (name: string, flag: string) => string): void {
  const { tlsCert, tlsKey, randomSeed, host } = settings;
  if ((tlsCert === null) !== (tlsKey === null))
    throw new OptionError(`${called("tlsCert", "tls-cert")} and ${called("tlsKey", "tls-key")} must be given together`);
  if (randomSeed !== null && !isLoopbackHost(host))
    throw new OptionError(
      `${called("randomSeed", "random-seed")} makes keys that anybody can repeat; use it with a loopback host only`,
    );
}

/** Keeps our variables apart from others'. */
const VARIABLE_PREFIX = "APPHOST_";

export const environmentName = (flag: string): string => `${VARIABLE_PREFIX}${flag.replaceAll("-", "_").toUpperCase()}`;
