// What each kind of schema takes, what it says of all else, and how it prints itself as JSON Schema.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changesOf,
  flag,
  fromText,
  list,
  nullable,
  object,
  oneOf,
  optional,
  orNumber,
  parse,
  pointer,
  type Schema,
  text,
  whole,
  withDefault,
} from "../../src/kit/schema.ts";

function takes<T>(schema: Schema<T>, values: readonly unknown[]): void {
  for (const value of values) assert.deepEqual(parse(schema, value), { value });
}

/** The one fault, at the value itself. */
function refuses<T>(schema: Schema<T>, detail: string, values: readonly unknown[]): void {
  for (const value of values) assert.deepEqual(parse(schema, value), { faults: [{ path: [], detail }] });
}

test("schema: flags, whole numbers and names of a list", () => {
  takes(flag, [true, false]);
  refuses(flag, "must be true or false", [0, "true", null, undefined]);
  takes(whole({ min: 1, max: 3 }), [1, 2, 3]);
  refuses(whole({ min: 1, max: 3 }), "must be a whole number from 1 to 3", [0, 4, 1.5, "2", null]);
  takes(whole({ min: 0 }), [0, Number.MAX_SAFE_INTEGER]);
  refuses(whole({ min: 0 }), "must be a whole number 0 or more", [-1, 2 ** 53]);
  takes(oneOf(["a", "b"]), ["a", "b"]);
  refuses(oneOf(["a", "b"]), 'must be one of "a", "b"', ["c", "", 1]);
});

test("schema: a text has as many characters as allowed, pairs of surrogates counted once", () => {
  const schema = text({ min: 2, max: 4 });
  takes(schema, ["ab", "abcd", "👋👋", "👋👋👋👋"]);
  refuses(schema, "must have 2 to 4 characters", ["", "a", "👋", "abcde", "👋👋👋👋👋", "a".repeat(1_000)]);
  refuses(text({ max: 1 }), "must have at most 1 characters", ["ab"]);
  refuses(schema, "must be a string", [12, null, ["ab"]]);
  refuses(schema, "must not contain a lone surrogate", ["ab\ud83d"]);
  refuses(schema, "must not contain a NUL character", ["ab\0"]);
  refuses(text({ min: 1, max: 9, notBlank: true }), "must not be blank", [" \t"]);
});

test("schema: a text fits its pattern, which is told in words where there are any, and its own rule", () => {
  refuses(text({ max: 9, pattern: /^x/ }), "must be like ^x", ["y"]);
  const schema = text({ max: 9, pattern: /^x/, says: "an x", rule: (it) => (it === "xx" ? "is odd" : undefined) });
  takes(schema, ["x", "xxx"]);
  refuses(schema, "must be an x", ["y"]);
  refuses(schema, "is odd", ["xx"]);
});

test("schema: in a query a number and a flag have one text each", () => {
  const number = fromText(whole({ min: 0, max: 100 }));
  for (const [given, value] of [
    ["0", 0],
    ["5", 5],
    ["100", 100],
  ] as const)
    assert.deepEqual(parse(number, given), { value });
  const detail = "must be a whole number from 0 to 100";
  refuses(number, detail, ["", "05", "00", "+5", "-0", "5.0", "1e1", " 5", "true", "101", "0x5"]);
  assert.deepEqual(parse(fromText(flag), "true"), { value: true });
  assert.deepEqual(parse(fromText(flag), "false"), { value: false });
  refuses(fromText(flag), "must be true or false", ["", "1", "True", " true", "truex"]);
});

test("schema: null or a number beside what a schema takes", () => {
  const schema = nullable(orNumber(text({ max: 2 })));
  takes(schema, [null, 1.5, -0.25, "ab"]);
  refuses(schema, "must have at most 2 characters", ["abc"]);
  refuses(schema, "must be a string", [true, [], Number.NaN]);
});

test("schema: a list has as many items as allowed, each its own place, and no item twice where it says so", () => {
  const schema = list(text({ min: 1, max: 2 }), { min: 1, max: 3, distinct: true });
  takes(schema, [["a"], ["a", "b", "c"]]);
  refuses(schema, "must be an array", ["a", { 0: "a" }, null]);
  refuses(schema, "must have at least one item", [[]]);
  refuses(schema, "must have at most 3 items", [["a", "b", "c", "d"]]);
  refuses(schema, "must not name the same item twice", [["a", "b", "a"]]);
  takes(list(flag, { max: 2 }), [[], [true, true]]);
  const detail = "must have 1 to 2 characters";
  const faults = [1, 2].map((at) => ({ path: [at], detail }));
  assert.deepEqual(parse(schema, ["a", "", ""]), { faults });
});

