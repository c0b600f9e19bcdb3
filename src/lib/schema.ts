// Schemas: one value validates input, gives its TypeScript type and prints its JSON Schema. Validation collects every
// issue with its JSON pointer, so that one response lists them all.

export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
}

/** Member names and positions that lead to a value. */
type Path = readonly (string | number)[];

/** A validation issue: the rule that the value at `path` breaks. */
export interface Issue {
  readonly path: Path;
  readonly detail: string;
}

export interface Issues extends Array<Issue> {
  readonly ignoreUnknown?: boolean;
}

export interface Schema<T> {
  /** Returns the accepted value with defaults; adds issues to `issues`, and then the result is unusable. */
  check(value: unknown, path: Path, issues: Issues): T;
  readonly json: JsonSchema;
  /** The value of an absent member; without it the member is required. */
  readonly default?: { readonly value: T };
}

export type Infer<S> = S extends Schema<infer T> ? T : never;

/** An invalid option that was passed to the process. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Validates an option; throws an OptionError that begins with the place of the first issue. */
export function parseOption<T>(
  schema: Schema<T>,
  value: unknown,
  name: string,
  toPlace = (path: Path) => (path.length === 0 ? name : `${name}: ${pointer(path)}`),
): T {
  const issues: Issue[] = [];
  const accepted = schema.check(value, [], issues);
  const [issue] = issues;
  if (issue === undefined) return accepted;
  throw new OptionError(`${toPlace(issue.path)} ${issue.detail}`);
}

