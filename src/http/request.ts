// Parses the head of a request into an HttpRequest and checks its size and form (contract, parts 7 and 8; RFC 9112). No
// response is written here.
import type { IncomingMessage, ServerResponse } from "node:http";
import { decide } from "../former-decisions.ts";
import { type AppError, fail } from "../domain/errors.ts";
import type { HttpRequest } from "./message.ts";

const BOUNDS = decide("8.bounds");

export const LIMITS = {
  url_bytes: BOUNDS.url,
  header_bytes: BOUNDS.headers,
  headers_ms: 10_000,
  request_ms: 30_000,
  idle_ms: 60_000,
  /** For a response that the client stops reading. */
  unread_ms: 30_000,
  connections: 1_000,
};
export type Limits = Readonly<Record<keyof typeof LIMITS, number>>;
/** Node must read past our own limits, so that the error can name the limit exceeded. */
export const MAX_HEADER_SIZE = LIMITS.url_bytes + LIMITS.header_bytes + 8_192;

/** Parses the head of a request; the body stays unread until `readBody`. */
export function parseRequest(
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
): HttpRequest {
  const { headers } = request;
  const { host, target } = parseTarget(request);
  const end = target.indexOf("?");
  const path = end < 0 ? target : target.slice(0, end);
  return {
    id,
    method: request.method ?? "GET",
    path: path.includes("%") ? path.replace(UNRESERVED, decodeURIComponent) : path,
    query: end < 0 ? "" : target.slice(end + 1),
    host,
    protocolError: validateHead(request, host, target),
    header: (name) => (headers[name] === undefined ? [] : headerValues(request.rawHeaders, name)),
    headerNames: () => Object.keys(headers),
    readBody(limit_bytes, invalid) {
      const error =
        Number(headers["content-length"] ?? 0) > limit_bytes
          ? tooLarge("payload_too_large", limit_bytes)
          : invalid;
      if (error) return Promise.resolve(error);
      if (headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
      return readBody(request, limit_bytes);
    },
  };
}

const tooLarge = (
  code: "payload_too_large" | "uri_too_long" | "headers_too_large",
  limit_bytes: number,
): AppError => fail({ code, detail: `At most ${limit_bytes} bytes are read.` });

const NOTHING: Buffer = Buffer.alloc(0);

/** Collects the body in one growing buffer: chunks may hold one byte each, and each costs 200 bytes. */
export function readBody(
  request: IncomingMessage,
  limit_bytes: number,
): Promise<Buffer | AppError> {
  return new Promise((resolve) => {
    let bytes = NOTHING;
    let length = 0;
    const collect = (chunk: Buffer) => {
      const size = length + chunk.length;
      if (size > limit_bytes) {
        request.off("data", collect).pause();
        return resolve(tooLarge("payload_too_large", limit_bytes));
      }
      if (size > bytes.length)
        bytes = length === 0 ? chunk : Buffer.concat([bytes], Math.min(2 * size, limit_bytes));
      if (length > 0) chunk.copy(bytes, length);
      length = size;
    };
    const finish = () => resolve(length === bytes.length ? bytes : bytes.subarray(0, length));
    const abort = () => resolve(badRequest("The connection ended before the body did."));
    // Ignore `close` after `end`; resolving a promise twice costs about 1 µs.
    const close = () => request.readableEnded || abort();
    // During a delay the connection may have closed, or an error response may have discarded the body.
    if (request.destroyed || request.readableFlowing) return abort();
    // The listeners stay, because removing them has no visible effect. Errors end in `close` too; Node emits `error`
    // only if there is a listener.
    request.on("data", collect).on("end", finish).on("close", close);
  });
}

/** Percent-encoded letters, digits and - . _ ~ equal the plain characters (RFC 3986 2.3). */
const UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/** A target may be a whole URL, whose host then takes precedence (RFC 9112 3.2.2). */
const WHOLE_URL = /^https?:\/\/([^/?#]+)\/?(.*)$/i;

function parseTarget({ url = "/", headers }: IncomingMessage) {
  const whole = url.startsWith("/") ? null : WHOLE_URL.exec(url);
  return whole
    ? { host: whole[1] ?? "", target: `/${whole[2]}` }
    : { host: headers.host ?? "", target: url };
}

/**
 * A DNS name (underscores are common in container networks), IPv4 address or bracketed IPv6 address, with an optional
 * port.
 */
const HOST_FORM = /^([\w-]+(\.[\w-]+)*\.?|\[[\da-f:.]+\])(:\d{0,5})?$/i;

/** Accepts a name or address with an optional port, or "" if the client knows none (RFC 9110 7.2). */
function isValidHost(host: string): boolean {
  if (host === "" || host === fitHost) return true;
  const isFit = HOST_FORM.test(host) && URL.canParse(`http://${host}`);
  if (isFit) fitHost = host;
  return isFit;
}

/** The last valid host, cached because nearly all requests have the same one: parsing took 3 of 60 µs. */
let fitHost = "";

function headerValues(raw: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.length === name.length && raw[at]?.toLowerCase() === name)
      values.push(raw[at + 1] ?? "");
  return values;
}

function validateHead(
  request: IncomingMessage,
  host: string,
  target: string,
): AppError | undefined {
  const { rawHeaders, headers } = request;
  if ((request.url?.length ?? 0) > LIMITS.url_bytes)
    return tooLarge("uri_too_long", LIMITS.url_bytes);
  if (request.httpVersionMajor !== 1)
    return badRequest("Only HTTP/1.1 and HTTP/1.0 are spoken here.");
  // Each name is followed by ": ", each value by a line break.
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length + 2;
  if (bytes > LIMITS.header_bytes) return tooLarge("headers_too_large", LIMITS.header_bytes);
  const hosts = headerValues(rawHeaders, "host");
  if (hosts.length > 1 || (hosts.length === 0 && request.httpVersion === "1.1"))
    return badRequest("There must be exactly one Host header.");
  if (!isValidHost(host) || !hosts.every(isValidHost))
    return badRequest("The Host is neither a name nor an address.");
  if (!target.startsWith("/") && target !== "*")
    return badRequest("The request target is neither a path nor an http URL.");
  // 100-continue is the only expectation that RFC 9110 10.1.1 defines.
  const { expect, "transfer-encoding": coding } = headers;
  if (hasUnboundedBody(request))
    return badRequest("The body is not chunked, so nobody can tell where it ends.");
  if (coding?.includes(",")) return fail({ code: "not_implemented" });
  return expect === undefined || expect.toLowerCase() === "100-continue"
    ? undefined
    : badRequest("The expectation is not known.");
}

const badRequest = (detail: string): AppError => fail({ code: "invalid_request", detail });

/** A transfer coding must end in chunked, and HTTP/1.0 has none (RFC 9112 6.1, 6.3). */
const hasUnboundedBody = ({
  headers: { "transfer-encoding": coding },
  httpVersion,
}: IncomingMessage): boolean =>
  coding !== undefined && !(httpVersion === "1.1" && /^(.*, *)?chunked$/i.test(coding));

/** Node drains an unread body up to this size, and the connection stays open. */
const DRAIN_LIMIT_BYTES = 65_536;

/**
 * Whether the response precedes the end of the body and the connection cannot be reused. The next request could not
 * be delimited, would wait too long or does not exist.
 */
export function mustCloseConnection(request: IncomingMessage, goesOn: boolean): boolean {
  if (hasUnboundedBody(request)) return true;
  if (request.complete) return false;
  const { expect, "content-length": length = 0, "transfer-encoding": coding } = request.headers;
  return (
    !goesOn || expect !== undefined || coding !== undefined || Number(length) > DRAIN_LIMIT_BYTES
  );
}

/** Converts a parse or timeout error from Node to the error to send. */
export function clientErrorToAppError(error: NodeJS.ErrnoException, bytesRead: number): AppError {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return fail({ code: "request_timeout" });
  if (error.code !== "HPE_HEADER_OVERFLOW")
    return badRequest("What arrived is not an HTTP/1.1 request.");
  // If the first packet does not contain the end of the first line, the URL was too long.
  const packet =
    "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : Buffer.alloc(0);
  const inFirstLine =
    bytesRead <= packet.length && packet.subarray(0, MAX_HEADER_SIZE).indexOf("\r\n") < 0;
  return inFirstLine
    ? tooLarge("uri_too_long", LIMITS.url_bytes)
    : tooLarge("headers_too_large", LIMITS.header_bytes);
}
