// What the server says while it runs: one line a request, one a failure, in words or as JSON. This file alone writes to
// the console, and nothing that it prints holds a credential, except a sign-in link that somebody asked for, or a control
// character that somebody sent.
import { styleText } from "node:util";
import { type Clock, iso } from "./clock.ts";

export const LOG_FORMS = ["pretty", "json", "off"] as const;
export type LogForm = (typeof LOG_FORMS)[number];

export interface Log {
  request(line: { id: string; method: string; path: string; status: number; duration_ms: number }): void;
  /** Something that a person should know: a torn journal line, a seed that was not used. */
  warn(message: string): void;
  /** Something asked for that is shown here and nowhere else: a sign-in link. */
  announce(message: string): void;
  /** An exception that nobody foresaw, whole. */
  error(error: unknown, during: string): void;
}

const SILENT: Log = { request: () => {}, warn: () => {}, announce: () => {}, error: () => {} };

/** Where lines go: what happens to `out`, what somebody should look at to `err`. */
export interface Console {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

export function logTo(form: LogForm, clock: Clock, console: Console): Log {
  if (form === "off") return SILENT;
  return form === "json" ? jsonLog(clock, console) : prettyLog(clock, console);
}

const described = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/**
 * Control characters (C0, DEL, C1) as JSON escapes them: a terminal obeys those that come raw, and after a line break
 * what somebody sent would pass for a line of the log. Only the lines of a stack, which are indented, stay lines.
 */
const escaped = (text: string): string =>
  text.replace(/(?!\n {4}at )\p{Cc}/gu, (raw) => `\\u${raw.charCodeAt(0).toString(16).padStart(4, "0")}`);

function jsonLog(clock: Clock, { out, err }: Console): Log {
  // JSON.stringify escapes C0 only.
  const line = (event: string, members: object) => escaped(JSON.stringify({ at: iso(clock.now()), event, ...members }));
  return {
    request: (members) => out(line("request", members)),
    warn: (message) => err(line("warning", { message })),
    announce: (message) => out(line("notice", { message })),
    error: (error, during) => err(line("error", { during, error: described(error) })),
  };
}

function prettyLog(clock: Clock, { out, err }: Console): Log {
  const line = (...parts: string[]) => [styleText("dim", iso(clock.now()).slice(11, 23)), ...parts].join(" ");
  return {
    request({ id, method, path, status, duration_ms }) {
      const colour = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
      const shown = styleText(colour, String(status));
      out(line(escaped(`${method} ${path}`), shown, `${duration_ms.toFixed(1)} ms`, styleText("dim", id)));
    },
    warn: (message) => err(line(styleText("yellow", "warning"), escaped(message))),
    announce: (message) => out(line(escaped(message))),
    error: (error, during) => err(line(styleText("red", "error"), escaped(`${during}: ${described(error)}`))),
  };
}
