// A form with a file in it, as browsers send it (RFC 7578). Every part is read as text, the file's content too, because
// that is all this service takes; bytes that are no UTF-8 are a fault, never silently replaced.
import type { Fields } from "./form.ts";

const BOUNDARY = /^multipart\/form-data *;.*?boundary=(?:"([^"]{1,70})"|([^;\s"]{1,70}))/i;
const NAME = /^content-disposition: *form-data;(?:.*;)? *name="([^"]*)"/im;
const BLANK_LINE = "\r\n\r\n";

/** The fields by name, or why the body cannot be read. */
export function multipartFields(body: Buffer, contentType: string): Fields | string {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return "The form does not say how its parts are divided.";
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const part of partsOf(body, `--${boundary}`)) {
    const head = part.indexOf(BLANK_LINE);
    const [, name] = NAME.exec(part.toString("utf8", 0, Math.max(head, 0))) ?? [];
    if (head < 0 || name === undefined) return "A part of the form has no name.";
    const text = strictText(part.subarray(head + BLANK_LINE.length));
    if (text === undefined) return "The file is not text in UTF-8.";
    if (values.has(name)) repeated.add(name);
    else if (text !== "") values.set(name, text);
  }
  return { values, repeated };
}

/** What stands between two delimiter lines; the last delimiter ends in two hyphens, and nothing counts after it. */
function* partsOf(body: Buffer, delimiter: string): Generator<Buffer> {
  const inner = `\r\n${delimiter}\r\n`;
  const last = body.indexOf(`\r\n${delimiter}--`);
  let start = body.indexOf(`${delimiter}\r\n`) + delimiter.length + 2;
  while (start < last) {
    const next = body.indexOf(inner, start);
    const end = next < 0 || next > last ? last : next;
    yield body.subarray(start, end);
    start = end + inner.length;
  }
}

function strictText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // bytes that are not UTF-8
  }
}
