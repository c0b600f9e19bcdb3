// Names and values as browsers write them into a query or a form body (application/x-www-form-urlencoded). A name that is
// sent twice is told, never silently settled, since two readers would settle it differently.

export interface Fields {
  readonly values: ReadonlyMap<string, string>;
  /** Names that came more than once; their first value is the one kept. */
  readonly repeated: ReadonlySet<string>;
}

export const fieldsOf = (text: string): Fields => gathered(new URLSearchParams(text));

/** A field sent without a value counts as not sent (RFC 6749 3.1). */
export function gathered(pairs: Iterable<readonly [name: string, value: string]>): Fields {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  for (const [name, value] of pairs)
    if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  return { values: new Map([...values].filter(([, value]) => value !== "")), repeated };
}
