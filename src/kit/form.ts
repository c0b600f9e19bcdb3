// Names and values as browsers write them: into a query or a form body (application/x-www-form-urlencoded), and into a
// form with a file in it (RFC 7578). Every part is read as text, the file's content too, because that is all this service
// takes; bytes that are no UTF-8 are a fault, never silently replaced. A name that is sent twice is told, never silently
// settled, since two readers would settle it differently.
import { isUtf8 } from "node:buffer";

export interface Fields {
  readonly values: ReadonlyMap<string, string>;
  /** Names that came more than once; their first value is the one kept. */
  readonly repeated: ReadonlySet<string>;
}

export const fieldsOf = (text: string): Fields => gathered(new URLSearchParams(text));

/** A field sent without a value counts as not sent (RFC 6749 3.1). */
function gathered(pairs: Iterable<readonly [name: string, value: string]>): Fields {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  const seen = new Set<string>();
  for (const [name, value] of pairs) {
    if (seen.has(name)) repeated.add(name);
    else if (value !== "") values.set(name, value);
    seen.add(name);
  }
  return { values, repeated };
}

/** Undoes the form encoding of one value; undefined where it is no such encoding. */
export function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined; // a stray % or bytes that are not UTF-8
  }
}

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
