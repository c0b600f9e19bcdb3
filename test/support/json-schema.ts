// A small JSON Schema validator (2020-12) for the keywords that our OpenAPI document uses. An unknown keyword is a
// breach, so that nothing in the document goes unchecked by accident.
import { isMembers, type Members, members } from "./client.ts";

const ANNOTATIONS =
  /^(description|title|default|examples?|readOnly|writeOnly|deprecated|discriminator|x-.*)$/;

const FORMATS: { [format: string]: RegExp } = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  "idn-hostname": /^[a-zA-Z\d\u0080-\u{10ffff}-]+(\.[a-zA-Z\d\u0080-\u{10ffff}-]+)*$/u,
  "idn-email": /^[^@\s]+@[^@\s]+$/,
};

/** Returns every violation of `schema` by `value`; resolves references in `root`. */
export function breaches(value: unknown, schema: Members, root: Members, at = "#"): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const found = check(keyword, rule);
    if (typeof found !== "boolean") return found;
    return found
      ? []
      : [`${at}: ${JSON.stringify(value)} against ${keyword} ${JSON.stringify(rule)}`];
  });

  /** The breaches of keywords for parts of the value; whether it keeps the others, which ignore other types. */
  function check(keyword: string, rule: unknown): boolean | string[] {
    const rules = [rule].flat();
    const fits = (each: unknown) => breaches(value, members(each), root).length === 0;
    const named = members(schema.properties ?? {});
    switch (keyword) {
      case "$ref":
        return breaches(value, resolve(root, String(rule)), root, at);
      case "allOf":
        return rules.flatMap((each) => breaches(value, members(each), root, at));
      case "items":
        return Array.isArray(value)
          ? value.flatMap((item, index) => breaches(item, members(rule), root, `${at}/${index}`))
          : [];
      case "properties":
      case "additionalProperties":
        return Object.entries(isMembers(value) ? value : {}).flatMap(([name, member]) => {
          const isNamed = Object.hasOwn(named, name);
          if (isNamed !== (keyword === "properties") || rule === true) return [];
          if (rule === false) return [`${at}: ${name} is not in the schema`];
          return breaches(member, members(isNamed ? named[name] : rule), root, `${at}/${name}`);
        });
      case "type":
        return rules.some((type) => typesOf(value).includes(String(type)));
      case "enum":
        return rules.includes(value);
      case "const":
        return rule === value;
      case "anyOf":
        return rules.some(fits);
      case "oneOf":
        return rules.filter(fits).length === 1;
      case "required":
        return !isMembers(value) || rules.every((name) => Object.hasOwn(value, String(name)));
      case "pattern":
        return typeof value !== "string" || new RegExp(String(rule), "u").test(value);
      case "format":
        return typeof value !== "string" || FORMATS[String(rule)]?.test(value) === true;
      case "minLength":
      case "minItems":
        return !(getSize(value) < Number(rule));
      case "maxLength":
      case "maxItems":
      case "maxProperties":
        return !(getSize(value) > Number(rule));
      case "minimum":
        return typeof value !== "number" || value >= Number(rule);
      case "maximum":
        return typeof value !== "number" || value <= Number(rule);
      case "uniqueItems":
        return !Array.isArray(value) || new Set(value).size === value.length;
      default:
        return ANNOTATIONS.test(keyword);
    }
  }
}

/** Resolves a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string) {
  const steps = reference.split("/").slice(1);
  const names = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return members(names.reduce<unknown>((parent, name) => members(parent)[name], root));
}

/** Returns the number of characters, items or members; of any other value NaN. */
function getSize(value: unknown) {
  if (typeof value === "string") return [...value].length;
  return isMembers(value) || Array.isArray(value) ? Object.keys(value).length : Number.NaN;
}

function typesOf(value: unknown) {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return Number.isInteger(value) ? ["integer", "number"] : [typeof value];
}
