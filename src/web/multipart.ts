// A form with a file in it (RFC 7578). Every part is read as text, the file's content too, because that is all this service
// takes; bytes that are no UTF-8 are a fault, never silently replaced.
import { isUtf8 } from "node:buffer";
import { type Fields, gathered } from "../kit/form.ts";

const BOUNDARY = /^multipart\/form-data *;.*?boundary=(?:"([^"]{1,70})"|([^;\s"]{1,70}))/i;
const NAME = /^content-disposition: *form-data;(?:.*;)? *name="([^"]*)"/im;
const BLANK_LINE = "\r\n\r\n";

/** The fields by name, or why the body cannot be read. */
export function multipartFields(body: Buffer, contentType: string): Fields | string {
  const [, quoted, boundary = quoted] = BOUNDARY.exec(contentType) ?? [];
  if (boundary === undefined) return "The form does not say how its parts are divided.";
  const pairs: [name: string, value: string][] = [];
  for (const part of partsOf(body, `\r\n--${boundary}`)) {
    const head = part.indexOf(BLANK_LINE);
    const [, name] = NAME.exec(part.toString("utf8", 0, Math.max(head, 0))) ?? [];
    if (head < 0 || name === undefined) return "A part of the form has no name.";
    const value = part.subarray(head + BLANK_LINE.length);
    if (!isUtf8(value)) return "The file is not text in UTF-8.";
    pairs.push([name, value.toString()]);
  }
  return gathered(pairs);
}

/** What stands between two delimiter lines; the last delimiter ends in two hyphens, and nothing counts after it. */
function partsOf(body: Buffer, delimiter: string): Buffer[] {
  const text = `\r\n${body.toString("latin1")}`;
  const inside = text.slice(0, Math.max(text.indexOf(`${delimiter}--`), 0));
  const [, ...parts] = inside.split(`${delimiter}\r\n`);
  return parts.map((part) => Buffer.from(part, "latin1"));
}
