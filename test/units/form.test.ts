// Form details that no request shows: our generated secrets contain no space, but a seed's secret may. The tests
// cover what a form shows again after an error, and how a page shortens a long text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fail } from "../../src/domain/errors.ts";
import { formWithErrors, renderFields } from "../../src/web/form.ts";
import { truncate } from "../../src/web/html.ts";

test("form: rejected input is shown again, up to a length that does not hold up other requests", () => {
  const schema = { type: "object", properties: { data: { type: "string" } }, required: ["data"] };
  const errors = new Map([["data", "is not JSON"]]);
  const back = (length: number) =>
    renderFields({ values: { data: "<".repeat(length) }, errors }, schema).text;
  assert.ok(back(65_536).includes("&lt;".repeat(65_536)));
  assert.ok(back(65_537).length < 1_000);
});

const typed = { string: { type: "string", maxLength: 9 }, array: { type: "array" } };

test("form: members have readable labels", () => {
  const names = ["url", "app_id", "redirect_uris", "id", "video"];
  const properties = Object.fromEntries(names.map((name) => [name, typed.string]));
  const { text } = renderFields({ values: {} }, { type: "object", properties });
  const labels = [...text.matchAll(/<label for="[^"]*">([^<]*)/g)].map(([, label]) =>
    label?.trim(),
  );
  assert.deepEqual(labels, ["URL", "App ID", "Redirect URIs", "ID", "Video"]);
});

test("form: an error names the entry it is about and is linked to its field, and the error summary has the focus", () => {
  const set = { ...typed.array, items: { enum: ["a", "b"] } };
  const schema = {
    type: "object",
    properties: { name: typed.string, uris: typed.array, set, last: typed.string },
  };
  const said = { "#/uris/1": "must be a URL", "#/set": "must have one", "#/last": "is required" };
  const issues = Object.entries(said).map(([pointer, detail]) => ({ pointer, detail }));
  const form = formWithErrors({}, fail({ code: "validation_failed", errors: issues }));
  assert.equal(form.errors?.get("uris"), "Entry 2 must be a URL.");
  assert.equal(form.errors?.get("set"), "It must have one.");
  const { text } = renderFields(form, schema);
  const reported =
    /<fieldset aria-describedby="set-error">.*<div id="set-error"><p class="error">It must have one\./s;
  assert.match(text, reported);
  assert.match(text, /id="uris" name="uris" aria-describedby="uris-error" aria-invalid="true"/);
  assert.match(text, /^<div class="card" role="alert" tabindex="-1" autofocus>/);
  assert.equal(text.split("autofocus").length, 2);
  assert.doesNotMatch(renderFields({ values: {} }, schema).text, /autofocus/);
});

test("form: a text is truncated by characters without splitting one", () => {
  assert.equal(truncate("😀".repeat(200)), "😀".repeat(200));
  assert.equal(truncate("😀".repeat(201)), `${"😀".repeat(199)}…`);
  assert.equal(truncate("a".repeat(200)), "a".repeat(200));
  assert.equal(truncate(`a${"😀".repeat(300)}`), `a${"😀".repeat(198)}…`);
});
