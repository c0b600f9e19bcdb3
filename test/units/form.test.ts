// Names and values of forms (kit/form), as browsers and clients of OAuth write them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, formDecoded } from "../../src/kit/form.ts";

test("form: names and values, of a repeated name the first, and none for an empty value", () => {
  const { values, repeated } = fieldsOf("a=1&b=%C3%BC+x&a=2&c=&c=3");
  assert.deepEqual([[...values].join("; "), [...repeated].join()], ["a,1; b,ü x", "a,c"]);
});

test("form: one value is decoded as a form has it, or not at all", () => {
  assert.equal(formDecoded("a+b%2Bc%C3%BC"), "a b+cü");
  for (const text of ["%", "%zz", "%ff"]) assert.equal(formDecoded(text), undefined, text);
});
