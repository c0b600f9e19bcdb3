// One value describes a piece of input: it checks it, gives it its TypeScript type and prints itself as JSON Schema.
// Every fault of a value is collected, each with the JSON pointer of its place, so that one answer names them all.
// This file is the only one that may assert a type (`as`): what is asserted here was checked on the line above, or is
// guaranteed by the rule that `trusted` names.

import { decide } from "./decisions.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

/** A fault in a value: where (path of member names and positions) and which rule it breaks. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly detail: string;
}

export interface Schema<T> {
  /** Answers the accepted value, defaults filled in; faults are added to `faults`, and then the answer is unusable. */
  check(value: unknown, path: Path, faults: Fault[]): T;
  readonly json: JsonSchema;
  /** What an absent member becomes; without it the member is required. */
  readonly absent?: { readonly value: T };
}

export type Infer<S> = S extends Schema<infer T> ? T : never;
type Path = readonly (string | number)[];

/** The value of a rule that holds elsewhere (a journal line whose CRC fits, a table kept by its collection). */
export const trusted = <T>(value: unknown): T => value as T;

/** Checks `value` whole. Answers the value, or every fault that it has. */
export function parse<T>(schema: Schema<T>, value: unknown): { value: T } | { faults: Fault[] } {
  const faults: Fault[] = [];
  const accepted = schema.check(value, [], faults);
  return faults.length === 0 ? { value: accepted } : { faults };
}

/**
 * RFC 6901 pointer in its URI fragment form, as RFC 9457 shows it: `#/events/0`. A lone surrogate in a member's name has
 * no such form and stands there as U+FFFD.
 */
export const pointer = (path: Path): string => `#${path.map((step) => `/${encodeURIComponent(token(step))}`).join("")}`;

const token = (step: string | number): string =>
  String(step).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");

function fail<T>(faults: Fault[], path: Path, detail: string): T {
  faults.push({ path, detail });
  return undefined as T;
}

export interface TextRules {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  /** How the pattern is said to a person: "must be …". */
  readonly says?: string;
  readonly notBlank?: boolean;
  readonly format?: string;
  readonly description?: string;
  /** Further rule: answers the fault's text, or undefined. */
  readonly rule?: (text: string) => string | undefined;
}

/** Unicode text; `min` and `max` count code points. Lone surrogates and NUL are refused. */
export function text(rules: TextRules): Schema<string> {
  const { min = 0, max, pattern, rule } = rules;
  const range = min === 0 ? `at most ${max} characters` : `${min} to ${max} characters`;
  return {
    json: {
      type: "string",
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      ...(pattern ? { pattern: pattern.source } : rules.notBlank && { pattern: "\\S" }),
      ...(rules.format && { format: rules.format }),
      ...(rules.description && { description: rules.description }),
    },
    check(value, path, faults) {
      if (typeof value !== "string") return fail(faults, path, "must be a string");
      const unfit = unfitText(value);
      if (unfit) return fail(faults, path, unfit);
      if (!lengthWithin(value, min, max)) return fail(faults, path, `must have ${range}`);
      if (rules.notBlank && value.trim() === "") return fail(faults, path, "must not be blank");
      if (pattern && !pattern.test(value))
        return fail(faults, path, `must be ${rules.says ?? `like ${pattern.source}`}`);
      const broken = rule?.(value);
      return broken === undefined ? value : fail(faults, path, broken);
    },
  };
}

const UNFIT = decide(
  "2.text",
  { ill_formed: "must not contain a lone surrogate", nul: "must not contain a NUL character" },
  {
    open: "which characters a string may hold",
    why: "any Unicode text comes back as it was sent; these two cannot be kept by every store and every client",
  },
);

/** Why a string cannot be kept and given back as it came, or undefined. */
export function unfitText(value: string): string | undefined {
  if (!value.isWellFormed()) return UNFIT.ill_formed;
  return value.includes("\0") ? UNFIT.nul : undefined;
}

/** A code point is one unit or two, so that most texts need not be counted through. */
function lengthWithin(value: string, min: number, max: number): boolean {
  const units = value.length;
  if (units < min || units > 2 * max) return false;
  return (units <= max && units >= 2 * min) || (codePoints(value) >= min && codePoints(value) <= max);
}

function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

export const flag: Schema<boolean> = {
  json: { type: "boolean" },
  check: (value, path, faults) => (typeof value === "boolean" ? value : fail(faults, path, "must be true or false")),
};

/** A finite number. */
export const number: Schema<number> = {
  json: { type: "number" },
  check: (value, path, faults) =>
    typeof value === "number" && Number.isFinite(value) ? value : fail(faults, path, "must be a finite number"),
};

/** A whole number of JSON. */
export function whole({ min, max }: { readonly min: number; readonly max: number }): Schema<number> {
  return {
    json: { type: "integer", minimum: min, maximum: max },
    check: (value, path, faults) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max
        ? value
        : fail(faults, path, `must be a whole number from ${min} to ${max}`),
  };
}

