// Spec part 4, query parameters of GET /apps; the shape of lists, Link and the refusals are ours (contract, part 4).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import { badParameter } from "../support/problem.ts";

/** Makes sure that the account has `count` apps or more. */
async function fillUp(api: Client, count: number): Promise<void> {
  const { total } = (await api.get("/apps?limit=1")).json;
  const missing = Array.from({ length: Math.max(count - Number(total), 0) }, (_, at) => at);
  for (const at of missing) await api.create("/apps", { title: `App ${at}`, public: at % 3 === 0 });
}

const idsOf = async (api: Client, query: string) => (await api.get(`/apps${query}`)).items.map(({ id }) => String(id));

choice("4.list-shape", "a list comes whole, whatever characters are in it", async ({ api }) => {
  const titles = ["plain", "Zürich", "東京", "🗼 and more"];
  for (const title of titles) await api.create("/apps", { title });
  const { total } = (await api.get("/apps?limit=1")).json;
  const { items } = await api.get(`/apps?offset=${Number(total) - titles.length}`);
  assert.deepEqual(
    items.map(({ title }) => title),
    titles,
  );
});

choice("4.list-shape", "is data, total, limit and offset", async ({ api }) => {
  await fillUp(api, 3);
  const { json } = await api.get("/apps?limit=2&offset=1");
  assert.deepEqual(Object.keys(json), ["data", "total", "limit", "offset"]);
  assert.deepEqual([json.limit, json.offset], [2, 1]);
  const all = Number((await api.get("/apps")).json.total);
  const counts = await Promise.all(
    ["true", "false"].map(async (flag) => (await api.get(`/apps?public=${flag}`)).json.total),
  );
  assert.equal(Number(counts[0]) + Number(counts[1]), all, "total counts what the filter lets through");
});

choice("4.list-shape", "holds the resources as GET of one shows them", async ({ api }) => {
  const app = await api.create("/apps", { title: "Same" });
  const { total } = (await api.get("/apps")).json;
  assert.deepEqual((await api.get(`/apps?offset=${Number(total) - 1}`)).items, [app]);
});

choice("4.list-shape", "an offset past the end answers an empty page", async ({ api }) => {
  const answer = await api.get("/apps?offset=9007199254740991");
  assert.deepEqual([answer.status, answer.items], [200, []]);
});

choice("8.max-limit", "100 is the most, 1 the least", async ({ api }) => {
  for (const limit of ["1", "100"]) assert.equal((await api.get(`/apps?limit=${limit}`)).json.limit, Number(limit));
  for (const limit of ["0", "101", "1000000", "99999999999999999999"])
    badParameter(await api.get(`/apps?limit=${limit}`), "limit");
});

const NOT_A_NUMBER = [
  "",
  "-1",
  "+5",
  "1e1",
  "1e3",
  "1.0",
  "0x10",
  "%205",
  "5%20",
  "ten",
  "NaN",
  "Infinity",
  "null",
  "1,000",
  "%D9%A1",
  "5;",
  "05",
  "00",
  "true",
];

choice("7.error-codes.parameters", "limit and offset are plain decimal digits", async ({ api }) => {
  for (const text of NOT_A_NUMBER) {
    badParameter(await api.get(`/apps?limit=${text}`), "limit");
    badParameter(await api.get(`/apps?offset=${text}`), "offset");
  }
  assert.equal((await api.get("/apps?offset=0")).status, 200);
  badParameter(await api.get("/apps?offset=9007199254740992"), "offset");
});

choice("7.error-codes.parameters", "public is true or false and nothing else", async ({ api }) => {
  for (const text of ["", "1", "0", "True", "FALSE", "yes", "true%20", "null"])
    badParameter(await api.get(`/apps?public=${text}`), "public");
});

choice("7.error-codes.parameters", "a repeated one is refused, even with the same value", async ({ api }) => {
  badParameter(await api.get("/apps?limit=5&limit=5"), "limit");
  badParameter(await api.get("/apps?public=true&public=false"), "public");
  badParameter(await api.get("/apps?limit=5&%6Cimit=6"), "limit");
});

choice("7.error-codes.parameters", "an unknown one is refused, on every kind of request", async ({ api }) => {
  badParameter(await api.get("/apps?page=2"), "page");
  badParameter(await api.get("/apps?Limit=2"), "Limit");
  badParameter(await api.get("/apps?limit[]=2"), "limit[]");
  badParameter(await api.get("/apps?__proto__=2"), "__proto__");
  badParameter(await api.get("/apps?constructor=2&toString=1"), "constructor", "toString");
  badParameter(await api.get("/account?verbose=true"), "verbose");
  badParameter(await api.post("/apps?draft=true", { title: "T" }), "draft");
  const app = await api.create("/apps", { title: "T" });
  badParameter(await api.delete(`/apps/${app.id}?force=true`), "force");
  assert.equal((await api.get(`/apps/${app.id}`)).status, 200, "nothing was deleted");
});

choice("7.error-codes.parameters", "all of them are named in one answer", async ({ api }) => {
  badParameter(await api.get("/apps?limit=0&offset=-1&public=maybe&x=1"), "limit", "offset", "public", "x");
});

choice("4.list-shape.link", "next and prev lead to the end and back", async ({ api, baseUrl }) => {
  await fillUp(api, 25);
  const seen: string[] = [];
  let path: string | undefined = "/apps?limit=7";
  let last = path;
  while (path !== undefined) {
    const page = await api.get(path);
    seen.push(...page.items.map(({ id }) => String(id)));
    last = path;
    path = page.link("next", baseUrl);
  }
  const { total } = (await api.get("/apps")).json;
  assert.equal(seen.length, total);
  assert.equal(new Set(seen).size, seen.length);
  const back: string[] = [];
  for (path = last; path !== undefined; ) {
    const page = await api.get(path);
    back.unshift(...page.items.map(({ id }) => String(id)));
    path = page.link("prev", baseUrl);
  }
  assert.deepEqual([...new Set(back)], seen);
});

choice(
  "4.list-shape.link",
  "is absent where there is no further page, and keeps the filter",
  async ({ api, baseUrl }) => {
    await fillUp(api, 25);
    const first = await api.get("/apps?public=false&limit=2");
    assert.equal(first.link("prev", baseUrl), undefined);
    const next = String(first.link("next", baseUrl));
    assert.match(next, /public=false/);
    assert.match(next, /limit=2/);
    assert.match(next, /offset=2/);
    const count = Number(first.json.total);
    const exact = await api.get(`/apps?public=false&limit=1&offset=${count - 1}`);
    assert.equal(exact.link("next", baseUrl), undefined);
    assert.match(String(exact.link("prev", baseUrl)), new RegExp(`offset=${count - 2}(&|$)`));
  },
);

choice("4.list-shape.stable", "a page never shifts when something is added", async ({ api }) => {
  await fillUp(api, 25);
  const before = await idsOf(api, "?limit=10&offset=5");
  await api.create("/apps", { title: "Added" });
  await api.patch(`/apps/${before[3]}`, { title: "Changed", public: true });
  assert.deepEqual(await idsOf(api, "?limit=10&offset=5"), before);
});

choice("4.list-shape.order", "every list is in the order of creation", async ({ api }) => {
  const made = [];
  for (const name of ["b", "a", "c"]) made.push((await api.create("/api-keys", { name })).id);
  const { total } = (await api.get("/api-keys?limit=1")).json;
  const page = await api.get(`/api-keys?offset=${Number(total) - 3}`);
  assert.deepEqual(
    page.items.map(({ id }) => id),
    made,
  );
});
