// The server's log: one line per request, delivery attempt or failure, in words or as JSON. Only this file writes to the
// console. It prints no credential, and no control character that another party sent.
import { styleText } from "node:util";
import type { AttemptResult } from "./domain/events.ts";
import { isStoreError } from "./domain/store.ts";
import type { RequestHandler } from "./http/message.ts";
import { type Clock, monotonicNow, toIso } from "./lib/clock.ts";

export const LOG_FORMATS = ["pretty", "json", "off"] as const;

/** Writes to this process's stdout, which takes activity, and stderr, which takes warnings and errors. */
export const stdio = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  err: (line: string) => void process.stderr.write(`${line}\n`),
};

export function createLogger(format: (typeof LOG_FORMATS)[number], clock: Clock, console = stdio) {
  /** `lines` are the pretty line without its time, and the lines of a stack. */
  function write(
    to: keyof typeof stdio,
    color: "reset" | "red" | "yellow",
    entry: object,
    ...lines: string[]
  ): void {
    const at = toIso(clock.now());
    if (format === "json") console[to](escapeControl(JSON.stringify({ at, ...entry })));
    if (format !== "pretty") return;
    // One of the two may be a terminal, and the other a file.
    const stream = process[`std${to}`];
    const text = styleText(color, lines.map(escapeControl).join(STACK_LINE), { stream });
    console[to](`${styleText("dim", at.slice(11, 23), { stream })} ${text}`);
  }

  return {
    /** Returns a handler that logs each request with its response status; 0 if there is no response. */
    wrap(handle: RequestHandler): RequestHandler {
      if (format === "off") return handle;
      return async (request) => {
        const { id, method, path } = request;
        const startedAt = monotonicNow();
        const response = await handle(request);
        const { status } = response;
        const duration_ms = monotonicNow() - startedAt;
        write(
          "out",
          status && status < 400 ? "reset" : "red",
          { event: "request", id, method, path, status, duration_ms },
          `${method} ${path} ${status} ${duration_ms.toFixed(1)} ms ${id}`,
        );
        return response;
      };
    },

    /** The URL's query is cut, because it may hold a credential. */
    delivery({ deliveryId: id, type, url: fullUrl, attempt: lastAttempt }: AttemptResult): void {
      const { number: attempt, duration_ms, response_status, error, error_detail } = lastAttempt;
      const url = fullUrl.replace(/[?#].*/, "");
      const outcome = String(response_status ?? error);
      const detail = error_detail === null ? "" : `: ${error_detail}`;
      write(
        "out",
        error === null ? "reset" : "red",
        { event: "delivery", id, type, url, outcome, duration_ms, attempt, error_detail },
        `${type} -> ${url} ${outcome} ${duration_ms} ms, attempt ${attempt}${detail}`,
      );
    },

    warn: (message: string): void =>
      write("err", "yellow", { event: "warning", message }, `warning ${message}`),

    /** Logs the stack, except when the storage is unavailable: then every request fails in the same way. */
    error(thrown: unknown, during: string): void {
      const isOutage = isStoreError(thrown, "StorageUnavailable");
      // A test runner's error may come from another realm, so it is no instance of this realm's Error.
      const error = String((!isOutage && Object(thrown).stack) || thrown);
      const [text, ...stack] = error.split(STACK_LINE);
      write("err", "red", { event: "error", during, error }, `error ${during}: ${text}`, ...stack);
    },
  };
}

const STACK_LINE = "\n    at ";

/**
 * Escapes control and format characters as in JSON. A terminal obeys them, and text after a line break could pass for a
 * log line.
 */
export const escapeControl = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}]/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
