// Converts a node:http request into an HttpRequest and checks its size and form (contract, parts 7 and 8; RFC 9112).
import type { IncomingMessage, ServerResponse } from "node:http";
import { type AppError, fail } from "../domain/errors.ts";
import type { HttpRequest } from "./message.ts";

export const LIMITS = {
  url_bytes: 8_192,
  header_bytes: 16_384,
  headers_ms: 10_000,
  request_ms: 30_000,
  idle_ms: 60_000,
  /** Node can take twice as long to notice that a client has stopped reading. */
  unread_ms: 60_000,
  connections: 1_000,
};
export type Limits = Readonly<typeof LIMITS>;

/** Node's limit on the URL and the headers together. It leaves room to name the limit that was exceeded. */
export const MAX_HEADER_SIZE = 32_768;

/** Percent-encoded letters, digits and - . _ ~ equal the plain characters (RFC 3986 2.3). */
const ENCODED_UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;

/** Parses the head of a request; the body stays unread until `readBody`. */
export function parseRequest(
  id: string,
  request: IncomingMessage,
  response: ServerResponse,
): HttpRequest {
  const { headers, rawHeaders } = request;
  const { host, target } = parseTarget(request);
  const [path = "", ...query] = target.split("?");
  return {
    id,
    method: request.method ?? "GET",
    path: path.replace(ENCODED_UNRESERVED, decodeURIComponent),
    query: query.join("?"),
    host,
    protocolError: validateHead(request, host, target),
    headerNames: () => Object.keys(headers),
    header: (name) => (name in headers ? headerValues(rawHeaders, name) : []),
    async readBody(limit_bytes, otherError) {
      if (Number(headers["content-length"] ?? 0) > limit_bytes)
        return tooLarge("payload_too_large", limit_bytes);
      if (otherError) return otherError;
      if (headers.expect !== undefined && request.httpVersion === "1.1") response.writeContinue();
      return readBody(request, limit_bytes);
    },
  };
}

/** A target may be a whole URL, whose host then takes precedence (RFC 9112 3.2.2). */
function parseTarget({ url = "/", headers }: IncomingMessage) {
  const [, host = "", rest = ""] = /^https?:\/\/([^/?#]+)\/?(.*)$/i.exec(url) ?? [];
  return host === "" ? { host: headers.host ?? "", target: url } : { host, target: `/${rest}` };
}

/** Reads the body; the rest of one that is too large is discarded, so that the client gets to read the response. */
export function readBody(
  request: IncomingMessage,
  limit_bytes: number,
): Promise<Buffer | AppError> {
  return new Promise((resolve) => {
    const aborted = () => resolve(badRequest("The connection ended before the body did."));
    // During a delay the connection may have closed, or an error response may have discarded the body.
    if (request.destroyed || request.readableFlowing) return aborted();
    // One buffer that doubles, because a client may send chunks of one byte, and each Buffer takes 200 bytes.
    let body = Buffer.alloc(0);
    let length = 0;
    function onData(chunk: Buffer): void {
      const size = length + chunk.length;
      if (size > limit_bytes) {
        request.off("data", onData).resume();
        resolve(tooLarge("payload_too_large", limit_bytes));
        return;
      }
      if (size > body.length) body = Buffer.concat([body], Math.max(size, 2 * body.length));
      chunk.copy(body, length);
      length = size;
    }
    request.on("data", onData);
    request.once("end", () => resolve(body.subarray(0, length)));
    request.once("close", aborted);
  });
}

function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const isValue = (_: string, at: number) =>
    at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name;
  return rawHeaders.filter(isValue);
}

function validateHead(
  request: IncomingMessage,
  host: string,
  target: string,
): AppError | undefined {
  const { rawHeaders, headers, url = "", httpVersion } = request;
  if (url.length > LIMITS.url_bytes) return tooLarge("uri_too_long", LIMITS.url_bytes);
  if (request.httpVersionMajor !== 1) return badRequest("The server speaks HTTP/1.1 and HTTP/1.0.");
  // A colon and a space follow each name, a line break each value.
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (bytes > LIMITS.header_bytes) return tooLarge("headers_too_large", LIMITS.header_bytes);
  const hosts = headerValues(rawHeaders, "host");
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === "1.1"))
    return badRequest("There must be exactly one Host header.");
  if (![host, ...hosts].every(isValidHost))
    return badRequest("The Host header must be a name or an address.");
  if (!target.startsWith("/") && target !== "*")
    return badRequest("The request target must be a path or an http URL.");
  if (hasUnknownLength(request))
    return badRequest("A Transfer-Encoding must be chunked, and needs HTTP/1.1.");
  if (headers["transfer-encoding"]?.includes(",")) return fail({ code: "not_implemented" });
  const { expect = "100-continue" } = headers;
  // RFC 9110 10.1.1 defines no other expectation.
  return expect.toLowerCase() === "100-continue"
    ? undefined
    : badRequest("The only supported expectation is 100-continue.");
}

/** A DNS name (underscores are common in container networks), IPv4 address or bracketed IPv6 address, and a port. */
const HOST = /^([\w-]+(\.[\w-]+)*\.?|\[[\da-f:.]+\])(:\d{0,5})?$/i;

/** An empty Host header is valid (RFC 9110 7.2). */
const isValidHost = (host: string): boolean =>
  host === "" || (HOST.test(host) && URL.canParse(`http://${host}`));

/** A transfer coding must end in chunked, and HTTP/1.0 has none (RFC 9112 6.1, 6.3). */
export function hasUnknownLength({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding !== undefined && !(httpVersion === "1.1" && /^(.*, *)?chunked$/i.test(coding));
}

/** Converts a parse or timeout error of Node to the error to send. */
export function parserErrorToAppError(error: NodeJS.ErrnoException, bytesRead: number): AppError {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return fail({ code: "request_timeout" });
  if (error.code !== "HPE_HEADER_OVERFLOW") return badRequest("This is not an HTTP/1.1 request.");
  const { rawPacket } = error as { rawPacket?: Buffer };
  // If the first packet does not contain the end of the first line, the URL was too long.
  const isFirstLine =
    rawPacket !== undefined &&
    bytesRead <= rawPacket.length &&
    !rawPacket.subarray(0, MAX_HEADER_SIZE).includes("\r\n");
  return isFirstLine
    ? tooLarge("uri_too_long", LIMITS.url_bytes)
    : tooLarge("headers_too_large", LIMITS.header_bytes);
}

export const badRequest = (detail: string): AppError => fail({ code: "invalid_request", detail });

const tooLarge = (
  code: "payload_too_large" | "uri_too_long" | "headers_too_large",
  limit_bytes: number,
): AppError => fail({ code, detail: `The limit is ${limit_bytes} bytes.` });
