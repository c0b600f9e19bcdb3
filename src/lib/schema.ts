// Schemas: one value validates input, gives its TypeScript type and prints its JSON Schema. Validation collects every
// issue with its JSON pointer, so that one response lists them all. No other file may assert a type (`as`): here the
// line above checked it, or the rule at `unsafeCast` holds.
import type { Chunked } from "./tasks.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
}

/** A validation issue: its path (member names and positions) and the rule that the value breaks. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly detail: string;
}

/** Validation issues; if `passes` is set, unknown members are ignored. */
export type ValidationIssues = Issue[] & { passes?: true };

export interface Schema<T> {
  /** Returns the accepted value with defaults; adds issues to `issues`, and then the result is unusable. */
  check(value: unknown, path: Path, issues: ValidationIssues): T;
  /** Like `check`, in steps, for a value that may take longer than others should wait. */
  checkInSteps?(value: unknown, path: Path, faults: ValidationIssues): Chunked<T>;
  readonly json: JsonSchema;
  /** Unknown members are ignored, at every depth. */
  readonly allowsUnknown?: true;
  /** The value of an absent member; without it the member is required. */
  readonly absent?: { readonly value: T };
}

export type Infer<S> = S extends Schema<infer T> ? T : never;
type Path = readonly (string | number)[];

/** Casts a value whose type is guaranteed elsewhere (a journal line whose CRC fits, a table kept by its collection). */
export const unsafeCast = <T>(value: unknown): T => value as T;

/** Returns the accepted value, or every issue. */
export function parse<T>(schema: Schema<T>, value: unknown): { value: T } | { faults: Issue[] } {
  const issues: Issue[] = [];
  const accepted = schema.check(value, [], issues);
  return issues.length === 0 ? { value: accepted } : { faults: issues };
}

/** An invalid option that was passed to the process. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Validates an option; throws an OptionError with the path of the first issue. */
export function parseOption<T>(schema: Schema<T>, value: unknown, what: string): T {
  const read = parse(schema, value);
  if ("value" in read) return read.value;
  const [first] = read.faults;
  throw new OptionError(`${what}: ${pointer(first?.path ?? [])} ${first?.detail}`);
}

/** Returns an RFC 6901 pointer as a URI fragment, as in RFC 9457: `#/events/0`. A lone surrogate becomes U+FFFD. */
export function pointer(path: Path): string {
  const steps = path.map((step) =>
    String(step).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1"),
  );
  return ["#", ...steps.map(encodeURIComponent)].join("/");
}

/** Maximum number of issues listed. A body has room for a million; the rest are only counted. */
export const ISSUES_MAX = 20;
export const OMITTED: Issue = { path: [], detail: "is wrong, too" };

export function addIssue<T>(issues: Issue[], path: Path, detail: string): T {
  issues.push(issues.length < ISSUES_MAX ? { path, detail } : OMITTED);
  return undefined as T;
}

/** Accepts the value unchanged if `fits` returns true. */
export const refine = <T>(
  json: JsonSchema,
  what: string,
  fits: (value: unknown) => boolean,
): Schema<T> => ({
  json,
  check: (value, path, issues) =>
    fits(value) ? unsafeCast(value) : addIssue(issues, path, `must be ${what}`),
});

interface TextRules {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  /** Wording of the pattern in messages: "must be …". */
  readonly says?: string;
  readonly notBlank?: boolean;
  readonly format?: string;
  /** Additional rule: returns the issue text, or undefined. */
  readonly rule?: (text: string) => string | undefined;
}

/** Unicode text; `min` and `max` count code points. Lone surrogates and NUL are rejected. */
export function text(rules: TextRules): Schema<string> {
  const { min = 0, max, pattern, notBlank, format } = rules;
  return {
    json: {
      type: "string",
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      ...(pattern ? { pattern: pattern.source } : notBlank && { pattern: "\\S" }),
      ...(format && { format }),
    },
    check(value, path, issues) {
      const broken = typeof value === "string" ? brokenRule(rules, value) : "must be a string";
      return broken === undefined ? unsafeCast(value) : addIssue(issues, path, broken);
    },
  };
}