const person = object({ name: text({ max: 9 }), on: withDefault(flag, true), "a/b~c": optional(flag) });

test("schema: an object names every member that is missing, unknown or wrong", () => {
  assert.deepEqual(parse(person, { name: "A" }), { value: { name: "A", on: true } });
  assert.deepEqual(parse(person, { name: "A", on: false, "a/b~c": true }), {
    value: { name: "A", on: false, "a/b~c": true },
  });
  refuses(person, "must be an object", [null, [], "a"]);
  const read = parse(person, { nam: "A", on: null, "a/b~c": 1 });
  assert.ok("faults" in read);
  assert.deepEqual(
    read.faults.map(({ path, detail }) => `${pointer(path)} ${detail}`),
    [
      "#/nam is not a known member; did you mean name?",
      "#/name is required",
      "#/on must be true or false",
      "#/a~1b~0c must be true or false",
    ],
  );
});

test("schema: changes hold the members that were sent, and no defaults", () => {
  const changes = changesOf(person);
  takes(changes, [{}, { on: false }, { name: "B", on: true }]);
  assert.deepEqual(parse(changes, { name: 1 }), { faults: [{ path: ["name"], detail: "must be a string" }] });
});

test("schema: each prints itself as JSON Schema", () => {
  const all = object({
    text: text({ min: 1, max: 9, pattern: /^x/, format: "uri" }),
    title: text({ max: 9, notBlank: true }),
    flag,
    number: whole({ min: 1, max: 3 }),
    offset: withDefault(fromText(whole({ min: 0 })), 0),
    kind: nullable(oneOf(["a", "b"])),
    point: nullable(orNumber(text({ max: 2 }))),
    name: optional(nullable(text({ max: 2 }))),
    flags: list(flag, { min: 1, max: 2, distinct: true }),
    more: list(flag, { max: 2 }),
  });
  const string = { type: "string", maxLength: 2 };
  const kinds = { type: "string", enum: ["a", "b"] };
  const flags = { type: "array", items: { type: "boolean" }, minItems: 0, maxItems: 2 };
  assert.deepEqual(all.json, {
    type: "object",
    properties: {
      text: { type: "string", minLength: 1, maxLength: 9, pattern: "^x", format: "uri" },
      title: { type: "string", maxLength: 9, pattern: "\\S" },
      flag: { type: "boolean" },
      number: { type: "integer", minimum: 1, maximum: 3 },
      offset: { type: "integer", minimum: 0, default: 0 },
      kind: { oneOf: [kinds, { type: "null" }] },
      point: { oneOf: [{ anyOf: [string, { type: "number" }] }, { type: "null" }] },
      name: { ...string, type: ["string", "null"] },
      flags: { ...flags, minItems: 1, uniqueItems: true },
      more: flags,
    },
    required: ["text", "title", "flag", "number", "kind", "point", "flags", "more"],
    additionalProperties: false,
  });
  const { default: _, ...offset } = all.members.offset.json;
  assert.deepEqual(changesOf(object({ offset: all.members.offset })).json, {
    type: "object",
    properties: { offset },
    additionalProperties: false,
  });
});

test("schema: an unknown member is told the known one that was probably meant, and no other", () => {
  const schema = object({ id: optional(flag), title: optional(flag), custom_domain: optional(flag) });
  const said = (name: string) => Object(parse(schema, { [name]: true })).faults?.[0].detail.split("; ")[1];
  const near = "ttitle titl titel tilte Title custom_domains domain_custom custom-domian id_ i";
  assert.deepEqual(near.split(" ").map(said), [
    ...Array(5).fill("did you mean title?"),
    "did you mean custom_domain?",
    ...[undefined, undefined],
    ...Array(2).fill("did you mean id?"),
  ]);
  const many = parse(schema, Object.fromEntries(Array.from({ length: 22 }, (_, at) => [`title${at}`, true])));
  const hints = ("faults" in many ? many.faults : []).map(({ detail }) => detail.includes("did you mean"));
  assert.deepEqual(hints, [...Array(20).fill(true), false, false], "no further than faults are shown");
  for (const far of ["xy", "tile_x", "titles_x", "", "t".repeat(100_000)]) assert.equal(said(far), undefined, far);
});
