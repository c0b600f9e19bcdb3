// Parses names and values of a query or form body (application/x-www-form-urlencoded). Repeated names are reported,
// never resolved silently, because two readers would resolve them differently.

export interface FormFields {
  readonly values: ReadonlyMap<string, string>;
  /** All values of each repeated name; `values` has the first. */
  readonly duplicates: ReadonlyMap<string, readonly string[]>;
}

/** Returns every non-empty value of a name, in order. */
export const allOf = ({ values, duplicates }: FormFields, name: string): readonly string[] =>
  (duplicates.get(name) ?? [values.get(name) ?? ""]).filter((value) => value !== "");

export const parseForm = (text: string): FormFields => collectFields(new URLSearchParams(text));

/** A field sent without a value counts as not sent (RFC 6749 3.1). */
export function collectFields(pairs: Iterable<readonly [name: string, value: string]>): FormFields {
  const values = new Map<string, string>();
  const duplicates = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const [first, others] = [values.get(name), duplicates.get(name)];
    if (first === undefined) values.set(name, value);
    else if (others === undefined) duplicates.set(name, [first, value]);
    else others.push(value);
  }
  return { values: new Map([...values].filter(([, value]) => value !== "")), duplicates };
}