function brokenRule(
  { min = 0, max, pattern, says, notBlank, rule }: TextRules,
  value: string,
): string | undefined {
  const invalid = textProblem(value);
  if (invalid) return invalid;
  // A code point has one or two units, so the number of units usually suffices.
  const { length } =
    value.length > 2 * max || (value.length <= max && min < 2) ? value : [...value];
  if (length < min || length > max)
    return `must have ${min === 0 ? "at most" : `${min} to`} ${max} characters`;
  if (notBlank && value.trim() === "") return "must not be blank";
  if (pattern && !pattern.test(value)) return `must be ${says ?? `like ${pattern.source}`}`;
  return rule?.(value);
}

/** Returns why a string is rejected: lone surrogates and NUL do not survive every store and client. */
export function textProblem(value: string): string | undefined {
  if (!value.isWellFormed()) return "must not contain a lone surrogate";
  return value.includes("\0") ? "must not contain a NUL character" : undefined;
}

export const boolean: Schema<boolean> = refine(
  { type: "boolean" },
  "true or false",
  (value) => typeof value === "boolean",
);

export function integer({
  min,
  max,
}: {
  readonly min: number;
  readonly max?: number;
}): Schema<number> {
  const most = max ?? Number.MAX_SAFE_INTEGER;
  const json = { type: "integer", minimum: min, ...(max !== undefined && { maximum: max }) };
  const what = `a whole number ${max === undefined ? `${min} or more` : `from ${min} to ${max}`}`;
  return refine(
    json,
    what,
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= most,
  );
}

export const oneOf = <const T extends string>(values: readonly T[]): Schema<T> => ({
  json: { type: "string", enum: values },
  check(value, path, issues) {
    if (values.some((known) => known === value)) return unsafeCast(value);
    const near = typeof value === "string" ? suggest(value, values) : "";
    return addIssue(
      issues,
      path,
      `must be one of ${values.map((known) => `"${known}"`).join(", ")}${near}`,
    );
  },
});

/** Accepts a number or boolean as text, as in a query, in one form each: no leading zeros, `true`, `false`. */
export const coerce = <T extends number | boolean>(schema: Schema<T>): Schema<T> => ({
  ...schema,
  check: (value, path, issues) =>
    schema.check(
      /^(true|false|0|[1-9]\d*)$/.test(String(value)) ? JSON.parse(String(value)) : value,
      path,
      issues,
    ),
});

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  const { type, ...rest } = schema.json;
  return {
    json:
      typeof type === "string" && !("enum" in rest)
        ? { ...rest, type: [type, "null"] }
        : { anyOf: [schema.json, { type: "null" }] },
    check: (value, path, issues) => (value === null ? null : schema.check(value, path, issues)),
  };
}

/** Accepts a finite number, or a string that the schema accepts. */
export const stringOrNumber = <T>(schema: Schema<T>): Schema<T | number> => ({
  json: { anyOf: [schema.json, { type: "number" }] },
  check: (value, path, issues) =>
    typeof value === "string"
      ? schema.check(value, path, issues)
      : Number.isFinite(value)
        ? unsafeCast(value)
        : addIssue(issues, path, "must be a string or a finite number"),
});

type ListRules = { readonly min?: number; readonly max: number; readonly distinct?: boolean };

export function array<T>(
  item: Schema<T>,
  { min = 0, max, distinct = false }: ListRules,
): Schema<readonly T[]> {
  return {
    json: {
      type: "array",
      items: item.json,
      minItems: min,
      maxItems: max,
      ...(distinct && { uniqueItems: true }),
    },
    check(value, path, issues) {
      if (!Array.isArray(value)) return addIssue(issues, path, "must be an array");
      if (value.length < min)
        return addIssue(
          issues,
          path,
          `must have at least ${min === 1 ? "one item" : `${min} items`}`,
        );
      if (value.length > max) return addIssue(issues, path, `must have at most ${max} items`);
      const before = issues.length;
      const items = Array.from(value, (entry: unknown, at) =>
        item.check(entry, [...path, at], issues),
      );
      if (distinct && issues.length === before && new Set(items).size < items.length)
        return addIssue(issues, path, "must not name the same item twice");
      return items;
    },
  };
}

// `withDefault`, `optional` and `required` avoid a leading spread: each member after one costs 1.5 µs, many times per
// start.

/** An absent member becomes `value`. */
export const withDefault = <T>(schema: Schema<T>, value: T): Schema<T> =>
  Object.assign({}, schema, {
    json: Object.assign({}, schema.json, { default: value }),
    absent: { value },
  });

