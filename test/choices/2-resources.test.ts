// Behavior common to all kinds of resource (contract, parts 2 to 4): required fields, fields always present, partial
// updates, one-time values, ETags and deletion. Includes the specifics of users, API keys, OAuth clients and the
// account; the permissions of a credential are part 5.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { freshAddress, type Members, members, str } from "../support/client.ts";
import {
  fieldRules,
  ISO_TIME,
  idOf,
  NOT_FLAG,
  NOT_TEXT,
  requiredFields,
  wide,
} from "../support/fields.ts";
import { ALL_SCOPES } from "../support/oauth.ts";
import { invalid, problem } from "../support/problem.ts";

interface Kind {
  readonly is: readonly [id: Parameters<typeof choice>[0], path: string, prefix: string];
  /** The smallest valid request body. */
  readonly least: Members;
  /** Its further fields, besides id and times. */
  readonly more: Members;
  /** Fields that only the 201 response shows; the server's address is written as AUTH. */
  readonly once?: readonly [name: string, form: RegExp];
  /** If it can be updated: values that are no defaults, and read-only fields besides id and times. */
  readonly change?: Members;
  readonly fixed?: readonly string[];
}

const CLIENT = {
  name: "Mailer",
  redirect_uris: ["https://c.example.com/cb"],
  scopes: ["read:apps"],
};
const OPEN = { status: "processing", columns: null, row_count: null, error: null };

const KINDS: readonly Kind[] = [
  {
    is: ["2.app-fields", "/apps", "app"],
    least: { title: "T" },
    more: { description: "", theme: "light", public: false },
    change: { description: "D", theme: "dark", public: true },
  },
  {
    is: ["2.data-source-fields", "/data-sources", "ds"],
    least: { name: "N", type: "csv", data: "a\n1\n" },
    more: { app_id: null, ...OPEN },
  },
  {
    is: ["2.webhook-fields", "/webhooks", "wh"],
    least: { url: "https://h.example.com/", events: ["data.processed"] },
    more: { active: true, disabled_reason: null },
    once: ["secret", /^.{32,}$/],
    change: { active: false, events: ["app.deleted"] },
    fixed: ["disabled_reason"],
  },
  {
    is: ["4.user-area", "/users", "usr"],
    least: { email: freshAddress() },
    more: { name: "", permissions: [] },
    change: { permissions: ["read:data"], name: "Ada" },
  },
  {
    is: ["1.dashboard.api-keys", "/api-keys", "key"],
    least: { name: "N" },
    more: { last_used_at: null },
    once: ["key", /^ahs_[A-Za-z0-9_-]{43,}$/],
  },
  {
    is: ["1.dashboard.oauth-clients", "/oauth-clients", "cli"],
    least: CLIENT,
    more: { public: false },
    once: ["client_secret", /^[A-Za-z0-9._~-]{32,}$/],
  },
];

const OTHER = { "if-match": '"another-tag"' };
const ANY = { "if-match": "*" };

for (const { is, least, more, once, change, fixed = [] } of KINDS) {
  const [of, path, prefix] = is;
  choice(
    of,
    `${path}: each field is always there, the tag guards it, deleted it is gone`,
    async ({ api, authUrl, baseUrl }) => {
      await requiredFields(api, path, least);
      const made = await api.post(path, least);
      const { [once?.[0] ?? ""]: secret, ...kept } = made.json;
      const { id, created_at, updated_at = created_at, last_four, ...rest } = kept;
      assert.match(str(id), idOf(prefix));
      assert.match(str(created_at), ISO_TIME);
      assert.equal(updated_at, created_at);
      const { data: _, ...shown } = members({ ...least, ...more });
      assert.deepEqual(rest, shown);
      assert.equal(last_four, path === "/api-keys" ? str(secret).slice(-4) : undefined);
      if (once) {
        assert.match(str(secret).replace(authUrl, "AUTH"), once[1]);
        assert.equal(made.header("cache-control"), "no-store");
      }
      const one = `${path}/${id}`;
      assert.deepEqual([made.status, made.header("location")], [201, baseUrl + one]);
      if (shown.status === undefined) assert.deepEqual((await api.get(one)).json, kept);
      if (change) {
        const own = ["id", "created_at", "updated_at", ...fixed];
        const wrong = { ...change, ...Object.fromEntries(own.map((name) => [name, null])) };
        invalid(await api.patch(one, wrong), ...own.map((name) => `#/${name}`));
        problem(await api.patch(one, change, OTHER), "precondition_failed");
        assert.deepEqual((await api.get(one)).json, kept, "what was refused has changed nothing");
        let now = kept;
        for (const part of [
          ...Object.entries(change).map(([name, value]) => ({ [name]: value })),
          {},
        ]) {
          const changed = await api.patch(one, part, ANY);
          now = { ...now, ...part, updated_at: changed.json.updated_at };
          assert.deepEqual([changed.status, changed.json], [200, now]);
        }
        assert.deepEqual((await api.get(one)).json, now);
      }
      problem(await api.delete(one, OTHER), "precondition_failed");
      const gone = await api.delete(one, ANY);
      assert.deepEqual(
        [gone.status, gone.text, gone.headers["content-type"]],
        [204, "", undefined],
      );
      for (const method of ["GET", "DELETE"]) problem(await api.send(method, one), "not_found");
      if (change) problem(await api.patch(one, change), "not_found");
    },
  );
}

