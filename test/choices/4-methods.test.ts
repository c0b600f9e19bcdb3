// What every path has in common: HEAD, OPTIONS, 405, and that nothing outside the OpenAPI document is there (contract,
// part 4). Walks over the document, so that a new route is covered the day it stands in the table.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { problem } from "../support/problem.ts";
import { fill, makeWorld } from "../support/world.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "REPORT", "PROPFIND"];
const VOLATILE = ["x-request-id", "date", "ratelimit"];

choice("1.rfcs.methods", "HEAD is as GET, OPTIONS tells Allow, another method is 405 with Allow", {}, async (own) => {
  const { api, document } = own;
  const ids = await makeWorld(api);
  const there = (path: string) => document.api.filter((each) => each.path === path).map(({ method }) => method);
  for (const path of new Set(document.api.map((operation) => operation.path))) {
    const methods = there(path);
    const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort();
    const allows = (header: string) => assert.deepEqual(header.split(/,\s*/).sort(), allow, path);
    const address = fill(path, ids);
    const options = await api.options(address);
    assert.deepEqual([options.status, options.bytes.length], [204, 0], path);
    allows(options.header("allow"));
    for (const method of METHODS.filter((each) => !allow.includes(each))) {
      const answer = await api.send(method, address);
      if (method !== "HEAD") problem(answer, "method_not_allowed");
      assert.equal(answer.status, 405, `${method} ${path}`);
      allows(answer.header("allow"));
    }
    if (!methods.includes("GET")) continue;
    const [get, head] = [await api.get(address), await api.head(address)];
    assert.deepEqual([get.status, head.status, head.bytes.length], [200, 200, 0], path);
    for (const answer of [get, head]) for (const name of VOLATILE) delete answer.headers[name];
    assert.deepEqual(head.headers, get.headers, path);
    assert.equal(get.header("content-length"), String(get.bytes.length));
  }
  const missing = await api.head("/apps/app_00000000000000000000000");
  assert.deepEqual([missing.status, missing.bytes.length], [404, 0]);
});

const NO_PATHS = [
  ..." / //apps /apps/ /apps// /Apps /APPS /apps%2f /app /appss /apps;v=1 /apps.json".split(" "),
  ..."/apps/%2e%2e/account /./apps /x/../apps /apps/a/b/c /account/ /account/x /events/a/b /users/me/keys".split(" "),
  ..."/__proto__ /constructor /apps/x/__proto__ /apps/x/constructor /null /%00".split(" "),
];

/** Nothing that is an id, and things that mean something elsewhere. */
const NO_IDS = [
  ..."x app_ app_1 APP_0000 %00 %2e%2e %2E%2E%2f ..%2f.. . .. % %zz %ff %c0%ae * __proto__ constructor".split(" "),
  ..."toString null undefined 0 -1 %20 %0d%0aX:1 a%00b app_%00 %f0%9f%98%80 '%20OR%201=1-- %7Bapp_id%7D".split(" "),
  "a".repeat(2000),
];
const KINDS = ["apps", "users", "webhooks", "events", "api-keys", "data-sources", "oauth-clients"];

choice("7.error-codes.404", "what is no path or no id is not there, however written", "ours", async ({ api }) => {
  for (const path of NO_PATHS)
    for (const method of ["GET", "POST", "DELETE"]) problem(await api.send(method, path), "not_found");
  for (const id of NO_IDS) {
    for (const kind of KINDS) problem(await api.get(`/${kind}/${id}`), "not_found");
    problem(await api.post(`/apps/${id}/deploy`, { name: "R" }), "not_found");
  }
});
