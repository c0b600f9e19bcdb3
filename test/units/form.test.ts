// The labels and errors of forms, and how a page shortens a long text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { appError } from "../../src/domain/errors.ts";
import { formWithErrors, renderFields } from "../../src/web/form.ts";
import { truncate } from "../../src/web/html.ts";
import { begins, contains, groups } from "../support/patterns.ts";

const typed = { string: { type: "string", maxLength: 9 }, array: { type: "array" } };

test("form: members have readable labels", () => {
  const names = ["url", "app_id", "redirect_uris", "id", "video"];
  const properties = Object.fromEntries(names.map((name) => [name, typed.string]));
  const { text } = renderFields({ values: {} }, { type: "object", properties });
  const labels = groups(text, /<label for="[^"]*">\s*([^<]*?)\s*</g);
  assert.deepEqual(labels, ["URL", "App ID", "Redirect URIs", "ID", "Video"]);
});

test("form: an error names its entry and is linked to its field, and the summary has the focus", () => {
  const schema = { type: "object", properties: { uris: typed.array, last: typed.string } };
  const errors = [
    { pointer: "#/uris/1", detail: "must be a URL" },
    { pointer: "#/uris/2", detail: "is too long" },
    { pointer: "#/last", detail: "is required" },
  ];
  const form = formWithErrors({}, appError({ code: "validation_failed", errors }));
  const { text } = renderFields(form, schema);
  contains(
    text,
    '<div id="uris-error"><p class="error">Entry 2 must be a URL. Entry 3 is too long.',
  );
  contains(text, '<div id="last-error"><p class="error">It is required.');
  contains(text, 'id="uris" name="uris" aria-describedby="uris-error" aria-invalid="true"');
  begins(text, '<div class="card" role="alert" tabindex="-1" autofocus>');
  assert.doesNotMatch(renderFields({ values: {} }, schema).text, /autofocus/);
});

test("form: a text is truncated by characters without splitting one", () => {
  assert.equal(truncate("😀".repeat(200)), "😀".repeat(200));
  assert.equal(truncate("😀".repeat(201)), `${"😀".repeat(199)}…`);
});
