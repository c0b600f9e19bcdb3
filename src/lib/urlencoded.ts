// Names and values as browsers write them into a query or a form body (application/x-www-form-urlencoded). A name that is
// sent twice is told, never silently settled, since two readers would settle it differently.

export interface FormFields {
  readonly values: ReadonlyMap<string, string>;
  /** The values of each name that came more than once; `values` has the first of them. */
  readonly duplicates: ReadonlyMap<string, readonly string[]>;
}

/** Every value of a name, in order. */
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
