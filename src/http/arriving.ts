// What arrives, before it is handled: the head of a request as a Call, and what of it is refused for its size or form
// (contract, parts 7 and 8; RFC 9112). No answer is written here.
import type { IncomingMessage, ServerResponse } from "node:http";
import { decide } from "../decisions.ts";
import { type Refusal, refuse } from "../domain/refusal.ts";
import type { Call } from "./call.ts";

const BOUNDS = decide("8.bounds");

export const LIMITS = {
  url_bytes: BOUNDS.url,
  header_bytes: BOUNDS.headers,
  headers_ms: 10_000,
  request_ms: 30_000,
  idle_ms: 60_000,
  connections: 1_000,
};
export type Limits = { readonly [N in keyof typeof LIMITS]: number };
/** Node must read past our own limits, so that we can say which of them was exceeded. */
export const PARSER_BYTES = LIMITS.url_bytes + LIMITS.header_bytes + 8_192;

/** HTTP/1.1 and 1.0. */
const HTTP_MAJOR = 1;

/** The one that RFC 9110 10.1.1 knows: a client may wait to be told that its body is wanted. */
const EXPECTATION = "100-continue";

/** The head of a request; its body stays where it is until it is asked for. */
export function arrived(id: string, request: IncomingMessage, response: ServerResponse): Call {
  const target = originForm(request.url ?? "/");
  const [path = ""] = target.split("?", 1);
  return {
    id,
    method: request.method ?? "GET",
    path,
    query: target.slice(path.length + 1),
    headers: request.headers,
    values: (name) => valuesOf(request.rawHeaders, name),
    body: (limit_bytes) => readBody(request, response, limit_bytes),
  };
}

/** Collects the body. More than `limit_bytes` is refused as soon as it is known, by its announced length or on arrival. */
function readBody(request: IncomingMessage, response: ServerResponse, limit_bytes: number): Promise<Buffer | Refusal> {
  const tooLarge = () => refuse({ code: "payload_too_large", limit_bytes });
  const { expect, "content-length": length = 0 } = request.headers;
  if (Number(length) > limit_bytes) return Promise.resolve(tooLarge());
  if (expect !== undefined) response.writeContinue();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const collect = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit_bytes) chunks.push(chunk);
      else {
        request.off("data", collect).pause();
        resolve(tooLarge());
      }
    };
    const finish = () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    const abort = () => resolve(notHttp("The connection ended before the body did."));
    // The listeners stay; the first word counts. What goes wrong ends in "close", too, and Node tells of an error only
    // those who ask for it.
    request.on("data", collect).on("end", finish).on("close", abort);
  });
}

/** A request target may be a whole URL (RFC 9112 3.2.2). */
function originForm(target: string): string {
  if (target.startsWith("/") || !URL.canParse(target)) return target;
  const { pathname, search } = new URL(target);
  return pathname + search;
}

function valuesOf(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const given = raw[at] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) values.push(raw[at + 1] ?? "");
  }
  return values;
}

export function unfitRequest(request: IncomingMessage): Refusal | undefined {
  if ((request.url?.length ?? 0) > LIMITS.url_bytes)
    return refuse({ code: "uri_too_long", limit_bytes: LIMITS.url_bytes });
  if (request.httpVersionMajor !== HTTP_MAJOR) return notHttp("Only HTTP/1.1 and HTTP/1.0 are spoken here.");
  let bytes = 0;
  let hosts = 0;
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? "";
    bytes += name.length + (request.rawHeaders[at + 1]?.length ?? 0) + 4;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  if (bytes > LIMITS.header_bytes) return refuse({ code: "headers_too_large", limit_bytes: LIMITS.header_bytes });
  if (hosts > 1) return notHttp("There is more than one Host header.");
  if (hosts === 0 && request.httpVersion === "1.1") return notHttp("The Host header is missing.");
  const expected = request.headers.expect;
  return expected === undefined || expected.toLowerCase() === EXPECTATION
    ? undefined
    : notHttp("The expectation is not known.");
}

const notHttp = (detail: string): Refusal => refuse({ code: "invalid_request", detail });

/** What is left of a body this small is read and dropped by Node, and the connection goes on. */
const DROPPED_BYTES = 65_536;

/** The answer comes before the body, and the next request could not be told from it or would wait too long. */
export function wouldHang({ complete, headers }: IncomingMessage): boolean {
  const { expect, "content-length": length = 0, "transfer-encoding": coding } = headers;
  return !complete && (expect !== undefined || coding !== undefined || Number(length) > DROPPED_BYTES);
}

/** What is no request at all, told from Node's error. */
export function socketRefusal(error: NodeJS.ErrnoException): Refusal {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return refuse({ code: "request_timeout" });
  if (error.code === "HPE_HEADER_OVERFLOW") return overflow(error);
  return notHttp("What arrived is not an HTTP/1.1 request.");
}

/** Where the parser gave up before the first line ended, it is the URL that was too long. */
function overflow(error: NodeJS.ErrnoException): Refusal {
  const packet = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : Buffer.alloc(0);
  const inFirstLine = packet.subarray(0, PARSER_BYTES).indexOf("\r\n") < 0;
  return inFirstLine
    ? refuse({ code: "uri_too_long", limit_bytes: LIMITS.url_bytes })
    : refuse({ code: "headers_too_large", limit_bytes: LIMITS.header_bytes });
}