choice(
  "2.user-fields.email",
  "a user's email is required and must be an address",
  async ({ api }) => {
    const long = (length: number) => freshAddress().replace(/@.*/, "@").padEnd(length, "x");
    const good = [
      `Ada+tag.${freshAddress()}`,
      `o'brien.${freshAddress()}`,
      `UPPER.${freshAddress()}`,
      long(254),
    ];
    const controls = [..."\u0001\u001b\u001f\u007f\u0080\u009b\u009f"];
    const bad = [
      ...[
        "",
        "x",
        "a@",
        "@b.example",
        "a@b@c.example",
        "a b@c.example",
        "a@c example",
        "a@c.example\n",
        ...NOT_TEXT,
      ],
      long(255),
      ...controls.flatMap((control) => [`a${control}b@c.example`, `a@c${control}.example`]),
    ];
    await fieldRules(api, "POST /users", {}, { field: "email", good, bad });
  },
);

choice(
  "2.user-fields.permissions",
  "a user's permissions are a subset of the five scopes, and the name is any text",
  async ({ api }) => {
    const twice = ["read:apps", "read:apps"];
    const unknown = [["root"], ["Admin"], [""], [null], [5], [["admin"]]];
    const request = `PATCH /users/${(await api.create("/users", { email: freshAddress() })).id}`;
    await fieldRules(
      api,
      request,
      {},
      { field: "name", good: ["", "Ada", "名", "n".repeat(200)], bad: [...NOT_TEXT, wide(10_000)] },
      {
        field: "permissions",
        good: [["read:apps"], ALL_SCOPES, ["admin"], []],
        bad: [null, "admin", 5, {}, twice],
      },
      { field: "permissions", at: "#/permissions/0", bad: unknown },
    );
  },
);

choice(
  "7.error-codes.email_taken",
  "an email address belongs to one user of the account, regardless of case",
  async ({ api }) => {
    const email = freshAddress();
    const shouted = { email: email.toUpperCase() };
    const { id } = await api.create("/users", { email });
    const other = await api.create("/users", { email: freshAddress() });
    for (const body of [{ email }, shouted]) problem(await api.post("/users", body), "email_taken");
    problem(await api.patch(`/users/${other.id}`, shouted), "email_taken");
    assert.equal(
      (await api.get(`/users/${other.id}`)).json.email,
      other.email,
      "nothing was changed",
    );
    assert.equal(
      (await api.patch(`/users/${id}`, shouted)).json.email,
      shouted.email,
      "one's own may change",
    );
    await api.delete(`/users/${id}`);
    await api.create("/users", { email });
  },
);

choice(
  "1.test-controls.first-account",
  "the first account has one key, one owner who is admin, and nothing else",
  {},
  async (own) => {
    const { api, service } = own;
    const { id, name, ...shown } = (await api.get("/account")).json;
    assert.deepEqual(
      [id, typeof name, shown],
      [service.account.id, "string", { state: "active", user: null }],
    );
    assert.match(str(id), idOf("acc"));
    const lists = [
      "/api-keys",
      "/users",
      "/apps",
      "/data-sources",
      "/webhooks",
      "/events",
      "/oauth-clients",
    ];
    const found = await Promise.all(lists.map(async (path) => (await api.get(path)).json.total));
    assert.deepEqual(found, [1, 1, 0, 0, 0, 0, 0]);
    const [owner] = (await api.get("/users")).items;
    assert.deepEqual([owner?.email, owner?.permissions], ["owner@example.com", ["admin"]]);
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
    assert.deepEqual((await api.get(path)).json, owner);
    assert.equal(
      (await api.patch(path, { name: "Owner", permissions: ["admin", "read:apps"] })).status,
      200,
    );
    await api.create("/users", { email: freshAddress(), permissions: ["admin"] });
    assert.equal((await api.patch(path, { permissions: [] })).status, 200);
    assert.equal((await api.delete(path)).status, 204);
  },
);

choice(
  "1.dashboard.api-keys.name",
  "the name of an API key is required, has 1 to 200 characters and is not blank",
  async ({ api }) => {
    const bad = ["", " ", "n".repeat(201), wide(201), ...NOT_TEXT];
    await fieldRules(
      api,
      "POST /api-keys",
      {},
      { field: "name", good: ["n", "n".repeat(200)], bad },
    );
    invalid(
      await api.post("/api-keys", { name: "N", key: "ahs_my-own-key", scopes: [] }),
      "#/key",
      "#/scopes",
    );
  },
);