export function oneOf<const T extends string>(values: readonly T[]): Schema<T> {
  const known = new Set<unknown>(values);
  const list = values.map((value) => `"${value}"`).join(", ");
  return {
    json: { type: "string", enum: values },
    check: (value, path, faults) => (known.has(value) ? (value as T) : fail(faults, path, `must be one of ${list}`)),
  };
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  const { type, ...rest } = schema.json;
  const json = typeof type === "string" && !("enum" in rest) ? { ...rest, type: [type, "null"] } : null;
  return {
    json: json ?? { oneOf: [schema.json, { type: "null" }] },
    check: (value, path, faults) => (value === null ? null : schema.check(value, path, faults)),
  };
}

/** The first of the schemas that accepts the value; `says` is the fault where none does. */
export function anyOf<T>(schemas: readonly Schema<T>[], says: string): Schema<T> {
  return {
    json: { anyOf: schemas.map((schema) => schema.json) },
    check(value, path, faults) {
      for (const schema of schemas) {
        const own: Fault[] = [];
        const accepted = schema.check(value, path, own);
        if (own.length === 0) return accepted;
      }
      return fail(faults, path, says);
    },
  };
}

export interface ListRules {
  readonly min?: number;
  readonly max: number;
  readonly distinct?: boolean;
}

export function list<T>(item: Schema<T>, { min = 0, max, distinct = false }: ListRules): Schema<readonly T[]> {
  return {
    json: { type: "array", items: item.json, minItems: min, maxItems: max, ...(distinct && { uniqueItems: true }) },
    check(value, path, faults) {
      if (!Array.isArray(value)) return fail(faults, path, "must be an array");
      if (value.length < min || value.length > max) return fail(faults, path, `must have ${min} to ${max} items`);
      const before = faults.length;
      const items = value.map((entry: unknown, at) => item.check(entry, [...path, at], faults));
      if (distinct && faults.length === before && new Set(items).size < items.length)
        return fail(faults, path, "must not name the same item twice");
      return items;
    },
  };
}

/** The member may be absent and then is `value`. */
export const withDefault = <T>(schema: Schema<T>, value: T): Schema<T> => ({
  ...schema,
  json: { ...schema.json, default: value },
  absent: { value },
});

/** The member may be absent and then stays `undefined`. */
export const optional = <T>(schema: Schema<T>): Schema<T | undefined> => ({ ...schema, absent: { value: undefined } });

type Members = { readonly [name: string]: Schema<unknown> };
type Shape<M extends Members> = { readonly [N in keyof M]: Infer<M[N]> };

export interface ObjectSchema<T, M extends Members = Members> extends Schema<T> {
  readonly members: M;
}

/** The fault of a member that the schema does not have. */
export const UNKNOWN_MEMBER = decide("2.unknown-members", "is not a known member", {
  open: "what becomes of members of a body that the operation does not know",
  why: "they are refused by name, so that a misspelt member never passes in silence",
});

/** An object with these members and no others. */
export function object<M extends Members>(members: M): ObjectSchema<Shape<M>, M> {
  const names = Object.keys(members);
  const required = names.filter((name) => members[name]?.absent === undefined);
  return {
    members,
    json: {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, members[name]?.json])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    check(value, path, faults) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return fail(faults, path, "must be an object");
      for (const name of Object.keys(value))
        if (!Object.hasOwn(members, name)) fail(faults, [...path, name], UNKNOWN_MEMBER);
      const accepted: Record<string, unknown> = {};
      for (const name of names) {
        const schema = members[name];
        if (schema === undefined) continue;
        if (Object.hasOwn(value, name))
          accepted[name] = schema.check((value as Record<string, unknown>)[name], [...path, name], faults);
        else if (schema.absent) accepted[name] = schema.absent.value;
        else fail(faults, [...path, name], "is required");
      }
      return accepted as Shape<M>;
    },
  };
}

export type Changes<T> = { readonly [N in keyof T]?: T[N] };

/** The body of a PATCH (a JSON merge of the members sent): each member as in `schema`, none required, no defaults. */
export function changesOf<T>(schema: ObjectSchema<T>): ObjectSchema<Changes<T>> {
  const members: Record<string, Schema<unknown>> = {};
  for (const [name, member] of Object.entries(schema.members)) {
    const { default: _, ...json } = member.json;
    members[name] = { ...member, json, absent: { value: undefined } };
  }
  const whole = object(members);
  return {
    members,
    json: whole.json,
    check(value, path, faults) {
      const accepted = whole.check(value, path, faults);
      const sent = Object.entries(accepted ?? {}).filter(([, member]) => member !== undefined);
      return Object.fromEntries(sent) as Changes<T>;
    },
  };
}

/** A whole number written in decimal digits, as it stands in a query. */
export function wholeNumber({ min, max }: { readonly min: number; readonly max: number }): Schema<number> {
  const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `from ${min} to ${max}`;
  return {
    json: { type: "integer", minimum: min, ...(max < Number.MAX_SAFE_INTEGER && { maximum: max }) },
    check(value, path, faults) {
      const read = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      return read >= min && read <= max ? read : fail(faults, path, `must be a whole number ${range}`);
    },
  };
}

/** `true` or `false` written out, as it stands in a query. */
export const flagText: Schema<boolean> = {
  json: { type: "boolean" },
  check: (value, path, faults) =>
    value === "true" || value === "false" ? value === "true" : fail(faults, path, "must be true or false"),
};
