// Validation issues of each kind of schema, and its JSON Schema form. Valid values are tested over HTTP, by the rules
// of the fields (test/choices).
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  array,
  boolean,
  coerce,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  parse,
  partial,
  type Schema,
  stringOrNumber,
  suggest,
  text,
  withDefault,
} from "../../src/lib/schema.ts";
import { breaches } from "../support/json-schema.ts";

const short = text({ min: 2, max: 4 });
const odd = text({
  max: 9,
  pattern: /^x/,
  says: "an x",
  rule: (it) => (it === "xx" ? "is odd" : undefined),
});
const some = array(text({ max: 2 }), { min: 1, max: 3, distinct: true });

const FAULTS: readonly (readonly [
  schema: Schema<unknown>,
  detail: string,
  ...values: readonly unknown[],
])[] = [
  [boolean, "must be true or false", 0],
  [integer({ min: 1, max: 3 }), "must be a whole number from 1 to 3", 0, 4, 1.5],
  [integer({ min: 0 }), "must be a whole number 0 or more", -1],
  [oneOf(["a", "b"]), 'must be one of "a", "b"', "c", 1],
  [oneOf(["light", "dark"]), 'must be one of "light", "dark"; did you mean dark?', "drak"],
  [oneOf(["on", "off"]), 'must be one of "on", "off"; did you mean off?', "ooff"],
  [short, "must be a string", 12],
  [short, "must have 2 to 4 characters", "a", "👋", "👋👋👋👋👋", "a".repeat(1_000)],
  [text({ max: 1 }), "must have at most 1 characters", "ab"],
  [short, "must not contain a lone surrogate", "ab\ud83d"],
  [short, "must not contain a NUL character", "ab\0"],
  [text({ min: 1, max: 9, notBlank: true }), "must not be blank", " \t"],
  [text({ max: 9, pattern: /^x/ }), "must be like ^x", "y"],
  [odd, "must be an x", "y"],
  [odd, "is odd", "xx"],
  [nullable(stringOrNumber(short)), "must be a string or a finite number", true, Number.NaN],
  [stringOrNumber(short), "must have 2 to 4 characters", "a"],
  [some, "must be an array", { 0: "a" }],
  [some, "must have at least one item", []],
  [some, "must have at most 3 items", ["a", "b", "c", "d"]],
  [some, "must not name the same item twice", ["a", "b", "a"]],
  [object({ flag: boolean }), "must be an object", []],
];

test("schema: each validation issue has a message in plain words", () => {
  for (const [schema, detail, ...values] of FAULTS)
    for (const value of values)
      assert.deepEqual(parse(schema, value), { issues: [{ path: [], detail }] });
});

/** Rules that only code can check, and values that JSON text cannot contain. */
const BEYOND = /lone surrogate|NUL|odd/;

test("schema: the JSON Schema of each kind accepts valid values and rejects the same invalid values", () => {
  const breaks = (schema: Schema<unknown>, value: unknown) =>
    breaches(value, schema.json, {}).length > 0;
  for (const [schema, detail, ...values] of FAULTS.filter(([, detail]) => !BEYOND.test(detail)))
    for (const value of values)
      assert.ok(Number.isNaN(value) || breaks(schema, value), `${detail}: ${value}`);
  const fields = {
    flag: boolean,
    offset: withDefault(coerce(integer({ min: 0 })), 0),
    name: optional(nullable(short)),
  };
  const all = object(fields);
  for (const [schema, ...values] of [
    [all, { flag: true }, { flag: true, offset: 7, name: null }, { flag: true, name: "👋👋👋👋" }],
    [partial(all.members), {}],
    [some, ["ab", "b", "c"]],
    [nullable(oneOf(["a", "b"])), null, "b"],
    [nullable(stringOrNumber(short)), 0.5, "ab"],
    [integer({ min: 1, max: 3 }), 1, 3],
    [text({ max: 9, notBlank: true }), " a "],
  ] as const)
    for (const value of values) assert.equal(breaks(schema, value), false, JSON.stringify(value));
  for (const wrong of [
    {},
    { flag: null },
    { flag: true, offset: -1 },
    { flag: true, name: "a" },
    { flag: true, x: 1 },
  ])
    assert.ok(breaks(all, wrong), JSON.stringify(wrong));
  assert.deepEqual(fields.offset.json, { type: "integer", minimum: 0, default: 0 });
  assert.equal(
    "default" in Object(partial(all.members).json.properties).offset,
    false,
    "what is not sent stays",
  );
  assert.deepEqual(text({ max: 9, format: "uri" }).json, {
    type: "string",
    maxLength: 9,
    format: "uri",
  });
});

test("schema: the issue for an unknown member names only the known member that was probably meant", () => {
  const schema = object({
    id: optional(boolean),
    title: optional(boolean),
    custom_domain: optional(boolean),
  });
  const said = (name: string) =>
    Object(parse(schema, { [name]: true })).issues?.[0].detail.split("; ")[1];
  const near = "ttitle titl titel tilte Title custom_domains domain_custom custom-domian id_ i";
  assert.deepEqual(near.split(" ").map(said), [
    ...Array(5).fill("did you mean title?"),
    "did you mean custom_domain?",
    ...[undefined, undefined],
    ...Array(2).fill("did you mean id?"),
  ]);
  assert.equal(
    suggest("RS255", ["ES256", "RS256"]),
    "; did you mean RS256?",
    "the nearest, not the first that is near",
  );
  assert.equal(suggest("PRETTY", ["pretty"]), "; did you mean pretty?");
  const many = parse(
    schema,
    Object.fromEntries(Array.from({ length: 22 }, (_, at) => [`title${at}`, true])),
  );
  const hints = ("issues" in many ? many.issues : []).map(({ detail }) =>
    detail.includes("did you mean"),
  );
  assert.deepEqual(
    hints,
    [...Array(20).fill(true), false, false],
    "no further than faults are shown",
  );
  for (const far of ["xy", "tile_x", "titles_x", "", "t".repeat(100_000)])
    assert.equal(said(far), undefined, far);
});
