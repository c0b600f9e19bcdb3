// Behavior common to all kinds of resource (contract, parts 2 to 4): required fields, fields always present, partial
// updates, one-time values, ETags and deletion. Includes the specifics of users, API keys, OAuth clients and the
// account; the permissions of a credential are part 5.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Client, freshAddress, type Members, str } from "../support/client.ts";
import { FIXED } from "../support/embedded.ts";
import {
  fieldRules,
  ISO_TIME,
  idOf,
  NOT_FLAG,
  NOT_TEXT,
  requiredFields,
  textBounds,
} from "../support/fields.ts";
import { ALL_SCOPES } from "../support/oauth.ts";
import { invalid, problem } from "../support/problem.ts";

interface Kind {
  readonly id: Parameters<typeof choice>[0];
  readonly path: string;
  readonly prefix: string;
  /** The smallest valid request body. */
  readonly required: Members;
  /** Its further fields, besides id and times. */
  readonly defaults: Members;
  /** A field that only the 201 response shows. */
  readonly once?: readonly [name: string, form: RegExp];
  /** If it can be updated: values that are no defaults, and read-only fields besides id and times. */
  readonly change?: Members;
  readonly readOnly?: readonly string[];
}

const CLIENT = {
  name: "Mailer",
  redirect_uris: ["https://c.example.com/cb"],
  scopes: ["read:apps"],
};

const KINDS: readonly Kind[] = [
  {
    id: "2.app-fields",
    path: "/apps",
    prefix: "app",
    required: { title: "T" },
    defaults: { description: "", theme: "light", public: false },
    change: { description: "D", theme: "dark", public: true },
  },
  {
    id: "2.data-source-fields",
    path: "/data-sources",
    prefix: "ds",
    required: { name: "N", type: "csv", data: "a\n1\n" },
    defaults: { app_id: null, status: "processing", columns: null, row_count: null, error: null },
  },
  {
    id: "2.webhook-fields",
    path: "/webhooks",
    prefix: "wh",
    required: { url: "https://h.example.com/", events: ["data.processed"] },
    defaults: { active: true, disabled_reason: null },
    once: ["secret", /^.{32,}$/],
    change: { active: false, events: ["app.deleted"] },
    readOnly: ["disabled_reason"],
  },
  {
    id: "4.user-area",
    path: "/users",
    prefix: "usr",
    required: { email: freshAddress() },
    defaults: { name: "", permissions: [] },
    change: { permissions: ["read:data"], name: "Ada" },
  },
  {
    id: "1.dashboard.api-keys",
    path: "/api-keys",
    prefix: "key",
    required: { name: "N" },
    defaults: { last_used_at: null },
    once: ["key", /^ahs_[A-Za-z0-9_-]{43,}$/],
  },
  {
    id: "4.create-status.oauth-clients",
    path: "/oauth-clients",
    prefix: "cli",
    required: CLIENT,
    defaults: { public: false },
    once: ["client_secret", /^[A-Za-z0-9._~-]{32,}$/],
  },
];

/** Asserts which fields PATCH takes, and that it keeps the others. */
async function assertUpdates(
  api: Client,
  path: string,
  created: Members,
  { change = {}, readOnly = [] }: Kind,
) {
  const names = ["id", "created_at", "updated_at", ...readOnly];
  const wrong = Object.fromEntries(names.map((name) => [name, null]));
  invalid(await api.patch(path, { ...change, ...wrong }), ...names.map((name) => `#/${name}`));
  let expected = created;
  for (const [name, value] of Object.entries(change)) {
    const { json } = await api.patch(path, { [name]: value });
    expected = { ...expected, [name]: value, updated_at: json.updated_at };
    assert.deepEqual(json, expected);
  }
  assert.deepEqual((await api.get(path)).json, expected);
}

