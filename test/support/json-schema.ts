// A small JSON Schema checker (2020-12) for the keywords that our OpenAPI document uses. A keyword that it does not know
// is an error, so that nothing in the document goes unchecked by accident.
import { isDeepStrictEqual } from "node:util";
import { isMembers, type Members, members } from "./client.ts";

const SAYS_NOTHING = /^(description|title|default|examples?|readOnly|writeOnly|deprecated|x-.*)$/;

/** Every breach of `schema` by `value`; references are looked up in `root`. */
export function breaches(value: unknown, schema: Members, root: Members, at = "#"): string[] {
  const inner = (part: unknown, rule: unknown, place = at) => breaches(part, members(rule), root, place);
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const [plain, nested] = [PLAIN.get(keyword), NESTED.get(keyword)];
    if (SAYS_NOTHING.test(keyword)) return [];
    if (nested) return nested({ value, rule, at, schema, root, inner });
    if (plain?.(value, rule)) return [];
    return [`${at}: ${JSON.stringify(value)} against ${plain ? "" : "the unknown "}${keyword} ${JSON.stringify(rule)}`];
  });
}

/** Follows a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string): Members {
  const steps = reference.replace(/^#\//, "").split("/");
  return members(
    steps.reduce<unknown>((from, step) => members(from)[step.replaceAll("~1", "/").replaceAll("~0", "~")], root),
  );
}

const list = (rule: unknown): unknown[] => (Array.isArray(rule) ? rule : [rule]);

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

const FORMATS: { readonly [format: string]: RegExp } = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  "uri-reference": /^\S*$/,
  hostname: /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i,
  email: /^[^@\s]+@[^@\s]+$/,
};

type Holds = (value: unknown, rule: unknown) => boolean;

/** Keywords that concern texts, numbers or arrays only let other values pass. */
const text = (holds: (value: string, rule: string) => boolean): Holds => {
  return (value, rule) => typeof value !== "string" || holds(value, String(rule));
};
const number = (holds: (value: number, rule: number) => boolean): Holds => {
  return (value, rule) => typeof value !== "number" || holds(value, Number(rule));
};
const array = (holds: (value: readonly unknown[], rule: number) => boolean): Holds => {
  return (value, rule) => !Array.isArray(value) || holds(value, Number(rule));
};

const PLAIN = new Map<string, Holds>([
  [
    "type",
    (value, rule) => list(rule).some((type) => type === typeOf(value) || (type === typeof value && type === "number")),
  ],
  ["enum", (value, rule) => list(rule).some((one) => isDeepStrictEqual(one, value))],
  ["const", (value, rule) => isDeepStrictEqual(value, rule)],
  ["required", (value, rule) => !isMembers(value) || list(rule).every((name) => Object.hasOwn(value, String(name)))],
  ["pattern", text((value, rule) => new RegExp(rule, "u").test(value))],
  ["format", text((value, rule) => FORMATS[rule]?.test(value) ?? false)],
  ["minLength", text((value, rule) => [...value].length >= Number(rule))],
  ["maxLength", text((value, rule) => [...value].length <= Number(rule))],
  ["minimum", number((value, rule) => value >= rule)],
  ["maximum", number((value, rule) => value <= rule)],
  ["minItems", array((value, rule) => value.length >= rule)],
  ["maxItems", array((value, rule) => value.length <= rule)],
  ["uniqueItems", array((value) => new Set(value.map((item) => JSON.stringify(item))).size === value.length)],
]);

interface Inside {
  readonly value: unknown;
  readonly rule: unknown;
  readonly at: string;
  readonly schema: Members;
  readonly root: Members;
  /** The breaches of a rule by a part. */
  readonly inner: (part: unknown, rule: unknown, place?: string) => string[];
}

const fitting = ({ value, rule, inner }: Inside): number =>
  list(rule).filter((option) => inner(value, option).length === 0).length;

/** The members of a value that a schema names, or does not. */
const named = ({ value, schema }: Inside, is: boolean): readonly [string, unknown][] =>
  Object.entries(isMembers(value) ? value : {}).filter(
    ([name]) => Object.hasOwn(members(schema.properties ?? {}), name) === is,
  );

const NESTED = new Map<string, (inside: Inside) => string[]>([
  ["$ref", ({ value, rule, root, inner }) => inner(value, resolve(root, String(rule)))],
  [
    "items",
    ({ value, rule, at, inner }) =>
      Array.isArray(value) ? value.flatMap((item, n) => inner(item, rule, `${at}/${n}`)) : [],
  ],
  [
    "properties",
    (it) => named(it, true).flatMap(([name, each]) => it.inner(each, members(it.rule)[name], `${it.at}/${name}`)),
  ],
  [
    "additionalProperties",
    (it) =>
      (it.rule === true ? [] : named(it, false)).flatMap(([name, each]) =>
        isMembers(it.rule) ? it.inner(each, it.rule, `${it.at}/${name}`) : [`${it.at}: ${name} is not in the schema`],
      ),
  ],
  ["allOf", ({ value, rule, inner }) => list(rule).flatMap((one) => inner(value, one))],
  ["anyOf", (it) => (fitting(it) > 0 ? [] : [`${it.at}: fits no alternative`])],
  ["oneOf", (it) => (fitting(it) === 1 ? [] : [`${it.at}: fits not just one`])],
]);
