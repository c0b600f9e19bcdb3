// The server's log: one line per request, delivery attempt or failure, in words or as JSON. Only this file writes to the
// console. It prints no credential, and no control character that another party sent.
import { styleText } from "node:util";
import type { AttemptResult } from "./domain/deliveries.ts";
import { isStoreError } from "./domain/store.ts";
import { type Clock, toIso } from "./lib/clock.ts";

export const LOG_FORMATS = ["pretty", "json", "off"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export type Log = ReturnType<typeof createLogger>;

/** `out` takes activity, `err` takes warnings and errors. */
export interface OutputStreams {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** Writes to this process's stdout and stderr. */
export const stdio: OutputStreams = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
};

interface RequestLine {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
}

export function createLogger(format: LogFormat, clock: Clock, { out, err }: OutputStreams) {
  function write(to: OutputStreams["out"], event: string, members: object, words: string): void {
    const at = toIso(clock.now());
    if (format === "json") to(escapeControl(JSON.stringify({ at, event, ...members })));
    else if (format === "pretty") to(`${styleText("dim", at.slice(11, 23))} ${words}`);
  }

  return {
    request(line: RequestLine): void {
      const { id, method, path, status, duration_ms } = line;
      const request = escapeControl(`${method} ${path}`);
      const color = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
      const duration = `${duration_ms.toFixed(1)} ms`;
      write(
        out,
        "request",
        line,
        `${request} ${styleText(color, String(status))} ${duration} ${styleText("dim", id)}`,
      );
    },

    /** The URL's query is cut, because it may hold a credential. */
    delivery({ deliveryId, type, url, attempt }: AttemptResult): void {
      const { number, duration_ms, response_status, error, error_detail } = attempt;
      const address = url.replace(/[?#].*/, "");
      const outcome = String(response_status ?? error);
      const isSuccess = outcome.startsWith("2");
      const end = `${duration_ms} ms, attempt ${number}${error_detail === null ? "" : `: ${error_detail}`}`;
      write(
        out,
        "delivery",
        {
          id: deliveryId,
          type,
          url: address,
          outcome,
          duration_ms,
          attempt: number,
          error_detail,
        },
        `${escapeControl(`${type} -> ${address}`)} ${styleText(isSuccess ? "green" : "red", outcome)} ${escapeControl(end)}`,
      );
    },

    warn(message: string): void {
      const words = `${styleText("yellow", "warning")} ${escapeControl(message)}`;
      write(err, "warning", { message }, words);
    },

    /** Logs the stack, except when the storage is unavailable: then every request fails in the same way. */
    error(thrown: unknown, during: string): void {
      const isOutage = isStoreError(thrown, "StorageUnavailable");
      // A test runner's error may come from another realm, so it is no instance of this realm's Error.
      const { stack } = Object(thrown) as Partial<Error>;
      const error = isOutage || stack === undefined ? String(thrown) : stack;
      const words = `${styleText("red", "error")} ${escapeControl(`${during}: ${error}`)}`;
      write(err, "error", { during, error }, words);
    },
  };
}

/**
 * Escapes control and format characters as in JSON. A terminal obeys them, and text after a line break could pass for a
 * log line. Indented stack lines stay lines.
 */
export const escapeControl = (text: string): string =>
  text.replace(/(?!\n {4}at )[\p{Cc}\p{Cf}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
