// What all kinds of resource have in common (contract, parts 2 to 4): which fields are required and which always there, what
// is shown once, what a change leaves alone, the tag that guards each, and that what was deleted is gone.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Members, members, str } from "../support/client.ts";
import { ISO_TIME, idOf, requiredFields } from "../support/fields.ts";
import { freshAddress } from "../support/fresh.ts";
import { invalid, problem } from "../support/problem.ts";

interface Kind {
  /** The least that makes one. */
  readonly least: Members;
  /** What is in it besides that, id and times. */
  readonly more: Members;
  /** What the 201 answer alone shows; the server's address is written as AUTH. */
  readonly once?: readonly [name: string, form: RegExp];
  /** Where it can be changed: a change, and what of it is the server's own, besides id and times. */
  readonly change?: Members;
  readonly fixed?: readonly string[];
}

const OPEN = { status: "processing", columns: null, row_count: null, error: null };

const KINDS: readonly (readonly [id: Parameters<typeof choice>[0], path: string, prefix: string, kind: Kind])[] = [
  [
    ...(["2.app-fields", "/apps", "app"] as const),
    {
      least: { title: "T" },
      more: { description: "", theme: "light", public: false },
      change: { theme: "dark" },
    },
  ],
  [
    ...(["2.data-source-fields", "/data-sources", "ds"] as const),
    { least: { name: "N", type: "csv", data: "a\n1\n" }, more: { app_id: null, ...OPEN } },
  ],
  [
    ...(["2.webhook-fields", "/webhooks", "wh"] as const),
    {
      least: { url: "https://h.example.com/", events: ["data.processed"] },
      more: { active: true, disabled_reason: null },
      once: ["secret", /^.{32,}$/],
      change: { events: ["app.deleted"] },
      fixed: ["disabled_reason"],
    },
  ],
  [
    ...(["4.user-area", "/users", "usr"] as const),
    {
      least: { email: freshAddress() },
      more: { name: "", permissions: [] },
      once: ["sign_in_url", /^AUTH\/dashboard\//],
      change: { name: "Ada" },
      fixed: ["sign_in_url"],
    },
  ],
  [
    ...(["1.dashboard.api-keys", "/api-keys", "key"] as const),
    { least: { name: "N" }, more: { last_used_at: null }, once: ["key", /^ahs_[A-Za-z0-9_-]{43,}$/] },
  ],
  [
    ...(["1.dashboard.oauth-clients", "/oauth-clients", "cli"] as const),
    {
      least: { name: "Mailer", redirect_uris: ["https://c.example.com/cb"], scopes: ["read:apps"] },
      more: { public: false },
      once: ["client_secret", /^[A-Za-z0-9._~-]{32,}$/],
    },
  ],
];

const OTHER = { "if-match": '"another-tag"' };
const ANY = { "if-match": "*" };

for (const [id, path, prefix, { least, more, once, change, fixed = [] }] of KINDS)
  choice(id, `${path}: each field is always there, the tag guards it, deleted it is gone`, async ({ api, authUrl }) => {
    await requiredFields(api, path, least);
    const made = await api.post(path, least);
    const { [once?.[0] ?? ""]: secret, last_four, ...kept } = made.json;
    const { id, created_at, updated_at = created_at, ...rest } = kept;
    assert.match(str(id), idOf(prefix));
    assert.match(str(created_at), ISO_TIME);
    assert.equal(updated_at, created_at);
    const { data: _, ...shown } = members({ ...least, ...more });
    assert.deepEqual(rest, shown);
    assert.equal(last_four, path === "/api-keys" ? str(secret).slice(-4) : undefined);
    if (once) assert.match(str(secret).replace(authUrl, "AUTH"), once[1]);
    if (once) assert.equal(made.header("cache-control"), "no-store");

    const one = `${path}/${id}`;
    const read = { ...kept, ...(last_four !== undefined && { last_four }) };
    if (shown.status === undefined) assert.deepEqual((await api.get(one)).json, read);
    if (change) {
      const own = ["id", "created_at", "updated_at", ...fixed];
      const wrong = { ...change, ...Object.fromEntries(own.map((name) => [name, null])) };
      invalid(await api.patch(one, wrong), ...own.map((name) => `#/${name}`));
      problem(await api.patch(one, change, OTHER), "precondition_failed");
      assert.deepEqual((await api.get(one)).json, kept, "what was refused has changed nothing");
      const changed = await api.patch(one, change, ANY);
      assert.deepEqual(
        [changed.status, changed.json],
        [200, { ...kept, ...change, updated_at: changed.json.updated_at }],
      );
    }
    problem(await api.delete(one, OTHER), "precondition_failed");
    const gone = await api.delete(one, ANY);
    assert.deepEqual([gone.status, gone.text, gone.headers["content-type"]], [204, "", undefined]);
    for (const method of ["GET", "DELETE"]) problem(await api.send(method, one), "not_found");
    if (change) problem(await api.patch(one, change), "not_found");
  });
