// What the server says while it runs: one line a request, one a failure, in words or as JSON. This file alone writes to
// the console, and nothing that it prints holds a credential, except a sign-in link that somebody asked for, or a control
// character that somebody sent.
import { styleText } from "node:util";
import { isStoreError } from "./domain/store.ts";
import { type Clock, toIso } from "./lib/clock.ts";

export const LOG_FORMATS = ["pretty", "json", "off"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = ReturnType<typeof createLogger>;

/** Where lines go: what happens to `out`, what somebody should look at to `err`. */
export type OutputStreams = { readonly [stream in "out" | "err"]: (line: string) => void };

type Members<T extends string, N extends string> = Readonly<Record<T, string> & Record<N, number>>;

interface DeliveryLine
  extends Members<"id" | "type" | "url" | "outcome", "duration_ms" | "attempt"> {
  readonly error_detail: string | null;
}

/** Every line in both forms: as an object with its members, and as words. */
export function createLogger(form: LogFormat, clock: Clock, { out, err }: OutputStreams) {
  const say = (to: (line: string) => void, event: string, members: object, ...words: string[]) => {
    const at = toIso(clock.now());
    if (form === "json") to(escapeControl(JSON.stringify({ at, event, ...members })));
    else if (form === "pretty") to([styleText("dim", at.slice(11, 23)), ...words].join(" "));
  };
  return {
    request(line: Members<"id" | "method" | "path", "status" | "duration_ms">): void {
      const { id, method, path, status, duration_ms } = line;
      const shown = styleText(
        status >= 500 ? "red" : status >= 400 ? "yellow" : "green",
        String(status),
      );
      const took = `${duration_ms.toFixed(1)} ms ${styleText("dim", id)}`;
      say(out, "request", line, escapeControl(`${method} ${path}`), shown, took);
    },
    /** An attempt; `outcome`: the status of the answer, or why there is none. The query of a URL may hold a credential. */
    delivery(line: DeliveryLine): void {
      const { type, outcome, duration_ms, attempt, error_detail: detail } = line;
      const url = line.url.replace(/[?#].*/, "");
      const shown = styleText(outcome.startsWith("2") ? "green" : "red", outcome);
      const how = `${duration_ms} ms, attempt ${attempt}${detail === null ? "" : `: ${detail}`}`;
      say(
        out,
        "delivery",
        { ...line, url },
        escapeControl(`${type} -> ${url}`),
        shown,
        escapeControl(how),
      );
    },
    /** Something that a person should know: a torn journal line, a seed that was not used. */
    warn: (message: string): void =>
      say(err, "warning", { message }, styleText("yellow", "warning"), escapeControl(message)),
    /** Something asked for that is shown here and nowhere else: a sign-in link. */
    announce: (message: string): void => say(out, "notice", { message }, escapeControl(message)),
    /** An exception that nobody foresaw, whole; while the data are out of reach every request has the same. */
    error(thrown: unknown, during: string): void {
      const { stack } = Object(thrown);
      const error =
        (isStoreError(thrown, "StorageUnavailable") ? undefined : stack) ?? String(thrown);
      say(
        err,
        "error",
        { during, error },
        styleText("red", "error"),
        escapeControl(`${during}: ${error}`),
      );
    },
  };
}

/**
 * Control and format characters as JSON escapes them, which leaves most raw: a terminal obeys them, and behind a line
 * break what somebody sent would pass for a line of the log. The indented lines of a stack stay lines.
 */
export const escapeControl = (text: string): string =>
  text.replace(/(?!\n {4}at )[\p{Cc}\p{Cf}]/gu, (raw) => raw.replace(/./gs, codeUnit));

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
