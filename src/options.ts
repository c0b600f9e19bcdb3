// All settings of the service and of the receiver, by their names as options. The flag and the environment variable
// of a setting follow from the help text of the command. An OptionError names the setting and the rule that it breaks.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { WEBHOOK_POLICIES } from "./delivery/address-policy.ts";
import { parseRetrySchedule, RESPONSE_TIMEOUT_MS, RETRY_WAITS_MS } from "./delivery/outbox.ts";
import { parseExactJson } from "./domain/columns.ts";
import type { Store } from "./domain/store.ts";
import { pinnedKey } from "./domain/validators.ts";
import { RATE_LIMIT } from "./http/access.ts";
import { ALL_VARIANTS, type Variants } from "./http/variants.ts";
import { isDateTime, parseDuration, parseIso } from "./lib/clock.ts";
import { ALGORITHMS } from "./lib/jwt.ts";
import { isLoopbackHost } from "./lib/loopback.ts";
import {
  addIssue,
  coerce,
  enumOf,
  type Issue,
  integer,
  object,
  parseOption,
  type Schema,
  type Shape,
  strip,
  text,
  withDefault,
} from "./lib/schema.ts";
import { LOG_FORMATS } from "./log.ts";

/**
 * A setting that is parsed from a text, or converted from an object of an embedding test. Both functions throw or return
 * undefined for a value that breaks the rule.
 */
