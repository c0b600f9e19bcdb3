// A small JSON Schema validator (2020-12) for the keywords that our OpenAPI document uses. An unknown keyword is an
// error, so that nothing in the document goes unchecked by accident.
import { isDeepStrictEqual } from "node:util";
import { isMembers, type Members, members } from "./client.ts";

const SAYS_NOTHING =
  /^(description|title|default|examples?|readOnly|writeOnly|deprecated|discriminator|x-.*)$/;

/** Returns every violation of `schema` by `value`; resolves references in `root`. */
export function breaches(value: unknown, schema: Members, root: Members, at = "#"): string[] {
  const inner = (part: unknown, rule: unknown, place = at) =>
    breaches(part, members(rule), root, place);
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    const found =
      SAYS_NOTHING.test(keyword) ||
      KEYWORDS.get(keyword)?.(value, rule, { at, schema, root, inner });
    if (Array.isArray(found)) return found;
    return found
      ? []
      : [`${at}: ${JSON.stringify(value)} against ${keyword} ${JSON.stringify(rule)}`];
  });
}

/** Resolves a JSON pointer such as #/components/schemas/App. */
export function resolve(root: Members, reference: string): Members {
  const steps = reference.replace(/^#\//, "").split("/");
  const name = (step: string) => step.replaceAll("~1", "/").replaceAll("~0", "~");
  return members(steps.reduce<unknown>((from, step) => members(from)[name(step)], root));
}

interface Inside {
  readonly at: string;
  readonly schema: Members;
  readonly root: Members;
  /** Returns the violations of a rule by a part of the value. */
  readonly inner: (part: unknown, rule: unknown, place?: string) => string[];
}

/** Returns whether the rule is satisfied, or the violations inside the value. */
type Keyword = (value: unknown, rule: unknown, inside: Inside) => boolean | string[];

const list = (rule: unknown): unknown[] => (Array.isArray(rule) ? rule : [rule]);

function typesOf(value: unknown): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  return Number.isInteger(value) ? ["integer", "number"] : [typeof value];
}

const FORMATS: { readonly [format: string]: RegExp } = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  "idn-hostname": /^[a-zA-Z\d\u0080-\u{10ffff}-]+(\.[a-zA-Z\d\u0080-\u{10ffff}-]+)*$/u,
  "idn-email": /^[^@\s]+@[^@\s]+$/,
};

/** Keywords for strings, numbers or arrays ignore values of other types. */
const text = (holds: (value: string, rule: string) => boolean): Keyword => {
  return (value, rule) => typeof value !== "string" || holds(value, String(rule));
};
const number = (holds: (value: number, rule: number) => boolean): Keyword => {
  return (value, rule) => typeof value !== "number" || holds(value, Number(rule));
};
const array = (holds: (value: readonly unknown[], rule: number) => boolean): Keyword => {
  return (value, rule) => !Array.isArray(value) || holds(value, Number(rule));
};

/** The members of a value that its schema names, or does not. */
const named = (value: unknown, { schema }: Inside, is: boolean): readonly [string, unknown][] =>
  Object.entries(isMembers(value) ? value : {}).filter(
    ([name]) => Object.hasOwn(members(schema.properties ?? {}), name) === is,
  );
const fitting = (value: unknown, rule: unknown, { inner }: Inside): number =>
  list(rule).filter((option) => inner(value, option).length === 0).length;

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    type: (value, rule) => list(rule).some((type) => typesOf(value).includes(String(type))),
    enum: (value, rule) => list(rule).some((one) => isDeepStrictEqual(one, value)),
    const: (value, rule) => isDeepStrictEqual(value, rule),
    required: (value, rule) =>
      !isMembers(value) || list(rule).every((name) => Object.hasOwn(value, String(name))),
    pattern: text((value, rule) => new RegExp(rule, "u").test(value)),
    format: text((value, rule) => FORMATS[rule]?.test(value) ?? false),
    minLength: text((value, rule) => [...value].length >= Number(rule)),
    maxLength: text((value, rule) => [...value].length <= Number(rule)),
    minimum: number((value, rule) => value >= rule),
    maximum: number((value, rule) => value <= rule),
    maxProperties: (value, rule) => !isMembers(value) || Object.keys(value).length <= Number(rule),
    minItems: array((value, rule) => value.length >= rule),
    maxItems: array((value, rule) => value.length <= rule),
    uniqueItems: array(
      (value) => new Set(value.map((item) => JSON.stringify(item))).size === value.length,
    ),
    $ref: (value, rule, { root, inner }) => inner(value, resolve(root, String(rule))),
    items: (value, rule, { at, inner }) =>
      !Array.isArray(value) || value.flatMap((item, n) => inner(item, rule, `${at}/${n}`)),
    properties: (value, rule, it) =>
      named(value, it, true).flatMap(([name, each]) =>
        it.inner(each, members(rule)[name], `${it.at}/${name}`),
      ),
    additionalProperties: (value, rule, it) =>
      rule === true ||
      named(value, it, false).flatMap(([name, each]) =>
        isMembers(rule)
          ? it.inner(each, rule, `${it.at}/${name}`)
          : [`${it.at}: ${name} is not in the schema`],
      ),
    allOf: (value, rule, { inner }) => list(rule).flatMap((one) => inner(value, one)),
    anyOf: (value, rule, it) => fitting(value, rule, it) > 0,
    oneOf: (value, rule, it) => fitting(value, rule, it) === 1,
  }),
);
