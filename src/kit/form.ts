// Names and values as browsers write them into a query or a form body (application/x-www-form-urlencoded). A name that
// is sent twice is told, never silently settled, since two readers would settle it differently.

export interface Fields {
  readonly values: ReadonlyMap<string, string>;
  /** Names that came more than once; their first value is the one kept. */
  readonly repeated: ReadonlySet<string>;
}

/** A field sent without a value counts as not sent (RFC 6749 3.1). */
export function fieldsOf(text: string): Fields {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
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