const transform = <T>(
  rule: string,
  defaultValue: T,
  parse: (value: string) => T | undefined,
  convert: (value: object) => T | undefined = () => undefined,
): Schema<T> => ({
  json: {},
  default: { value: defaultValue },
  check(value, path, issues) {
    let reason = "";
    try {
      const result = Object(value) === value ? convert(Object(value)) : parse(String(value));
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

const portNumber = coerce(integer({ min: 0, max: 65_535 }));

const pemFile = transform(
  "the name of a file (PEM) that is not empty",
  null,
  (file) => readFileSync(file, "utf8") || undefined,
);

/** Recognizes a store; `npm run store-contract` checks its behavior. */
export function assertStore(value: unknown): Store {
  if (typeof Object(value).transact === "function") return Object(value);
  throw new Error("it has no method transact");
}

const PAIRS = Object.entries(ALL_VARIANTS).map((pair) => pair.join("="));
const toVariants = (pairs: readonly string[][]): Variants | undefined =>
  pairs.every((pair) => PAIRS.includes(pair.join("="))) ? Object.fromEntries(pairs) : undefined;

/** The schema and the default of each setting; null means none. */
const SETTINGS = {
  port: withDefault(portNumber, 4600),
  host: withDefault(anyText, "localhost"),
  publicUrl: transform("a URL such as https://apps.example.com, without a path", null, (value) => {
    const { href, origin } = new URL(value);
    return href === `${origin}/` && origin.startsWith("http") ? origin : undefined;
  }),
  data: withDefault(anyText, null),
  store: transform(
    "a store, or the name of a module",
    null,
    (module): Store | string => module,
    assertStore,
  ),
  seed: transform(
    "the name of a file that holds a JSON object",
    null,
    (file) => {
      const content = parseExactJson(readFileSync(file, "utf8"));
      return typeof content === "object" && content !== null ? content : undefined;
    },
    (content) => content,
  ),
  apiKey: withDefault(pinnedKey, null),
  tlsCert: pemFile,
  tlsKey: pemFile,
  rateLimit: transform("a whole number above 0, or off", RATE_LIMIT, (value) => {
    if (value === "off") return null;
    return /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined;
  }),
  retrySchedule: transform(
    "durations up to 365d with commas between them, such as 5s,5m,2h",
    RETRY_WAITS_MS,
    parseRetrySchedule,
  ),
  webhookPolicy: withDefault(enumOf(WEBHOOK_POLICIES), null),
  webhookTimeout: transform(
    "a duration up to 30s, such as 500ms or 10s",
    RESPONSE_TIMEOUT_MS,
    (value) => {
      const duration_ms = parseDuration(value) ?? 0;
      return duration_ms > 0 && duration_ms <= RESPONSE_TIMEOUT_MS ? duration_ms : undefined;
    },
  ),
  tokenAlg: withDefault(enumOf(ALGORITHMS), "ES256"),
  randomSeed: withDefault(anyText, null),
  variants: transform(
    `one or more of ${PAIRS.join(", ")}`,
    {},
    (value) => toVariants(value.split(",").map((pair) => pair.split("="))),
    (value) => toVariants(Object.entries(value)),
  ),
  control: transform(
    "true or false",
    false,
    (value) =>
      value === "true" || value === "1" || (value === "false" || value === "0" ? false : undefined),
  ),
  log: withDefault(enumOf(LOG_FORMATS), "pretty"),
  clock: withDefault(enumOf(["system", "manual"]), "system"),
  startAt: transform("a time such as 2026-01-01T00:00:00.000Z, with its zone", null, (value) =>
    value.includes("T") && isDateTime(value) ? parseIso(value) : undefined,
  ),
};

/** The settings in force. */
export type Settings = Shape<typeof SETTINGS>;

/** Options that are written in another form than their setting. */
interface RawOptions {
  /** A seed, or the name of its file. */
  readonly seed: object | string;
  readonly rateLimit: number | "off";
  /** Durations such as "5s,5m,2h". */
  readonly retrySchedule: string;
  /** A duration such as "500ms". */
  readonly webhookTimeout: string;
  /** A time with its zone, such as "2026-01-01T00:00:00.000Z". */
  readonly startAt: string;
}

/** The flags in camel case (`variants` for `--variant`), and `clock` and `startAt`. */
export type ServiceOptions = {
  readonly [N in keyof Settings]?:
    | (N extends keyof RawOptions ? RawOptions[N] : NonNullable<Settings[N]>)
    | undefined;
};

/** Yields the rules that settings break together. */
function* findConflicts({
  host = "",
  publicUrl = null,
  tlsCert,
  tlsKey,
  randomSeed,
  store,
  data,
  clock,
  startAt = null,
}: Partial<Settings>): Iterable<Issue> {
  if ((tlsCert || tlsKey) && !isCertificateWithKey(tlsCert, tlsKey))
    yield {
      path: ["tlsCert", "tlsKey"],
      detail: "must be a certificate and its private key (PEM), given together",
    };
  if (randomSeed && !isLoopbackOnly({ host, publicUrl }))
    yield {
      path: ["randomSeed"],
      detail: "makes keys that anybody can repeat; use it with a loopback host and public URL only",
    };
  if (store && data)
    yield {
      path: ["store", "data"],
      detail: "cannot be given together; choose one place for the data",
    };
  if (startAt !== null && clock !== "manual")
    yield {
      path: ["startAt"],
      detail: 'sets a manual clock; give it together with clock: "manual"',
    };
}

export const serverOptions = object(SETTINGS, findConflicts);

/** A status, or no response at all. */
export type ReceiverAnswer = number | "hang";

function toAnswers(value: unknown): readonly ReceiverAnswer[] | undefined {
  const answers = String(value).split(",");
  return answers.every((answer) => /^(hang|[2-5]\d\d)$/.test(answer))
    ? answers.map((answer) => (answer === "hang" ? answer : Number(answer)))
    : undefined;
}

/** The options of the command `receiver`; `startReceiver` has another default port. */
export const receiverOptions = strip(
  object({
    secret: anyText,
    port: withDefault(portNumber, 4700),
    host: withDefault(anyText, "127.0.0.1"),
    answers: transform('statuses from 200 to 599, or "hang"', [200], toAnswers, toAnswers),
  }),
);

/** Validates the options and fills in the defaults. */
export const readOptions = <T>(schema: Schema<T>, options: object) =>
  parseOption(schema, options, "", (path) => path.join(" and "));

/** TLS ignores a key of another type, and no client could ever connect. */
function isCertificateWithKey(cert: unknown, key: unknown): boolean {
  try {
    return new X509Certificate(String(cert)).checkPrivateKey(createPrivateKey(String(key)));
  } catch {
    return false; // not PEM
  }
}

/** Returns true if only this machine can reach the server. */
export const isLoopbackOnly = ({ host, publicUrl }: Pick<Settings, "host" | "publicUrl">) =>
  isLoopbackHost(host) && (publicUrl === null || isLoopbackHost(new URL(publicUrl).hostname));
