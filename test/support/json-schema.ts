// A small JSON Schema validator (2020-12) for the keywords that our OpenAPI document uses. An unknown keyword is a
// breach, so that nothing in the document goes unchecked by accident.
import { isDeepStrictEqual } from "node:util";
import { isMembers, type Members, members } from "./client.ts";

const ANNOTATIONS =
  /^(description|title|default|examples?|readOnly|writeOnly|deprecated|discriminator|x-.*)$/;

const FORMATS: { readonly [format: string]: RegExp } = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  "idn-hostname": /^[a-zA-Z\d\u0080-\u{10ffff}-]+(\.[a-zA-Z\d\u0080-\u{10ffff}-]+)*$/u,
  "idn-email": /^[^@\s]+@[^@\s]+$/,
};

/** Returns every violation of `schema` by `value`; resolves references in `root`. */
export function breaches(value: unknown, schema: Members, root: Members, at = "#"): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const inner = innerBreaches(keyword, value, rule, schema, root, at);
    if (inner !== undefined) return inner;
    if (ANNOTATIONS.test(keyword) || isKept(keyword, value, rule, root)) return [];
    return [`${at}: ${JSON.stringify(value)} against ${keyword} ${JSON.stringify(rule)}`];
  });
}

/** Resolves a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string): Members {
  const steps = reference.split("/").slice(1);
  const names = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return members(names.reduce<unknown>((parent, name) => members(parent)[name], root));
}

/** The breaches of the keywords that apply schemas to parts of the value; undefined for other keywords. */
function innerBreaches(
  keyword: string,
  value: unknown,
  rule: unknown,
  schema: Members,
  root: Members,
  at: string,
): string[] | undefined {
  switch (keyword) {
    case "$ref":
      return breaches(value, resolve(root, String(rule)), root, at);
    case "allOf":
      return toArray(rule).flatMap((each) => breaches(value, members(each), root, at));
    case "items":
      return Array.isArray(value)
        ? value.flatMap((item, index) => breaches(item, members(rule), root, `${at}/${index}`))
        : [];
    case "properties":
    case "additionalProperties": {
      const named = members(schema.properties ?? {});
      return Object.entries(isMembers(value) ? value : {}).flatMap(([name, member]) => {
        const isNamed = Object.hasOwn(named, name);
        if (isNamed !== (keyword === "properties") || rule === true) return [];
        if (rule === false) return [`${at}: ${name} is not in the schema`];
        return breaches(member, members(isNamed ? named[name] : rule), root, `${at}/${name}`);
      });
    }
    default:
      return undefined;
  }
}

/** Keywords for strings, numbers, arrays or objects ignore values of other types. */
function isKept(keyword: string, value: unknown, rule: unknown, root: Members): boolean {
  const size = getSize(value);
  const matching = () =>
    toArray(rule).filter((each) => breaches(value, members(each), root).length === 0).length;
  switch (keyword) {
    case "type":
      return toArray(rule).some((type) => typesOf(value).includes(String(type)));
    case "enum":
      return toArray(rule).some((each) => isDeepStrictEqual(each, value));
    case "const":
      return isDeepStrictEqual(rule, value);
    case "anyOf":
      return matching() > 0;
    case "oneOf":
      return matching() === 1;
    case "required":
      return !isMembers(value) || toArray(rule).every((name) => Object.hasOwn(value, String(name)));
    case "pattern":
      return typeof value !== "string" || new RegExp(String(rule), "u").test(value);
    case "format":
      return typeof value !== "string" || FORMATS[String(rule)]?.test(value) === true;
    case "minLength":
    case "minItems":
      return size === undefined || size >= Number(rule);
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return size === undefined || size <= Number(rule);
    case "minimum":
      return typeof value !== "number" || value >= Number(rule);
    case "maximum":
      return typeof value !== "number" || value <= Number(rule);
    case "uniqueItems":
      return (
        !Array.isArray(value) ||
        new Set(value.map((item) => JSON.stringify(item))).size === value.length
      );
    default:
      return false;
  }
}

/** Returns the number of characters, items or members. */
function getSize(value: unknown): number | undefined {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return isMembers(value) ? Object.keys(value).length : undefined;
}

const toArray = (rule: unknown): unknown[] => (Array.isArray(rule) ? rule : [rule]);

function typesOf(value: unknown) {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return Number.isInteger(value) ? ["integer", "number"] : [typeof value];
}
