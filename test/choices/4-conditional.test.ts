// ETag, If-Match and If-None-Match (RFC 9110 13); the specification has none of it, so all is ours (contract, part 4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { freshAddress } from "../support/fresh.ts";
import { badHeader, problem } from "../support/problem.ts";

const OTHER = '"another-tag"';

choice("4.etag", "one resource has a strong one, which changes with the resource only", async ({ api }) => {
  const created = await api.post("/apps", { title: "Tagged" });
  const path = `/apps/${created.id}`;
  const tag = created.header("etag");
  assert.match(tag, /^"[\x21\x23-\x7e]+"$/);
  for (const same of [await api.get(path), await api.head(path), await api.patch(path, { title: "Tagged" })])
    assert.equal(same.header("etag"), tag);
  const changed = await api.patch(path, { title: "Retagged" });
  assert.notEqual(changed.header("etag"), tag);
  assert.equal((await api.get(path)).header("etag"), changed.header("etag"));
  assert.notEqual((await api.post("/apps", { title: "Tagged" })).header("etag"), tag, "another has another");
  assert.equal((await api.get("/apps")).headers.etag, undefined, "lists have none");
});

choice("4.etag.if-none-match", "one that holds answers 304 without a body, and forbids a change", async ({ api }) => {
  const path = `/apps/${(await api.create("/apps", { title: "Cached" })).id}`;
  const tag = (await api.get(path)).header("etag");
  for (const value of [tag, `W/${tag}`, "*", `${OTHER}, ${tag}`, `${OTHER},${tag},W/"x"`, [OTHER, tag]]) {
    const answer = await api.get(path, { "if-none-match": value });
    assert.deepEqual([answer.status, answer.bytes.length, answer.header("etag")], [304, 0, tag], String(value));
    assert.ok(answer.header("x-request-id"));
  }
  assert.equal((await api.head(path, { "if-none-match": tag })).status, 304);
  assert.equal((await api.get(path, { "if-none-match": OTHER })).status, 200);
  problem(await api.patch(path, { title: "T" }, { "if-none-match": tag }), "precondition_failed");
  problem(await api.delete(path, { "if-none-match": "*" }), "precondition_failed");
  assert.equal((await api.patch(path, { title: "T" }, { "if-none-match": OTHER })).status, 200);
});

choice("4.etag.if-match", "change, read and delete go through where the tag is the present one", async ({ api }) => {
  const path = `/apps/${(await api.create("/apps", { title: "Guarded" })).id}`;
  const tag = (await api.get(path)).header("etag");
  for (const value of [OTHER, `W/${tag}`, `${OTHER}, "x"`])
    problem(await api.patch(path, { title: "Lost" }, { "if-match": value }), "precondition_failed");
  for (const method of ["GET", "DELETE"])
    problem(await api.send(method, path, { headers: { "if-match": OTHER } }), "precondition_failed");
  const read = await api.get(path, { "if-match": tag });
  assert.deepEqual([read.status, read.json.title], [200, "Guarded"]);
  const changed = await api.patch(path, { title: "Won" }, { "if-match": `${OTHER}, ${tag}` });
  assert.equal(changed.status, 200);
  problem(await api.patch(path, { title: "Late" }, { "if-match": tag }), "precondition_failed");
  assert.equal((await api.patch(path, { title: "Won" }, { "if-match": "*" })).status, 200);
  const all = ["A", "B", "C", "D"].map((title) => api.patch(path, { title }, { "if-match": changed.header("etag") }));
  const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412], "of many with the same tag one wins");
  assert.equal((await api.delete(path, { "if-match": (await api.get(path)).header("etag") })).status, 204);
});

const HOOK = { url: "https://h.example.com/", events: ["app.created"], active: false };

choice("4.etag.if-match", "guards every kind of resource", async ({ api }) => {
  for (const [path, body, change] of [
    ["/users", { email: freshAddress() }, { name: "Changed" }],
    ["/webhooks", HOOK, { events: ["app.deleted"] }],
    ["/api-keys", { name: "Tag" }],
    ["/oauth-clients", { name: "Tag", redirect_uris: ["https://c.example.com/"], scopes: ["admin"] }],
    ["/data-sources", { name: "Tag", type: "csv", data: "a" }],
  ] as const) {
    const one = `${path}/${(await api.create(path, body)).id}`;
    if (change !== undefined) {
      const { text } = await api.get(one);
      problem(await api.patch(one, change, { "if-match": OTHER }), "precondition_failed");
      assert.equal((await api.get(one)).text, text);
      assert.equal((await api.patch(one, change, { "if-match": "*" })).status, 200);
    }
    problem(await api.delete(one, { "if-match": OTHER }), "precondition_failed");
    assert.equal((await api.delete(one, { "if-match": "*" })).status, 204);
  }
});

choice("4.etag.if-match", "a malformed one is refused, not ignored", async ({ api }) => {
  const path = `/apps/${(await api.create("/apps", { title: "Guarded" })).id}`;
  for (const name of ["If-Match", "If-None-Match"])
    for (const value of ["unquoted", '"open', 'w/"lower"', '"a" "b', ","]) {
      badHeader(await api.patch(path, { title: "T" }, { [name]: value }), name);
      badHeader(await api.get(path, { [name]: value }), name);
    }
  assert.equal((await api.get(path)).json.title, "Guarded");
});
