// A small JSON Schema checker (2020-12) for the keywords that our OpenAPI document uses. A keyword that it does not know
// is an error, so that nothing in the document goes unchecked by accident.
import { isDeepStrictEqual } from "node:util";
import { isMembers, type Members, members } from "./client.ts";

/** Where a value breaks its schema. */
type Check = (value: unknown, rule: unknown, at: string, schema: Members, root: Members) => string[];

const SAYS_NOTHING = new Set([
  "description",
  "title",
  "default",
  "example",
  "examples",
  "readOnly",
  "writeOnly",
  "deprecated",
]);

/** Every breach of `schema` by `value`; references are looked up in `root`. */
export function breaches(value: unknown, schema: Members, root: Members, at = "#"): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    if (SAYS_NOTHING.has(keyword) || keyword.startsWith("x-")) return [];
    const check = KEYWORDS.get(keyword);
    return check ? check(value, rule, at, schema, root) : [`${at}: the checker does not know the keyword ${keyword}`];
  });
}

/** Follows a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string): Members {
  const steps = reference.replace(/^#\//, "").split("/");
  return members(
    steps.reduce<unknown>((from, step) => members(from)[step.replaceAll("~1", "/").replaceAll("~0", "~")], root),
  );
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

const hasType = (value: unknown, type: unknown): boolean =>
  typeOf(value) === type || (type === "number" && typeof value === "number");

const unless = (holds: boolean, fault: string): string[] => (holds ? [] : [fault]);
const list = (rule: unknown): unknown[] => (Array.isArray(rule) ? rule : [rule]);
const length = (text: string): number => [...text].length;

/** A keyword that concerns texts, numbers or arrays only; other values it lets pass. */
const onText =
  (holds: (value: string, rule: string) => boolean): Check =>
  (value, rule, at) =>
    unless(typeof value !== "string" || holds(value, String(rule)), `${at}: ${JSON.stringify(value)} against ${rule}`);
const onNumber =
  (holds: (value: number, rule: number) => boolean): Check =>
  (value, rule, at) =>
    unless(typeof value !== "number" || holds(value, Number(rule)), `${at}: ${value} against ${rule}`);
const onArray =
  (holds: (value: readonly unknown[], rule: number) => boolean): Check =>
  (value, rule, at) =>
    unless(!Array.isArray(value) || holds(value, Number(rule)), `${at}: an array of the wrong length, see ${rule}`);

const FORMATS: { readonly [format: string]: RegExp } = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  "uri-reference": /^\S*$/,
  hostname: /^[a-z0-9-]+(\.[a-z0-9-]+)*$/i,
  email: /^[^@\s]+@[^@\s]+$/,
};

const matching = (rule: unknown, value: unknown, at: string, root: Members): number =>
  list(rule).filter((option) => breaches(value, members(option), root, at).length === 0).length;

const KEYWORDS = new Map<string, Check>([
  ["$ref", (value, rule, at, _, root) => breaches(value, resolve(root, String(rule)), root, at)],
  [
    "type",
    (value, rule, at) =>
      unless(
        list(rule).some((type) => hasType(value, type)),
        `${at}: ${JSON.stringify(value)} is no ${rule}`,
      ),
  ],
  [
    "enum",
    (value, rule, at) =>
      unless(
        list(rule).some((one) => isDeepStrictEqual(one, value)),
        `${at}: ${JSON.stringify(value)} is not listed`,
      ),
  ],
  ["const", (value, rule, at) => unless(isDeepStrictEqual(value, rule), `${at}: is not ${JSON.stringify(rule)}`)],
  ["pattern", onText((value, rule) => new RegExp(rule, "u").test(value))],
  ["format", onText((value, rule) => FORMATS[rule]?.test(value) ?? false)],
  ["minLength", onText((value, rule) => length(value) >= Number(rule))],
  ["maxLength", onText((value, rule) => length(value) <= Number(rule))],
  ["minimum", onNumber((value, rule) => value >= rule)],
  ["maximum", onNumber((value, rule) => value <= rule)],
  ["minItems", onArray((value, rule) => value.length >= rule)],
  ["maxItems", onArray((value, rule) => value.length <= rule)],
  ["uniqueItems", onArray((value) => new Set(value.map((item) => JSON.stringify(item))).size === value.length)],
  [
    "items",
    (value, rule, at, _, root) =>
      Array.isArray(value) ? value.flatMap((item, index) => breaches(item, members(rule), root, `${at}/${index}`)) : [],
  ],
  [
    "required",
    (value, rule, at) =>
      isMembers(value)
        ? list(rule).flatMap((name) => unless(Object.hasOwn(value, String(name)), `${at}: lacks ${name}`))
        : [],
  ],
  [
    "properties",
    (value, rule, at, _, root) =>
      isMembers(value)
        ? Object.entries(members(rule)).flatMap(([name, schema]) =>
            Object.hasOwn(value, name) ? breaches(value[name], members(schema), root, `${at}/${name}`) : [],
          )
        : [],
  ],
  [
    "additionalProperties",
    (value, rule, at, { properties = {} }, root) =>
      isMembers(value) && rule !== true
        ? Object.keys(value)
            .filter((name) => !Object.hasOwn(members(properties), name))
            .flatMap((name) =>
              isMembers(rule)
                ? breaches(value[name], rule, root, `${at}/${name}`)
                : [`${at}: ${name} is not in the schema`],
            )
        : [],
  ],
  ["allOf", (value, rule, at, _, root) => list(rule).flatMap((one) => breaches(value, members(one), root, at))],
  ["anyOf", (value, rule, at, _, root) => unless(matching(rule, value, at, root) > 0, `${at}: fits no alternative`)],
  ["oneOf", (value, rule, at, _, root) => unless(matching(rule, value, at, root) === 1, `${at}: fits not just one`)],
]);
