// Validation issues of each kind of schema, and its JSON Schema form. Valid values are tested over HTTP, by the rules
// of the fields (test/choices).
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  array,
  boolean,
  coerce,
  enumOf,
  type Issue,
  integer,
  nullable,
  object,
  optional,
  partial,
  type Schema,
  stringOrNumber,
  strip,
  suggest,
  text,
  withDefault,
} from "../../src/lib/schema.ts";
import { breaches } from "../support/json-schema.ts";

function parse(schema: Schema<unknown>, value: unknown) {
  const issues: Issue[] = [];
  const accepted = schema.check(value, [], issues);
  return issues.length > 0 ? { issues } : { value: accepted };
}

const short = text({ min: 2, max: 4 });
const odd = text({
  max: 9,
  pattern: /^x/,
  patternText: "an x",
  rule: (it) => (it === "xx" ? "is odd" : undefined),
});
const some = array(text({ max: 2 }), { min: 1, max: 3, distinct: true });

const ISSUES: readonly (readonly [
  schema: Schema<unknown>,
  detail: string,
  ...values: readonly unknown[],
])[] = [
  [boolean, "must be true or false", 0],
  [integer({ min: 1, max: 3 }), "must be a whole number from 1 to 3", 0, 4, 1.5],
  [integer({ min: 0 }), "must be a whole number from 0 to 9007199254740991", -1],
  [enumOf(["a", "b"]), 'must be one of "a", "b"', "c", 1],
  [short, "must be a string", 12],
  [short, "must have 2 to 4 characters", "a", "👋", "👋👋👋👋👋", "a".repeat(1_000)],
  [short, "must not contain a lone surrogate", "ab\ud83d"],
  [short, "must not contain a NUL character", "ab\0"],
  [odd, "must be an x", "y"],
  [odd, "is odd", "xx"],
  [nullable(stringOrNumber(short)), "must be a string or a finite number", true, Number.NaN],
  [stringOrNumber(short), "must have 2 to 4 characters", "a"],
  [some, "must be an array", { 0: "a" }],
  [some, "must have 1 to 3 items", [], ["a", "b", "c", "d"]],
  [some, "must not name the same item twice", ["a", "b", "a"]],
  [object({ flag: boolean }), "must be an object", []],
];

test("schema: each validation issue has a message in plain words", () => {
  for (const [schema, detail, ...values] of ISSUES)
    for (const value of values)
      assert.deepEqual(parse(schema, value), { issues: [{ path: [], detail }] });
});

/** Rules that only code can check, and values that JSON text cannot contain. */
const BEYOND = /lone surrogate|NUL|odd/;

test("schema: the JSON Schema of each kind accepts valid values and rejects the same invalid values", () => {
  const isInvalid = (schema: Schema<unknown>, value: unknown) =>
    breaches(value, JSON.parse(JSON.stringify(schema.json)), {}).length > 0;
  for (const [schema, detail, ...values] of ISSUES.filter(([, detail]) => !BEYOND.test(detail)))
    for (const value of values)
      assert.ok(Number.isNaN(value) || isInvalid(schema, value), `${detail}: ${value}`);
  const offset = withDefault(coerce(integer({ min: 0 })), 0);
  const all = object({ flag: boolean, offset, name: optional(nullable(short)) });
  const changes = partial(all.members);
  for (const [schema, ...values] of [
    [all, { flag: true }, { flag: true, offset: 7, name: null }, { flag: true, name: "👋👋👋👋" }],
    [changes, {}],
    [some, ["ab", "b", "c"]],
    [nullable(enumOf(["a", "b"])), null, "b"],
    [nullable(stringOrNumber(short)), 0.5, "ab"],
    [integer({ min: 1, max: 3 }), 1, 3],
  ] as const)
    for (const value of values)
      assert.equal(isInvalid(schema, value), false, JSON.stringify(value));
  for (const wrong of [{}, { flag: null }, { flag: true, name: "a" }, { flag: true, x: 1 }])
    assert.ok(isInvalid(all, wrong), JSON.stringify(wrong));
  assert.equal(offset.json.default, 0);
  assert.equal(changes.json.properties?.offset?.default, undefined);
});

test("schema: strip drops unknown members at every depth", () => {
  const point = nullable(object({ x: integer({ min: 0 }) }));
  const open = strip(object({ point }));
  assert.deepEqual(parse(open, { point: { x: 1, y: 2 }, more: 3 }), { value: { point: { x: 1 } } });
  assert.ok("issues" in parse(open, { point: { x: -1, y: 2 } }));
  assert.equal(open.json.additionalProperties, true);
});

test("schema: the issue for an unknown member names only the known member that was probably meant", () => {
  const known = ["id", "title", "custom_domain"];
  for (const [meant, names] of Object.entries({
    title: ["ttitle", "titl", "titel", "tilte", "Title"],
    custom_domain: ["custom_domains"],
    id: ["id_", "i"],
    "": ["domain_custom", "custom-domian", "xy", "tile_x", "titles_x", "", "t".repeat(100_000)],
  }))
    for (const name of names)
      assert.equal(suggest(name, known), meant && `; did you mean ${meant}?`, name);
  assert.equal(suggest("RS255", ["ES256", "RS256"]), "; did you mean RS256?", "the nearest");
  const many = Object.fromEntries(Array.from({ length: 22 }, (_, n) => [`title${n}`, true]));
  const result = parse(object({ title: optional(boolean) }), many);
  const details = "issues" in result ? result.issues.map(({ detail }) => detail) : [];
  assert.equal(details[19], "is not a known member; did you mean title?");
  assert.equal(details[20], "is wrong, too", "the rest are only counted");
});
