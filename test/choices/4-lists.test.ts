// Lists (spec part 4 shows the query parameters of GET /apps; their shape, Link and the errors are the contract's), and
// ETag, If-Match and If-None-Match (RFC 9110 13), which the specification does not mention (contract, part 4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { badParameter, problem } from "../support/problem.ts";

const idsOf = async (api: Client, query: string) =>
  (await api.get(`/apps${query}`)).items.map(({ id }) => id);

choice(
  "4.list-shape",
  "a list has data, total, limit and offset, with each app as in its own response",
  async ({ api }) => {
    const apps = [];
    for (const title of ["plain", "Zürich", "東京", "🗼 and more"])
      apps.push(await api.create("/apps", { title }));
    const { total } = (await api.get("/apps?limit=1")).json;
    const offset = Number(total) - apps.length;
    const { json } = await api.get(`/apps?limit=50&offset=${offset}`);
    assert.deepEqual(json, { data: apps, total, limit: 50, offset });
    assert.deepEqual(Object.keys(json), ["data", "total", "limit", "offset"]);
    const counts = ["true", "false"].map(async (flag) =>
      Number((await api.get(`/apps?public=${flag}`)).json.total),
    );
    const [shared = 0, own = 0] = await Promise.all(counts);
    assert.equal(shared + own, total, "total counts what the filter lets through");
  },
);

choice("8.max-limit", "the limit of a list is 1 to 100", async ({ api }) => {
  for (const limit of ["1", "100"])
    assert.equal((await api.get(`/apps?limit=${limit}`)).json.limit, Number(limit));
  for (const limit of ["0", "101", "1000000", "99999999999999999999"])
    badParameter(await api.get(`/apps?limit=${limit}`), "limit");
});

const NO_NUMBERS = " -1 +5 1e1 1.0 0x10 %205 ten null 05 true 9007199254740992".split(" ");
const NO_FLAGS = " 1 0 True yes null".split(" ");

choice(
  "7.error-codes.parameters",
  "query parameters must be known, unique and in canonical form, and the error names every invalid one",
  async ({ api }) => {
    for (const name of ["limit", "offset"])
      for (const text of NO_NUMBERS) badParameter(await api.get(`/apps?${name}=${text}`), name);
    for (const text of NO_FLAGS) badParameter(await api.get(`/apps?public=${text}`), "public");
    (await api.get("/apps?offset=0")).is(200);
    for (const [request, ...names] of [
      ["GET /apps?limit=5&limit=5", "limit"],
      ["GET /apps?Limit=2", "Limit"],
      ["GET /apps?__proto__=2", "__proto__"],
      ["GET /apps?constructor=2&toString=1", "constructor", "toString"],
      ["GET /account?verbose=true", "verbose"],
      ["POST /apps?draft=true", "draft"],
      ["GET /apps?limit=0&offset=-1&public=maybe&x=1", "limit", "offset", "public", "x"],
    ] as const) {
      const [method = "", path = ""] = request.split(" ");
      badParameter(
        await api.call(method, path, method === "POST" ? { title: "T" } : undefined),
        ...names,
      );
    }
  },
);

/** Follows Link from `path` on and returns all pages. */
async function walk(api: Client, path: string, rel: "next" | "prev") {
  const pages: { path: string; ids: unknown[] }[] = [];
  for (let at: string | undefined = path; at !== undefined; ) {
    const page = await api.get(at);
    assert.ok(page.items.length > 0 && pages.every(({ path }) => path !== at), at);
    pages.push({ path: at, ids: page.items.map(({ id }) => id) });
    at = new RegExp(`<${api.baseUrl}(/[^>]+)>; rel="${rel}"`).exec(String(page.headers.link))?.[1];
  }
  return pages;
}

async function fillUp(api: Client, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1)
    await api.create("/apps", { title: "Sales", public: made % 3 === 0 });
}

