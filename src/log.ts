// The server's log: one line per request or failure, in words or as JSON. Only this file writes to the console. It
// prints no credential and no control character that a client sent.
import { styleText } from "node:util";
import { isStoreError } from "./domain/store.ts";
import { type Clock, toIso } from "./lib/clock.ts";

export const LOG_FORMATS = ["pretty", "json", "off"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = ReturnType<typeof createLogger>;

/** `out` takes activity, `err` takes warnings and errors. */
export type OutputStreams = { readonly [stream in "out" | "err"]: (line: string) => void };

type Members<T extends string, N extends string> = Readonly<Record<T, string> & Record<N, number>>;

interface DeliveryLine
  extends Members<"id" | "type" | "url" | "outcome", "duration_ms" | "attempt"> {
  readonly error_detail: string | null;
}

/** Writes each line in one of two forms: a JSON object or words. */
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
    /**
     * Logs an attempt; `outcome` is the response status or the error. The URL's query is cut because it may hold a
     * credential.
     */
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
    /** Logs a warning, such as a torn journal line or an unused seed. */
    warn: (message: string): void =>
      say(err, "warning", { message }, styleText("yellow", "warning"), escapeControl(message)),
    /**
     * Logs an unexpected exception with its stack; without it if the storage is unavailable, because every request then
     * fails the same way.
     */
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
 * Escapes control and format characters as in JSON, which leaves most raw. A terminal obeys them, and text after a line
 * break could pass for a log line. Indented stack lines stay lines.
 */
export const escapeControl = (text: string): string =>
  text.replace(/(?!\n {4}at )[\p{Cc}\p{Cf}]/gu, (raw) => raw.replace(/./gs, codeUnit));

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