const HALF_PAST = { clock: "manual", startAt: "1969-12-31T23:58:30.000Z" } as const;

choice(
  "1.dashboard.api-keys.last-used",
  "last_used_at of an API key is the start of the current minute, at any time",
  HALF_PAST,
  async (own) => {
    const { api, service } = own;
    for (const [wait, minute] of [
      ["0ms", 58],
      ["29999ms", 58],
      ["1ms", 59],
    ] as const) {
      await service.clock.advance(wait);
      await api.get("/account");
      await service.settled();
      assert.equal(
        (await api.get("/api-keys")).items[0]?.last_used_at,
        `1969-12-31T23:${minute}:00.000Z`,
      );
    }
  },
);

const NO_REDIRECTS = [
  ...[
    "",
    "/cb",
    "http://c.example.com/cb",
    "https://c.example.com/#f",
    "https://c.example.com/#",
    "app:/cb",
    null,
    5,
  ],
  ...[
    "javascript:alert(1.2)",
    "data:text/html,x",
    "file:///x",
    "localhost:3000/cb",
    "c.example.com:443/cb",
    "ftp://c.d/",
  ],
  ...[
    "com.example.app:/cb#f",
    "com.example.app:",
    "com.example.app:/c b",
    "com..app:/cb",
    ".app:/cb",
    "com.app.:/cb",
  ],
  ...[
    "com.example.app://u:p@x/cb",
    "1com.example:/cb",
    "com.example_app:/cb",
    "//c.example.com/cb",
    "com.example.app",
  ],
  ...[
    "https:c.example.com/cb",
    "https:///c.example.com/cb",
    "https://c.example.com/c b",
    " https://c.example.com/",
  ],
  ...[
    "https://c.example.com/\r\nx: y",
    "https://c.example.com/\u65e5",
    "https://\u65e5.example.com/",
  ],
];
const LOOPBACK = [
  "http://127.0.0.1:8080/cb",
  "http://localhost/cb",
  "http://localhost./cb",
  "http://[::1]/",
];
const TWICE = ["https://c.example.com/", "https://c.example.com/"];

choice(
  "1.dashboard.oauth-clients.rules",
  "an OAuth client redirects to https or loopback and has scopes of the five",
  async ({ api }) => {
    const longest = `https://c.example.com/${"x".repeat(2_026)}`;
    await fieldRules(
      api,
      "POST /oauth-clients",
      CLIENT,
      { field: "redirect_uris", good: [["https://c.example.com/cb?x=1", longest], LOOPBACK] },
      { field: "redirect_uris", bad: [[], TWICE, null, TWICE[0], {}] },
      {
        field: "redirect_uris",
        at: "#/redirect_uris/0",
        bad: [...NO_REDIRECTS, `${longest}x`].map((uri) => [uri]),
      },
      {
        field: "scopes",
        good: [["admin"], ["read:apps", "write:apps"]],
        bad: [null, "admin", ["admin", "admin"]],
      },
      { field: "scopes", at: "#/scopes/0", bad: [["root"], [""], [null]] },
      { field: "public", good: [true, false], bad: NOT_FLAG },
    );
    assert.equal(
      (await api.create("/oauth-clients", { ...CLIENT, public: true })).client_secret,
      null,
    );
  },
);

const PRIVATE_USE = [
  "com.example.app:/callback",
  "com.example.app://callback",
  "Com.Example.App-1:cb?a=1",
  "a.b:/",
];

choice(
  "1.dashboard.oauth-clients.rules",
  "a private-use scheme is for public clients only",
  async ({ api }) => {
    const [https = ""] = CLIENT.redirect_uris;
    for (const uri of PRIVATE_USE) {
      const redirect_uris = [https, uri];
      const made = await api.create("/oauth-clients", { ...CLIENT, redirect_uris, public: true });
      assert.deepEqual(made.redirect_uris, redirect_uris);
      for (const draft of [{}, { public: false }]) {
        const refused = await api.post("/oauth-clients", { ...CLIENT, redirect_uris, ...draft });
        invalid(refused, "#/redirect_uris/1");
        assert.match(refused.text, /a private-use scheme is for public clients only/);
      }
    }
    for (const uri of [
      ...[
        "app:/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://c.example.com/cb",
        "c.example.com:443/cb",
      ],
      ...[
        "ftp://localhost/cb",
        "javascript://localhost/%0Aalert(1)",
        "app://127.0.0.1/cb",
        "c.example.com:443",
      ],
    ]) {
      const refused = await api.post("/oauth-clients", {
        ...CLIENT,
        redirect_uris: [uri],
        public: true,
      });
      assert.match(
        refused.text,
        /must be https, http to a loopback address, or for a public client a private-use scheme with a dot/,
      );
    }
  },
);
