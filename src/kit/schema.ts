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

/** A value that is taken as it is; `unfit` says what is wrong with one that is not. */
const plain = <T>(json: JsonSchema, unfit: (value: unknown) => string | undefined): Schema<T> => ({
  json,
  check(value, path, faults) {
    const detail = unfit(value);
    return detail === undefined ? trusted<T>(value) : fail(faults, path, detail);
  },
});

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
  const { min = 0, max, pattern, notBlank, format, description } = rules;
  const json = {
    type: "string",
    ...(min > 0 && { minLength: min }),
    maxLength: max,
    ...(pattern ? { pattern: pattern.source } : notBlank && { pattern: "\\S" }),
    ...(format && { format }),
    ...(description && { description }),
  };
  return plain(json, (value) => (typeof value === "string" ? brokenRule(rules, value) : "must be a string"));
}

function brokenRule({ min = 0, max, pattern, says, notBlank, rule }: TextRules, value: string): string | undefined {
  const unfit = unfitText(value);
  if (unfit) return unfit;
  if (!lengthWithin(value, min, max)) return `must have ${min === 0 ? "at most" : `${min} to`} ${max} characters`;
  if (notBlank && value.trim() === "") return "must not be blank";
  if (pattern && !pattern.test(value)) return `must be ${says ?? `like ${pattern.source}`}`;
  return rule?.(value);
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

/** A code point is one unit or two: what is far too long need not be counted. */
function lengthWithin(value: string, min: number, max: number): boolean {
  if (value.length > 2 * max) return false;
  const { length } = [...value];
  return length >= min && length <= max;
}

export const flag: Schema<boolean> = plain({ type: "boolean" }, (value) =>
  typeof value === "boolean" ? undefined : "must be true or false",
);

/** A finite number. */
export const number: Schema<number> = plain({ type: "number" }, (value) =>
  Number.isFinite(value) ? undefined : "must be a finite number",
);

export function whole({ min, max }: { readonly min: number; readonly max?: number }): Schema<number> {
  const most = max ?? Number.MAX_SAFE_INTEGER;
  const detail = `must be a whole number ${max === undefined ? `${min} or more` : `from ${min} to ${max}`}`;
  return plain({ type: "integer", minimum: min, ...(max !== undefined && { maximum: max }) }, (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= most ? undefined : detail,
  );
}

export function oneOf<const T extends string>(values: readonly T[]): Schema<T> {
  const known = new Set<unknown>(values);
  const detail = `must be one of ${values.map((value) => `"${value}"`).join(", ")}`;
  return plain({ type: "string", enum: values }, (value) => (known.has(value) ? undefined : detail));
}

/**
 * A number or a flag as it stands in a query, where everything is text: `true`, `false`, or decimal digits without
 * leading zeros, so that each value has one form.
 */
export const fromText = <T extends number | boolean>(schema: Schema<T>): Schema<T> => ({
  ...schema,
  check: (value, path, faults) =>
    schema.check(/^(true|false|0|[1-9]\d*)$/.test(String(value)) ? JSON.parse(String(value)) : value, path, faults),
});

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  const { type, ...rest } = schema.json;
  const either = typeof type === "string" && !("enum" in rest);
  return {
    json: either ? { ...rest, type: [type, "null"] } : { oneOf: [schema.json, { type: "null" }] },
    check: (value, path, faults) => (value === null ? null : schema.check(value, path, faults)),
  };
}

/** The first of the schemas that accepts the value; `says` is the fault where none does. */
export function anyOf<T>(schemas: readonly Schema<T>[], says: string): Schema<T> {
  return {
    json: { anyOf: schemas.map(({ json }) => json) },
    check(value, path, faults) {
      for (const schema of schemas) {
        const read = parse(schema, value);
        if ("value" in read) return read.value;
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
  const named = Object.entries(members);
  const required = named.filter(([, { absent }]) => absent === undefined).map(([name]) => name);
  return {
    members,
    json: {
      type: "object",
      properties: Object.fromEntries(named.map(([name, { json }]) => [name, json])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    check(value, path, faults) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return fail(faults, path, "must be an object");
      const given = trusted<Record<string, unknown>>(value);
      for (const name of Object.keys(given))
        if (!Object.hasOwn(members, name)) fail(faults, [...path, name], UNKNOWN_MEMBER);
      const accepted: Record<string, unknown> = {};
      for (const [name, { check, absent }] of named)
        if (Object.hasOwn(given, name)) accepted[name] = check(given[name], [...path, name], faults);
        else if (absent === undefined) fail(faults, [...path, name], "is required");
        else if (absent.value !== undefined) accepted[name] = absent.value;
      return trusted(accepted);
    },
  };
}

export type Changes<T> = { readonly [N in keyof T]?: T[N] };

/** The body of a PATCH (a JSON merge of the members sent): each member as in `schema`, none required, no defaults. */
export function changesOf<T>(schema: ObjectSchema<T>): ObjectSchema<Changes<T>> {
  const members = Object.entries(schema.members).map(([name, { json, ...member }]) => {
    const { default: _, ...ownJson } = json;
    return [name, optional({ ...member, json: ownJson })] as const;
  });
  return trusted(object(Object.fromEntries(members)));
}
