// Apps (spec part 2 names their fields; the bounds are the contract's).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { changeRule, fieldRule, ISO_TIME, idOf, NOT_FLAG, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { invalid } from "../support/problem.ts";

const RULES = [
  {
    field: "title",
    good: ["x", "a".repeat(200), wide(200), " padded ", "日本語", "<b>&amp;</b>", "'; DROP TABLE apps; --", "a\u2028b"],
    bad: ["", "a".repeat(201), wide(201), " ", "\t\n", "\u3000", ...NOT_TEXT],
  },
  {
    field: "description",
    good: ["", " ", "d".repeat(5000), wide(5000), "two\nlines"],
    bad: ["d".repeat(5001), ...NOT_TEXT],
  },
  { field: "theme", good: ["t", "dark", "t".repeat(64), "my own"], bad: ["", "t".repeat(65), ...NOT_TEXT] },
  { field: "public", good: [true, false], bad: NOT_FLAG },
];

/** POST of a body that JSON.stringify would not make. */
const raw = (api: Client, body: string) =>
  api.send("POST", "/apps", { headers: { "content-type": "application/json" }, body });

choice("8.field-lengths.app", "each field is bounded on create, and in the same way on change", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Bounds" });
  for (const rule of RULES) {
    await fieldRule(api, "/apps", { title: "Bounds" }, rule);
    await changeRule(api, `/apps/${id}`, rule);
  }
});

choice("2.app-fields", "the title alone is required", ({ api }) => requiredFields(api, "/apps", { title: "Only" }));

choice("2.app-fields", "what is not sent is empty, light and private; times carry milliseconds", async ({ api }) => {
  const { id, created_at, updated_at, ...rest } = await api.create("/apps", { title: "Defaults" });
  assert.match(id, idOf("app"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  assert.deepEqual(rest, { title: "Defaults", description: "", theme: "light", public: false });
});

choice("2.unknown-members", "are refused by name, so that a typo never passes silently", async ({ api }) => {
  const app = await api.create("/apps", { title: "T" });
  invalid(await api.post("/apps", { title: "T", publc: true }), "#/publc");
  invalid(await api.post("/apps", { title: "T", id: "app_1", created_at: "now" }), "#/id", "#/created_at");
  invalid(await api.patch(`/apps/${app.id}`, { Title: "T" }), "#/Title");
  invalid(await api.post("/apps", { title: "T", "a/b~c": 1 }), "#/a~1b~0c");
  invalid(await api.post(`/apps/${app.id}/deploy`, { name: "R", env: "x", status: "live" }), "#/env", "#/status");
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length"])
    invalid(await raw(api, `{"title":"T","${name}":{"public":true}}`), `#/${name}`);
  assert.equal((await api.create("/apps", { title: "Clean" })).public, false, "no prototype was polluted");
});

choice("8.field-lengths.text", "lone surrogates and NUL are refused, all else comes back as sent", async ({ api }) => {
  for (const escaped of ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "a\\u0000b", "\\u0000"])
    for (const field of ["title", "description", "theme"])
      invalid(await raw(api, `{"title":"T","${field}":"x${escaped}y"}`), `#/${field}`);
  assert.equal((await raw(api, '{"title":"\\ud83d\\ude00"}')).json.title, "\u{1F600}");
  // Precomposed and decomposed forms stay different; controls other than NUL are text.
  const title = 'e\u0301 \u00e9 \u0001\u001f \u007f \u200b \ufeff \u2028\u2029 \u{10FFFF} \\ " /';
  const app = await api.create("/apps", { title });
  assert.equal((await api.get(`/apps/${app.id}`)).json.title, title);
});

choice("7.error-codes.no-object", "bodies have to be objects", async ({ api }) => {
  const app = await api.create("/apps", { title: "T" });
  for (const body of [[], [{ title: "T" }], "text", 5, null, true]) {
    invalid(await api.post("/apps", body), "#");
    invalid(await api.patch(`/apps/${app.id}`, body), "#");
  }
});

choice("7.error-body.all-faults", "name all their faults in one answer", async ({ api }) => {
  const faults = { title: "", description: 5, theme: "", public: "yes", x: 1 };
  invalid(await api.post("/apps", faults), ...Object.keys(faults).map((name) => `#/${name}`));
});
