// Parses names and values of a query or form body (application/x-www-form-urlencoded). Repeated names are reported,
// never resolved silently, because two readers would resolve them differently.

export interface FormFields {
  /** The first value of each name. A field sent without a value counts as not sent (RFC 6749 3.1). */
  readonly values: ReadonlyMap<string, string>;
  /** Names that occur more than once. */
  readonly duplicates: ReadonlySet<string>;
}

export const parseForm = (text: string): FormFields => collectFields(new URLSearchParams(text));

export function collectFields(pairs: Iterable<readonly [name: string, value: string]>): FormFields {
  const values = new Map<string, string>();
  const duplicates = new Set<string>();
  for (const [name, value] of pairs)
    if (values.has(name)) duplicates.add(name);
    else values.set(name, value);
  return { values: new Map([...values].filter(([, value]) => value !== "")), duplicates };
}