/** Returns an RFC 6901 pointer as a URI fragment, as in RFC 9457: `#/events/0`. A lone surrogate becomes U+FFFD. */
export function pointer(path: Path): string {
  const steps = path.map((step) =>
    encodeURIComponent(String(step).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1")),
  );
  return ["#", ...steps].join("/");
}

/** Maximum number of issues listed. A body has room for a million; the rest are only counted. */
export const ISSUES_MAX = 20;
const OMITTED: Issue = { path: [], detail: "is wrong, too" };

/** Adds an issue; the value returned is unusable. */
export function addIssue<T>(issues: Issue[], path: Path, detail: string): T {
  issues.push(issues.length < ISSUES_MAX ? { path, detail } : OMITTED);
  return undefined as T;
}

/** Accepts the value unchanged unless `findProblem` returns what is wrong with it. */
export const custom = <T>(
  json: JsonSchema,
  findProblem: (value: unknown) => string | undefined,
): Schema<T> => ({
  json,
  check(value, path, issues) {
    const problem = findProblem(value);
    return problem === undefined ? (value as T) : addIssue(issues, path, problem);
  },
});

interface TextRules {
  readonly min?: number;
  readonly max: number;
  readonly pattern?: RegExp;
  /** Wording of the pattern in messages: "must be …". */
  readonly patternText?: string;
  readonly format?: string;
  /** Additional rule: returns the issue text, or undefined. */
  readonly rule?: (text: string) => string | undefined;
}

const SURROGATE_PAIRS = /[\uD800-\uDBFF][\uDC00-\uDFFF]/g;

/** Unicode text; `min` and `max` count code points. Lone surrogates and NUL are rejected. */
export const text = ({
  min = 0,
  max,
  pattern,
  patternText,
  format,
  rule,
}: TextRules): Schema<string> =>
  custom(
    { type: "string", minLength: min, maxLength: max, pattern: pattern?.source, format },
    (value) => {
      if (typeof value !== "string") return "must be a string";
      const { length } = value.replace(SURROGATE_PAIRS, "_");
      if (length < min || length > max) return `must have ${min} to ${max} characters`;
      if (pattern?.test(value) === false) return `must be ${patternText}`;
      return textProblem(value) ?? rule?.(value);
    },
  );

/** Returns why a string is rejected: lone surrogates and NUL do not survive every store and client. */
export function textProblem(value: string): string | undefined {
  if (!value.isWellFormed()) return "must not contain a lone surrogate";
  return value.includes("\0") ? "must not contain a NUL character" : undefined;
}

export const boolean = custom<boolean>({ type: "boolean" }, (value) =>
  typeof value === "boolean" ? undefined : "must be true or false",
);

export const integer = ({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }) =>
  custom<number>({ type: "integer", minimum: min, maximum: max }, (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
      ? undefined
      : `must be a whole number from ${min} to ${max}`,
  );

export const enumOf = <const T extends string>(values: readonly T[]): Schema<T> =>
  custom({ type: "string", enum: values }, (value) =>
    values.includes(value as T) ? undefined : `must be one of "${values.join('", "')}"`,
  );

/** Accepts a number or boolean as text, as in a query, in one form each: no leading zeros, `true`, `false`. */
export const coerce = <T extends number | boolean>(schema: Schema<T>): Schema<T> => ({
  ...schema,
  check(value, path, issues) {
    const isLiteral = typeof value === "string" && /^(true|false|0|[1-9]\d*)$/.test(value);
    return schema.check(isLiteral ? JSON.parse(value) : value, path, issues);
  },
});

export const nullable = <T>({ json, check }: Schema<T>): Schema<T | null> => ({
  json: json.enum
    ? { anyOf: [json, { type: "null" }] }
    : { ...json, type: [json.type, "null"].flat() },
  check: (value, path, issues) => (value === null ? null : check(value, path, issues)),
});

/** Accepts a finite number, or a string that the schema accepts. */
export const stringOrNumber = <T>({ json, check }: Schema<T>): Schema<T | number> => ({
  json: { ...json, type: ["string", "number"] },
  check(value, path, issues) {
    if (typeof value === "string") return check(value, path, issues);
    if (Number.isFinite(value)) return Number(value);
    return addIssue(issues, path, "must be a string or a finite number");
  },
});

export const array = <T>(
  item: Schema<T>,
  { min = 0, max, distinct = false }: { min?: number; max: number; distinct?: boolean },
): Schema<readonly T[]> => ({
  json: {
    type: "array",
    items: item.json,
    minItems: min,
    maxItems: max,
    uniqueItems: distinct,
  },
  check(value, path, issues) {
    if (!Array.isArray(value)) return addIssue(issues, path, "must be an array");
    if (value.length < min || value.length > max)
      return addIssue(issues, path, `must have ${min} to ${max} items`);
    // Unlike map, `from` visits the holes of a sparse array.
    const items = Array.from(value, (each, index) => item.check(each, [...path, index], issues));
    return distinct && new Set(value).size < value.length
      ? addIssue(issues, path, "must not name the same item twice")
      : items;
  },
});

/** An absent member becomes `value`. */
export const withDefault = <T>(schema: Schema<T>, value: T): Schema<T> => ({
  ...schema,
  json: { ...schema.json, default: value },
  default: { value },
});

/** An absent member stays `undefined`. */
export const optional = <T>(schema: Schema<T>) => withDefault<T | undefined>(schema, undefined);

export type Members = { readonly [name: string]: Schema<unknown> };
export type Shape<M extends Members> = { readonly [N in keyof M]: Infer<M[N]> };

export interface ObjectSchema<T, M extends Members = Members> extends Schema<T> {
  readonly members: M;
  /** Yields the issues that concern several members, with relative paths. An invalid member is undefined. */
  rules(value: Partial<Shape<M>>): Iterable<Issue>;
}

/** Returns a suggestion with the most similar known name, or "". */
export function suggest(name: string, knownNames: readonly string[]): string {
  for (const edits of [1, 2])
    for (const known of knownNames)
      if (edits * 2 <= known.length && isSimilar(name.toLowerCase(), known.toLowerCase(), edits))
        return `; did you mean ${known}?`;
  return "";
}

/** Whether the Levenshtein distance of two texts is at most `edits`. */
function isSimilar(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const restA = a.slice(1);
  const restB = b.slice(1);
  if (a[0] === b[0]) return isSimilar(restA, restB, edits);
  if (edits === 0) return false;
  return (
    [restB, b].some((other) => isSimilar(restA, other, edits - 1)) || isSimilar(a, restB, edits - 1)
  );
}

/** The issue of an unknown member, so that a misspelled name never passes silently. */
export const UNKNOWN_MEMBER = "is not a known member";

/** An object with only these members. */
export function object<M extends Members>(
  members: M,
  rules: ObjectSchema<Shape<M>, M>["rules"] = () => [],
): ObjectSchema<Shape<M>, M> {
  const entries = Object.entries(members);
  return {
    members,
    rules,
    json: {
      type: "object",
      properties: mapMembers(members, ({ json }) => json),
      required: entries.flatMap(([name, schema]) => (schema.default ? [] : name)),
      additionalProperties: false,
    },
    check(value, path, issues) {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return addIssue(issues, path, "must be an object");
      for (const name of Object.keys(value)) {
        if (issues.ignoreUnknown || Object.hasOwn(members, name)) continue;
        const hint = issues.length < ISSUES_MAX ? suggest(name, Object.keys(members)) : "";
        addIssue(issues, [...path, name], UNKNOWN_MEMBER + hint);
      }
      const accepted: Record<string, unknown> = {};
      for (const [name, schema] of entries) {
        const member = Object.hasOwn(value, name) ? (value as Members)[name] : undefined;
        if (member !== undefined) accepted[name] = schema.check(member, [...path, name], issues);
        else if (!schema.default) addIssue(issues, [...path, name], "is required");
        else if (schema.default.value !== undefined) accepted[name] = schema.default.value;
      }
      const result = accepted as Shape<M>;
      for (const issue of rules(result)) addIssue(issues, [...path, ...issue.path], issue.detail);
      return result;
    },
  };
}

/** The same object with more members. */
export const extend = <M extends Members, E extends Members>(
  { members, rules }: ObjectSchema<unknown, M>,
  more: E,
) => object<E & M>({ ...more, ...members }, rules);

/** Copies the members of the schema from `from`, in the schema's order. */
export function pickMembers<T>({ members }: ObjectSchema<T>, from: T): T {
  const picked = {} as T;
  for (const name in members) picked[name as keyof T] = from[name as keyof T];
  return picked;
}

const mapMembers = <R>(members: Members, convert: (member: Schema<unknown>) => R) =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, convert(member)]));

/** The same members, all required and without defaults. */
export const required = <M extends Members>(members: M) =>
  mapMembers(members, ({ default: _, json: { default: __, ...json }, ...member }) => ({
    ...member,
    json,
  })) as Members as M;

/** The body of a PATCH (a JSON merge of the members sent): all members optional, without defaults. */
export const partial = <M extends Members>(members: M) =>
  object(mapMembers(required(members), optional)) as ObjectSchema<Partial<Shape<M>>>;

/** The same schema for a whole value, but unknown members are ignored, at every depth. */
export function strip<S extends Schema<unknown>>(schema: S): S {
  return {
    ...schema,
    json: JSON.parse(JSON.stringify(schema.json), (name, value) =>
      name === "additionalProperties" ? true : value,
    ),
    check(value, path, issues) {
      return schema.check(value, path, Object.assign(issues, { ignoreUnknown: true }));
    },
  };
}
