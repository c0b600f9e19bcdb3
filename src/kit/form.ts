// Names and values as browsers write them into a query or a form body (application/x-www-form-urlencoded). A name that is
// sent twice is told, never silently settled, since two readers would settle it differently.

export interface Fields {
  readonly values: ReadonlyMap<string, string>;
  /** The values of each name that came more than once; `values` has the first of them. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

/** Every value of a name, in order. */
export const allOf = ({ values, repeated }: Fields, name: string): readonly string[] =>
  (repeated.get(name) ?? [values.get(name) ?? ""]).filter((value) => value !== "");

export const fieldsOf = (text: string): Fields => gathered(new URLSearchParams(text));

/** A field sent without a value counts as not sent (RFC 6749 3.1). */
export function gathered(pairs: Iterable<readonly [name: string, value: string]>): Fields {
  const values = new Map<string, string>();
  const repeated = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const [first, others] = [values.get(name), repeated.get(name)];
    if (first === undefined) values.set(name, value);
    else if (others === undefined) repeated.set(name, [first, value]);
    else others.push(value);
  }
  return { values: new Map([...values].filter(([, value]) => value !== "")), repeated };
}
