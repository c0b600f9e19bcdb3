// What every path has in common: HEAD, OPTIONS, 405, and that nothing outside the OpenAPI document is there (contract,
// part 4). Walks over the document, so that a new route is covered the day it stands in the table.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client } from "../support/client.ts";
import type { ApiDocument } from "../support/openapi.ts";
import { problem } from "../support/problem.ts";
import { fill, type Ids, makeWorld } from "../support/world.ts";

const OWN = { needs: "embedded" } as const;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

let made: Promise<Ids> | undefined;
function world(api: Client): Promise<Ids> {
  made ??= makeWorld(api);
  return made;
}

/** Each path of the document with the methods that it declares. */
function methodsByPath({ api }: ApiDocument): Map<string, string[]> {
  const paths = new Map<string, string[]>();
  for (const { path, method } of api) paths.set(path, [...(paths.get(path) ?? []), method]);
  return paths;
}

const allowed = (declared: readonly string[]): string[] =>
  [...declared, ...(declared.includes("GET") ? ["HEAD"] : []), "OPTIONS"].sort();

const allowOf = (allow: string): string[] => allow.split(/,\s*/).sort();

choice("1.dashboard.addresses.api", "the rest of the API's paths", OWN, async ({ document }) => {
  const paths = [...methodsByPath(document)].map(([path, methods]) => `${path} ${methods.sort().join(" ")}`);
  assert.deepEqual(paths.sort(), [
    "/account GET",
    "/api-keys GET POST",
    "/api-keys/{key_id} DELETE GET",
    "/apps GET POST",
    "/apps/{app_id} DELETE GET PATCH",
    "/apps/{app_id}/deploy POST",
    "/apps/{app_id}/deployments GET",
    "/apps/{app_id}/deployments/{deployment_id} GET",
    "/apps/{app_id}/interactions POST",
    "/data-sources GET POST",
    "/data-sources/{data_source_id} DELETE GET",
    "/data-sources/{data_source_id}/rows GET",
    "/events GET",
    "/events/{event_id} GET",
    "/oauth-clients GET POST",
    "/oauth-clients/{client_id} DELETE GET",
    "/users GET POST",
    "/users/{user_id} DELETE GET PATCH",
    "/webhooks GET POST",
    "/webhooks/{webhook_id} DELETE GET PATCH",
    "/webhooks/{webhook_id}/deliveries GET",
    "/webhooks/{webhook_id}/deliveries/{delivery_id} GET",
    "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver POST",
    "/webhooks/{webhook_id}/test POST",
  ]);
});

choice("7.error-codes.405", "another method on a known path is 405 with Allow", OWN, async ({ api, document }) => {
  const ids = await world(api);
  for (const [path, declared] of methodsByPath(document)) {
    const allow = allowed(declared);
    for (const method of [...METHODS, "PURGE", "REPORT"].filter((each) => !allow.includes(each))) {
      const answer = await api.send(method, fill(path, ids));
      if (method !== "HEAD") problem(answer, 405, "method_not_allowed");
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.deepEqual(allowOf(answer.header("allow")), allow, `${method} ${path}`);
    }
  }
});

choice("1.rfcs.options", "answers 204 with Allow", OWN, async ({ api, document }) => {
  const ids = await world(api);
  for (const [path, declared] of methodsByPath(document)) {
    const answer = await api.options(fill(path, ids));
    assert.deepEqual([answer.status, answer.bytes.length], [204, 0], path);
    assert.deepEqual(allowOf(answer.header("allow")), allowed(declared), path);
  }
});

choice("1.rfcs.head", "answers as GET does, without the body", OWN, async ({ api, document }) => {
  const ids = await world(api);
  const volatile = ["x-request-id", "date", "ratelimit"];
  for (const { method, path } of document.api) {
    if (method !== "GET") continue;
    const [get, head] = [await api.get(fill(path, ids)), await api.head(fill(path, ids))];
    assert.deepEqual([get.status, head.status, head.bytes.length], [200, 200, 0], path);
    for (const answer of [get, head]) for (const name of volatile) delete answer.headers[name];
    assert.deepEqual(head.headers, get.headers, path);
    assert.equal(get.header("content-length"), String(get.bytes.length));
  }
  const missing = await api.head("/apps/app_00000000000000000000000");
  assert.deepEqual([missing.status, missing.bytes.length], [404, 0]);
});

choice("7.error-codes.405", "methods are written in capitals", OWN, async ({ api }) => {
  for (const method of ["TRACE", "CONNECT_", "MKCOL"])
    assert.ok((await api.send("PROPFIND", "/apps")).status === 405, method);
});

const NO_PATHS = [
  ...[
    "/",
    "",
    "//apps",
    "/apps/",
    "/apps//",
    "/Apps",
    "/APPS",
    "/apps%2f",
    "/app",
    "/appss",
    "/apps;v=1",
    "/apps.json",
  ],
  ...[
    "/%61pps",
    "/apps/%2e%2e/account",
    "/./apps",
    "/x/../apps",
    "/apps/a/b/c",
    "/account/",
    "/account/x",
    "/events/a/b",
  ],
  ...["/users/me/keys", "/__proto__", "/constructor", "/apps/x/__proto__", "/apps/x/constructor", "/null", "/%00"],
];

choice("7.error-codes.404", "are 404 whatever the method", OWN, async ({ api }) => {
  for (const path of NO_PATHS)
    for (const method of ["GET", "POST", "DELETE"]) problem(await api.send(method, path), 404, "not_found");
});

/** Nothing that is an id, and things that mean something elsewhere. */
const NO_IDS = [
  ...[
    "x",
    "app_",
    "app_1",
    "APP_0000",
    "%00",
    "%2e%2e",
    "%2E%2E%2f",
    "..%2f..",
    ".",
    "..",
    "%",
    "%zz",
    "%ff",
    "%c0%ae",
    "*",
  ],
  ...["__proto__", "constructor", "toString", "null", "undefined", "0", "-1", "%20", "%0d%0aX:1", "a%00b", "app_%00"],
  ...["%f0%9f%98%80", "'%20OR%201=1--", "{app_id}".replace("{", "%7B").replace("}", "%7D"), "a".repeat(2000)],
];

choice("7.error-codes.404", "are 404 however they are written", OWN, async ({ api }) => {
  for (const id of NO_IDS)
    for (const kind of ["apps", "users", "webhooks", "events", "api-keys", "data-sources", "oauth-clients"])
      problem(await api.get(`/${kind}/${id}`), 404, "not_found");
  for (const id of NO_IDS) problem(await api.post(`/apps/${id}/deploy`, { name: "R" }), 404, "not_found");
});