/** An absent member stays `undefined`. */
export const optional = <T>(schema: Schema<T>): Schema<T | undefined> =>
  Object.assign({}, schema, { absent: { value: undefined } });

export type Members = { readonly [name: string]: Schema<unknown> };
type Shape<M extends Members> = { readonly [N in keyof M]: Infer<M[N]> };

export type ObjectSchema<T, M extends Members = Members> = Schema<T> & { readonly members: M };

/** Returns a suggestion with the most similar known name, or "". */
export function suggest(name: string, known: readonly string[]): string {
  const [near] = [1, 2].flatMap((letters) =>
    known.filter((each) =>
      isSimilar(name.toLowerCase(), each.toLowerCase(), Math.min(letters, each.length >> 1)),
    ),
  );
  return near === undefined ? "" : `; did you mean ${near}?`;
}

/** Whether the Levenshtein distance of two texts is at most `letters`. */
function isSimilar(one: string, other: string, letters: number): boolean {
  if (one === other) return true;
  if (Math.abs(one.length - other.length) > letters || letters === 0) return false;
  if (one[0] === other[0]) return isSimilar(one.slice(1), other.slice(1), letters);
  const further = (n: number, its: number) =>
    isSimilar(one.slice(n), other.slice(its), letters - 1);
  return further(1, 1) || further(1, 0) || further(0, 1);
}

/** The issue of an unknown member, so that a misspelled name never passes silently. */
export const UNKNOWN_MEMBER = "is not a known member";

/** An object with only these members; `further` yields more issues of an otherwise valid value, with relative paths. */
export function object<M extends Members>(
  members: M,
  further: (value: Shape<M>) => Iterable<Issue> = () => [],
): ObjectSchema<Shape<M>, M> {
  const named = Object.entries(members);
  const known = Object.keys(members);
  const required = named.filter(([, { absent }]) => absent === undefined).map(([name]) => name);
  return {
    members,
    json: {
      type: "object",
      properties: Object.fromEntries(named.map(([name, { json }]) => [name, json])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    check(value, path, issues) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return addIssue(issues, path, "must be an object");
      const given = unsafeCast<Record<string, unknown>>(value);
      const before = issues.length;
      for (const name of Object.keys(given))
        if (!issues.passes && !Object.hasOwn(members, name))
          addIssue(
            issues,
            [...path, name],
            UNKNOWN_MEMBER + (issues.length < ISSUES_MAX ? suggest(name, known) : ""),
          );
      const accepted: Record<string, unknown> = {};
      for (const [name, { check, absent }] of named)
        if (Object.hasOwn(given, name) && given[name] !== undefined)
          accepted[name] = check(given[name], [...path, name], issues);
        else if (absent === undefined) addIssue(issues, [...path, name], "is required");
        else if (absent.value !== undefined) accepted[name] = absent.value;
      const whole: Shape<M> = unsafeCast(accepted);
      if (issues.length === before)
        for (const { path: within, detail } of further(whole))
          addIssue(issues, [...path, ...within], detail);
      return whole;
    },
  };
}

/** Copies the members of the schema from `from`, in the schema's order. */
export function pick<T>({ members }: ObjectSchema<T>, from: T): T {
  const all = unsafeCast<Record<string, unknown>>(from);
  const picked: Record<string, unknown> = {};
  for (const name in members) picked[name] = all[name];
  return unsafeCast(picked);
}

/** The same members, all required and without defaults. */
export const required = <M extends Members>(members: M): M =>
  eachOf(members, ({ json: { default: _, ...json }, absent: __, ...member }) =>
    Object.assign(member, { json }),
  );

const eachOf = <M extends Members>(
  members: M,
  other: (member: Schema<unknown>) => Schema<unknown>,
): M =>
  unsafeCast(
    Object.fromEntries(Object.entries(members).map(([name, member]) => [name, other(member)])),
  );

/** The body of a PATCH (a JSON merge of the members sent): all members optional, without defaults. */
export const partial = <M extends Members>(members: M): ObjectSchema<Partial<Shape<M>>> =>
  unsafeCast(object(eachOf(required(members), optional)));

/** The same schema, but unknown members are ignored. */
export function passthrough<S extends Schema<unknown>>(schema: S): S {
  const open = (name: string, value: unknown) =>
    name === "additionalProperties" && value === false ? true : value;
  return { ...schema, json: JSON.parse(JSON.stringify(schema.json), open), allowsUnknown: true };
}