choice(
  "4.list-shape.link",
  "the next and prev links lead to both ends and keep filter and limit",
  async ({ api }) => {
    await fillUp(api, 25);
    const pages = await walk(api, "/apps?public=false&limit=7", "next");
    assert.ok(pages.length > 2 && pages.every(({ ids }) => ids.length <= 7));
    const seen = pages.flatMap(({ ids }) => ids);
    assert.equal(seen.length, (await api.get("/apps?public=false")).json.total);
    assert.equal(new Set(seen).size, seen.length);
    const back = (await walk(api, pages.at(-1)?.path ?? "", "prev"))
      .reverse()
      .flatMap(({ ids }) => ids);
    assert.deepEqual(back, seen);
    const beyond = await api.get("/apps?public=false&limit=5&offset=99999");
    assert.match(
      String(beyond.headers.link),
      new RegExp(`^<[^>]*offset=${seen.length - 5}>; rel="prev"$`),
    );
  },
);

choice(
  "4.list-shape.stable",
  "a page of a list never shifts when resources are created or updated",
  async ({ api }) => {
    await fillUp(api, 25);
    const before = await idsOf(api, "?limit=10&offset=5");
    await api.create("/apps", { title: "Added" });
    await api.patch(`/apps/${before[3]}`, { title: "Changed", public: true });
    assert.deepEqual(await idsOf(api, "?limit=10&offset=5"), before);
  },
);

const OTHER = '"another-tag"';

choice(
  "4.etag",
  "a single resource has a strong ETag that changes only with the resource",
  async ({ api }) => {
    const created = await api.post("/apps", { title: "Tagged" });
    const path = `/apps/${created.id}`;
    const tag = created.header("etag");
    assert.match(tag, /^"[\x21\x23-\x7e]+"$/);
    for (const same of [
      await api.get(path),
      await api.head(path),
      await api.patch(path, { title: "Tagged" }),
    ])
      assert.equal(same.header("etag"), tag);
    const changed = await api.patch(path, { title: "Retagged" });
    assert.notEqual(changed.header("etag"), tag);
    assert.equal((await api.get(path)).header("etag"), changed.header("etag"));
    assert.equal((await api.get("/apps")).headers.etag, undefined, "lists have none");
  },
);

choice(
  "4.etag.if-none-match",
  "a matching If-None-Match returns 304 without a body and blocks an update",
  async ({ api }) => {
    const path = `/apps/${(await api.create("/apps", { title: "Cached" })).id}`;
    const tag = (await api.get(path)).header("etag");
    for (const value of [tag, `W/${tag}`, "*", `${OTHER}, ${tag}`, [OTHER, tag]]) {
      const answer = await api.get(path, { "if-none-match": value });
      assert.deepEqual(
        [answer.status, answer.bytes.length, answer.header("etag")],
        [304, 0, tag],
        String(value),
      );
      assert.ok(answer.header("x-request-id"));
    }
    (await api.get(path, { "if-none-match": OTHER })).is(200);
    problem(await api.patch(path, { title: "T" }, { "if-none-match": tag }), "precondition_failed");
  },
);

choice("4.etag.if-match", "If-Match passes only with the current ETag", async ({ api }) => {
  const path = `/apps/${(await api.create("/apps", { title: "Guarded" })).id}`;
  const tag = (await api.get(path)).header("etag");
  for (const value of [OTHER, `W/${tag}`, `${OTHER}, "x"`, "unquoted"])
    problem(await api.patch(path, { title: "Lost" }, { "if-match": value }), "precondition_failed");
  problem(await api.get(path, { "if-match": OTHER }), "precondition_failed");
  (await api.get(path, { "if-match": tag })).is(200);
  const changed = await api.patch(path, { title: "Won" }, { "if-match": `${OTHER}, ${tag}` });
  changed.is(200);
  const all = ["A", "B", "C", "D"].map((title) =>
    api.patch(path, { title }, { "if-match": changed.header("etag") }),
  );
  const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412], "of many with the same tag one wins");
  (await api.delete(path, { "if-match": (await api.get(path)).header("etag") })).is(204);
});
