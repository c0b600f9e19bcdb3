// Spec part 2, App; the bounds are the contract's.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
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

choice(
  "8.bounds.ids",
  "20 or more letters and digits follow the prefix, and later ids compare greater",
  async ({ api }) => {
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) ids.push((await api.create("/apps", { title: "Order" })).id);
    for (const id of ids) assert.match(id, idOf("app"));
    assert.deepEqual([...ids].sort(), ids);
    assert.equal(new Set(ids.map((id) => id.slice(-8))).size, ids.length, "the ends are random");
  },
);

choice(
  "8.bounds.ids",
  "made in the same instant still compare in the order of creation",
  {
    needs: "embedded",
    options: { clock: "manual" },
  },
  async ({ api }) => {
    const ids: string[] = [];
    for (let made = 0; made < 30; made += 1) ids.push((await api.create("/apps", { title: "Order" })).id);
    assert.deepEqual([...ids].sort(), ids);
    assert.equal(new Set(ids.map((id) => id.slice(-11))).size, ids.length);
  },
);

choice("1.rfcs.timestamps", "carry milliseconds and end in Z", async ({ api }) => {
  const app = await api.create("/apps", { title: "Time" });
  assert.match(String(app.created_at), ISO_TIME);
  assert.equal(app.updated_at, app.created_at);
});

choice("8.field-lengths.app", "each field is bounded on create", async ({ api }) => {
  for (const rule of RULES) await fieldRule(api, "/apps", { title: "Bounds" }, rule);
});

choice("8.field-lengths.app", "and in the same way on change", async ({ api }) => {
  const app = await api.create("/apps", { title: "Bounds" });
  for (const rule of RULES) await changeRule(api, `/apps/${app.id}`, rule);
});

choice("2.app-fields", "the title alone is required", ({ api }) => requiredFields(api, "/apps", { title: "Only" }));

choice("2.app-fields.description", "an absent description is empty", async ({ api }) => {
  assert.equal((await api.create("/apps", { title: "Defaults" })).description, "");
});

choice("2.themes.default", "an absent theme is light", async ({ api }) => {
  assert.equal((await api.create("/apps", { title: "Defaults" })).theme, "light");
});

choice("2.app-fields.public", "an app is private unless it is said to be public", async ({ api }) => {
  assert.equal((await api.create("/apps", { title: "Defaults" })).public, false);
});

choice("2.unknown-members", "are refused by name, so that a typo never passes silently", async ({ api }) => {
  invalid(await api.post("/apps", { title: "T", publc: true }), "#/publc");
  invalid(await api.post("/apps", { title: "T", id: "app_1", created_at: "now" }), "#/id", "#/created_at");
  const app = await api.create("/apps", { title: "T" });
  invalid(await api.patch(`/apps/${app.id}`, { Title: "T" }), "#/Title");
  invalid(await api.post("/apps", { title: "T", "a/b~c": 1 }), "#/a~1b~0c");
});

choice("2.unknown-members", "include those that JavaScript has a meaning for", async ({ api }) => {
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "length"]) {
    const body = `{"title":"T","${name}":{"public":true}}`;
    const headers = { "content-type": "application/json" };
    invalid(await api.send("POST", "/apps", { headers, body }), `#/${name}`);
  }
  const after = await api.create("/apps", { title: "Clean" });
  assert.equal(after.public, false, "no prototype was polluted");
});

choice("8.field-lengths.text", "lone surrogates and NUL are refused, whole pairs are kept", async ({ api }) => {
  const headers = { "content-type": "application/json" };
  for (const escaped of ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "a\\u0000b", "\\u0000"])
    for (const field of ["title", "description", "theme"]) {
      const body = `{"title":"T","${field}":"x${escaped}y"}`;
      invalid(await api.send("POST", "/apps", { headers, body }), `#/${field}`);
    }
  const pair = await api.send("POST", "/apps", { headers, body: '{"title":"\\ud83d\\ude00"}' });
  assert.equal(pair.json.title, "\u{1F600}");
});

choice("8.field-lengths.text", "what is sent comes back unchanged, byte for byte", async ({ api }) => {
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
  invalid(
    await api.post("/apps", { title: "", description: 5, theme: "", public: "yes", x: 1 }),
    "#/title",
    "#/description",
    "#/theme",
    "#/public",
    "#/x",
  );
});
