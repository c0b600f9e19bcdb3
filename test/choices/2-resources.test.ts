// Behavior common to all kinds of resource: required fields, fields always present, partial updates, one-time values,
// ETags and deletion. Includes the specifics of webhooks, users, API keys, OAuth clients and the account; the
// permissions of a credential are part 5, and sending deliveries is part 6.
import assert from "node:assert/strict";
import {
  ALL_SCOPES,
  type Client,
  choice,
  EVENT_TYPES,
  errorsOf,
  FIXED,
  fieldRules,
  freshAddress,
  ISO_TIME,
  idOf,
  invalid,
  type Members,
  NOT_FLAG,
  NOT_TEXT,
  problem,
  requiredFields,
  str,
  type Topic,
  textBounds,
  wide,
} from "../support/index.ts";

interface Kind {
  id: Topic;
  path: string;
  prefix: string;
  /** The smallest valid request body. */
  required: Members;
  /** Its further fields, besides id and times. */
  defaults: Members;
  /** A field that only the 201 response shows. */
  once?: readonly [name: string, form: RegExp];
  /** If it can be updated: values that are no defaults, and read-only fields besides id and times. */
  change?: Members;
  readOnly?: readonly string[];
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
    `${choiceId}: ${path} returns every field, and responds with 404 after a delete`,
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
  "2.user-fields: a user has an e-mail address, any name, and permissions among the five scopes",
  async ({ api }) => {
    const long = (length: number) => freshAddress().replace(/@.*/, "@").padEnd(length, "x");
    const good = [`Ada+tag.${freshAddress()}`, `o'brien.${freshAddress()}`, long(254)];
    const bad = "x|a@|@b.example|a@b@c.example|a b@c.example|a\u001b@c.example".split("|");
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
  "7.error-codes.email_taken: an email address belongs to one user of the account, in any case and Unicode form",
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
  "1.test-controls.first-account: the first account has one key, and one owner who is admin",
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
  "7.error-codes.last_admin: the last admin can neither be deleted nor lose the permission",
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
  "1.dashboard.api-keys.name: the name of an API key is required, has 1 to 200 characters and is not blank",
  async ({ api }) => {
    const blank = { field: "name", bad: [" "] };
    await fieldRules(api, "POST /api-keys", {}, { field: "name", ...textBounds(1, 200) }, blank);
    invalid(await api.post("/api-keys", { name: "N", key: "ahs_my-own-key" }), "#/key");
  },
);

choice(
  "1.dashboard.api-keys.last-used: last_used_at of an API key is the start of the current minute",
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
  "1.dashboard.oauth-clients.rules: an OAuth client redirects to https, loopback or, if public, a private-use scheme, and has scopes of the five",
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

const URL_ = "https://hooks.example.com/in";
/** Inactive, so that no delivery is sent. */
const WHOLE = { url: URL_, events: ["app.created"], active: false };

/** The create request, and the update request. */
const requests = async (api: Client) => [
  "POST /webhooks",
  `PATCH /webhooks/${(await api.create("/webhooks", WHOLE)).id}`,
];

choice(
  "4.webhook-endpoints.events: the events of a webhook are some of the six types, without duplicates",
  async ({ api }) => {
    const twice = [
      ["app.created", "app.created"],
      [...EVENT_TYPES, "app.created"],
    ];
    const unknown = [["app.renamed"], [null], [[]]];
    for (const request of await requests(api))
      await fieldRules(
        api,
        request,
        WHOLE,
        {
          field: "events",
          good: [["data.processed"], EVENT_TYPES],
          bad: [[], ...twice, null, "app.created", {}, 5],
        },
        { field: "events", at: "#/events/0", bad: unknown },
        { field: "active", good: [false], bad: NOT_FLAG },
      );
  },
);

choice(
  "4.webhook-endpoints.secret: a webhook secret has 1 to 255 characters and is generated when absent",
  async ({ api }) => {
    const good = ["s", "s".repeat(255), wide(255), " "];
    const bad = ["", "s".repeat(256), wide(256), ...NOT_TEXT];
    await fieldRules(api, "POST /webhooks", WHOLE, { field: "secret", good, bad });
    const [one, two] = [await api.create("/webhooks", WHOLE), await api.create("/webhooks", WHOLE)];
    assert.notEqual(one.secret, two.secret);
    for (const { secret } of [one, two]) {
      const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(str(secret)) ?? [];
      assert.equal(Buffer.from(encoded, "base64").length, 30);
    }
    assert.equal(
      "secret" in (await api.patch(`/webhooks/${one.id}`, { secret: "twice" })).json,
      false,
    );
  },
);

choice(
  "8.field-lengths.url: a webhook URL is absolute and has at most 2,048 characters",
  async ({ api }) => {
    const bad = ["", "/in", URL_.padEnd(2_049, "x"), ...NOT_TEXT];
    for (const request of await requests(api))
      await fieldRules(api, request, WHOLE, { field: "url", good: [URL_.padEnd(2_048, "x")], bad });
  },
);

choice(
  "8.field-lengths.url: an overlong URL or domain is rejected within seconds",
  async ({ api }) => {
    // Ideographs, whose conversion to ASCII takes quadratic time.
    const points = Array.from({ length: 250_000 }, (_, at) => 0x20000 + (at % 40_000));
    const host = `${points.map((point) => String.fromCodePoint(point)).join("")}.com`;
    const { path } = await api.newApp();
    const impatient = api.with({ patience_ms: 5_000 });
    for (const [request, rest, field, value] of [
      ["POST /webhooks", WHOLE, "url", `https://${host}/`],
      [`POST ${path}/deploy`, { name: "R" }, "custom_domain", host],
    ] as const)
      await fieldRules(impatient, request, rest, { field, bad: [value] });
  },
);

const urls = (scheme: string, hosts: string) =>
  hosts.split(" ").map((host) => `${scheme}://${host}/`);

/** Hosts that no webhook may reach, in every spelling and at both ends of a range. */
const FORBIDDEN =
  "0.0.0.0 0 [::] 100.64.0.0 100.127.255.255 169.254.0.0 169.254.255.255 [fe80::1] [febf:ffff::] [fec0::1] [feff:ffff::] " +
  "169.254.169.254/latest/meta-data 0xa9fea9fe 168.63.129.16 [fd00:ec2::254] [fd00:ec2:0::0254] [fd20:ce::254] " +
  "192.88.99.1 [2002:7f00:1::] 192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [3fff::1] 224.0.0.1 239.255.255.255 [ff02::1] " +
  "240.0.0.1 255.255.255.255 198.18.0.1 198.19.255.255 192.0.0.192 [2001::1] [2001:20::1] [100::1] [5f00::1] [4000::1] " +
  "[fbff:ffff::] [fe00::1] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [::ffff:0:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1]";
/** Public hosts, some just outside a range. */
const PUBLIC =
  "8.8.8.8:8443 [2606:4700::1111] 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 " +
  "100.63.255.255 100.128.0.0 169.253.255.255 169.255.0.0 168.63.129.15 168.63.129.17 223.255.255.255 [2001:200::]";
/** Loopback and private hosts, in every spelling and at both ends of a range. */
const PRIVATE =
  "localhost:4000/hook localhost. app.localhost 127.0.0.1:9 127.255.255.254 0x7f.1 2130706433 127.1 １２７.0.0.1 [::1]:8080 " +
  "[0:0:0:0:0:0:0:1] 10.0.0.0 10.255.255.255 0x0a000001 012.0.0.1 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 " +
  "192.168.1.1:8080 [fc00::] [fd00:ec2::253] [fd20:ce::253] [fdff:ffff::1]";
/** Names, which only DNS can resolve. */
const NAMED = "example.com/hook?a=b example.com/@user receiver:4700 my_receiver notlocalhost";

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "must not lead to a link-local": [...urls("https", FORBIDDEN), ...urls("http", FORBIDDEN)],
  "must be an http or https URL": [
    ...urls("https", "user:pass@example.com user@example.com @example.com 999.1.1.1 ?x"),
    "ftp://example.com/",
    "example.com",
    "https://",
    "https:example.com",
    "https:////example.com/",
    "javascript:alert(1)",
    "https:\\\\example.com",
    "https://exa\nmple.com/",
    " https://x.example/",
  ],
};

/** Accepts the good URLs; rejects the others, and those that both policies reject, with the rule that they break. */
async function judges(api: Client, good: readonly string[], own: typeof REFUSED) {
  for (const request of await requests(api)) {
    await fieldRules(api, request, WHOLE, { field: "url", good });
    const [method = "", path = ""] = request.split(" ");
    for (const [rule, bad] of Object.entries({ ...REFUSED, ...own }))
      for (const url of bad) {
        const [issue] = errorsOf(invalid(await api.call(method, path, { ...WHOLE, url }), "#/url"));
        assert.ok(String(issue?.detail).startsWith(rule), `${method} ${url}: ${issue?.detail}`);
      }
  }
}

choice(
  "6.webhook-policy: the local policy accepts loopback, private hosts and names by http or https, and public hosts by https",
  ({ api }) => {
    const good = [
      ...urls("https", `${PUBLIC} ${PRIVATE} ${NAMED}`),
      ...urls("http", `${PRIVATE} ${NAMED}`),
    ];
    return judges(api, good, { "must use https": urls("http", PUBLIC) });
  },
);

choice(
  "6.webhook-policy: the strict policy accepts https to public addresses only",
  { webhookPolicy: "strict" },
  ({ api }) =>
    judges(api, urls("https", `${PUBLIC} ${NAMED}`), {
      "must use https": urls("http", `${PUBLIC} ${NAMED}`),
      "must lead to a public address": [...urls("http", PRIVATE), ...urls("https", PRIVATE)],
    }),
);
