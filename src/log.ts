// The server's log: one line per request, delivery attempt or failure, in words or as JSON. Only this file writes to the
// console. It prints no credential, and no control character that another party sent.
import { styleText } from "node:util";
import type { AttemptResult } from "./domain/events.ts";
import { isStoreError } from "./domain/store.ts";
import type { HttpRequest } from "./http/message.ts";
import { type Clock, toIso } from "./lib/clock.ts";

export const LOG_FORMATS = ["pretty", "json", "off"] as const;

export type Log = ReturnType<typeof createLogger>;
type RequestLine = Pick<HttpRequest, "id" | "method" | "path">;

/** `out` takes activity, `err` takes warnings and errors. */
interface OutputStreams {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** Writes to this process's stdout and stderr. */
export const stdio: OutputStreams = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

export function createLogger(
  format: (typeof LOG_FORMATS)[number],
  clock: Clock,
  { out, err }: OutputStreams,
) {
  /** `text` returns the pretty line without its time, escaped where another party may have sent it. */
  function write(to: (line: string) => void, entry: object, text: () => string): void {
    if (format === "off") return;
    const at = toIso(clock.now());
    if (format === "json") to(escapeControl(JSON.stringify({ at, ...entry })));
    else to(`${styleText("dim", at.slice(11, 23))} ${text()}`);
  }

  return {
    request({ id, method, path }: RequestLine, status: number, duration_ms: number): void {
      const text = () =>
        `${escapeControl(`${method} ${path}`)} ${colored(String(status))} ${duration_ms.toFixed(1)} ms ${styleText("dim", id)}`;
      write(out, { event: "request", id, method, path, status, duration_ms }, text);
    },

    /** The URL's query is cut, because it may hold a credential. */
    delivery({ deliveryId: id, type, url: fullUrl, attempt }: AttemptResult): void {
      const { number, duration_ms, response_status, error, error_detail } = attempt;
      const url = fullUrl.replace(/[?#].*/, "");
      const outcome = String(response_status ?? error);
      const detail = error_detail === null ? "" : `: ${error_detail}`;
      const text = () =>
        `${type} -> ${escapeControl(url)} ${colored(outcome)} ${duration_ms} ms, attempt ${number}${escapeControl(detail)}`;
      const members = { id, type, url, outcome, duration_ms, attempt: number, error_detail };
      write(out, { event: "delivery", ...members }, text);
    },

    warn(message: string): void {
      const text = () => `${styleText("yellow", "warning")} ${escapeControl(message)}`;
      write(err, { event: "warning", message }, text);
    },

    /** Logs the stack, except when the storage is unavailable: then every request fails in the same way. */
    error(thrown: unknown, during: string): void {
      const isOutage = isStoreError(thrown, "StorageUnavailable");
      // A test runner's error may come from another realm, so it is no instance of this realm's Error.
      const { stack = String(thrown) } = Object(thrown) as Partial<Error>;
      const error = isOutage ? String(thrown) : stack;
      const text = () => `${styleText("red", "error")} ${escapeControl(`${during}: ${error}`)}`;
      write(err, { event: "error", during, error }, text);
    },
  };
}

/** A status, or the reason why there is none. */
const colored = (outcome: string): string =>
  styleText(Number(outcome) < 400 ? "green" : "red", outcome);

/**
 * Escapes control and format characters as in JSON. A terminal obeys them, and text after a line break could pass for a
 * log line. Indented stack lines stay lines.
 */
export const escapeControl = (text: string): string =>
  text.replace(/(?!\n {4}at )[\p{Cc}\p{Cf}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