for (const kind of KINDS) {
  const { id: choiceId, path, prefix, required, defaults, once, change } = kind;
  choice(
    choiceId,
    `${path} returns every field, and responds with 404 after a delete`,
    async ({ api, baseUrl }) => {
      await requiredFields(api, path, required);
      const answer = await api.post(path, required);
      const { [once?.[0] ?? ""]: secret, ...created } = answer.json;
      const { id, created_at, updated_at = created_at, last_four, ...others } = created;
      assert.match(str(id), idOf(prefix));
      assert.match(str(created_at), ISO_TIME);
      assert.equal(updated_at, created_at);
      const { data: _, ...fields }: Members = { ...required, ...defaults };
      assert.deepEqual(others, fields);
      if (once) assert.match(str(secret), once[1]);
      if (once) assert.equal(answer.header("cache-control"), "no-store");
      if (prefix === "key") assert.equal(last_four, str(secret).slice(-4));
      const one = `${path}/${id}`;
      assert.deepEqual([answer.status, answer.header("location")], [201, baseUrl + one]);
      if (prefix !== "ds") assert.deepEqual((await api.get(one)).json, created);
      if (change) await assertUpdates(api, one, created, kind);
      const { status, text, headers } = await api.delete(one);
      assert.deepEqual([status, text, headers["content-type"]], [204, "", undefined]);
      for (const method of ["GET", "DELETE"]) problem(await api.call(method, one), "not_found");
    },
  );
}

choice(
  "2.user-fields",
  "a user has an e-mail address, any name, and permissions among the five scopes",
  async ({ api }) => {
    const long = (length: number) => freshAddress().replace(/@.*/, "@").padEnd(length, "x");
    const good = [`Ada+tag.${freshAddress()}`, `o'brien.${freshAddress()}`, long(254)];
    const bad = ["x", "a@", "@b.example", "a@b@c.example", "a b@c.example", "a\u001b@c.example"];
    await fieldRules(
      api,
      "POST /users",
      {},
      { field: "email", good, bad: [...bad, ...NOT_TEXT, long(255)] },
    );
    const { id } = await api.create("/users", { email: freshAddress() });
    await fieldRules(
      api,
      `PATCH /users/${id}`,
      {},
      { field: "name", ...textBounds(0, 200) },
      {
        field: "permissions",
        good: [["read:apps"], ALL_SCOPES, []],
        bad: [null, "admin", ["read:apps", "read:apps"]],
      },
      { field: "permissions", at: "#/permissions/0", bad: [["root"], ["Admin"], [5]] },
    );
  },
);

choice(
  "7.error-codes.email_taken",
  "an email address belongs to one user of the account, in any case and Unicode form",
  async ({ api }) => {
    const email = `j\u00fcrgen-${freshAddress()}`;
    const { id } = await api.create("/users", { email });
    const other = await api.create("/users", { email: freshAddress() });
    for (const same of [email.toUpperCase(), email.normalize("NFD")]) {
      problem(await api.post("/users", { email: same }), "email_taken");
      problem(await api.patch(`/users/${other.id}`, { email: same }), "email_taken");
      assert.equal((await api.patch(`/users/${id}`, { email: same })).json.email, same);
    }
    await api.delete(`/users/${id}`);
    await api.create("/users", { email });
  },
);

choice(
  "1.test-controls.first-account",
  "the first account has one key, and one owner who is admin",
  {},
  async ({ api, service }) => {
    const { id, name, ...others } = (await api.get("/account")).json;
    assert.match(str(id), idOf("acc"));
    assert.deepEqual([id, typeof name], [service.account.id, "string"]);
    assert.deepEqual(others, { state: "active", user: null });
    assert.equal((await api.get("/api-keys")).items.length, 1);
    const owners = (await api.get("/users")).items.map(({ email, permissions }) => [
      email,
      permissions,
    ]);
    assert.deepEqual(owners, [["owner@example.com", ["admin"]]]);
  },
);

