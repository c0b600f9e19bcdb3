// Every setting of the service once (contract, part 1): its flag, its environment variable, what --help says, and how a
// text becomes a value. The same table serves the command line and `startService`, so that neither knows a setting that
// the other does not. A wrong value is an OptionError that names the setting and says what to do.
import { WEBHOOK_POLICIES } from "./delivery/address-policy.ts";
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

/** How a text becomes a value; where it does not, `must` says what it has to be. */
interface Kind<T> {
  readonly must: string;
  read(text: string): T | undefined;
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

/** `at`: the flag and what it takes, as `port N`. */
function option<T>(at: string, fallback: T, kind: Kind<NoInfer<T>>, help: string): Option<T> {
  const [flag = "", takes = ""] = at.split(" ");
  return { ...kind, flag, takes, fallback, help };
}

const orNone = <T>(at: string, kind: Kind<T>, help: string): Option<T | null> => option<T | null>(at, null, kind, help);

const kind = <T>(must: string, read: Kind<T>["read"]): Kind<T> => ({ must, read });

const anyText = kind("not be empty", (text) => text || undefined);
const whole = (min: number, max: number) =>
  kind(`be a whole number from ${min} to ${max}`, (text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );
const oneOf = <T extends string>(values: readonly T[]) =>
  kind(`be one of ${values.join(", ")}`, (text) => values.find((known) => known === text));
const orOff = ({ must, read }: Kind<number>) =>
  kind<number | null>(`${must}, or off`, (text) => (text === "off" ? null : read(text)));
const url = kind("be a URL such as https://apps.example.com, without a path", (text) =>
  /^https?:\/\/[\w.:[\]-]+\/?$/.test(text) && URL.canParse(text) ? text : undefined,
);
const key = kind("be 8 to 200 letters, digits or - . _ ~", (text) =>
  "faults" in parse(pinnedKey, text) ? undefined : text,
);
const waits = kind("be durations with commas between them, such as 5s,5m,2h", retrySchedule);
const answerTime = kind("be a duration up to 30s, such as 500ms or 10s", (text) => {
  const value = duration(text) ?? 0;
  return value >= 1 && value <= ANSWER_MS ? value : undefined;
});
const [YES, NO] = [new Set(["true", "1"]), new Set(["false", "0"])];
const yesOrNo = kind("be true or false", (text) => (YES.has(text) ? true : NO.has(text) ? false : undefined));

/** It starts without any setting; each has one name as a flag, as a variable and as an option of startService. */
export const OPTIONS = {
  port: option("port N", 4600, whole(0, 65_535), "port to listen on; 0 for any free one"),
  host: option("host ADDRESS", "127.0.0.1", anyText, "address to listen on"),
  publicUrl: orNone("public-url URL", url, "how clients reach this server"),
  data: orNone("data FILE", anyText, "keep everything in this JSON file (memory otherwise)"),
  seed: orNone("seed FILE", anyText, "JSON file: what a fresh server starts with"),
  apiKey: {
    ...orNone("api-key KEY", key, "the first API key, instead of a random one"),
    secret: true,
  },
  tlsCert: orNone("tls-cert FILE", anyText, "certificate (PEM): serve https"),
  tlsKey: orNone("tls-key FILE", anyText, "its private key (PEM)"),
  rateLimit: option<number | null>(
    "rate-limit N|off",
    RATE_LIMIT,
    orOff(whole(1, 999_999_999)),
    "requests per account in 60 s",
  ),
  retrySchedule: option("retry-schedule LIST", RETRY_WAITS_MS, waits, "waits before each retry, like 5s,5m,2h"),
  webhookPolicy: orNone(
    "webhook-policy POLICY",
    oneOf(WEBHOOK_POLICIES),
    "where deliveries go: local (on loopback) or strict",
  ),
  webhookCa: orNone("webhook-ca FILE", anyText, "certificates (PEM) to trust for deliveries"),
  webhookConcurrency: option<number>(
    "webhook-concurrency N",
    WEBHOOK_CONCURRENCY,
    whole(1, 256),
    "attempts at once for one webhook",
  ),
  webhookTimeout: option("webhook-timeout TIME", ANSWER_MS, answerTime, "what a receiver has to answer, 30s at most"),
  tokenAlg: option("token-alg ALG", TOKEN_ALGORITHM, oneOf(ALGORITHMS), `signs tokens: ${ALGORITHMS.join(", ")}`),
  randomSeed: orNone("random-seed TEXT", anyText, "ids and keys repeat from run to run (loopback only)"),
  control: option("control", false, yesOrNo, "answer /_control: time, faults, reset, for tests in any language"),
  log: option<LogForm>("log FORM", "pretty", oneOf(LOG_FORMS), LOG_FORMS.join(", ")),
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
  for (const [name, { flag, fallback, must, read, secret }] of Object.entries<Option<unknown>>(OPTIONS)) {
    const value = given[name] ?? undefined;
    settings[name] = value === undefined ? fallback : read(String(value));
    if (value !== undefined && settings[name] === undefined)
      throw new OptionError(`${called(name, flag)} must ${must}${secret ? "" : `; it is ${JSON.stringify(value)}`}`);
  }
  // Each member was read by the option of its name, so the record has the type that the table says.
  const read = trusted<Settings>(settings);
  assertTogether(read, called);
  return read;
}

function assertTogether(settings: Settings, called: (name: string, flag: string) => string): void {
  const { tlsCert, tlsKey, randomSeed } = settings;
  if ((tlsCert === null) !== (tlsKey === null))
    throw new OptionError(`${called("tlsCert", "tls-cert")} and ${called("tlsKey", "tls-key")} must be given together`);
  if (randomSeed !== null && !staysHere(settings))
    throw new OptionError(
      `${called("randomSeed", "random-seed")} makes keys that anybody can repeat; use it with a loopback host and public URL only`,
    );
}

/** Whether only this machine reaches the server. */
export const staysHere = ({ host, publicUrl }: Settings): boolean =>
  isLoopbackHost(host) && (publicUrl === null || isLoopbackHost(new URL(publicUrl).hostname));

/** The known name that was probably meant: at most two letters are another, missing or too many. */
export function meant(name: string, known: readonly string[]): string {
  const near = known.find((each) => distance(name, each) <= 2);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/** How many letters must be changed, put in or taken out (Levenshtein): of the beginnings of both, one letter after the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [n, letter] of [...one].entries()) {
    const next = [n + 1];
    for (const [at, its] of [...other].entries()) {
      const [changed = 0, more = 0, less = 0] = [row[at], row[at + 1], next[at]];
      next.push(Math.min(changed + Number(letter !== its), more + 1, less + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Keeps our variables apart from others'. */
export const VARIABLE_PREFIX = "APPHOST_";

export const environmentName = (flag: string): string => `${VARIABLE_PREFIX}${flag.replaceAll("-", "_").toUpperCase()}`;
