// ETag, If-Match and If-None-Match (RFC 9110 13); the specification has none of it, so all is ours (contract, part 4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { freshAddress } from "../support/fresh.ts";
import { badHeader, invalid, problem } from "../support/problem.ts";

const OTHER = '"another-tag"';

choice("4.etag", "one resource has a strong one, which changes with the resource only", async ({ api }) => {
  const created = await api.post("/apps", { title: "Tagged" });
  const path = `/apps/${created.id}`;
  const tag = created.header("etag");
  assert.match(tag, /^"[\x21\x23-\x7e]+"$/);
  assert.equal((await api.get(path)).header("etag"), tag);
  assert.equal((await api.head(path)).header("etag"), tag);
  assert.equal((await api.patch(path, { title: "Tagged" })).header("etag"), tag);
  const changed = await api.patch(path, { title: "Retagged" });
  assert.notEqual(changed.header("etag"), tag);
  assert.equal((await api.get(path)).header("etag"), changed.header("etag"));
});

choice("4.etag", "differs between resources, and lists have none", async ({ api }) => {
  const [one, two] = [await api.post("/apps", { title: "Same" }), await api.post("/apps", { title: "Same" })];
  assert.notEqual(one.header("etag"), two.header("etag"));
  assert.equal((await api.get("/apps")).headers.etag, undefined);
});

choice("4.etag.if-none-match", "one that holds answers 304 without a body", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Cached" });
  const path = `/apps/${id}`;
  const tag = (await api.get(path)).header("etag");
  for (const value of [tag, `W/${tag}`, "*", `${OTHER}, ${tag}`, `${OTHER},${tag},W/"x"`]) {
    const answer = await api.get(path, { "if-none-match": value });
    assert.deepEqual([answer.status, answer.bytes.length], [304, 0], value);
    assert.equal(answer.header("etag"), tag);
    assert.ok(answer.header("x-request-id"));
  }
  assert.equal((await api.head(path, { "if-none-match": tag })).status, 304);
  assert.equal((await api.get(path, { "if-none-match": OTHER })).status, 200);
  assert.equal((await api.get(path, { "if-none-match": [OTHER, tag] })).status, 304);
});

choice("4.etag.if-match", "a change goes through only where the tag is the present one", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  const path = `/apps/${id}`;
  const tag = (await api.get(path)).header("etag");
  for (const value of [OTHER, `W/${tag}`, `${OTHER}, "x"`])
    problem(await api.patch(path, { title: "Lost" }, { "if-match": value }), 412, "precondition_failed");
  assert.equal((await api.get(path)).json.title, "Guarded");
  const changed = await api.patch(path, { title: "Won" }, { "if-match": `${OTHER}, ${tag}` });
  assert.equal(changed.status, 200);
  problem(await api.patch(path, { title: "Late" }, { "if-match": tag }), 412, "precondition_failed");
  assert.equal((await api.patch(path, { title: "Any" }, { "if-match": "*" })).status, 200);
});

choice("4.etag.if-match", "holds for a read as well", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  problem(await api.get(`/apps/${id}`, { "if-match": OTHER }), 412, "precondition_failed");
  const tag = (await api.get(`/apps/${id}`)).header("etag");
  assert.equal((await api.get(`/apps/${id}`, { "if-match": tag })).status, 200);
});

choice("4.etag.if-match", "guards a delete as well", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  const path = `/apps/${id}`;
  problem(await api.delete(path, { "if-match": OTHER }), 412, "precondition_failed");
  assert.equal((await api.get(path)).status, 200);
  const tag = (await api.get(path)).header("etag");
  assert.equal((await api.delete(path, { "if-match": tag })).status, 204);
});

choice("4.etag.if-match", "of two changes with the same tag one wins", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Contested" });
  const path = `/apps/${id}`;
  const tag = (await api.get(path)).header("etag");
  const both = ["A", "B", "C", "D"].map((title) => api.patch(path, { title }, { "if-match": tag }));
  assert.deepEqual((await Promise.all(both)).map(({ status }) => status).sort(), [200, 412, 412, 412]);
});

choice("4.etag.if-match", "guards users, webhooks, keys and clients too", async ({ api }) => {
  const kinds: readonly (readonly [string, object])[] = [
    ["/users", { email: freshAddress() }],
    ["/webhooks", { url: "https://h.example.com/", events: ["app.created"], active: false }],
    ["/api-keys", { name: "Tag" }],
    ["/oauth-clients", { name: "Tag", redirect_uris: ["https://c.example.com/"], scopes: ["admin"] }],
    ["/data-sources", { name: "Tag", type: "json", data: [] }],
  ];
  for (const [path, body] of kinds) {
    const one = `${path}/${(await api.create(path, body)).id}`;
    problem(await api.delete(one, { "if-match": OTHER }), 412, "precondition_failed");
    assert.equal((await api.delete(one, { "if-match": "*" })).status, 204);
  }
});

choice("4.etag.if-match", "guards the change of a user and of a webhook", async ({ api }) => {
  const user = await api.create("/users", { email: freshAddress() });
  const webhook = await api.create("/webhooks", {
    url: "https://h.example.com/",
    events: ["app.created"],
    active: false,
  });
  const changes: readonly (readonly [path: string, body: object])[] = [
    [`/users/${user.id}`, { name: "Changed" }],
    [`/webhooks/${webhook.id}`, { events: ["app.deleted"] }],
  ];
  for (const [path, body] of changes) {
    const { text } = await api.get(path);
    problem(await api.patch(path, body, { "if-match": OTHER }), 412, "precondition_failed");
    assert.equal((await api.get(path)).text, text);
    assert.equal((await api.patch(path, body, { "if-match": "*" })).status, 200);
  }
});

choice("4.etag.if-none-match", "on a change it forbids the tag that it names", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  const path = `/apps/${id}`;
  const tag = (await api.get(path)).header("etag");
  problem(await api.patch(path, { title: "T" }, { "if-none-match": tag }), 412, "precondition_failed");
  problem(await api.delete(path, { "if-none-match": "*" }), 412, "precondition_failed");
  assert.equal((await api.patch(path, { title: "T" }, { "if-none-match": OTHER })).status, 200);
});

choice("4.etag.if-match", "a malformed one is refused, not ignored", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  for (const name of ["If-Match", "If-None-Match"])
    for (const value of ["unquoted", '"open', 'w/"lower"', '"a" "b', ","]) {
      badHeader(await api.patch(`/apps/${id}`, { title: "T" }, { [name]: value }), name);
      badHeader(await api.get(`/apps/${id}`, { [name]: value }), name);
    }
  assert.equal((await api.get(`/apps/${id}`)).json.title, "Guarded");
});

choice("4.etag.if-match", "is asked after the fields", async ({ api }) => {
  const { id } = await api.create("/apps", { title: "Guarded" });
  invalid(await api.patch(`/apps/${id}`, { title: "" }, { "if-match": OTHER }), "#/title");
});
