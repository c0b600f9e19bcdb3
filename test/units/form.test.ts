// What no request shows of forms: no secret that is made here has a space in it, but one that a seed brings may. And what
// a form gives back, and a page shows of a long text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formDecoded } from "../../src/kit/form.ts";
import { controls } from "../../src/web/form.ts";
import { cut } from "../../src/web/parts.ts";

test("form: a plus is a space", () => assert.equal(formDecoded("a+b%2B"), "a b+"));

test("form: what was pasted in vain comes back, but not as much as holds up others", () => {
  const schema = { type: "object", properties: { data: { type: "string" } }, required: ["data"] };
  const faults = new Map([["data", "is not JSON"]]);
  const back = (length: number) => controls({ values: { data: "<".repeat(length) }, faults }, schema).text;
  assert.ok(back(65_536).includes("&lt;".repeat(65_536)));
  assert.ok(back(65_537).length < 1_000);
});

test("form: a text is cut after so many characters, of which none is taken apart", () => {
  assert.equal(cut("😀".repeat(200)), "😀".repeat(200));
  assert.equal(cut("😀".repeat(201)), `${"😀".repeat(199)}…`);
  assert.equal(cut("a".repeat(200)), "a".repeat(200));
  assert.equal(cut(`a${"😀".repeat(300)}`), `a${"😀".repeat(198)}…`);
});
