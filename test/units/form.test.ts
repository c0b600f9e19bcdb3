// What no request shows of forms: no secret that is made here has a space in it, but one that a seed brings may.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formDecoded } from "../../src/kit/form.ts";

test("form: a plus is a space", () => assert.equal(formDecoded("a+b%2B"), "a b+"));
