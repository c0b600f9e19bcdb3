// Reads a request body and makes JSON of it: counted while it streams, strict UTF-8, no byte order mark, nesting bounded
// (contract, parts 2 and 8; RFC 8259 8.1).
import type { IncomingMessage } from "node:http";
import { decide } from "../decisions.ts";
import { Refusal, refuse } from "../domain/refusal.ts";
import { type Call, header, JSON_TYPE } from "./call.ts";

const MIB = 1_048_576;
const { any_mib, data_mib } = decide("8.body-size");
export const BODY_BYTES = any_mib * MIB;
export const DATA_BODY_BYTES = data_mib * MIB;
/** No resource here is deeper than four; the bound keeps hostile input from costing a stack. */
export const NESTING_MAX = decide("8.bounds").nesting;

/** Collects the body. More than `limit_bytes` is refused as soon as it is known, by its announced length or on arrival. */
export function readBody(request: IncomingMessage, limit_bytes: number, begin: () => void): Promise<Buffer | Refusal> {
  const tooLarge = () => refuse({ code: "payload_too_large", limit_bytes });
  if (Number(request.headers["content-length"] ?? 0) > limit_bytes) return Promise.resolve(tooLarge());
  begin();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let settled = false;
    const collect = (chunk: Buffer) => {
      if (settled) return;
      size += chunk.length;
      if (size > limit_bytes) settle(tooLarge());
      else chunks.push(chunk);
    };
    const finish = () => settle(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    const abort = () => {
      if (!settled) settle(refuse({ code: "invalid_request", detail: "The connection ended before the body did." }));
    };
    // The listeners stay, and say no more: taking them off again is work that nobody sees the result of.
    const settle = (result: Buffer | Refusal) => {
      settled = true;
      if (result instanceof Refusal) request.pause();
      resolve(result);
    };
    // What goes wrong ends in "close", too; Node tells of an error only those who ask for it.
    request.on("data", collect).on("end", finish).on("close", abort);
  });
}

/** The fault lies in the body as a whole. */
const notJson = (detail: string): Refusal =>
  refuse({ code: "invalid_json", detail, errors: [{ pointer: "#", detail }] });

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Media type application/json, with no charset but UTF-8 and no content coding. */
export function unfitMediaType(call: Call): Refusal | undefined {
  const unsupported = (detail: string) => refuse({ code: "unsupported_media_type", detail });
  if (header(call, "content-encoding") !== undefined) return unsupported("A Content-Encoding is not supported.");
  const given = header(call, "content-type") ?? "";
  if (given === JSON_TYPE) return undefined;
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim().toLowerCase());
  if (type !== JSON_TYPE) return unsupported(`The Content-Type must be ${JSON_TYPE}.`);
  const charset = parameters.find((parameter) => parameter.startsWith("charset="));
  return charset === undefined || /^charset="?utf-8"?$/.test(charset) ? undefined : unsupported("JSON is UTF-8 only.");
}

/** The body as text: UTF-8 without fault or byte order mark. */
export function utf8(bytes: Buffer): string | Refusal {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    return notJson("The body starts with a byte order mark.");
  try {
    return strictUtf8.decode(bytes);
  } catch {
    return notJson("The body is not valid UTF-8.");
  }
}

export function parseJson(bytes: Buffer): { readonly value: unknown } | Refusal {
  const text = utf8(bytes);
  if (text instanceof Refusal) return text;
  if (text.trim() === "") return notJson("The body is empty; a JSON object is expected.");
  if (nestedDeeper(bytes, NESTING_MAX)) return notJson(`The body is nested deeper than ${NESTING_MAX} levels.`);
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch (error) {
    const cause = error instanceof SyntaxError ? error.message : "unknown fault";
    return notJson(`The body is not valid JSON: ${cause}`);
  }
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d] as const;
/** The braces differ from the brackets in this bit alone; no other byte of UTF-8 becomes a bracket by losing it. */
const BRACE_BIT = 0x20;

/** Told from the bytes, before parsing: ten MiB of brackets would hold the parser, and the server, for seconds. */
function nestedDeeper(bytes: Buffer, levels: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) inString = !inString;
    else if (inString) at += byte === BACKSLASH ? 1 : 0;
    else if ((byte & ~BRACE_BIT) === OPEN) depth += 1;
    else if ((byte & ~BRACE_BIT) === CLOSE) depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}