choice(
  "7.error-codes.last_admin",
  "the last admin can neither be deleted nor lose the permission",
  {},
  async ({ api }) => {
    const [owner] = (await api.get("/users")).items;
    const path = `/users/${owner?.id}`;
    problem(await api.delete(path), "last_admin");
    problem(await api.patch(path, { permissions: ["read:apps"] }), "last_admin");
    (await api.patch(path, { permissions: ["admin", "read:apps"] })).is(200);
    await api.create("/users", { email: freshAddress(), permissions: ["admin"] });
    (await api.patch(path, { permissions: [] })).is(200);
    (await api.delete(path)).is(204);
  },
);

choice(
  "1.dashboard.api-keys.name",
  "the name of an API key is required, has 1 to 200 characters and is not blank",
  async ({ api }) => {
    const blank = { field: "name", bad: [" "] };
    await fieldRules(api, "POST /api-keys", {}, { field: "name", ...textBounds(1, 200) }, blank);
    invalid(await api.post("/api-keys", { name: "N", key: "ahs_my-own-key" }), "#/key");
  },
);

choice(
  "1.dashboard.api-keys.last-used",
  "last_used_at of an API key is the start of the current minute",
  FIXED,
  async ({ api, service }) => {
    for (const [wait, minute] of [
      ["59999ms", "2026-01-01T00:00:00.000Z"],
      ["1ms", "2026-01-01T00:01:00.000Z"],
    ] as const) {
      await service.clock.advance(wait);
      await api.get("/account");
      await service.settled();
      assert.equal((await api.get("/api-keys")).items[0]?.last_used_at, minute);
    }
  },
);

const LOOPBACK = "http://127.0.0.1:8080/cb http://localhost/cb http://[::1]/".split(" ");
const NO_REDIRECTS =
  "|/cb|http://c.example.com/cb|https://c.example.com/#|app:/cb|javascript:alert(1.2)|data:text/html,x|file:///x|" +
  "localhost:3000/cb|c.example.com:443/cb|com.example.app:|com.example.app:/c b|com..app:/cb|.app:/cb|1com.example:/cb|" +
  "//c.example.com/cb|com.example.app|https:c.example.com/cb|https:///c.example.com/cb| https://c.example.com/|" +
  "https://c.example.com/\r\nx: y|https://\u65e5.example.com/|app://127.0.0.1/cb";
const PRIVATE_USE = ["com.example.app:/callback", "Com.Example.App-1:cb?a=1"];

choice(
  "1.dashboard.oauth-clients.rules",
  "an OAuth client redirects to https, loopback or, if public, a private-use scheme, and has scopes of the five",
  async ({ api }) => {
    const https = "https://c.example.com/";
    const longest = https.padEnd(2_048, "x");
    const wrong = [...NO_REDIRECTS.split("|"), null, `${longest}x`].map((uri) => [uri]);
    await fieldRules(
      api,
      "POST /oauth-clients",
      CLIENT,
      {
        field: "redirect_uris",
        good: [["https://c.example.com/cb?x=1", longest], LOOPBACK],
        bad: [[], [https, https], null, https],
      },
      { field: "redirect_uris", at: "#/redirect_uris/0", bad: [...wrong, PRIVATE_USE.slice(1)] },
      {
        field: "scopes",
        good: [["admin"], ["read:apps", "write:apps"]],
        bad: [null, "admin", ["admin", "admin"]],
      },
      { field: "scopes", at: "#/scopes/0", bad: [["root"], [null]] },
      { field: "public", good: [true, false], bad: NOT_FLAG },
    );
    const publicClient = { ...CLIENT, public: true };
    await fieldRules(
      api,
      "POST /oauth-clients",
      publicClient,
      { field: "redirect_uris", good: [PRIVATE_USE] },
      { field: "redirect_uris", at: "#/redirect_uris/0", bad: wrong },
    );
    assert.equal((await api.create("/oauth-clients", publicClient)).client_secret, null);
  },
);
